"""Focused policies that are trained on other sites before the crawl: the apprentice (Rennie & McCallum, ICML 1999) and
context graphs (Diligenti and others, VLDB 2000); and their model files.

The model is multinomial naive Bayes over hashed words, for a few classes: counts of words by class, stored as arrays in
a model file (see `orienteer.model_file`).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from orienteer.arrays import grown
from orienteer.errors import InputError, unknown_name
from orienteer.extract.tokens import N_BUCKETS
from orienteer.graph.growing_graph import GrowingGraph
from orienteer.graph.link_graph import LinkGraph
from orienteer.graph.reach import distances
from orienteer.model_file import Arrays, checked_array, expect_kind, expect_settings, read_arrays, write_arrays
from orienteer.policies import all_policies
from orienteer.policies.batches import BATCH, GROWTH, BatchedPolicy
from orienteer.policies.focused import AboutPage, LabelledWeb
from orienteer.policies.policy import POLICIES, Priorities, TrustedPages, policy

_SMOOTHING = 0.1
_WORDS, _TEXTS = "words", "texts"
RELEVANT = 0.5  # the default threshold: a page of at least this relevance is a target
_THRESHOLD = "threshold"
FORMAT = 1
_MOST_CLASSES = 128
_MOST_BYTES = 8 * _MOST_CLASSES * N_BUCKETS
_WORTHS = "worths"
_BINS = np.array([0.0, 0.1, 0.4, 0.9])  # the least worth in each class of links


class WordClasses:
    """Counts of words by class, in arrays."""

    def __init__(self, n_classes: int) -> None:
        self._words: NDArray[np.float64] = np.zeros((n_classes, N_BUCKETS))
        self._n_words: NDArray[np.float64] = np.zeros(n_classes)
        self._texts: NDArray[np.float64] = np.zeros(n_classes)

    @classmethod
    def of_counts(cls, n_classes: int, counts: Arrays) -> WordClasses:
        """Create it from the arrays of `counts`; an InputError if they do not fit the number of classes."""
        made = cls(n_classes)
        made._words = checked_array(counts, _WORDS, (n_classes, N_BUCKETS)).astype(np.float64)
        made._texts = checked_array(counts, _TEXTS, (n_classes,)).astype(np.float64)
        if (made._words < 0).any() or (made._texts < 0).any():
            raise InputError(f"{_WORDS} or {_TEXTS} have negative numbers")
        made._n_words = made._words.sum(axis=1)
        return made

    def counts(self) -> Arrays:
        """Return the counts as arrays."""
        return {_WORDS: self._words, _TEXTS: self._texts}

    @property
    def is_trained(self) -> bool:
        return bool(self._texts.any())

    def add(self, kinds: NDArray[np.int64], offsets: NDArray[np.int64], words: NDArray[np.uint32]) -> None:
        """Add texts of these classes; text k has `words[offsets[k]:offsets[k+1]]`."""
        lengths = np.diff(offsets)
        np.add.at(self._words, (np.repeat(kinds, lengths), words), 1.0)
        np.add.at(self._n_words, kinds, lengths)
        np.add.at(self._texts, kinds, 1.0)

    def chances(self, offsets: NDArray[np.int64], words: NDArray[np.uint32]) -> NDArray[np.float64]:
        """Return the probability of each class (columns) for each text (rows), by its words.

        Invariant: equal words give equal numbers to the last bit, whatever other texts are in the batch, so that ties
        stay ties.
        """
        totals = self._n_words[:, None] + _SMOOTHING * N_BUCKETS
        likelihoods = np.log((self._words[:, words] + _SMOOTHING) / totals)
        lengths = np.diff(offsets)
        texts = np.repeat(np.arange(len(lengths)), lengths)
        sums = np.stack([np.bincount(texts, by_class, len(lengths)) for by_class in likelihoods], axis=1)
        prior = np.log((self._texts + _SMOOTHING) / (self._texts + _SMOOTHING).sum())
        logs = sums + prior
        chances = np.exp(logs - logs.max(axis=1, keepdims=True))
        return np.asarray(chances / chances.sum(axis=1, keepdims=True))


class TrainedPolicy(BatchedPolicy):
    """Base of the policies that are trained on other sites; untrained, they are breadth-first.

    `model` is the path of the model file. The policy itself does not open it: `make_policy` reads the file and calls
    `load_learned`. `learns_with` are the settings that affect training.
    """

    learns_with: ClassVar[tuple[str, ...]]

    def __init__(self, n_classes: int, batch: int, growth: float, model: str) -> None:
        super().__init__(batch, growth)
        self.model = str(model)
        self.threshold = RELEVANT
        self._n_classes = n_classes
        self._classes = WordClasses(n_classes)

    @property
    def is_trained(self) -> bool:
        return self._classes.is_trained

    @abstractmethod
    def train(
        self, sites: Sequence[LabelledWeb], starts: Sequence[ArrayLike] = (), threshold: float = RELEVANT
    ) -> None:
        """Train on sites whose relevance and text are known; this replaces everything learned before.

        Pages of at least the threshold are targets. Each site has one or several start pages, by default the page with
        the most links.
        """

    def learned(self) -> Arrays:
        """Return the model as arrays."""
        return {_THRESHOLD: np.array([self.threshold]), **self._classes.counts()}

    def load_learned(self, learned: Arrays) -> None:
        """Load the model of a policy with the same settings; an InputError if the arrays do not fit."""
        threshold = checked_array(learned, _THRESHOLD, (1,))
        self._classes = WordClasses.of_counts(self._n_classes, learned)
        self.threshold = float(threshold[0])

    def _begin_training(self, threshold: float) -> None:
        self._classes = WordClasses(self._n_classes)
        self.threshold = threshold

    def _targets(self, site: LabelledWeb) -> NDArray[np.bool_]:
        """Return the targets of a training site; an InputError if it has no text or no targets."""
        targets = None if site.relevance is None else site.relevance >= self.threshold
        if targets is None or site.text is None or not targets.any():
            raise InputError(f"{self.name}: a training site needs text, and at least one relevant page")
        return targets


def trained_policies() -> dict[str, type[TrainedPolicy]]:
    """Return the policies that are trained on other sites, by name."""
    return {name: kind for name, kind in all_policies().items() if issubclass(kind, TrainedPolicy)}


def write_model(path: Path, policy: TrainedPolicy) -> None:
    """Write the model of a policy; equal models give equal bytes."""
    settings = {name: getattr(policy, name) for name in policy.learns_with}
    write_arrays(path, FORMAT, policy.name, settings, policy.learned())


def trained_policy(path: Path, name: str | None = None, settings: Mapping[str, Any] | None = None) -> TrainedPolicy:
    """Read a trained policy from a model file; every fault of the file is an InputError of one line.

    If a name is given, the policy must have it. Settings that affect training must be those of the training.
    """
    model = read_arrays(path, FORMAT, "policy", _MOST_BYTES)
    kinds = trained_policies()
    if name is not None:
        expect_kind(path, model, name)
    elif model.kind not in kinds:
        raise InputError(f"{path}: {unknown_name('policy that is trained', model.kind, kinds)}")
    kind = kinds[model.kind]
    given = dict(settings or {})
    expect_settings(path, model, {key: given[key] for key in kind.learns_with if key in given})
    try:
        known = {key: model.settings[key] for key in kind.learns_with if key in model.settings}
        policy = POLICIES.make(kind.name, known | given)
        assert isinstance(policy, TrainedPolicy)
        policy.load_learned(model.arrays)
    except InputError as error:
        raise InputError(f"{path}: the model is corrupt ({error})") from None
    if not policy.is_trained:
        raise InputError(f"{path}: the model is not trained")
    return policy


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
