"""A crawl that is not finished, made from a whole graph: what seeds are chosen on while a crawler is at work.

Seeds are chosen on what has been crawled, and a page is worth more if it links to pages that have not. Whole graphs
know no such links, no spam and no clicks, so they are made up:

- *Crawled* is the share of the pages that a breadth-first crawl fetches first. It enters at random pages, 4 % of all:
  about as many as other hosts link to (3.9 % of the pages of a host of docs-web-dev, 4.9 % of webkb-dev, on average).
  Where it runs dry it enters at another. Entered at one page alone, all that is crawled hangs from that page, which is
  then the root that root-scc looks for: a gift to that method.
- *Not crawled* are the others. Links to them are known, links from them are not.
- *Spam* and *clicked* are random pages among those crawled, 2 % and 5 %, none of them both. Real spam links to spam,
  and what is clicked is linked to. These do neither: they show how a method bears with noise, no more.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from orienteer.errors import InputError
from orienteer.graph.link_graph import LinkGraph
from orienteer.seeds.select import Division, groups_of
from orienteer.seeds.value import paper_value

ENTRY_SHARE, SPAM_SHARE, CLICKED_SHARE = 0.04, 0.02, 0.05


class PartialCrawl(NamedTuple):
    """The pages crawled, by their ids in the whole graph; the links among them; those of each to the others."""

    pages: NDArray[np.int64]
    graph: LinkGraph
    n_uncrawled: NDArray[np.int64]


def partial_crawl(graph: LinkGraph, share: float = 0.5, rng: int = 0, entry_share: float = ENTRY_SHARE) -> PartialCrawl:
    """What a breadth-first crawl of this share of the pages knows; with an `entry_share` of 0 it enters at one page.

    >>> from orienteer.graph import shapes
    >>> int(partial_crawl(shapes.cycle(6), 0.5, entry_share=0).n_uncrawled.sum())
    1
    """
    if not 0 < share <= 1:
        raise InputError(f"share is {share}; it must be above 0, and at most 1")
    if not 0 <= entry_share <= 1:
        raise InputError(f"entry_share is {entry_share}; it must be from 0 to 1")
    entries = np.random.default_rng(rng).permutation(graph.n_pages)
    n_wanted, n_entries = (round(part * graph.n_pages) for part in (share, entry_share))
    is_crawled = _crawled(graph.offsets, graph.targets, entries, n_entries, n_wanted)
    crawled = groups_of(graph, Division((~is_crawled).astype(np.int32), 2, None))[0]
    n_uncrawled = graph.out_degrees()[crawled.pages] - crawled.graph.out_degrees()
    return PartialCrawl(crawled.pages, crawled.graph, n_uncrawled)


def made_up_value(crawl: PartialCrawl, rng: int = 0) -> NDArray[np.float64]:
    """The paper's value of the pages crawled, with made-up spam and clicks; every page not crawled counts as unique."""
    n_pages = crawl.graph.n_pages
    places = np.random.default_rng(rng).permutation(n_pages)
    n_spam, n_clicked = round(SPAM_SHARE * n_pages), round(CLICKED_SHARE * n_pages)
    is_spam = places < n_spam
    is_clicked = (places >= n_spam) & (places < n_spam + n_clicked)
    return paper_value(n_pages, is_spam, is_clicked, crawl.n_uncrawled)


@njit(cache=True, nogil=True)
def _crawled(offsets: Any, targets: Any, entries: Any, n_entries: int, n_wanted: int) -> Any:
    """A mask of the first pages that a breadth-first crawl fetches. `entries` holds every page once: those it begins
    with, then those it enters at, one by one, where it runs dry."""
    n_pages = len(entries)
    is_known = np.zeros(n_pages, np.bool_)
    is_crawled = np.zeros(n_pages, np.bool_)
    queue = np.empty(n_pages, np.uint32)
    queue[:n_entries] = entries[:n_entries]
    is_known[entries[:n_entries]] = True
    n_known = n_tried = n_entries
    for at in range(n_wanted):
        while at == n_known:
            entry = entries[n_tried]
            n_tried += 1
            if not is_known[entry]:
                is_known[entry] = True
                queue[n_known] = entry
                n_known += 1
        page = queue[at]
        is_crawled[page] = True
        for k in range(offsets[page], offsets[page + 1]):
            target = targets[k]
            if not is_known[target]:
                is_known[target] = True
                queue[n_known] = target
                n_known += 1
    return is_crawled
