"""What is proved of all pages that a crawl has, over all its epochs.

An epoch's own certificate is about the pages looked at in that epoch, seen from its seeds. This one is about everything
in the folder, seen from the seeds that the crawl was begun with, by the links that each page had when it was seen last:
it says the same after a refresh as the first crawl's certificate did before.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from orienteer.graph.coverage import Coverage
from orienteer.graph.growing_graph import GrowingGraph
from orienteer.graph.proved import Certificate
from orienteer.graph.push import Links
from orienteer.ledger.plan import CrawlPlan
from orienteer.pages.states import COUNTS_AS_FETCHED, PageState
from orienteer.pages.unknown import NOBODY_KNOWS
from orienteer.policies.policy import TrustedPages
from orienteer.store.database import Database
from orienteer.store.history import DonePages

_NO_REDIRECT = -1


def topical_certificate(database: Database, plan: CrawlPlan, threshold: float) -> Certificate | None:
    """The same for a surfer from the pages on topic that were found, all trusted alike; None while there are none."""
    pages = database.relevant_pages(threshold)
    if len(pages) == 0:
        return None
    return library_certificate(database, plan, TrustedPages(pages, np.full(len(pages), 1 / len(pages))))


def library_certificate(
    database: Database, plan: CrawlPlan, trusted: TrustedPages | None = None, tolerance: float = 1e-9
) -> Certificate:
    """Bounds on the share of a surfer's time, from the trusted pages, that is on pages the crawl has.

    Without trusted pages, they are the crawl's own seeds.
    """
    n_pages = database.n_urls()
    web = GrowingGraph()
    web.know(n_pages)
    states = np.zeros(n_pages, np.uint8)
    redirects = np.full(n_pages, _NO_REDIRECT, np.int64)
    n_unknown = np.zeros(n_pages, np.int32)
    for events in database.pages_after():
        if isinstance(events, DonePages):
            states[events.pages] = events.states
            redirects[events.pages] = np.where(events.states == PageState.FETCHED, events.redirects, _NO_REDIRECT)
            n_unknown[events.pages] = events.n_unknown
            web.add_batch(events.pages, events.link_offsets, events.links)
    for page in _going_in_circles(redirects):  # seen at different times: nobody knows where they lead
        web.add(int(page), [])
        n_unknown[page] = NOBODY_KNOWS
    is_lost = (states == PageState.BLOCKED) & (n_unknown != 0)  # redirects
    seeds = np.arange(len(plan.crawl.seeds), dtype=np.uint32)
    trusted = trusted or TrustedPages(seeds, plan.crawl.seed_trust())
    coverage = Coverage(trusted.vector(n_pages), plan.crawl.damping)
    coverage.set_aliases((redirects >= 0) | is_lost)
    coverage.leave_unknown(n_unknown)
    links = Links.of(web)
    fetched = np.flatnonzero(np.isin(states, COUNTS_AS_FETCHED) | is_lost).astype(np.uint32)
    coverage.fetch(fetched, links)
    coverage.block(np.flatnonzero(states == PageState.BLOCKED))
    coverage.settle(links, tolerance)
    return coverage.certificate()


def _going_in_circles(redirects: NDArray[np.int64]) -> NDArray[np.int64]:
    """The pages whose redirects lead to no page: the way from each, doubled until it must have come to its end."""
    ahead = np.where(redirects >= 0, redirects, np.arange(len(redirects)))
    for _ in range(len(redirects).bit_length()):
        ahead = ahead[ahead]
    return np.flatnonzero(redirects[ahead] >= 0)
