"""Topics that learn from examples: a weight for each bucket of words, and a prior.

The log-odds of a page are a sum over its words, so scoring is the product of a sparse matrix and a vector for all
methods of learning; n = log(1 + count).

Multinomial naive Bayes:

    log-odds of a page = log prior odds + sum over words of n(word) * log(P(word | on) / P(word | off))
    P(word | c) = (occurrences in c + smoothing) / (all occurrences in c + smoothing * buckets)

Learning page by page gives the same result as learning from all pages at once, since only occurrences are added up. The
model assumes that the words of a page are independent, which they are not, so most relevances are close to 0 or 1.

Logistic regression, by stochastic gradient descent, with n scaled to length 1:

    log-odds of a page = bias + sum over words of weight(word) * n(word)

The weights of words are fitted jointly, so with some hundred examples relevances are better calibrated, and pages are
ranked better.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from orienteer.errors import InputError, MissingExtraError
from orienteer.model_file import Arrays, checked_array
from orienteer.topics.topic import PageContent, Topic, checked_labels, sigmoid, topic
from orienteer.topics.words import DEFAULT_BUCKETS, checked_buckets, word_counts

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_COUNTS = "n_examples"
_OCCURRENCES = "occurrences"
_CLASSES = (False, True)
_WEIGHTS, _BIAS, _STEPS = "weights", "bias", "steps"


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


@topic
class Bayes(LearningTopic):
    """Naive Bayes over word counts of pages on topic and off topic (McCallum & Nigam 1998)."""

    name = "bayes"

    def __init__(self, smoothing: float = 0.01, prior: float = 0.0, buckets: int = DEFAULT_BUCKETS) -> None:
        super().__init__(prior, buckets)
        if not (smoothing > 0 and math.isfinite(smoothing)):
            raise InputError(f"smoothing is {smoothing}; it must be above 0")
        self.smoothing = float(smoothing)
        self._estimator = self._new_estimator()

    @property
    def n_words(self) -> int:
        return int(self._estimator.feature_count_.any(axis=0).sum())

    def _new_estimator(self) -> Any:
        from sklearn.naive_bayes import MultinomialNB

        return MultinomialNB(alpha=self.smoothing)

    def _partial_fit(self, features: csr_array, labels: NDArray[np.bool_], n_passes: int) -> None:
        self._estimator.partial_fit(features, labels, classes=_CLASSES)

    def _word_weights(self) -> NDArray[np.float64]:
        off, on = self._estimator.feature_log_prob_
        return np.asarray(on - off)

    def _bias(self) -> float:
        return self._prior_odds()

    def _parameters(self) -> Arrays:
        return {_OCCURRENCES: self._estimator.feature_count_}

    def _set_parameters(self, learned: Arrays, shape: tuple[int, int]) -> None:
        occurrences = checked_array(learned, _OCCURRENCES, shape)
        if (occurrences < 0).any():
            raise InputError(f"{_OCCURRENCES} holds numbers below 0")
        from scipy.sparse import csr_array

        # Fitting two pages, one of each class, with all the words of the examples restores the counts.
        self._estimator = self._new_estimator()
        self._estimator.partial_fit(csr_array(occurrences), _CLASSES, classes=_CLASSES)


@topic
class Linear(LearningTopic):
    """Logistic regression; `penalty` is the L2 regularization, `passes` is the number of training epochs."""

    name = "linear"

    def __init__(
        self, penalty: float = 1e-5, passes: int = 20, prior: float = 0.0, buckets: int = DEFAULT_BUCKETS
    ) -> None:
        super().__init__(prior, buckets)
        if not (penalty > 0 and math.isfinite(penalty)):
            raise InputError(f"penalty is {penalty}; it must be above 0")
        if passes < 1:
            raise InputError(f"passes is {passes}; it must be 1 or more")
        self.penalty, self.passes = float(penalty), passes
        self._estimator = self._new_estimator()

    @property
    def n_words(self) -> int:
        return int(np.count_nonzero(self._estimator.coef_))

    def train(self, pages: Sequence[PageContent], is_on_topic: ArrayLike) -> None:
        self._learn(pages, is_on_topic, self.passes)

    def _new_estimator(self) -> Any:
        from sklearn.linear_model import SGDClassifier

        # A fixed seed for shuffling makes training deterministic.
        return SGDClassifier(loss="log_loss", alpha=self.penalty, random_state=0)

    def _features(self, pages: Sequence[PageContent]) -> csr_array:
        features = super()._features(pages)
        rows = np.repeat(np.arange(len(pages)), np.diff(features.indptr))
        lengths = np.sqrt(np.bincount(rows, features.data**2, len(pages)))
        features.data /= lengths[rows]
        return features

    def _partial_fit(self, features: csr_array, labels: NDArray[np.bool_], n_passes: int) -> None:
        for _ in range(n_passes):
            self._estimator.partial_fit(features, labels, classes=_CLASSES)

    def _word_weights(self) -> NDArray[np.float64]:
        return np.asarray(self._estimator.coef_[0], np.float64)

    def _bias(self) -> float:
        """Return the intercept, corrected from the share of pages on topic among the examples to the prior."""
        return float(self._estimator.intercept_[0]) + self._prior_odds() - self._example_odds()

    def _parameters(self) -> Arrays:
        estimator = self._estimator
        return {_WEIGHTS: estimator.coef_, _BIAS: estimator.intercept_, _STEPS: np.array([estimator.t_])}

    def _set_parameters(self, learned: Arrays, shape: tuple[int, int]) -> None:
        from scipy.sparse import csr_array

        weights = checked_array(learned, _WEIGHTS, (1, shape[1]))
        bias, steps = checked_array(learned, _BIAS, (1,)), checked_array(learned, _STEPS, (1,))
        self._estimator = self._new_estimator()
        # The estimator allocates its weights in the first fit.
        self._estimator.partial_fit(csr_array((1, shape[1])), [False], classes=_CLASSES)
        self._estimator.coef_, self._estimator.intercept_ = weights.astype(np.float64), bias.astype(np.float64)
        self._estimator.t_ = float(steps[0])
