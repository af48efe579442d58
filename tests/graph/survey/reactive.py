"""A server that tries to recognise the pages of a survey's walks, and answers these falsely.

It knows the program, the start pages, and all its answers so far, so it knows which page the policy values most at
every moment. A page is requested *out of order* if a page of higher priority waits. What it does not know is the seed.
It answers falsely with the links that lead to fetched pages only: a walk there ends as soon as a walk can.

The truth is the web as it was seen: fetched pages have the links that they were answered with, and all others those
that an ordinary visitor gets. There the proof is always right, whatever the server does.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from orienteer.crawl.crawl import Crawl
from orienteer.crawl.goal import Goal
from orienteer.graph.link_graph import LinkGraph
from orienteer.graph.pagerank import pagerank
from orienteer.graph.survey.crawl_survey import SurveyStart
from orienteer.pages.stop_reason import StopReason
from orienteer.policies import make_policy
from orienteer.policies.policy import TrustedPages


@dataclass(frozen=True)
class Outcome:
    """How a measured crawl of a server ended; `truth` is the coverage then."""

    until: float
    is_claimed: bool
    truth: float
    n_fetched: int
    n_out_of_turn: int
    n_false: int

    @property
    def is_wrong(self) -> bool:
        return self.is_claimed and self.truth < self.until - 1e-9


def crawled(
    graph: LinkGraph, trusted: np.ndarray, start: SurveyStart, false_share: float, rng: int, waits_until: float = 0.0
) -> Outcome:
    """Crawl by `certified` until it stops; this share of the pages requested out of order is answered falsely.

    Before the coverage is `waits_until` all answers are true: the server guesses from when on walks count.
    """
    chance = np.random.default_rng(rng)
    trust = np.bincount(trusted, minlength=graph.n_pages) / len(trusted)
    true_rank, covered = pagerank(graph, trust, tolerance=1e-10), 0.0
    crawl = Crawl(make_policy("certified"), TrustedPages.of(trust), Goal(start.until, confidence=start.confidence))
    crawl.begin_survey(start)
    is_fetched = np.zeros(graph.n_pages, bool)
    false_rows: dict[int, np.ndarray] = {}
    n_out_of_turn = 0
    while (page := crawl.next()) is not None:
        links = graph.links(page)
        if _is_out_of_turn(crawl, page):
            n_out_of_turn += 1
            if covered >= waits_until and chance.random() < false_share:
                links = links[is_fetched[links]]
                links = links if len(links) else trusted[:1].astype(np.uint32)
                false_rows[page] = links
        is_fetched[page] = True
        covered += float(true_rank[page])
        crawl.fetched(page, links)
    rank = pagerank(_with_rows(graph, false_rows), trust, tolerance=1e-10)
    is_claimed = crawl.stopped_because is StopReason.MEASURED
    return Outcome(
        start.until, is_claimed, float(rank[is_fetched].sum()), len(crawl.order), n_out_of_turn, len(false_rows)
    )


def _is_out_of_turn(crawl: Crawl, page: int) -> bool:
    priorities = crawl.policy.priorities(crawl.web.n_pages)
    assert priorities is not None
    waiting = crawl.frontier.all()[0]
    return len(waiting) > 0 and float(priorities[waiting].max()) > float(priorities[page])


def _with_rows(graph: LinkGraph, rows: dict[int, np.ndarray]) -> LinkGraph:
    """The graph with other links of these pages."""
    sources = np.repeat(np.arange(graph.n_pages), graph.out_degrees())
    is_left = ~np.isin(sources, list(rows))
    more = [np.full(len(links), page) for page, links in rows.items()]
    return LinkGraph.from_links(
        graph.n_pages,
        np.concatenate([sources[is_left], *more]),
        np.concatenate([graph.targets[is_left], *rows.values()]),
    )


def web_with_a_far_part(rng: np.random.Generator, n_near: int = 100, n_far: int = 1500) -> LinkGraph:
    """Half of the near pages link into a far part, which seldom links back: what is outside leads further outside."""
    near = rng.integers(0, n_near, (n_near, 4))
    far = rng.integers(n_near, n_near + n_far, (n_far, 4))
    is_back = rng.random(far.shape) < 0.1
    far[is_back] = rng.integers(0, n_near, int(is_back.sum()))
    gates = np.flatnonzero(rng.random(n_near) < 0.5)
    sources = np.concatenate([np.repeat(np.arange(n_near + n_far), 4), gates])
    targets = np.concatenate([near.ravel(), far.ravel(), rng.integers(n_near, n_near + n_far, len(gates))])
    return LinkGraph.from_links(n_near + n_far, sources, targets)
