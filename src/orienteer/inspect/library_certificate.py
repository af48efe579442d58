"""The certificate of all pages that a crawl has, over all its epochs.

An epoch's own certificate is about the pages visited in that epoch, with the trust on its seeds. This one is about all
pages in the folder, with the trust on the first seeds of the crawl, by the latest known links of each page: it means
the same after a refresh as the first crawl's certificate did before.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from orienteer.graph.coverage import Coverage
from orienteer.graph.growing_graph import GrowingGraph
from orienteer.graph.proved import Certificate
from orienteer.graph.push import LinkRows
from orienteer.ledger.plan import CrawlPlan
from orienteer.pages.states import COUNTS_AS_FETCHED, PageState
from orienteer.pages.unknown import UNKNOWN_COUNT
from orienteer.policies.policy import TrustedPages
from orienteer.store.database import Database
from orienteer.store.failures import damaged
from orienteer.store.history import DonePages

_NO_REDIRECT = -1


def on_topic_certificate(database: Database, plan: CrawlPlan, threshold: float) -> Certificate | None:
    """Return the certificate for a surfer from the known pages on topic, all trusted alike; None if there are none."""
    pages = database.pages.relevant(threshold)
    if len(pages) == 0:
        return None
    return library_certificate(database, plan, TrustedPages(pages, np.full(len(pages), 1 / len(pages))))


def library_certificate(
    database: Database, plan: CrawlPlan, trusted: TrustedPages | None = None, tolerance: float = 1e-9,
    until: int | None = None, not_fetched: NDArray[np.int64] | None = None,
    links_unknown: NDArray[np.int64] | None = None,
) -> Certificate:  # fmt: skip
    """Return bounds on the share of a surfer's time, from the trusted pages, that is on pages the crawl has.

    The trusted pages default to the crawl's own seeds. `until` is a position: later events are ignored. The pages
    `not_fetched` count as such, and the links of the pages `links_unknown` as unknown, regardless of the database.
    """
    n_pages = database.urls.count()
    web = GrowingGraph()
    web.grow_to(n_pages)
    states = np.zeros(n_pages, np.uint8)
    redirects = np.full(n_pages, _NO_REDIRECT, np.int64)
    n_unknown = np.zeros(n_pages, np.int32)
    for events in database.history.pages_after():
        if isinstance(events, DonePages):
            events = events if until is None else events.before(until)
            states[events.pages] = events.states
            redirects[events.pages] = np.where(events.states == PageState.FETCHED, events.redirects, _NO_REDIRECT)
            n_unknown[events.pages] = events.n_unknown
            web.add_batch(events.pages, events.link_offsets, events.links)
    if not_fetched is not None:
        states[not_fetched], redirects[not_fetched], n_unknown[not_fetched] = PageState.KNOWN, _NO_REDIRECT, 0
    if links_unknown is not None:
        redirects[links_unknown], n_unknown[links_unknown] = _NO_REDIRECT, UNKNOWN_COUNT
    for page in _in_redirect_loops(redirects):  # of responses at different times: the target is unknown
        web.add(int(page), [])
        n_unknown[page] = UNKNOWN_COUNT
    is_lost = (states == PageState.BLOCKED) & (n_unknown != 0)  # redirects
    seeds = np.arange(len(plan.crawl.seeds), dtype=np.uint32)
    trusted = trusted or TrustedPages(seeds, plan.crawl.seed_trust())
    if int(trusted.pages.max()) >= n_pages:
        raise damaged(database.path, "a trusted page has no URL")
    coverage = Coverage(trusted.vector(n_pages), plan.crawl.damping)
    coverage.set_aliases((redirects >= 0) | is_lost)
    coverage.set_all_unknown(n_unknown)
    links = LinkRows.of(web)
    fetched = np.flatnonzero(np.isin(states, COUNTS_AS_FETCHED) | is_lost).astype(np.uint32)
    coverage.fetch(fetched, links)
    coverage.block(np.flatnonzero(states == PageState.BLOCKED))
    coverage.settle(links, tolerance)
    return coverage.certificate()


def _in_redirect_loops(redirects: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the pages whose redirects never end, by pointer doubling."""
    ahead = np.where(redirects >= 0, redirects, np.arange(len(redirects)))
    for _ in range(len(redirects).bit_length()):
        ahead = ahead[ahead]
    return np.flatnonzero(redirects[ahead] >= 0)
