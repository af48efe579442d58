"""The value of pages for the next crawl, by the rule of the paper, estimated from a crawl.

A page is worth 1, spam -10, a clicked page 10. Each of its links to a page that is not done adds the probability that a
newly crawled page of its site is no duplicate: the share of unique pages among the done pages of the site, 1 where none
is done. A page that is not done has no known links, so nothing is added.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from orienteer.graph.hosts import site_ids
from orienteer.graph.page_names import pages_in_file
from orienteer.inspect.snapshot import CrawlWeb
from orienteer.kernel import allocating_kernel
from orienteer.seeds.value import paper_value, unique_share


class PaperValues(NamedTuple):
    """The value of every page, and its components: named spam and clicked pages, links to pages that are not done."""

    values: NDArray[np.float64]
    n_spam: int
    n_clicked: int
    n_uncrawled_links: int


def paper_values(web: CrawlWeb, spam: Path | None = None, clicked: Path | None = None) -> PaperValues:
    """Return the values of the pages of the graph; `spam` and `clicked` are files that name pages, one per line."""
    is_spam, is_clicked = (
        np.zeros(web.graph.n_pages, np.bool_) if path is None else pages_in_file(web.graph, path)
        for path in (spam, clicked)
    )
    values = paper_value_of_crawl(web, is_spam, is_clicked)
    return PaperValues(values, int(is_spam.sum()), int(is_clicked.sum()), int(_uncrawled_links(web).sum()))


def paper_value_of_crawl(
    web: CrawlWeb, spam: ArrayLike | None = None, clicked: ArrayLike | None = None
) -> NDArray[np.float64]:
    """Return the values of the pages of the graph; `spam` and `clicked` are masks over them."""
    n_uncrawled = _uncrawled_links(web)
    share: ArrayLike = 1.0
    if web.graph.urls is not None and n_uncrawled.any():
        share = unique_share(site_ids(web.graph.urls)[0], web.is_duplicate, web.is_done)
    return paper_value(web.graph.n_pages, spam, clicked, n_uncrawled, share)


def _uncrawled_links(web: CrawlWeb) -> NDArray[np.int64]:
    """Return the number of links of each page to pages that are not done."""
    counts: NDArray[np.int64] = _links_to_others(web.graph.offsets, web.graph.targets, web.is_done)
    return counts


@allocating_kernel
def _links_to_others(offsets: Any, targets: Any, is_one: Any) -> Any:
    """Return the number of links of each page to pages outside the mask `is_one`."""
    counts = np.zeros(len(offsets) - 1, np.int64)
    for page in range(len(counts)):
        for k in range(offsets[page], offsets[page + 1]):
            counts[page] += not is_one[targets[k]]
    return counts
