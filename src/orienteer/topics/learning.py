"""The base of topics that learn from examples: a weight for each bucket of words, and a prior.

The log-odds of a page are a sum over its words, so scoring is the product of a sparse matrix and a vector for all
methods of learning.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from orienteer.errors import InputError, MissingExtraError
from orienteer.model_file import Arrays, checked_array
from orienteer.topics.topic import PageContent, Topic, checked_labels, sigmoid
from orienteer.topics.words import checked_buckets, word_counts

_COUNTS = "n_examples"


class LearningTopic(Topic):
    """Base of topics that learn a weight for each bucket of words.

    `prior` is the expected share of pages on topic among the pages to score; 0: the share of the examples.
    """

    needs_training = True

    def __init__(self, prior: float, buckets: int) -> None:
        if not 0 <= prior < 1:
            raise InputError(f"prior is {prior}; it must be above 0 and below 1, or 0 for the share of the examples")
        _check_installed(self.name)
        self.prior = float(prior)
        self.n_buckets = checked_buckets(buckets)
        self.n_examples = np.zeros(2, np.int64)  # off topic, on topic
        self._weights: NDArray[np.float64] | None = None

    @property
    def is_trained(self) -> bool:
        return bool(self.n_examples.all())

    @property
    @abstractmethod
    def n_words(self) -> int:
        """The number of buckets with a word of an example: a little less than the number of words."""

    def relevance(self, pages: Sequence[PageContent]) -> NDArray[np.float64]:
        if not self.is_trained:
            raise InputError(f"topic {self.name}: it is not trained; it needs pages on topic and pages that are not")
        if self._weights is None:
            self._weights = self._word_weights()
        return sigmoid(self._features(pages) @ self._weights + self._bias())

    def learn(self, pages: Sequence[PageContent], is_on_topic: ArrayLike) -> None:
        self._learn(pages, is_on_topic, n_passes=1)

    def learned(self) -> Arrays:
        return {_COUNTS: self.n_examples, **self._parameters()} if self.n_examples.any() else {}

    def load_learned(self, learned: Arrays) -> None:
        if learned:
            shape = (2, self.n_buckets)
            counts = checked_array(learned, _COUNTS, (2,))
            self._set_parameters(learned, shape)
            self.n_examples = counts.astype(np.int64)
            self._weights = None

    def _learn(self, pages: Sequence[PageContent], is_on_topic: ArrayLike, n_passes: int) -> None:
        labels = checked_labels(len(pages), is_on_topic)
        if len(pages):
            self._partial_fit(self._features(pages), labels, n_passes)
            self.n_examples += np.bincount(labels, minlength=2)
            self._weights = None

    def _features(self, pages: Sequence[PageContent]) -> csr_array:
        """Return the word counts of pages on a logarithmic scale, since repeated words carry less information."""
        counts = word_counts(pages, self.n_buckets)
        counts.data = np.log1p(counts.data)
        return counts

    def _prior_odds(self) -> float:
        """Return the prior log-odds that a page is on topic."""
        if self.prior:
            return math.log(self.prior / (1 - self.prior))
        return self._example_odds()

    def _example_odds(self) -> float:
        return math.log(self.n_examples[1] / self.n_examples[0])

    @abstractmethod
    def _partial_fit(self, features: csr_array, labels: NDArray[np.bool_], n_passes: int) -> None:
        """Learn from these pages."""

    @abstractmethod
    def _word_weights(self) -> NDArray[np.float64]:
        """Return the log-odds that each bucket adds."""

    @abstractmethod
    def _bias(self) -> float:
        """Return the log-odds of a page without words."""

    @abstractmethod
    def _parameters(self) -> Arrays:
        """Return the learned arrays, without the number of examples."""

    @abstractmethod
    def _set_parameters(self, learned: Arrays, shape: tuple[int, int]) -> None:
        """Restore the learned arrays; InputError if they are unusable."""


def _check_installed(name: str) -> None:
    try:
        import sklearn  # noqa: F401
    except ImportError:
        raise MissingExtraError(f"topic {name}", "scikit-learn", "topics") from None
