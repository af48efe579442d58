"""How good is a topic? Its relevance of pages that it has not learned from, against the truth.

Examples are dealt out to folds, each with the same share of pages on topic; a topic trained on the other folds scores
the pages of one. With whole sites in each fold the figures are those for sites that it has never seen, which is what a
crawl meets: pages of one site are much alike, so figures without are too good. A topic that needs no training is asked
as it is.
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
    """What comes of taking pages of at least this relevance for on topic; nan where there are none to divide by."""

    threshold: float
    n_found: int
    n_right: int
    precision: float
    recall: float
    f1: float


@dataclass(frozen=True)
class TopicTest:
    """The relevance that each example was given by a topic that had not seen it."""

    relevance: NDArray[np.float64]
    is_on_topic: NDArray[np.bool_]
    folds: NDArray[np.int64]  # of each page; all 0 for a topic that needs no training

    def at(self, threshold: float) -> Quality:
        return _quality(self.relevance, self.is_on_topic, threshold)

    def f1_of_folds(self, threshold: float) -> NDArray[np.float64]:
        """F1 in each fold."""
        parts = [self.folds == fold for fold in range(int(self.folds.max(initial=0)) + 1)]
        return np.array([_quality(self.relevance[part], self.is_on_topic[part], threshold).f1 for part in parts])

    def average_precision(self) -> float:
        """The mean precision over the pages on topic, each at its own relevance: 1 if they come first, all of them."""
        thresholds, n_found, n_right = self._steps()
        precision = n_right / n_found
        return float((precision * np.diff(n_right, prepend=0)).sum() / n_right[-1]) if len(thresholds) else np.nan

    def best(self) -> Quality:
        """The threshold of the highest F1, the highest one of several."""
        thresholds, n_found, n_right = self._steps()
        f1 = 2 * n_right / (n_found + n_right[-1])
        return self.at(float(thresholds[f1.argmax()]))

    def _steps(self) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
        """The distinct relevances from the highest on, and how many pages, and right ones, have at least that."""
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
    """Test the topics that `make` makes on these examples."""
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
            raise InputError(f"without fold {fold + 1} of {n_folds} all examples are of one kind; ask for other folds")
        topic = make()
        topic.train([pages[page] for page in others], labels[others])
        relevance[own] = scored(topic, [pages[page] for page in own])
    return TopicTest(relevance, labels, folds)


def scored(topic: Topic, pages: Sequence[PageContent], progress: Progress = silent) -> NDArray[np.float64]:
    """The relevance of many pages, a batch at a time."""
    found = np.zeros(len(pages))
    for start in range(0, len(pages), BATCH):
        progress("scoring pages", start, len(pages))
        found[start : start + BATCH] = topic.relevance(pages[start : start + BATCH])
    return found


def _folds(labels: NDArray[np.bool_], n_folds: int, rng: int) -> NDArray[np.int64]:
    """Pages of each kind in a random order, dealt out in turn."""
    folds = np.zeros(len(labels), np.int64)
    random = np.random.default_rng(rng)
    for kind, what in ((True, "on topic"), (False, "off topic")):
        members = random.permutation(np.flatnonzero(labels == kind))
        if len(members) < n_folds:
            raise InputError(f"folds is {n_folds}, but there are only {len(members)} examples {what}")
        folds[members] = np.arange(len(members)) % n_folds
    return folds


def _folds_by_site(pages: Sequence[PageContent], labels: NDArray[np.bool_], n_folds: int) -> NDArray[np.int64]:
    """Whole sites, those with the most pages on topic first, each to the fold that has the fewest of them so far."""
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
