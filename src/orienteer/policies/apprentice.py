"""The apprentice (Rennie & McCallum, ICML 1999): what following a link like this was worth on other sites."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from orienteer.errors import InputError
from orienteer.graph.growing_graph import GrowingGraph, grown
from orienteer.policies.batches import BATCH, GROWTH, BatchedPolicy
from orienteer.policies.focused import AboutPage, LabelledWeb
from orienteer.policies.policy import Priorities, TrustedPages, policy
from orienteer.policies.word_classes import WordClasses

_RELEVANT = 0.5
_BINS = np.array([0.0, 0.1, 0.4, 0.9])  # the least worth in each class of links


@policy
class Apprentice(BatchedPolicy):
    """Reinforcement learning: the worth of a link is foretold from its words, as learned on training sites (`train`).

    On a training site each target gives 1 to itself and `discount` to the power of the distance to the pages on the
    shortest path to it from the site's start; a page's worth is the sum. Links fall into classes by the worth of what
    they lead to; naive Bayes tells the class from the words of anchor and URL, and the expected worth is the priority,
    of several links to a page the best. Without training, and where links have no words, it is breadth-first.
    """

    name: ClassVar[str] = "apprentice"
    reads_links: ClassVar[bool] = True

    def __init__(self, discount: float = 0.5, batch: int = BATCH, growth: float = GROWTH) -> None:
        super().__init__(batch, growth)
        if not 0 <= discount < 1:
            raise InputError(f"discount is {discount}; it must be at least 0 and below 1")
        self.discount = float(discount)
        self._classes = WordClasses(len(_BINS))
        self._worths = np.zeros(len(_BINS))

    def train(self, sites: Sequence[LabelledWeb], starts: Sequence[int] = ()) -> None:
        """Learn from sites whose relevance and text are known; each has a start page, the most linking one if none."""
        self._classes, self._worths = WordClasses(len(_BINS)), np.zeros(len(_BINS))
        counts = np.zeros(len(_BINS))
        for k, site in enumerate(sites):
            if site.relevance is None or site.text is None or not (site.relevance >= _RELEVANT).any():
                raise InputError("apprentice: a training site needs text, and at least one relevant page")
            start = starts[k] if k < len(starts) else int(np.argmax(site.graph.out_degrees()))
            worth = path_credit(site, start, self.discount)
            for page in range(site.graph.n_pages):
                about = site.about(page)
                assert about is not None
                targets, offsets, words = about.link_words
                bins = np.searchsorted(_BINS, worth[targets], side="right") - 1
                np.add.at(self._worths, bins, worth[targets])
                np.add.at(counts, bins, 1)
                self._classes.add(bins, offsets, words)
        self._worths /= np.maximum(counts, 1)

    def begin(self, web: GrowingGraph, trusted: TrustedPages) -> Priorities:
        self._worth = np.zeros(max(web.n_pages, 1024))
        self._has_words = False
        return super().begin(web, trusted)

    def learn(self, page: int, about: AboutPage, web: GrowingGraph) -> None:
        super().learn(page, about, web)
        self._worth = grown(self._worth, web.n_pages)
        targets, offsets, words = about.link_words
        if self._classes.is_trained and len(words):
            self._has_words = True
            foretold = np.where(np.diff(offsets) > 0, self._classes.chances(offsets, words) @ self._worths, 0.0)
            np.maximum.at(self._worth, targets, foretold)

    def scores(self, web: GrowingGraph) -> NDArray[np.float64] | None:
        self._worth = grown(self._worth, web.n_pages)
        return self._worth[: web.n_pages] if self._has_words else None


def path_credit(site: LabelledWeb, start: int, discount: float) -> NDArray[np.float64]:
    """For each page the sum of discount^distance over the targets whose shortest path from the start it is on."""
    graph = site.graph
    assert site.relevance is not None
    source = np.full(graph.n_pages, -1)  # the page that each was found from, breadth-first
    source[start] = start
    order = [start]
    for page in order:
        links = graph.links(page)
        new = links[source[links] < 0]
        source[new] = page
        order.extend(new.tolist())
    credit = np.where((site.relevance >= _RELEVANT) & (source >= 0), 1.0, 0.0)
    for page in reversed(order):
        if page != start:
            credit[source[page]] += discount * credit[page]
    return credit
