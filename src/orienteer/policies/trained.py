"""Focused policies that are trained on other sites before the crawl, and their model files.

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

from orienteer.errors import InputError, unknown_name
from orienteer.extract.tokens import N_BUCKETS
from orienteer.model_file import Arrays, checked_array, expect_kind, expect_settings, read_arrays, write_arrays
from orienteer.policies import all_policies
from orienteer.policies.batches import BatchedPolicy
from orienteer.policies.focused import LabelledWeb
from orienteer.policies.policy import POLICIES

_SMOOTHING = 0.1
_WORDS, _TEXTS = "words", "texts"
RELEVANT = 0.5  # the default threshold: a page of at least this relevance is a target
_THRESHOLD = "threshold"
FORMAT = 1
_MOST_CLASSES = 128
_MOST_BYTES = 8 * _MOST_CLASSES * N_BUCKETS


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
