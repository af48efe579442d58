"""Search in several crawls at once: one list, each hit with the name of its crawl.

Scores of two indexes cannot be compared as they are. BM25 weighs a word by how rare it is *there*: in a crawl about
snakes "python" says next to nothing, in one about cooking it is worth most. So every word is given the weight that it
would have in one index of all these crawls, part of the page by part (see `Vocabulary.weight`). What is left is that
pages are long or short by the mean of their own crawl. The best text of all counts as 1, and the ranks of pages, each
in its own crawl, are added as in one (see `ranking`). A crawl where no page has all of the words is left out where
another has such pages.

Measured on four documentation sites (1,395 pages, 400 queries in words), against one index of all four, by how many of
its first ten pages are among ours, and how often the first is the same:

    words weighed together   0.93   0.93   what is done here
    scores as they are       0.85   0.85
    each crawl's best is 1   0.68   0.43
    by places                0.73   0.45   the first of each, the second of each, ...
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
from orienteer.search.facets import N_VALUES, Counts, Facet, Filter, facets, filters, in_order
from orienteer.search.finding import FEW, Finding
from orienteer.search.hit import Hit
from orienteer.search.search_index import SearchIndex, expect_page

_N_VALUES = 1_000  # of a facet, in each crawl


@dataclass(frozen=True)
class CrawlHit:
    """A hit, the crawl it is from, and other crawls that have the same URL. `hit.position` is that in the whole list,
    `hit.positions` are those in its own crawl."""

    crawl: str
    hit: Hit
    also_in: tuple[str, ...] = ()


@dataclass(frozen=True)
class SeveralResults:
    """A page of results of several crawls. `total` pages were found, `by_crawl` says where; the same URL in two crawls
    counts twice."""

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
    """The pages of these crawls, by their names, that say what is asked for; see `SearchIndex.search`.

    Crawls without an estimate have no part in the order `global`.
    """
    began = time.perf_counter()
    expect_page(page, n)
    findings = _found(indexes, words, page * n, rank)
    asked = next(iter(findings.values()))
    weight = ranking.checked_weight(rank, None, len(asked.ask.sought))
    merged = _Merged(findings, rank, weight)
    good = [finding for finding in findings.values() if finding.total]
    total, is_relaxed = sum(finding.total for finding in good), any(finding.relaxed for finding in good)
    return SeveralResults(
        query=str(asked.ask),
        rank=rank,
        weight=weight,
        page=page,
        n=n,
        total=total,
        by_crawl={name: findings[name].total if name in findings else 0 for name in indexes},
        hits=merged.hits((page - 1) * n, page * n),
        relaxed=is_relaxed,
        suggestion=None if total > FEW and not is_relaxed else _suggestion(findings),
        hints=(good or [asked])[0].hints(words),
        filters=filters(asked.ask),
        facets=facets(_summed([finding.counts(_N_VALUES) for finding in good]), asked.ask) if with_facets else (),
        elapsed_s=time.perf_counter() - began,
    )


def _suggestion(findings: Mapping[str, Finding]) -> str | None:
    """The first that any crawl has."""
    return next(filter(None, (finding.suggestion() for finding in findings.values())), None)


def _found(indexes: Mapping[str, SearchIndex], words: str, n_wanted: int, rank: str) -> dict[str, Finding]:
    """What each crawl has; where one has pages with all of the words, others without any are left out."""
    ranked = {name: index for name, index in indexes.items() if rank != "global" or index.has_global_rank}
    if not ranked:
        line = "none of these crawls has an estimate of the global rank" if indexes else "there is no crawl to search"
        raise InputError(f"{line}; choose another order" if indexes else line)
    findings = {
        name: index.find(words, n_wanted, rank, [other for other in ranked.values() if other is not index])
        for name, index in ranked.items()
    }
    strict = {name: finding for name, finding in findings.items() if finding.total and not finding.relaxed}
    return strict or findings


class _Merged:
    """What was found in all crawls, in one order; a URL that several crawls have stands where it is best."""

    def __init__(self, findings: dict[str, Finding], rank: str, weight: float) -> None:
        self._findings = findings
        self._names = list(findings)
        best = max(float(finding.found.text.max(initial=0.0)) for finding in findings.values())
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
        """Without those of a URL that stands further up."""
        urls = [finding.view.texts.urls(finding.found.pages.tolist()) for finding in self._findings.values()]
        founds = [finding.found for finding in self._findings.values()]
        seen: dict[str, int] = {}
        kept = []
        for number in order.tolist():
            crawl = int(self._crawl[number])
            url = urls[crawl].get(int(founds[crawl].pages[self._place[number]]))
            if url in seen:
                self._also_in.setdefault(seen[url], []).append(self._names[crawl])
            elif url is not None:  # or it was removed a moment ago
                seen[url] = number
                kept.append(number)
        return kept

    def hits(self, first: int, end: int) -> tuple[CrawlHit, ...]:
        """Those from one position to another, with their texts."""
        made: dict[int, CrawlHit] = {}
        shown = self._order[first:end]
        for crawl, name in enumerate(self._names):
            numbers = [number for number in shown if self._crawl[number] == crawl]
            finding = self._findings[name]
            positions = self._orders[crawl].positions()
            for number in numbers:
                places, scores = self._place[number : number + 1], np.zeros(len(finding.found.pages))
                scores[places] = self._scores[number]
                for hit in finding.hits(places, scores, positions, first + shown.index(number) + 1):
                    made[number] = CrawlHit(name, hit, tuple(self._also_in.get(number, ())))
        return tuple(made[number] for number in shown if number in made)


def _summed(counts: Sequence[dict[str, Counts]]) -> dict[str, Counts]:
    """Counts of several crawls together."""
    summed = {}
    for name in dict.fromkeys(name for some in counts for name in some):
        some = [each[name] for each in counts if name in each]
        pages = sum((Counter(each.pages) for each in some), Counter[str]())
        order = in_order(name, pages)
        # A value that one crawl has left out may have more pages than are counted here.
        is_exact = all(each.is_exact and not each.has_more for each in some)
        summed[name] = Counts({value: pages[value] for value in order[:N_VALUES]}, len(order) > N_VALUES, is_exact)
    return summed
