"""The gaps of a fixed set, against the truth by linear algebra."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

import orienteer as ori
from orienteer.graph.coverage import Coverage
from orienteer.graph.defaults import SurveyGoal
from orienteer.graph.push import LinkRows
from orienteer.graph.survey.fixed_walks import FixedWalks, Gap, largest_gaps, last_pages
from orienteer.graph.survey.survey import FixedSurvey
from orienteer.graph.synthetic import synthetic_web
from tests.conftest import random_web

DAMPING = 0.85
N_HOSTS = 6


class Case:
    """A web with hosts, of which a part was fetched; some pages are other names, some cannot be fetched."""

    def __init__(self, rng: np.random.Generator, n_pages: int = 60, special: bool = False) -> None:
        self.web = random_web(rng, n_pages, 5.0)
        self.hosts = rng.integers(0, N_HOSTS, n_pages)
        self.fetched = rng.random(n_pages) < 0.5
        self.trust = rng.dirichlet(np.ones(n_pages))
        self.blocked = np.zeros(n_pages, np.bool_)
        self.alias = np.zeros(n_pages, np.bool_)
        if special:
            self.blocked = (rng.random(n_pages) < 0.1) & ~self.fetched
            lone = np.flatnonzero(self.web.out_degrees() >= 1)
            self.alias[rng.choice(lone, 6, replace=False)] = True
            self._point_aliases_at_pages()

    def _point_aliases_at_pages(self) -> None:
        """Each is another name of one page that is no such name itself."""
        pages = np.flatnonzero(~self.alias)
        sources, targets = self.web.sources(), self.web.targets
        is_page = ~self.alias[sources]
        names = np.flatnonzero(self.alias)
        self.web = ori.LinkGraph.from_links(
            self.web.n_pages,
            np.append(sources[is_page], names),
            np.append(targets[is_page], pages[names % len(pages)]),
        )

    def survey(self, seed: str, confidence: float = 0.999) -> FixedSurvey:
        coverage = Coverage(self.trust, DAMPING)
        coverage.set_aliases(self.alias)
        links = LinkRows.of(self.web)
        coverage.fetch(np.flatnonzero(self.fetched).astype(np.uint32), links)
        coverage.block(np.flatnonzero(self.blocked))
        return FixedSurvey(coverage, links, seed, confidence)

    def walked(self, seed: str, n_lives: int) -> FixedSurvey:
        survey, links = self.survey(seed), LinkRows.of(self.web)
        needed = survey.begin(n_lives, links)
        while needed:
            needed = survey.record_page(needed[0], not self.blocked[needed[0]], links)
        survey.measured()
        return survey

    def gaps(self, survey: FixedSurvey) -> list[Gap]:
        return largest_gaps(survey, [f"h{self.hosts[page]}" for page in last_pages(survey)], N_HOSTS)

    def truth(self) -> NDArray[np.float64]:
        """The share of the time on each host's pages outside, for a surfer who never comes back from blocked ones."""
        n = self.web.n_pages
        step, is_dangling = np.zeros((n, n)), np.zeros(n, np.bool_)
        for page in range(n):
            links = self.web.links(page)
            if self.blocked[page]:
                continue
            is_dangling[page] = len(links) == 0
            for target in links:
                step[page, target] += (1.0 if self.alias[page] else DAMPING) / len(links)
        visits = np.linalg.solve(np.eye(n) - step.T, self.trust)
        total = 1.0 - DAMPING * visits[is_dangling].sum()
        counts = ~self.fetched & ~self.blocked & ~self.alias
        time = np.where(counts, (1.0 - DAMPING) * visits / total, 0.0)
        return np.bincount(self.hosts, weights=time, minlength=N_HOSTS)


@pytest.mark.parametrize("special", [False, True])
def test_every_interval_holds_the_truth(rng: np.random.Generator, special: bool) -> None:
    n_intervals = n_wrong = 0
    for k in range(7):
        case = Case(rng, special=special)
        truth = case.truth()
        for gap in case.gaps(case.walked(f"seed {k}", 400)):
            true = truth[int(gap.name[1:])]
            assert gap.lower <= gap.share <= gap.upper
            n_wrong += not gap.lower - 1e-9 <= true <= gap.upper + 1e-9
            n_intervals += 1
    assert n_intervals > 40
    assert n_wrong <= 1  # of more than 40, each wrong with a chance of 0.001


@pytest.mark.parametrize("special", [False, True])
def test_the_shares_are_right_in_the_mean(rng: np.random.Generator, special: bool) -> None:
    case = Case(rng, special=special)
    n_runs, found = 30, np.zeros((30, N_HOSTS))
    for k in range(n_runs):
        for gap in case.gaps(case.walked(f"run {k}", 128)):
            found[k, int(gap.name[1:])] = gap.share
    errors = np.abs(found.mean(axis=0) - case.truth())
    assert (errors <= 5 * found.std(axis=0) / np.sqrt(n_runs) + 1e-3).all(), errors


def test_all_groups_sum_to_the_missing_coverage(rng: np.random.Generator) -> None:
    case = Case(rng)
    survey = case.walked("x", 300)
    gaps = case.gaps(survey)
    assert sum(gap.share for gap in gaps) == pytest.approx(1.0 - survey.measured().estimate, abs=1e-9)
    assert sum(gap.n_walks for gap in gaps) <= survey.n_counted
    shares = [gap.share for gap in gaps]
    assert shares == sorted(shares, reverse=True)
    for gap in gaps:
        assert f"h{case.hosts[gap.page]}" == gap.name
        assert not case.fetched[gap.page]
        ended_there = {page for page in last_pages(survey).tolist() if f"h{case.hosts[page]}" == gap.name}
        could_start = {page for page in ended_there if len(case.web.links(page))}
        assert gap.page in (could_start or ended_there), "a page to start from, if there is any"


def test_the_largest_gap_is_found_on_a_large_web() -> None:
    web = synthetic_web(3000, mean_degree=8.0, rng=3)
    assert web.hosts is not None
    rank = ori.pagerank(web, tolerance=1e-10)
    away = np.argsort(-np.bincount(web.hosts, weights=rank))[1]
    coverage, links = Coverage(np.full(web.n_pages, 1 / web.n_pages), DAMPING), LinkRows.of(web)
    coverage.fetch(np.flatnonzero(web.hosts != away).astype(np.uint32), links)
    walks = FixedWalks(FixedSurvey(coverage, links, "seed"), SurveyGoal(half_width=0.02), 16)
    while walks.stopped_because is None:
        for page, _ in walks.advance(links):
            walks.record_page(page, True, links)
    (gap,) = largest_gaps(walks.survey, [str(web.hosts[page]) for page in last_pages(walks.survey)], 3)
    assert gap.name == str(away)
    assert gap.lower <= rank[web.hosts == away].sum() <= gap.upper


def test_where_nothing_was_walked_there_are_no_gaps(rng: np.random.Generator) -> None:
    assert largest_gaps(Case(rng).survey("x"), [], 5) == []
    case = Case(rng)
    survey = case.walked("x", 32)
    assert largest_gaps(survey, ["all"] * survey.n_counted, 0) == []
