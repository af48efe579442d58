"""Scent: hubs whose links led to relevant pages, and words of links to relevant pages (ours)."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from orienteer.arrays import grown
from orienteer.errors import InputError
from orienteer.graph.growing_graph import GrowingGraph
from orienteer.graph.hub_values import mean_over_sources, settle_hub_values
from orienteer.policies.batches import BATCH, GROWTH, BatchedPolicy
from orienteer.policies.first_target import search_scores
from orienteer.policies.focused import AboutPage
from orienteer.policies.link_bayes import LinkBayes
from orienteer.policies.policy import Priorities, TrustedPages, policy

_FIRST_TARGET = 0.5  # total relevance found from which on hub values are meaningful
_SOURCE_SHARE = 0.1  # the bonus of a link from a relevant page, in addition to the page's hub value
_LEAST = 1e-9
_UNSCORED = -np.inf


@policy
class Scent(BatchedPolicy):
    """Follow the hubs that have led to relevant pages, and away from those that have led to others.

    The prior of a page is the mean hub value (`graph/hub_values`) of the pages that link to it, with a bonus for
    relevant ones: the probability that it is relevant, before its words are read. The words of the links to it are
    evidence for or against it (`link_bayes`), once `gate` relevant pages are known: before that, words that occur by
    chance would mislead. No training site is needed.

    Until the first relevant page is found, the search is breadth-first with `excursions` to targets of hubs that have
    been tried least (`first_target`): they delay a page by at most (e/2) ln(1 + t/e) pages in t.
    """

    name: ClassVar[str] = "scent"
    reads_links: ClassVar[bool] = True

    def __init__(self, excursions: float = 40.0, gate: float = 3.0, batch: int = BATCH, growth: float = GROWTH) -> None:
        super().__init__(batch, growth)
        if not gate >= 0:
            raise InputError(f"gate is {gate}; it must be a number of relevant pages, 0 or more")
        if not 0 <= excursions < 1e9:
            raise InputError(f"excursions is {excursions}; it must be a number of pages, 0 (none) or more")
        self.gate = float(gate)
        self.excursions = float(excursions)

    def begin(self, web: GrowingGraph, trusted: TrustedPages) -> Priorities:
        n = max(web.n_pages, 1024)
        self._hub = np.zeros(n)
        self._seeds = trusted.pages
        self._expected = np.full(n, _UNSCORED)  # the log odds of a page's relevance, without the words
        self._bayes = LinkBayes()
        return super().begin(web, trusted)

    def learn(self, page: int, about: AboutPage, web: GrowingGraph) -> None:
        super().learn(page, about, web)
        if page < len(self._expected) and self._expected[page] > _UNSCORED:
            self._bayes.add_trial(page, float(self._expected[page]), about.relevance)
        self._bayes.judge(page, about.relevance)
        self._bayes.add_links(about.link_words, web.n_pages)

    def scores(self, web: GrowingGraph) -> NDArray[np.float64] | None:
        n = web.n_pages
        links = self.known_links(web)
        if self._total_relevance < _FIRST_TARGET:
            done, judged = self._is_done[:n], self._is_judged[:n]
            return search_scores(links, self._seeds, done, judged, self._n_fetched, self.excursions)
        self._hub = grown(self._hub, n)
        hub, relevance = self._hub[:n], self._relevance[:n]
        settle_hub_values(links, relevance, self._is_judged[:n], self._total_relevance / self._n_judged, hub)
        chance = np.clip(mean_over_sources(links, hub + _SOURCE_SHARE * relevance), _LEAST, 1 - _LEAST)
        self._expected = np.log(chance / (1 - chance))
        weight = self._bayes.weight() if self._total_relevance >= self.gate else 0.0
        if weight == 0:
            return self._expected
        scores = self._expected.copy()
        waiting = np.flatnonzero((self._found[:n] > 0) & ~self._is_done[:n])
        scores[waiting] += weight * self._bayes.log_odds(waiting)
        return scores
