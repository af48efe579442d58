"""The base of focused policies that are trained on other sites before the crawl.

A model is counts of words by class (`word_classes`), stored as arrays in a model file (`model_file`).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from orienteer.errors import InputError
from orienteer.model_file import Arrays, checked_array
from orienteer.policies.batches import BatchedPolicy
from orienteer.policies.focused import LabelledWeb
from orienteer.policies.word_classes import WordClasses

RELEVANT = 0.5  # the default threshold: a page of at least this relevance is a target
_THRESHOLD = "threshold"


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
