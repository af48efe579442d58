"""Rendering in a live crawl: selects the pages, fetches their assets, learns from the results.

A worker renders a page. The requests of its browser come to the crawl and are fetched as assets (`assets`): within
robots.txt, in the slot of their host, from no private address. While a page is rendered, the slot of its host is free.

Rendering costs seventy times as much as reading, so not all pages are rendered. With `auto`, these are:

- pages that look as if scripts generate them (`extract/script_signs`);
- a few other pages with scripts, as a sample of whether they gain links or words by it: at most two of a host while
  none of its pages has gained, and few of a crawl while nothing has; after the first that gained nothing only those
  that have little text, or much data for scripts;
- all pages whose template gained. URLs of the same host with the same parameters have the same template if their
  paths differ only in numbers and names.

The choice depends only on the set of rendered pages, not on their order; so a resumed crawl makes the same choices.
"""

from __future__ import annotations

import fnmatch
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass

from orienteer.browser.job import BrowserRequest, BrowserResponse, RenderSettings
from orienteer.browser.process import find_browser
from orienteer.errors import InputError
from orienteer.ledger.ledger import Ledger
from orienteer.ledger.plan import CrawlPlan
from orienteer.live.asset_queues import AssetKey
from orienteer.live.assets import AssetFetcher
from orienteer.pages.render_reason import RenderReason
from orienteer.responses.response import Response
from orienteer.url import host_of
from orienteer.workers.fetch_result import FetchResult
from orienteer.workers.worker_pool import WorkerPool

_SAMPLE_OF_TEMPLATE = 1  # rendered pages of a template, to see whether they gain
_SAMPLE_OF_HOST = 2  # the same for a host, while none of its pages has gained
_MORE_OF_HOST = 30  # once one has
_FREE_SAMPLES = 3  # of a crawl that may gain nothing, ...
_PAGES_PER_SAMPLE = 2_000  # ... and one more for so many pages, so that they take 5 % of the CPU time of a long crawl
_MOST_LOOKS = 20  # pages of a host in which to look for one with little text
_GAIN = 1.2  # the factor by which words or links must grow, ...
_FEW_LINKS, _FEW_WORDS = 3, 30  # ... and by this many at least
_FREE = 50  # pages rendered before `max_share` applies
_MAX_NAME = 16  # longer path segments are names of items


def can_render(plan: CrawlPlan, browser: str = "") -> bool:
    """Return whether pages are rendered: not if that is switched off, or if `auto` finds no browser.

    `browser` is the program; "": the first one found.
    """
    if plan.render.mode == "never":
        return False
    try:
        find_browser(browser)
    except InputError:
        if browser or plan.render.mode != "auto":
            raise
        return False
    return True


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
        for request in self._pool.browser_requests():
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

    def _responder(self, request: BrowserRequest) -> Callable[[Response | str], None]:
        def respond(result: Response | str) -> None:
            if isinstance(result, str):
                self._pool.fulfill(BrowserResponse(request.page, request.number, None, result))
            else:
                self._pool.fulfill(BrowserResponse(request.page, request.number, result))

        return respond


@dataclass(slots=True)
class _Tally:
    """Counts of rendered pages and of those that gained; `n_pending` are samples in flight, `n_looks` all so far."""

    n_rendered: int = 0
    n_gained: int = 0
    n_pending: int = 0
    n_looks: int = 0


class RenderChoice:
    """Decides for a URL whether its page may be rendered; `n_fetched` returns the number of pages so far."""

    def __init__(self, settings: RenderSettings, n_fetched: Callable[[], int]) -> None:
        self._settings = settings
        self._n_fetched = n_fetched
        self._templates: defaultdict[str, _Tally] = defaultdict(_Tally)
        self._hosts: defaultdict[str, _Tally] = defaultdict(_Tally)
        self._gained: dict[str, bool] = {}  # whether a rendered page gained, by URL
        self._n_gained = 0
        self._samples: set[str] = set()  # URLs in flight as samples

    @property
    def is_automatic(self) -> bool:
        """Whether pages are selected here, and not by the user's setting."""
        return self._settings.mode == "auto"

    def reason(self, url: str) -> RenderReason:
        """Return the reason for which the page at this URL may be rendered, or NONE."""
        mode = self._settings.mode
        if mode == "never" or (len(self._gained) >= self._settings.max_pages and url not in self._gained):
            return RenderReason.NONE
        if "#" in url:
            return RenderReason.ROUTE
        if mode != "auto":
            return RenderReason.REQUESTED if mode == "always" or fnmatch.fnmatchcase(url, mode) else RenderReason.NONE
        if self._is_over_budget():
            return RenderReason.SUSPECT
        template = self._templates[template_of(url)]
        if template.n_rendered and 2 * template.n_gained >= template.n_rendered:
            return RenderReason.LEARNED
        return self._sample(url, template)

    def page_received(self, url: str) -> None:
        """Count the response for a page, rendered or not."""
        if url in self._samples:
            self._samples.remove(url)
            for tally in (self._templates[template_of(url)], self._hosts[host_of(url)]):
                tally.n_pending -= 1

    def learn(self, url: str, n_words_sent: int, n_words: int, n_links_sent: int, n_links: int) -> None:
        """Record the gain of a rendered page, in place of an earlier one."""
        gained, before = is_gain(n_words_sent, n_words, n_links_sent, n_links), self._gained.get(url)
        self._gained[url] = gained
        self._n_gained += gained - bool(before)
        for tally in (self._templates[template_of(url)], self._hosts[host_of(url)]):
            tally.n_rendered += before is None
            tally.n_gained += gained - bool(before)

    def _sample(self, url: str, template: _Tally) -> RenderReason:
        """Return SAMPLE or SPARSE if the page may be a sample, else SUSPECT."""
        host, n_useless = self._hosts[host_of(url)], len(self._gained) - self._n_gained
        most = _MORE_OF_HOST if host.n_gained else _SAMPLE_OF_HOST
        most_useless = _FREE_SAMPLES + self._n_gained + self._n_fetched() / _PAGES_PER_SAMPLE
        is_sparse = n_useless > 0 and not host.n_gained
        if (
            template.n_rendered + template.n_pending >= _SAMPLE_OF_TEMPLATE
            or host.n_rendered + host.n_pending >= most
            or n_useless + len(self._samples) >= most_useless
            or (is_sparse and host.n_looks >= _MOST_LOOKS)
        ):
            return RenderReason.SUSPECT
        self._samples.add(url)
        template.n_pending += 1
        host.n_pending += 1
        host.n_looks += 1
        return RenderReason.SPARSE if is_sparse else RenderReason.SAMPLE

    def _is_over_budget(self) -> bool:
        return len(self._gained) >= max(_FREE, self._settings.max_share * self._n_fetched())


def is_gain(n_words_sent: int, n_words: int, n_links_sent: int, n_links: int) -> bool:
    """Return whether rendering a page was worth it, by its words and links as sent and as rendered."""
    more_links = n_links >= _GAIN * n_links_sent and n_links - n_links_sent >= _FEW_LINKS
    return more_links or (n_words >= _GAIN * n_words_sent and n_words - n_words_sent >= _FEW_WORDS)


def template_of(url: str) -> str:
    """Return the template of a URL: its host, and its path and parameter names without numbers and names of items.

    >>> template_of("https://example.org/items/17/a-blue-chair?page=2&sort=up")
    'example.org/items/9/*?page&sort'
    """
    path, _, query = url.partition("#")[0].partition("?")
    host, *segments = path.partition("://")[2].split("/")
    kinds = ["9" if any(map(str.isdigit, name)) else "*" if _is_name(name) else name for name in segments]
    names = sorted({pair.partition("=")[0] for pair in query.split("&")}) if query else []
    return "/".join((host, *kinds)) + ("?" + "&".join(names) if names else "")


def _is_name(segment: str) -> bool:
    return len(segment) > _MAX_NAME or "-" in segment or "_" in segment or "%" in segment
