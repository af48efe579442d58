"""Scent: hubs whose links led to relevant pages, and words of links to relevant pages (ours)."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from orienteer.arrays import grown
from orienteer.errors import InputError
from orienteer.extract.tokens import N_BUCKETS
from orienteer.graph.growing_graph import GrowingGraph
from orienteer.graph.navigational import KnownLinks
from orienteer.graph.reach import breadth_first
from orienteer.kernel import kernel
from orienteer.policies.batches import BATCH, GROWTH, BatchedPolicy
from orienteer.policies.focused import AboutPage, LinkWords
from orienteer.policies.policy import Priorities, TrustedPages, policy

_FIRST_TARGET = 0.5  # total relevance found from which on hub values are meaningful
_SOURCE_SHARE = 0.1  # the bonus of a link from a relevant page, in addition to the page's hub value
_LEAST = 1e-9
_UNSCORED = -np.inf
_DEPTH_DECAY = 0.9
WIDTH = 16
STRENGTH = 1.0

_N_TRIALS = 1000  # judged pages from which the weight is learned
_MIN_TRIALS = 10
_MAX_WEIGHT = 2.0
_NEWTON_STEPS = 6
_ERROR = 1e-9  # of hub values
_MAX_SWEEPS = 1000


@policy
class Scent(BatchedPolicy):
    """Follow the hubs that have led to relevant pages, and away from those that have led to others.

    The prior of a page is the mean hub value of the pages that link to it, with a bonus for relevant ones: the
    probability that it is relevant, before its words are read. The words of the links to it are evidence for or against
    it (`LinkBayes`), once `gate` relevant pages are known: before that, words that occur by chance would mislead. No
    training site is needed.

    Until the first relevant page is found, the search is breadth-first with `excursions` to targets of hubs that have
    been tried least (`search_scores`): they delay a page by at most (e/2) ln(1 + t/e) pages in t.
    """

    name: ClassVar[str] = "scent"
    reads_links: ClassVar[bool] = True

    def __init__(self, excursions: float = 40.0, gate: float = 3.0, batch: int = BATCH, growth: float = GROWTH) -> None:
        super().__init__(batch, growth)
        if not gate >= 0:
            raise InputError(f"gate is {gate}; it must be a number of relevant pages, 0 or more")
        if not 0 <= excursions < 1e9:
            raise InputError(f"excursions is {excursions}; it must be a number of pages, 0 (none) or more")
        self.gate = float(gate)
        self.excursions = float(excursions)

    def begin(self, web: GrowingGraph, trusted: TrustedPages) -> Priorities:
        n = max(web.n_pages, 1024)
        self._hub = np.zeros(n)
        self._seeds = trusted.pages
        self._expected = np.full(n, _UNSCORED)  # the log odds of a page's relevance, without the words
        self._bayes = LinkBayes()
        return super().begin(web, trusted)

    def learn(self, page: int, about: AboutPage, web: GrowingGraph) -> None:
        super().learn(page, about, web)
        if page < len(self._expected) and self._expected[page] > _UNSCORED:
            self._bayes.add_trial(page, float(self._expected[page]), about.relevance)
        self._bayes.judge(page, about.relevance)
        self._bayes.add_links(about.link_words, web.n_pages)

    def scores(self, web: GrowingGraph) -> NDArray[np.float64] | None:
        n = web.n_pages
        links = self.known_links(web)
        if self._total_relevance < _FIRST_TARGET:
            done, judged = self._is_done[:n], self._is_judged[:n]
            return search_scores(links, self._seeds, done, judged, self._n_fetched, self.excursions)
        self._hub = grown(self._hub, n)
        hub, relevance = self._hub[:n], self._relevance[:n]
        settle_hub_values(links, relevance, self._is_judged[:n], self._total_relevance / self._n_judged, hub)
        chance = np.clip(mean_over_sources(links, hub + _SOURCE_SHARE * relevance), _LEAST, 1 - _LEAST)
        self._expected = np.log(chance / (1 - chance))
        weight = self._bayes.weight() if self._total_relevance >= self.gate else 0.0
        if weight == 0:
            return self._expected
        scores = self._expected.copy()
        waiting = np.flatnonzero((self._found[:n] > 0) & ~self._is_done[:n])
        scores[waiting] += weight * self._bayes.log_odds(waiting)
        return scores


def search_scores(
    links: KnownLinks,
    seeds: NDArray[np.uint32],
    is_done: NDArray[np.bool_],
    is_judged: NDArray[np.bool_],
    n_fetched: int,
    excursions: float,
) -> NDArray[np.float64]:
    """Return a score for every known page that is not done; their order is the order of the search from now on.

    Breadth-first finds near pages, but fetches all targets of a long list before those of the next page. An excursion
    fetches a page whose sources have been tried least: with n(i) judged pages among the links of i, the highest mean
    over its sources i of

        w / (n(i) + w)      times 0.9 for every link from the start

    Bound: of the first t pages about (e/2) ln(1 + t/e) are excursions: every second page at first, then ever fewer. So
    the b-th page of breadth-first is fetched as page b + (e/2) ln(1 + t/e) at the latest, up to a batch: the delay
    grows with the logarithm of the length of the search.
    """
    depth, near_first = breadth_first(links.starts, links.ends, links.targets, seeds, len(is_done))
    near_first = near_first[~is_done[near_first]]
    value = _untried(links, is_judged) * _DEPTH_DECAY**depth
    untried_first = near_first[np.argsort(-value[near_first], kind="stable")]
    done_by = n_fetched + np.arange(len(near_first) + 1)
    due = np.floor(n_excursions(done_by, excursions))
    scores = np.full(len(is_done), -np.inf)
    _merge(near_first, untried_first, np.diff(due) > 0, scores)
    return scores


def n_excursions(n_fetched: NDArray[np.int64], excursions: float) -> NDArray[np.float64]:
    """Return how many of the first pages are excursions, where `excursions` is e; 0 is breadth-first."""
    return np.asarray(excursions / 2 * np.log1p(n_fetched / excursions)) if excursions else np.zeros(len(n_fetched))


def _untried(links: KnownLinks, is_judged: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return hub values under the assumption that the average page is relevant, and no tried page is."""
    value = np.zeros(len(is_judged))
    settle_hub_values(links, np.zeros(len(is_judged)), is_judged, 1.0, value, hub_share=0.0)
    return mean_over_sources(links, value)


@kernel
def _merge(near_first: Any, untried_first: Any, is_excursion: Any, scores: Any) -> None:
    """Merge both orders, each page at its first occurrence; scores decrease from 0."""
    near, untried = 0, 0
    for k in range(len(near_first)):
        if is_excursion[k]:
            while scores[untried_first[untried]] > -np.inf:
                untried += 1
            scores[untried_first[untried]] = -k
        else:
            while scores[near_first[near]] > -np.inf:
                near += 1
            scores[near_first[near]] = -k


class LinkBayes:
    """Relevance of a page from the words of the links to it: naive Bayes, learned during the crawl, in arrays.

    The first distinct words of the links to each page are stored (up to `WIDTH`). When the page is judged, its
    relevance is counted for these words. The log odds that a queued page is relevant, relative to the average page, are
    the sum over its words of

        log P(word | relevant) - log P(word | not relevant)

    where each probability is smoothed towards the word's frequency on all pages with the weight of `STRENGTH` pages, so
    a word without evidence contributes 0.

    Words of a link are not independent, and on some sites they carry no information. So their weight is learned, too:
    for the last judged pages, the expectation without the words and the log odds of the words *before* the page was
    judged are stored. The weight is the one that would have predicted these pages best (logistic regression with the
    expectation as an offset, regularised towards 0).
    """

    def __init__(self) -> None:
        self._rows: NDArray[np.uint16] = np.zeros((0, WIDTH), np.uint16)  # 0: no word
        self._seen: NDArray[np.float64] = np.zeros((2, N_BUCKETS))  # pages with the word: relevant, not relevant
        self._totals: NDArray[np.float64] = np.zeros(2)
        self._trials: NDArray[np.float64] = np.zeros((3, _N_TRIALS))  # expected, by the words, relevance
        self._n_trials = 0

    def add_links(self, link_words: LinkWords, n_pages: int) -> None:
        """Store the words of a page's links."""
        if len(link_words.words) == 0:
            return
        if n_pages > len(self._rows):
            self._rows = grown(self._rows.reshape(-1), n_pages * WIDTH).reshape(-1, WIDTH)
        _add_words(link_words.targets, link_words.offsets, link_words.words, self._rows)

    def judge(self, page: int, relevance: float) -> None:
        """Count the relevance of a judged page for its words."""
        if page < len(self._rows):
            words = self._rows[page]
            words = words[words > 0]
            self._seen[0, words] += relevance
            self._seen[1, words] += 1 - relevance
            self._totals += (relevance, 1 - relevance)

    def add_trial(self, page: int, expected: float, relevance: float) -> None:
        """Store a trial before `judge`; `expected` are the log odds of the page's relevance without the words."""
        at = self._n_trials % _N_TRIALS
        self._trials[:, at] = expected, self.log_odds(np.array([page]))[0], relevance
        self._n_trials += 1

    def weight(self) -> float:
        """Return the weight of the words: 0 ignores them, 1 treats them as independent."""
        if self._n_trials < _MIN_TRIALS:
            return 0.0
        expected, evidence, relevance = self._trials[:, : self._n_trials]
        bias, weight = 0.0, 0.0
        for _ in range(_NEWTON_STEPS):
            chance = 1 / (1 + np.exp(-np.clip(bias + expected + weight * evidence, -30, 30)))
            excess, spread = chance - relevance, chance * (1 - chance)
            slope = [excess.sum() + bias, excess @ evidence + weight]
            mixed = spread @ evidence
            curve = [[spread.sum() + 1, mixed], [mixed, spread @ evidence**2 + 1]]
            bias, weight = np.array([bias, weight]) - np.linalg.solve(curve, slope)
        return float(np.clip(weight, 0, _MAX_WEIGHT))

    def log_odds(self, pages: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the log odds of each page by its words, relative to the average page."""
        found = np.zeros(len(pages))
        has_row = pages < len(self._rows)
        words = self._rows[pages[has_row]]
        relevant, other = self._seen[0][words], self._seen[1][words]
        totals = self._totals
        prior = STRENGTH * (relevant + other + 0.5) / (totals.sum() + 1)
        odds = np.log((relevant + prior) / (totals[0] + STRENGTH)) - np.log((other + prior) / (totals[1] + STRENGTH))
        found[has_row] = np.where(words > 0, odds, 0.0).sum(axis=1)
        return found


@kernel
def _add_words(targets: Any, offsets: Any, words: Any, rows: Any) -> None:
    for link in range(len(targets)):
        row = rows[targets[link]]
        for k in range(offsets[link], offsets[link + 1]):
            for slot in range(len(row)):
                if row[slot] == words[k]:
                    break
                if row[slot] == 0:
                    row[slot] = words[k]
                    break


def settle_hub_values(
    links: KnownLinks,
    relevance: NDArray[np.float64],
    is_judged: NDArray[np.bool_],
    mean_relevance: float,
    values: NDArray[np.float64],
    prior_weight: float = 2.0,
    hub_share: float = 0.3,
) -> None:
    """Compute H of every page in place, starting from the given `values`; a page without known links has the mean.

    H is the hub value: the share of a page's judged link targets that are relevant, or lead to relevant pages.

    With p the relevance of judged pages and b its mean so far:

        H(i) = (sum over judged targets u of V(u)  +  w b) / (their number + w)          V = p + (1-p) c H

    A fetched target that is not relevant counts against the pages that link to it (Navigational Rank ignores this
    evidence); an unfetched target does not count. The prior is the mean b with the weight of w judgements (2), so a
    page with few judged targets is close to the average. A target that leads to relevant pages counts c (0.3) as much
    as one that is relevant. H is a contraction by c in the maximum norm, so its error is at most c / (1-c) times the
    last change: that is the stopping rule.
    """
    _settle(
        links.starts, links.ends, links.targets, relevance, is_judged, mean_relevance, prior_weight, hub_share,
        values, _ERROR, _MAX_SWEEPS,
    )  # fmt: skip


def mean_over_sources(links: KnownLinks, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return, for each page, the mean of the values of the pages that link to it; 0 if none does."""
    sums = np.zeros(len(values))
    _add_to_targets(links.starts, links.ends, links.targets, values, sums)
    return np.asarray(sums / np.maximum(links.in_degrees, 1))


@kernel
def _settle(
    starts: Any, ends: Any, targets: Any, relevance: Any, is_judged: Any, mean: float, prior_weight: float,
    hub_share: float, values: Any, error: float, n: int,
) -> None:  # fmt: skip
    for _ in range(n):
        change = 0.0
        for page in range(len(values) - 1, -1, -1):
            total, count = prior_weight * mean, prior_weight
            for k in range(starts[page], ends[page]):
                target = targets[k]
                if is_judged[target]:
                    p = relevance[target]
                    total += p + (1 - p) * hub_share * values[target]
                    count += 1
            new = total / count
            change = max(change, abs(new - values[page]))
            values[page] = new
        if change * hub_share <= error * (1 - hub_share):
            break


@kernel
def _add_to_targets(starts: Any, ends: Any, targets: Any, values: Any, sums: Any) -> None:
    for page in range(len(values)):
        for k in range(starts[page], ends[page]):
            sums[targets[k]] += values[page]
