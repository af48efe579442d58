"""Slow reference: a web with all special cases of pages, its true coverage, and the mean score of a life."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from orienteer.graph.coverage import Coverage
from orienteer.graph.link_graph import LinkGraph
from orienteer.graph.push import LinkRows
from orienteer.graph.survey.walking import BLOCKED_PAGE, DANGLING, OUTSIDE, UNKNOWN, Rows
from orienteer.pages.unknown import UNKNOWN_COUNT
from tests.conftest import random_web


@dataclass
class OddWeb:
    """A web whose blocked pages and unknown links are known to the test."""

    graph: LinkGraph
    trust: np.ndarray
    damping: float = 0.85
    blocked: np.ndarray = field(default_factory=lambda: np.zeros(0, bool))
    alias: np.ndarray = field(default_factory=lambda: np.zeros(0, bool))
    n_unknown: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int32))

    def __post_init__(self) -> None:
        n = self.graph.n_pages
        if len(self.blocked) == 0:
            self.blocked = np.zeros(n, bool)
        if len(self.alias) == 0:
            self.alias = np.zeros(n, bool)
        if len(self.n_unknown) == 0:
            self.n_unknown = np.zeros(n, np.int32)

    @property
    def n_pages(self) -> int:
        return self.graph.n_pages

    def steps(self) -> np.ndarray:
        """[i, j]: her chance to be at j next, if she is at i and has not started again."""
        n = self.n_pages
        matrix = np.zeros((n, n))
        for page in range(n):
            links = self.graph.links(page)
            n_all = len(links) + max(int(self.n_unknown[page]), 0)
            if self.n_unknown[page] != UNKNOWN_COUNT and n_all and not self.blocked[page]:
                matrix[page, links] = (1.0 if self.alias[page] else self.damping) / n_all
        return matrix

    def unknown_share(self) -> np.ndarray:
        """Her probability at each page to follow an unknown link or be at a blocked page."""
        passed_on = np.where(self.alias, 1.0, self.damping)
        n_all = np.maximum(self.graph.out_degrees() + np.maximum(self.n_unknown, 0), 1)
        share = np.where(self.n_unknown == UNKNOWN_COUNT, passed_on, passed_on * np.maximum(self.n_unknown, 0) / n_all)
        return np.where(self.blocked, 1.0, share)

    def is_dangling(self) -> np.ndarray:
        return (self.graph.out_degrees() == 0) & (self.n_unknown == 0) & ~self.blocked

    def visits(self) -> np.ndarray:
        """Expected visits of pages in a life, of a surfer who restarts where the next page is unknown."""
        return np.linalg.solve(np.eye(self.n_pages) - self.steps().T, self.trust)

    def coverage_of_reachable(self, known: np.ndarray) -> float:
        """The share of that surfer's time on known pages: names and blocked pages take no time."""
        visits = np.where(self.alias | self.blocked, 0.0, self.visits())
        return float(visits[known].sum() / visits.sum())

    def coverages(self, known: np.ndarray) -> tuple[float, float]:
        """The least and the largest possible coverage, whatever the unknown pages are."""
        all_visits = self.visits()
        visits = np.where(self.alias | self.blocked, 0.0, all_visits)
        stuck = float(all_visits @ self.unknown_share())
        d, covered = self.damping, float(visits[known].sum())
        total = visits.sum()
        return (1 - d) * covered / ((1 - d) * total + stuck), ((1 - d) * covered + stuck) / ((1 - d) * total + stuck)

    def mean_scores(self, known: np.ndarray) -> np.ndarray:
        """For each page outside K, the expected (outside, unknown, dangling) of a life that enters there."""
        known = known & ~self.blocked
        d = self.damping
        collected = np.zeros((self.n_pages, 3))
        collected[:, OUTSIDE] = np.where(known | self.alias | self.blocked, 0.0, 1 - d)
        collected[:, UNKNOWN] = self.unknown_share()
        collected[:, DANGLING] = np.where(self.is_dangling(), d, 0.0)
        return np.linalg.solve(np.eye(self.n_pages) - self.steps(), collected)

    def naive_score(self, page: int, known: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """What one surfer collects from this page on: she really walks."""
        score = np.zeros(3)
        while True:
            if self.blocked[page]:
                score[UNKNOWN] += 1
                return score
            if not self.alias[page]:
                score[OUTSIDE] += 0.0 if known[page] else 1 - self.damping
                if self.is_dangling()[page]:
                    score[DANGLING] += self.damping
                    return score
                if rng.random() >= self.damping:
                    return score
            links = self.graph.links(page)
            n_all = len(links) + max(int(self.n_unknown[page]), 0)
            place = int(rng.integers(n_all)) if self.n_unknown[page] != UNKNOWN_COUNT else n_all
            if place >= len(links):
                score[UNKNOWN] += 1
                return score
            page = int(links[place])

    # -- as the package sees it --------------------------------------------------------------------------------------

    def links(self) -> LinkRows:
        return LinkRows.of(self.graph)

    def rows(self, known: np.ndarray) -> Rows:
        """All pages are recorded; K are the known pages, recorded before time 1."""
        when = np.where(self.blocked, BLOCKED_PAGE, np.where(known, 1, 2)).astype(np.int32)
        return Rows.of(when, self._new_coverage())

    def _new_coverage(self) -> Coverage:
        coverage = Coverage(self.trust.copy(), self.damping, counts_visits=True)
        coverage.set_aliases(self.alias)
        coverage.set_all_unknown(self.n_unknown)
        return coverage

    def settled(self, known: np.ndarray) -> Coverage:
        coverage = self._new_coverage()
        coverage.fetch(np.flatnonzero(known & ~self.blocked).astype(np.uint32), self.links())
        coverage.block(np.flatnonzero(known & self.blocked))
        coverage.settle(self.links(), 1e-13)
        return coverage


def plain_web(rng: np.random.Generator, n_pages: int = 40, mean_degree: float = 3.0) -> OddWeb:
    """A web with pages without links and pages without in-links, but no other special cases."""
    graph = random_web(rng, n_pages, mean_degree)
    return OddWeb(graph, _trust(graph))


def odd_web(rng: np.random.Generator, n_pages: int = 40, mean_degree: float = 3.0) -> OddWeb:
    """With redirects (chains of them, too), blocked pages, and links that are not known."""
    graph = random_web(rng, n_pages, mean_degree)
    rows = [graph.links(page).tolist() for page in range(n_pages)]
    alias = np.zeros(n_pages, bool)
    for page in rng.permutation(n_pages)[: n_pages // 5].tolist():
        target = int(rng.integers(n_pages))
        if target != page and not _leads_to(rows, alias, target, page):
            alias[page], rows[page] = True, [target]
    sources = np.repeat(np.arange(n_pages), [len(row) for row in rows])
    graph = LinkGraph.from_links(n_pages, sources, np.array([target for row in rows for target in row], np.int64))
    blocked = (rng.random(n_pages) < 0.08) & ~alias
    n_unknown = np.where(rng.random(n_pages) < 0.1, rng.integers(1, 4, n_pages), 0)
    n_unknown = np.where(rng.random(n_pages) < 0.05, UNKNOWN_COUNT, n_unknown)
    n_unknown = np.where(alias, 0, n_unknown).astype(np.int32)
    return OddWeb(graph, _trust(graph), 0.85, blocked, alias, n_unknown)


def _leads_to(rows: list[list[int]], alias: np.ndarray, page: int, wanted: int) -> bool:
    while page != wanted and alias[page]:
        page = rows[page][0]
    return page == wanted


def _trust(graph: LinkGraph) -> np.ndarray:
    """The pages with the most links, with a tie."""
    trust = np.zeros(graph.n_pages)
    trust[np.argsort(-graph.out_degrees(), kind="stable")[:3]] = (0.5, 0.25, 0.25)
    return trust


def most_wrong(n: int, error: float) -> int:
    """Of n statements that are wrong with this chance, so many or more are once in a million."""
    from scipy.stats import binom  # takes as long to import as hundreds of tests to run, in every process

    return int(binom.isf(1e-6, n, error))
