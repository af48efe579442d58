"""Focused policies that learn on other sites beforehand: what they share.

What they learn are counts of words by class (`word_classes`), which are kept as arrays in a model file (`model_file`).
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

RELEVANT = 0.5  # a page of at least this relevance is a target, where training did not say otherwise
_THRESHOLD = "threshold"


class TrainedPolicy(BatchedPolicy):
    """Base of the policies that learn on other sites. Without that they are breadth-first.

    `model` names the file with what was learned. The policy itself opens none: `make_policy` has it take over what is
    in there. `learns_with` are the settings on which depends what is learned.
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
        """Learn from sites whose relevance and text are known, and nothing else: what was known before is forgotten.

        Pages of at least the threshold are targets. Each site has a start page, or several: the page with the most
        links if none is named.
        """

    def learned(self) -> Arrays:
        """All that was learned."""
        return {_THRESHOLD: np.array([self.threshold]), **self._classes.counts()}

    def take_over(self, learned: Arrays) -> None:
        """Know what another policy with the same settings has learned; an InputError where it cannot be that."""
        threshold = checked_array(learned, _THRESHOLD, (1,))
        self._classes = WordClasses.of_counts(self._n_classes, learned)
        self.threshold = float(threshold[0])

    def _begin_training(self, threshold: float) -> None:
        self._classes = WordClasses(self._n_classes)
        self.threshold = threshold

    def _targets(self, site: LabelledWeb) -> NDArray[np.bool_]:
        """The targets of a training site, and a check that it is one."""
        targets = None if site.relevance is None else site.relevance >= self.threshold
        if targets is None or site.text is None or not targets.any():
            raise InputError(f"{self.name}: a training site needs text, and at least one relevant page")
        return targets
