"""Rendering of pages in a live crawl: selects the pages, fetches their assets, learns from the results.

A worker renders a page. The requests of its browser come to the crawl and are fetched as assets (`assets`): within
robots.txt, in the slot of their host, from no private address. While a page is rendered, the slot of its host is free.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from orienteer.browser.executable import find_browser
from orienteer.browser.settings import BrowserSettings
from orienteer.errors import InputError
from orienteer.ledger.ledger import Ledger
from orienteer.ledger.plan import CrawlPlan
from orienteer.live.asset_queues import AssetKey
from orienteer.live.assets import AssetFetcher
from orienteer.live.render_choice import RenderChoice
from orienteer.pages.render_reason import RenderReason
from orienteer.responses.response import Response
from orienteer.workers.fetch_result import FetchResult
from orienteer.workers.rendering import AssetRequest, AssetResponse, RenderLimits
from orienteer.workers.worker_pool import WorkerPool


def render_limits_of(plan: CrawlPlan, browser: str = "") -> RenderLimits | None:
    """Return the limits of rendering; None if it is switched off, or `auto` finds no browser.

    `browser` is the program; "": the first one found.
    """
    render = plan.render
    if render.mode == "never":
        return None
    try:
        find_browser(browser)
    except InputError:
        if browser or render.mode != "auto":
            raise
        return None
    return RenderLimits(
        BrowserSettings(browser),
        user_agent=plan.fetch.user_agent,
        scrolls=render.scrolls,
        screenshots=render.screenshots,
        pictures=render.screenshots or plan.crawl.assets,
        max_requests=render.max_requests,
        max_bytes=render.max_bytes,
        time_s=render.time_s,
        cpu_s=render.cpu_s,
    )


class Rendering:
    """The rendering of one live crawl; without a browser it selects no page."""

    def __init__(self, ledger: Ledger, pool: WorkerPool, assets: AssetFetcher, has_browser: bool) -> None:
        self._ledger = ledger
        self._pool = pool
        self._assets = assets
        self._has_browser = has_browser
        self._choice = RenderChoice(ledger.plan.render, lambda: len(ledger.crawl.order))
        for row in ledger.database.rendered.all():
            numbers = row.n_words_sent, row.n_words, row.n_links_sent, row.n_links
            self._choice.learn(ledger.url(row.page), *numbers)

    def reason(self, page: int, url: str) -> RenderReason:
        """Return the reason for rendering a page; a refresh renders the same pages again."""
        if not self._has_browser:
            return RenderReason.NONE
        again = self._ledger.page_store.render_reason(page)
        return again if again and self._choice.is_automatic else self._choice.reason(url)

    def relay(self) -> None:
        """Start the requests of browsers that workers have passed on."""
        for request in self._pool.asset_requests():
            if request.url:
                key = AssetKey(request.url, request.with_credentials, request.method, request.headers)
                self._assets.fetch_for_browser(key, request.kind, self._responder(request))
            else:  # the page itself has been fetched: its host slot is free
                self._ledger.crawl.free_host(request.page, time.monotonic())

    def page_received(self, response: FetchResult) -> None:
        """Count the response for a page, rendered or not."""
        self._choice.page_received(response.request.url)
        if (page := response.rendered) is not None:
            self._choice.learn(
                response.request.url, page.n_words_sent, page.n_words, page.n_links_sent, page.n_links
            )  # fmt: skip

    def _responder(self, request: AssetRequest) -> Callable[[Response | str], None]:
        def respond(result: Response | str) -> None:
            if isinstance(result, str):
                self._pool.fulfill(AssetResponse(request.page, request.number, None, result))
            else:
                self._pool.fulfill(AssetResponse(request.page, request.number, result))

        return respond
