"""Context graphs (Diligenti and others, VLDB 2000): estimate how many links a page is away from a target."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from orienteer.arrays import grown
from orienteer.errors import InputError
from orienteer.graph.growing_graph import GrowingGraph
from orienteer.graph.reach import distances
from orienteer.policies.batches import BATCH, GROWTH
from orienteer.policies.focused import AboutPage, LabelledWeb
from orienteer.policies.policy import Priorities, TrustedPages, policy
from orienteer.policies.trained import RELEVANT, TrainedPolicy


@policy
class ContextGraph(TrainedPolicy):
    """Fetch the targets of pages in the lowest layer: layer k has the pages that are k links away from a target.

    A classifier over the words of pages, trained on other sites (`train`), estimates the probability that a page is in
    each of the layers 0 to `layers`, or further away. A page is queued by the lowest layer of a page that links to it.
    Without training, or without words, it is breadth-first.
    """

    name: ClassVar[str] = "context-graph"
    reads_pages: ClassVar[bool] = True
    learns_with: ClassVar[tuple[str, ...]] = ("layers",)

    def __init__(self, layers: int = 5, batch: int = BATCH, growth: float = GROWTH, model: str = "") -> None:
        if not 1 <= layers <= 100:
            raise InputError(f"layers is {layers}; it must be from 1 to 100 (the paper has 5)")
        self.layers = int(layers)
        super().__init__(self.layers + 2, batch, growth, model)

    def train(
        self, sites: Sequence[LabelledWeb], starts: Sequence[ArrayLike] = (), threshold: float = RELEVANT
    ) -> None:
        """Train the classifier of layers; start pages are ignored."""
        self._begin_training(threshold)
        for site in sites:
            to_target = distances(site.graph.reverse(), np.flatnonzero(self._targets(site)))
            layer = np.where((to_target < 0) | (to_target > self.layers), self.layers + 1, to_target)
            assert site.text is not None
            self._classes.add(layer.astype(np.int64), site.text.offsets, site.text.words)

    def begin(self, web: GrowingGraph, trusted: TrustedPages) -> Priorities:
        self._nearness = np.zeros(max(web.n_pages, 1024))
        self._has_words = False
        return super().begin(web, trusted)

    def learn(self, page: int, about: AboutPage, web: GrowingGraph) -> None:
        super().learn(page, about, web)
        self._nearness = grown(self._nearness, web.n_pages)
        if not self._classes.is_trained or len(about.words) == 0:
            return
        self._has_words = True
        chances = self._classes.chances(np.array([0, len(about.words)]), about.words)
        layer = 0 if about.relevance >= self.threshold else int(np.argmax(chances))
        links = web.links(page)
        self._nearness[links] = np.maximum(self._nearness[links], self.layers + 1 - layer)

    def scores(self, web: GrowingGraph) -> NDArray[np.float64] | None:
        self._nearness = grown(self._nearness, web.n_pages)
        return self._nearness[: web.n_pages] if self._has_words else None
