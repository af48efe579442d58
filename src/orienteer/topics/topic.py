"""The interface of topics, which estimate the relevance of pages.

    relevance(pages)             P(on topic) of each page, in [0, 1]
    learn(pages, is_on_topic)    learn from labelled pages, before or during a crawl

Pages are scored in batches, which is several times as fast as one by one and gives the same numbers. A topic is pure:
the relevance of a page depends on the page alone, until the topic learns again.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from orienteer.errors import InputError
from orienteer.model_file import Arrays
from orienteer.registry import ClassRegistry

if TYPE_CHECKING:
    from orienteer.extract.page import Page


class PageContent(NamedTuple):
    """The content of a page that topics use."""

    url: str
    title: str
    text: str
    headings: Sequence[str] = ()

    @classmethod
    def of(cls, url: str, page: Page) -> PageContent:
        return cls(url, page.title, page.text, page.headings)


class Topic(ABC):
    """Base of all topics; keyword arguments of `__init__` are the settings.

    A topic that `needs_training` scores pages only if it `is_trained`. What it has learned are arrays, which a topic
    with the same settings can load. `file_settings` are settings that name a file. A topic that does not read the text
    of pages can score pages before they are fetched.
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
        """Return P(on topic) of each page."""

    def train(self, pages: Sequence[PageContent], is_on_topic: ArrayLike) -> None:
        """Learn from all examples; implementations may make several passes."""
        self.learn(pages, is_on_topic)

    def learn(self, pages: Sequence[PageContent], is_on_topic: ArrayLike) -> None:
        """Learn from further pages in a single pass."""
        raise InputError(f"topic {self.name}: it does not learn from examples")

    def learned(self) -> Arrays:
        """Return all learned arrays."""
        return {}

    def load_learned(self, learned: Arrays) -> None:
        """Load what a topic with the same settings has learned; InputError if it is unusable."""
        if learned:
            raise InputError(f"topic {self.name}: it does not learn from examples")


TOPICS: ClassRegistry[Topic] = ClassRegistry(
    "kind of topic", Topic, package="orienteer.topics", group="orienteer.topics"
)
topic = TOPICS.register  # the decorator that registers a kind of topic under its name


def checked_labels(n_pages: int, is_on_topic: ArrayLike) -> NDArray[np.bool_]:
    """Return labels as an array with a boolean for each page."""
    labels = np.asarray(is_on_topic)
    if labels.shape != (n_pages,):
        raise InputError(f"is_on_topic: {labels.size:,} values for {n_pages:,} pages")
    if labels.dtype.kind not in "buif" or not ((labels == 0) | (labels == 1)).all():
        raise InputError("is_on_topic: a page is on topic or not, true or false")
    return labels.astype(np.bool_)


def sigmoid(log_odds: NDArray[np.float64]) -> NDArray[np.float64]:
    """Convert log-odds to probabilities, without overflow."""
    with np.errstate(over="ignore"):
        return np.asarray(1 / (1 + np.exp(-log_odds)))


def page_texts(pages: Sequence[PageContent]) -> list[str]:
    """Return title, headings and text of each page as one text."""
    return ["\n".join((page.title, *page.headings, page.text)) for page in pages]


class EstimatorTopic(Topic):
    """A fitted estimator with the interface of scikit-learn: `classes_` and `predict_proba`.

    `features` converts pages to the input of the estimator: by default their texts, as for a pipeline that begins with
    a vectorizer; `orienteer.topics.words.word_counts` is another choice. `on_topic` is the class of pages on topic.

    Topic files cannot name an estimator, so this topic is available from Python only: estimators are stored as pickles,
    and loading an untrusted pickle executes its code.
    """

    name = "estimator"

    def __init__(
        self,
        estimator: Any,
        on_topic: Any = True,
        features: Callable[[Sequence[PageContent]], Any] = page_texts,
    ) -> None:
        if not hasattr(estimator, "predict_proba"):
            raise InputError(f"the estimator {type(estimator).__name__} has no predict_proba")
        if not hasattr(estimator, "classes_"):
            raise InputError(f"the estimator {type(estimator).__name__} is not trained; fit it first")
        classes = np.asarray(estimator.classes_).tolist()
        if on_topic not in classes:
            raise InputError(f"on_topic is {on_topic!r}; the estimator has the classes {classes}")
        self._estimator, self._features = estimator, features
        self._column = classes.index(on_topic)
        self._on_topic = on_topic
        self._off_topic = [other for other in classes if other != on_topic]

    def relevance(self, pages: Sequence[PageContent]) -> NDArray[np.float64]:
        if not pages:
            return np.zeros(0)
        probabilities = self._estimator.predict_proba(self._features(pages))
        return np.clip(np.asarray(probabilities[:, self._column], np.float64), 0, 1)

    def learn(self, pages: Sequence[PageContent], is_on_topic: ArrayLike) -> None:
        labels = checked_labels(len(pages), is_on_topic)
        if not hasattr(self._estimator, "partial_fit") or len(self._off_topic) != 1:
            raise InputError(
                f"the estimator {type(self._estimator).__name__} cannot learn further: it needs partial_fit, and two "
                "classes"
            )
        if len(pages):
            classes = [self._on_topic if label else self._off_topic[0] for label in labels]
            self._estimator.partial_fit(self._features(pages), classes)
