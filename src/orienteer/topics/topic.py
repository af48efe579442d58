"""What a topic is: something that says of pages how likely they are on topic.

    relevance(pages)             P(on topic) of each page, in [0, 1]
    learn(pages, is_on_topic)    these pages were looked at: what it knows grows, now or while a crawl runs

Pages are scored many at a time, which is several times as fast as one by one and gives the same numbers. A topic is
pure: pages in, numbers out, the same for the same pages whenever they are asked for.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from orienteer.errors import InputError
from orienteer.model_file import Arrays
from orienteer.registry import ClassRegistry

if TYPE_CHECKING:
    from orienteer.extract.page import Page


class PageContent(NamedTuple):
    """What a topic sees of a page."""

    url: str
    title: str
    text: str
    headings: Sequence[str] = ()

    @classmethod
    def of(cls, url: str, page: Page) -> PageContent:
        return cls(url, page.title, page.text, page.headings)


class Topic(ABC):
    """Base of all topics; keyword arguments of `__init__` are the settings.

    One that `needs_training` is asked for relevance only when it `is_trained`. What it has learned are arrays, which
    another one with the same settings takes over; `file_settings` are settings that name a file. One that does not read
    the text of pages can tell of pages that nobody has fetched.
    """

    name: ClassVar[str]
    needs_training: ClassVar[bool] = False
    reads_text: ClassVar[bool] = True  # and not their URLs alone
    file_settings: ClassVar[tuple[str, ...]] = ()

    threshold: float = 0.5  # a page of at least this relevance counts as on topic

    @property
    def is_trained(self) -> bool:
        return not self.needs_training

    @abstractmethod
    def relevance(self, pages: Sequence[PageContent]) -> NDArray[np.float64]:
        """P(on topic) of each page."""

    def train(self, pages: Sequence[PageContent], is_on_topic: ArrayLike) -> None:
        """Learn from all the examples there are; it may look at them several times."""
        self.learn(pages, is_on_topic)

    def learn(self, pages: Sequence[PageContent], is_on_topic: ArrayLike) -> None:
        """Learn from some more pages, which are looked at once."""
        raise InputError(f"topic {self.name}: it does not learn from examples")

    def learned(self) -> Arrays:
        """All that was learned."""
        return {}

    def take_over(self, learned: Arrays) -> None:
        """Know what another topic with the same settings has learned; an InputError where it cannot be that."""
        if learned:
            raise InputError(f"topic {self.name}: it does not learn from examples")


TOPICS: ClassRegistry[Topic] = ClassRegistry(
    "kind of topic", Topic, package="orienteer.topics", group="orienteer.topics"
)
topic = TOPICS.register  # the decorator that registers a kind of topic under its name


def checked_labels(n_pages: int, is_on_topic: ArrayLike) -> NDArray[np.bool_]:
    """One truth value a page."""
    labels = np.asarray(is_on_topic)
    if labels.shape != (n_pages,):
        raise InputError(f"is_on_topic: {labels.size:,} values for {n_pages:,} pages")
    if labels.dtype.kind not in "buif" or not ((labels == 0) | (labels == 1)).all():
        raise InputError("is_on_topic: a page is on topic or not, true or false")
    return labels.astype(np.bool_)


def squashed(log_odds: NDArray[np.float64]) -> NDArray[np.float64]:
    """Log-odds as probabilities; however large they are, nothing overflows."""
    with np.errstate(over="ignore"):
        return np.asarray(1 / (1 + np.exp(-log_odds)))
