"""Search several crawls at once: one list, each hit with the name of its crawl.

Scores of different indexes cannot be compared directly, since BM25 weighs a word by its document frequency in its own
index: "python" has little weight in a crawl about snakes, and much in one about cooking. So each word gets the weight
(IDF) that it would have in one index of all crawls, zone by zone (see `Vocabulary.weight`). Only the length of a page
is still relative to the mean of its own crawl. The best text score of all is normalized to 1, and ranks, which are
those of the own crawl, are added as in a single index (see `ranking`). Crawls without a page that has all of the words
are excluded if another crawl has such pages.

Measured on four documentation sites (1,395 pages, 400 queries in words), against one index of all four: the share of
its first ten pages that are among ours, and how often the first page is the same:

    shared IDF               0.93   0.93   used here
    raw scores               0.85   0.85
    normalized per crawl     0.68   0.43   the best of each crawl is 1
    round robin              0.73   0.45   the first of each, the second of each, ...
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orienteer.errors import InputError
from orienteer.search import ranking
from orienteer.search.facets import N_VALUES, Facet, FacetCounts, Filter, facets, filters, in_order
from orienteer.search.finding import FEW, FoundPages, Hit
from orienteer.search.search_index import SearchIndex, check_page

_N_VALUES = 1_000  # of a facet, in each crawl


@dataclass(frozen=True)
class CrawlHit:
    """A hit, its crawl, and other crawls with the same URL. `hit.position` is the position in the merged list,
    `hit.positions` are those in its own crawl."""

    crawl: str
    hit: Hit
    also_in: tuple[str, ...] = ()


@dataclass(frozen=True)
class SeveralResults:
    """A page of results of several crawls. `total` pages match, `by_crawl` counts them by crawl; the same URL in two
    crawls counts twice."""

    query: str
    rank: str
    weight: float
    page: int
    n: int
    total: int
    by_crawl: dict[str, int]
    hits: tuple[CrawlHit, ...]
    relaxed: bool
    suggestion: str | None
    hints: tuple[str, ...]
    filters: tuple[Filter, ...]
    facets: tuple[Facet, ...]
    elapsed_s: float

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def search_several(
    indexes: Mapping[str, SearchIndex],
    words: str,
    *,
    rank: str = "blend",
    page: int = 1,
    n: int = 10,
    with_facets: bool = False,
) -> SeveralResults:
    """Search these crawls, which are given by name; see `SearchIndex.search`.

    With the order `global`, crawls without an estimate are excluded.
    """
    began = time.perf_counter()
    check_page(page, n)
    findings = _search_each(indexes, words, page * n, rank)
    first = next(iter(findings.values()))
    weight = ranking.checked_weight(rank, None, len(first.parsed.scored_clauses))
    merged = _Merged(findings, rank, weight)
    good = [finding for finding in findings.values() if finding.total]
    total, is_relaxed = sum(finding.total for finding in good), any(finding.relaxed for finding in good)
    return SeveralResults(
        query=str(first.parsed),
        rank=rank,
        weight=weight,
        page=page,
        n=n,
        total=total,
        by_crawl={name: findings[name].total if name in findings else 0 for name in indexes},
        hits=merged.hits((page - 1) * n, page * n),
        relaxed=is_relaxed,
        suggestion=None if total > FEW and not is_relaxed else _suggestion(findings),
        hints=(good or [first])[0].hints(words),
        filters=filters(first.parsed),
        facets=facets(_summed([finding.counts(_N_VALUES) for finding in good]), first.parsed) if with_facets else (),
        elapsed_s=time.perf_counter() - began,
    )


def _suggestion(findings: Mapping[str, FoundPages]) -> str | None:
    """Return the suggestion of the first crawl that has one."""
    return next(filter(None, (finding.suggestion() for finding in findings.values())), None)


def _search_each(indexes: Mapping[str, SearchIndex], words: str, n_best: int, rank: str) -> dict[str, FoundPages]:
    """Search each crawl. If one has pages with all of the words, crawls without such pages are excluded."""
    ranked = {name: index for name, index in indexes.items() if rank != "global" or index.has_global_rank}
    if not ranked:
        line = "none of these crawls has an estimate of the global rank" if indexes else "there is no crawl to search"
        raise InputError(f"{line}; choose another order" if indexes else line)
    findings = {
        name: index.find(words, n_best, rank, [other for other in ranked.values() if other is not index])
        for name, index in ranked.items()
    }
    strict = {name: finding for name, finding in findings.items() if finding.total and not finding.relaxed}
    return strict or findings


class _Merged:
    """The matches of all crawls in one order; a URL of several crawls is listed once, at its best position."""

    def __init__(self, findings: dict[str, FoundPages], rank: str, weight: float) -> None:
        self._findings = findings
        self._names = list(findings)
        best = max(float(finding.candidates.text.max(initial=0.0)) for finding in findings.values())
        orders = [finding.orders(best) for finding in findings.values()]
        scores = [order.scores(rank, weight) for order in orders]
        self._orders = orders
        lengths = [len(each) for each in scores]
        crawl = np.repeat(np.arange(len(lengths)), lengths)
        place = np.concatenate([np.arange(length) for length in lengths])
        text = np.concatenate([order.scores("text", 0.0) for order in orders])
        by_text = np.argsort(-text, kind="stable")
        self._scores = np.concatenate(scores)[by_text]
        self._crawl, self._place = crawl[by_text], place[by_text]
        self._also_in: dict[int, list[str]] = {}
        self._order = self._once(ranking.order(self._scores))

    def _once(self, order: NDArray[np.int64]) -> list[int]:
        """Drop matches whose URL is listed further up."""
        urls = [finding.view.texts.urls(finding.candidates.pages.tolist()) for finding in self._findings.values()]
        candidates_of = [finding.candidates for finding in self._findings.values()]
        seen: dict[str, int] = {}
        unique = []
        for number in order.tolist():
            crawl = int(self._crawl[number])
            url = urls[crawl].get(int(candidates_of[crawl].pages[self._place[number]]))
            if url in seen:
                self._also_in.setdefault(seen[url], []).append(self._names[crawl])
            elif url is not None:  # None: removed by a concurrent update of the index
                seen[url] = number
                unique.append(number)
        return unique

    def hits(self, first: int, end: int) -> tuple[CrawlHit, ...]:
        """Load the hits from one position to another."""
        made: dict[int, CrawlHit] = {}
        listed = self._order[first:end]
        for crawl, name in enumerate(self._names):
            numbers = [number for number in listed if self._crawl[number] == crawl]
            finding = self._findings[name]
            positions = self._orders[crawl].positions()
            for number in numbers:
                places, scores = self._place[number : number + 1], np.zeros(len(finding.candidates.pages))
                scores[places] = self._scores[number]
                for hit in finding.hits(places, scores, positions, first + listed.index(number) + 1):
                    made[number] = CrawlHit(name, hit, tuple(self._also_in.get(number, ())))
        return tuple(made[number] for number in listed if number in made)


def _summed(counts: Sequence[dict[str, FacetCounts]]) -> dict[str, FacetCounts]:
    """Add up the counts of several crawls."""
    summed = {}
    for name in dict.fromkeys(name for some in counts for name in some):
        some = [each[name] for each in counts if name in each]
        pages = sum((Counter(each.pages) for each in some), Counter[str]())
        order = in_order(name, pages)
        # A value beyond the limit of its crawl may have more pages than are counted here.
        is_exact = all(each.is_exact and not each.has_more for each in some)
        summed[name] = FacetCounts({value: pages[value] for value in order[:N_VALUES]}, len(order) > N_VALUES, is_exact)
    return summed
