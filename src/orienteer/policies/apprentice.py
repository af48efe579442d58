"""The apprentice (Rennie & McCallum, ICML 1999): predict the worth of a link from similar links on training sites."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from orienteer.arrays import grown
from orienteer.errors import InputError
from orienteer.graph.growing_graph import GrowingGraph
from orienteer.graph.link_graph import LinkGraph
from orienteer.model_file import Arrays, checked_array
from orienteer.policies.batches import BATCH, GROWTH
from orienteer.policies.focused import AboutPage, LabelledWeb
from orienteer.policies.policy import Priorities, TrustedPages, policy
from orienteer.policies.trained import RELEVANT, TrainedPolicy

_WORTHS = "worths"
_BINS = np.array([0.0, 0.1, 0.4, 0.9])  # the least worth in each class of links


@policy
class Apprentice(TrainedPolicy):
    """Reinforcement learning: the worth of a link is predicted from its words, as learned on training sites (`train`).

    On a training site each target gives credit 1 to itself and `discount` to the power of the distance to the pages on
    the shortest path to it from the site's start; a page's worth is the sum. Links are classified by the worth of their
    targets. Naive Bayes predicts the class from the words of anchor and URL; the priority of a page is the highest
    expected worth of the links to it. Without training, or without words, it is breadth-first.
    """

    name: ClassVar[str] = "apprentice"
    reads_links: ClassVar[bool] = True

    learns_with: ClassVar[tuple[str, ...]] = ("discount",)

    def __init__(self, discount: float = 0.5, batch: int = BATCH, growth: float = GROWTH, model: str = "") -> None:
        super().__init__(len(_BINS), batch, growth, model)
        if not 0 <= discount < 1:
            raise InputError(f"discount is {discount}; it must be at least 0 and below 1")
        self.discount = float(discount)
        self._worths = np.zeros(len(_BINS))

    def train(
        self, sites: Sequence[LabelledWeb], starts: Sequence[ArrayLike] = (), threshold: float = RELEVANT
    ) -> None:
        self._begin_training(threshold)
        self._worths = np.zeros(len(_BINS))
        counts = np.zeros(len(_BINS))
        for k, site in enumerate(sites):
            start = starts[k] if k < len(starts) else int(np.argmax(site.graph.out_degrees()))
            worth = path_credit(site.graph, self._targets(site), start, self.discount)
            for page in range(site.graph.n_pages):
                about = site.about(page)
                if about is None:
                    continue
                targets, offsets, words = about.link_words
                bins = np.searchsorted(_BINS, worth[targets], side="right") - 1
                np.add.at(self._worths, bins, worth[targets])
                np.add.at(counts, bins, 1)
                self._classes.add(bins, offsets, words)
        self._worths /= np.maximum(counts, 1)

    def learned(self) -> Arrays:
        return {_WORTHS: self._worths, **super().learned()}

    def load_learned(self, learned: Arrays) -> None:
        worths = checked_array(learned, _WORTHS, (len(_BINS),))
        super().load_learned(learned)
        self._worths = worths.astype(np.float64)

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
            expected = (self._classes.chances(offsets, words) * self._worths).sum(axis=1)
            expected_worth = np.where(np.diff(offsets) > 0, expected, 0.0)
            np.maximum.at(self._worth, targets, expected_worth)

    def scores(self, web: GrowingGraph) -> NDArray[np.float64] | None:
        self._worth = grown(self._worth, web.n_pages)
        return self._worth[: web.n_pages] if self._has_words else None


def path_credit(graph: LinkGraph, targets: NDArray[np.bool_], start: ArrayLike, discount: float) -> NDArray[np.float64]:
    """Return for each page the sum of discount^distance over the targets whose shortest path it is on.

    Paths are from the start, a page or several of them, to the targets.
    """
    source = np.full(graph.n_pages, -1)  # the parent of each page in the breadth-first tree
    order = np.atleast_1d(np.asarray(start, np.int64)).tolist()
    source[order] = order
    n_starts = len(order)
    for page in order:
        links = graph.links(page)
        new = links[source[links] < 0]
        source[new] = page
        order.extend(new.tolist())
    credit = np.where(targets & (source >= 0), 1.0, 0.0)
    for page in reversed(order[n_starts:]):
        credit[source[page]] += discount * credit[page]
    return credit
