"""Cross-validation of topics: compare the relevance of pages that a topic was not trained on with their labels.

Examples are split into stratified folds; the pages of each fold are scored by a topic that was trained on the others.
With whole sites in each fold the results hold for unseen sites, which a crawl meets; pages of one site are similar, so
results with mixed sites are too optimistic. A topic without training is evaluated directly.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from orienteer.errors import InputError
from orienteer.progress import Progress, silent
from orienteer.topics.topic import PageContent, Topic, checked_labels
from orienteer.url import host_of, site_of
from orienteer.wording import counted

BATCH = 512  # pages scored at a time


class Quality(NamedTuple):
    """The quality of a threshold of relevance: `n_right` of the `n_found` pages are on topic; NaN for 0 / 0."""

    threshold: float
    n_found: int
    n_right: int
    precision: float
    recall: float
    f1: float


@dataclass(frozen=True)
class TopicTest:
    """The relevance of each example, by a topic that was not trained on it."""

    relevance: NDArray[np.float64]
    is_on_topic: NDArray[np.bool_]
    folds: NDArray[np.int64]  # of each page; all 0 for a topic that needs no training

    def at(self, threshold: float) -> Quality:
        return _quality(self.relevance, self.is_on_topic, threshold)

    def f1_of_folds(self, threshold: float) -> NDArray[np.float64]:
        """Return the F1 score of each fold."""
        masks = [self.folds == fold for fold in range(int(self.folds.max(initial=0)) + 1)]
        return np.array([_quality(self.relevance[mask], self.is_on_topic[mask], threshold).f1 for mask in masks])

    def average_precision(self) -> float:
        """Return the mean precision over the pages on topic, each at its own relevance; 1 if all of them come first."""
        thresholds, n_found, n_right = self._steps()
        precision = n_right / n_found
        return float((precision * np.diff(n_right, prepend=0)).sum() / n_right[-1]) if len(thresholds) else np.nan

    def best(self) -> Quality:
        """Return the quality at the threshold with the highest F1; of several, the highest threshold."""
        thresholds, n_found, n_right = self._steps()
        f1 = 2 * n_right / (n_found + n_right[-1])
        return self.at(float(thresholds[f1.argmax()]))

    def _steps(self) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
        """Return the distinct relevances in decreasing order, and the numbers of pages and of right ones at each."""
        order = np.argsort(-self.relevance, kind="stable")
        sorted_ = self.relevance[order]
        last = np.append(np.flatnonzero(sorted_[1:] != sorted_[:-1]), len(sorted_) - 1)
        return sorted_[last], last + 1, np.cumsum(self.is_on_topic[order])[last]


def cross_validated(
    make: Callable[[], Topic],
    pages: Sequence[PageContent],
    is_on_topic: ArrayLike,
    n_folds: int = 5,
    by_site: bool = False,
    rng: int = 0,
    progress: Progress = silent,
) -> TopicTest:
    """Cross-validate the topics that `make` creates on these examples."""
    labels = checked_labels(len(pages), is_on_topic)
    if labels.all() or not labels.any():
        raise InputError("a test needs pages on topic and pages that are not")
    topic = make()
    if not topic.needs_training:
        return TopicTest(scored(topic, pages, progress), labels, np.zeros(len(pages), np.int64))
    if n_folds < 2:
        raise InputError(f"folds is {n_folds}; it must be 2 or more")
    folds = _folds_by_site(pages, labels, n_folds) if by_site else _folds(labels, n_folds, rng)
    relevance = np.zeros(len(pages))
    for fold in range(n_folds):
        progress("training and testing", fold, n_folds)
        others, own = np.flatnonzero(folds != fold).tolist(), np.flatnonzero(folds == fold).tolist()
        if labels[others].all() or not labels[others].any():
            raise InputError(f"without fold {fold + 1} of {n_folds} all examples are of one kind; choose other folds")
        topic = make()
        topic.train([pages[page] for page in others], labels[others])
        relevance[own] = scored(topic, [pages[page] for page in own])
    return TopicTest(relevance, labels, folds)


def scored(topic: Topic, pages: Sequence[PageContent], progress: Progress = silent) -> NDArray[np.float64]:
    """Return the relevance of many pages, computed in batches."""
    found = np.zeros(len(pages))
    for start in range(0, len(pages), BATCH):
        progress("scoring pages", start, len(pages))
        found[start : start + BATCH] = topic.relevance(pages[start : start + BATCH])
    return found


def _folds(labels: NDArray[np.bool_], n_folds: int, rng: int) -> NDArray[np.int64]:
    """Assign the pages of each class to folds in turn, in a random order."""
    folds = np.zeros(len(labels), np.int64)
    random = np.random.default_rng(rng)
    for kind, what in ((True, "on topic"), (False, "off topic")):
        members = random.permutation(np.flatnonzero(labels == kind))
        if len(members) < n_folds:
            raise InputError(f"folds is {n_folds}, but there are only {len(members)} examples {what}")
        folds[members] = np.arange(len(members)) % n_folds
    return folds


def _folds_by_site(pages: Sequence[PageContent], labels: NDArray[np.bool_], n_folds: int) -> NDArray[np.int64]:
    """Assign whole sites to folds: sites with the most pages on topic first, each to the fold with the fewest."""
    sites: dict[str, list[int]] = defaultdict(list)
    for number, page in enumerate(pages):
        sites[site_of(host_of(page.url))].append(number)
    if len(sites) < n_folds:
        raise InputError(f"folds is {n_folds}, but the examples are of only {counted(len(sites), 'site')}")
    sizes = {site: (int(labels[members].sum()), len(members)) for site, members in sites.items()}
    folds = np.zeros(len(pages), np.int64)
    filled = [(0, 0, fold) for fold in range(n_folds)]  # pages on topic, pages
    for site in sorted(sites, key=lambda name: (*sizes[name], name), reverse=True):
        n_on, n_all, fold = min(filled)
        folds[sites[site]] = fold
        filled[fold] = (n_on + sizes[site][0], n_all + sizes[site][1], fold)
    return folds


def _quality(relevance: NDArray[np.float64], is_on_topic: NDArray[np.bool_], threshold: float) -> Quality:
    found = relevance >= threshold
    n_found, n_right, n_on = int(found.sum()), int((found & is_on_topic).sum()), int(is_on_topic.sum())
    return Quality(
        threshold,
        n_found,
        n_right,
        precision=n_right / n_found if n_found else np.nan,
        recall=n_right / n_on if n_on else np.nan,
        f1=2 * n_right / (n_found + n_on) if n_found + n_on else np.nan,
    )
