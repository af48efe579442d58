"""Use any estimator with `predict_proba` as a topic."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from orienteer.errors import InputError
from orienteer.topics.topic import PageContent, Topic, checked_labels


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
