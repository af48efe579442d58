"""Fetch the assets of pages: images, style sheets, fonts, scripts, frames, and what scripts request.

Assets are not pages of the crawl: the graph, the budget and the certificate ignore them. They follow the same rules:
host slots, crawl delays, robots.txt, size limits; and they are archived.

    assets.fetch_for_browser(key, kind, callback)  calls `callback` once, with the response or the reason for a refusal
    assets.enqueue(urls, parent)                   queues the assets of an archived page; the queue survives a kill
    assets.start_due(now)                          starts the requests that may start now
    assets.receive(response)                       handles the response to a request that was started here
    assets.next_time()                             returns when the next request may start

Requests of a browser go first. The queued ones alternate with pages of the same host and use half of the workers at
most.

A failed asset says nothing about the pages of its host: the crawl backs off from the host, but its pages are never
abandoned because of assets.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from orienteer.crawl.retries import HOST_FAILURES
from orienteer.credentials.keyring import Keyring
from orienteer.frontier.host_health import HostHealth
from orienteer.ledger.ledger import Ledger
from orienteer.live.asset_cache import AssetCache
from orienteer.live.asset_queues import AssetKey, AssetQueue, AssetQueues, Callback, QueuedAsset
from orienteer.live.asset_slots import AssetSlots, TakenSlot
from orienteer.live.host_requests import HostRequest
from orienteer.live.host_slots import HostSlots
from orienteer.pages.outcome import Outcome
from orienteer.responses.response import Request, Response
from orienteer.responses.secrets import origin_of
from orienteer.store.log import Log
from orienteer.url import canonical_url, host_of
from orienteer.wording import counted
from orienteer.workers.fetch_result import FetchResult
from orienteer.workers.worker_pool import WorkerPool

MAX_HOPS = 5  # redirects in a row
MAX_FRAME_DEPTH = 3  # nested frames whose documents are read for assets
MAX_DEPTH = 6  # nested imports of style sheets
STOPPED = "the crawl was stopped"
NO_URL = "no URL that could be fetched"

_MAX_ATTEMPTS = 2
_MAX_HOST_FAILURES = 3  # in a row, before a host is abandoned for assets
_MAX_LOST = 3
_RETRYABLE = frozenset((Outcome.TIMED_OUT, Outcome.SERVER_ERROR, Outcome.BROKEN))
# Outcomes with a response to store; all others are recorded as refusals.
_STORED = frozenset((Outcome.OK, Outcome.REDIRECT, Outcome.NOT_MODIFIED, Outcome.CLIENT_ERROR, Outcome.SERVER_ERROR,
                     Outcome.SLOW_DOWN, Outcome.LEADS_NOWHERE))  # fmt: skip
_DOCUMENTS = frozenset(("document", "frame"))
_HTML = frozenset(("text/html", "application/xhtml+xml"))


class AssetFetcher:
    """Requests the assets of a live crawl; `n_done`, `n_failed` and `n_bytes` count those of this run."""

    def __init__(
        self,
        ledger: Ledger,
        pool: WorkerPool,
        slots: HostSlots,
        health: HostHealth,
        keyring: Keyring,
        log: Log,
        workers: int,
    ) -> None:
        self.n_done = self.n_failed = self.n_bytes = 0
        self._ledger, self._pool, self._keyring, self._log = ledger, pool, keyring, log
        self._workers = workers
        self._host_requests = slots.host_requests
        self._slots = AssetSlots(ledger, slots)
        self._cache = AssetCache(ledger, keyring)
        self._page_health = health
        retry = ledger.plan.retry
        self._health = HostHealth(replace(retry, give_up_after=min(retry.give_up_after, _MAX_HOST_FAILURES)))
        self._numbers: dict[str, int] = {}  # by name of an asset host; ids for `_health` alone
        self._assets: dict[AssetKey, QueuedAsset] = {}  # queued and in flight
        self._awaited: dict[str, dict[AssetKey, QueuedAsset]] = {}  # by host: assets that browsers wait for
        self._awaited_due: dict[str, float] = {}  # by host: when to try again
        self._queues = AssetQueues()
        self._in_flight: dict[int, tuple[QueuedAsset | HostRequest, TakenSlot]] = {}  # by request.page
        self._robots_in_flight: set[str] = set()  # hosts
        self._n_started = 0
        self._is_announced = False
        if ledger.plan.crawl.assets:
            for row in ledger.database.assets.requested():
                key = AssetKey(row.url, self._cache.has_credentials(row))
                self._enqueue(QueuedAsset(key, host_of(row.url), row.id, depth=1))

    @property
    def n_waiting(self) -> int:
        """The number of assets that are queued and not in flight."""
        return len(self._assets) - sum(isinstance(item, QueuedAsset) for item, _ in self._in_flight.values())

    @property
    def n_in_flight(self) -> int:
        return len(self._in_flight)

    def notice(self) -> str:
        """Return, once, how many assets remain after all pages are done; "" otherwise."""
        if self._is_announced or not self.n_waiting:
            return ""
        self._is_announced = True
        assets = counted(self.n_waiting, "asset is", "assets are")
        return f"all pages are done; {assets} still to be fetched"

    # -- queue --------------------------------------------------------------------------------------------------

    def fetch_for_browser(self, request: AssetKey, kind: str, callback: Callback) -> None:
        """Request an asset for a browser; `kind` is its resource type ("document", "image", "script", …).

        `callback` is called once: immediately with a cached response, or later from `start_due`, `receive` or `cancel`.
        Its argument is the response (which may be a redirect), or one line that says why there is none.
        """
        url = canonical_url(request.url)
        if url is None:
            return callback(NO_URL)
        key = request._replace(url=url, with_credentials=request.with_credentials and self._keyring.grants(url))
        asset = self._assets.get(key)
        if asset is None:
            cached = self._cache.response(key)
            if cached is not None:
                return callback(_describe(cached) if isinstance(cached, str) else cached)
            asset = QueuedAsset(key, host_of(url), self._cache.pending_row(key), kind)
            self._assets[key] = asset
            self._awaited.setdefault(asset.host, {})[key] = asset
        elif self._queues.remove(asset):
            self._awaited.setdefault(asset.host, {})[key] = asset
        asset.callbacks.append(callback)

    def enqueue(self, urls: Iterable[str], parent: AssetKey | None = None, depth: int = 1, n_hops: int = 0) -> None:
        """Queue assets, each once in an epoch; the queue is durable.

        `parent` is the page, frame or style sheet that names them, or the asset that redirects to them. Credentials are
        inherited only from a parent that was requested with them, within its origin.
        """
        for url in urls:
            is_own = parent is not None and parent.with_credentials and origin_of(url) == origin_of(parent.url)
            key = AssetKey(url, is_own and self._keyring.grants(url))
            asset = self._assets.get(key)
            if asset is not None:
                asset.row = self._cache.record_request(key) if asset.row is None else asset.row
            elif not self._cache.is_known(key):
                self._enqueue(
                    QueuedAsset(key, host_of(url), self._cache.record_request(key), depth=depth, n_hops=n_hops)
                )

    def enqueue_page_assets(self, page: int, response: FetchResult) -> None:
        """Queue the assets of a page that was just fetched; for an unmodified page, those of the archived copy."""
        if not self._ledger.plan.crawl.assets:
            return
        urls: Iterable[str] = response.assets
        if response.outcome is Outcome.NOT_MODIFIED:
            urls = self._cache.assets_of_page(page)
        self._enqueue_page_urls(page, urls)

    def _enqueue_page_urls(self, page: int, urls: Iterable[str]) -> None:
        # Pages are always requested with the credentials of their origin, if there are any.
        self.enqueue(urls, AssetKey(self._ledger.url(page), with_credentials=True))

    def enqueue_earlier_assets(self) -> None:
        """Queue the assets of pages that were fetched while assets were switched off."""
        if self._ledger.plan.crawl.assets:
            for page in self._cache.pages_since_position():
                self._enqueue_page_urls(page, self._cache.assets_of_page(page))

    def acknowledge(self) -> None:
        """Record up to which ledger position the assets of pages are queued; committed together with the pages."""
        if self._ledger.plan.crawl.assets:
            self._cache.save_position()

    def cancel(self) -> None:
        """Call all callbacks with STOPPED; durable requests stay queued."""
        waiting = [asset for asset in self._assets.values() if asset.callbacks]
        for asset in waiting:
            is_in_flight = asset.key not in self._awaited.get(asset.host, {})
            callbacks, asset.callbacks = asset.callbacks, []
            if asset.row is None and not is_in_flight:
                del self._assets[asset.key]
            elif not is_in_flight:
                self._enqueue(asset)
            for callback in callbacks:
                callback(STOPPED)
        self._awaited.clear()

    def _enqueue(self, asset: QueuedAsset) -> None:
        self._assets[asset.key] = asset
        self._queues.add(asset)

    # -- starting -----------------------------------------------------------------------------------------------

    def start_due(self, now: float, only_awaited: bool = False) -> None:
        """Start requests while workers are free; with `only_awaited` only those that a browser waits for."""
        self._slots.adopt(now)
        for host in list(self._awaited):
            self._start_awaited(host, now)
        if only_awaited:
            return
        for queue in self._queues.due(now) if self._has_free_worker() else ():
            self._start_queued(queue, now)
            if not self._has_free_worker():
                return

    def next_time(self) -> float | None:
        """Return when the next request may start; None if only a response can change that."""
        queued = self._queues.next_time() if self._has_free_worker() else math.inf
        soonest = min([queued, *self._awaited_due.values()])
        return None if soonest == math.inf else soonest

    def on_slot_free(self, host: int) -> None:
        """Reschedule the queue of a host after a response for one of its pages."""
        if self._queues:
            self._queues.on_slot_free(self._ledger.seen.host_name(host), 0.0, by_page=True)

    def _has_free_worker(self) -> bool:
        """Whether a worker is free for queued assets, which no browser waits for."""
        return len(self._in_flight) < max(1, self._workers // 2) and self._pool.n_in_flight < self._workers

    def _start_awaited(self, host: str, now: float) -> None:
        self._awaited_due.pop(host, None)
        assets = self._awaited.get(host, {})
        while assets and len(self._in_flight) < self._workers:  # pages in a browser may hold all workers
            asset = next(iter(assets.values()))
            retry_at = self._try_start(asset, now)
            if retry_at is not None:
                self._awaited_due[host] = retry_at
                return
            assets.pop(asset.key, None)
        if not assets:
            self._awaited.pop(host, None)

    def _start_queued(self, queue: AssetQueue, now: float) -> None:
        while queue.assets:
            if not self._has_free_worker():
                return self._queues.schedule(queue, now)
            if queue.is_page_next and self._has_waiting_page(queue.host):
                return self._queues.schedule(queue, math.inf)
            asset, n_started = queue.first, self._n_started
            retry_at = self._try_start(asset, now)
            queue.is_page_next = queue.is_page_next or self._n_started > n_started
            if retry_at is not None:
                return self._queues.schedule(queue, retry_at)
            queue.assets.pop(asset.key, None)
        self._queues.remove_host(queue.host)

    def _has_waiting_page(self, name: str) -> bool:
        crawl, host = self._ledger.crawl, self._slots.host(name)
        return host is not None and not crawl.is_closed and crawl.frontier.has_pages(host)

    def _try_start(self, asset: QueuedAsset, now: float) -> float | None:
        """Start or refuse the request and return None; otherwise return when to try again.

        Infinity means: after the next response of the host.
        """
        name, url = asset.host, asset.url
        if name in self._robots_in_flight:
            return math.inf
        rules = self._rules_key(name, now)
        host_request = self._host_requests.robots_request(rules, url, now)
        refusal = self._refusal(asset)
        if refusal is None and host_request is None and not self._host_requests.allows(rules, url):
            refusal = Outcome.ROBOTS
        if refusal is not None:
            self._refuse(asset, refusal)
            return None
        needs_login = asset.key.with_credentials and self._keyring.next_step(url) is not None
        if needs_login and not self._ledger.crawl.is_closed:
            return math.inf  # a page of the host runs the login
        if host_request is not None and not asset.callbacks and self._has_waiting_page(name):
            return math.inf  # a page of the host requests robots.txt, and then its sitemaps
        back_off_s = self._health.back_off_left_s(self._host_number(name), now)
        free_at = max(self._slots.free_at(name, now), now + back_off_s)
        if free_at > now:
            return free_at
        taken = self._slots.take(name, now)
        if taken is None:
            return math.inf
        if host_request is not None:
            self._start(host_request, taken, self._robots_request(host_request))
            self._robots_in_flight.add(name)
            return math.inf
        self._start(asset, taken, self._request(asset))
        return None

    def _refusal(self, asset: QueuedAsset) -> Outcome | None:
        """Return why the asset is not requested, regardless of robots.txt; None if it may be."""
        host = self._slots.host(asset.host)
        is_abandoned = host is not None and self._page_health.is_abandoned(host)
        if is_abandoned or self._health.is_abandoned(self._host_number(asset.host)):
            return Outcome.HOST_ABANDONED
        return self._keyring.refusal(asset.url) if asset.key.with_credentials else None

    def _host_number(self, name: str) -> int:
        return self._numbers.setdefault(name, len(self._numbers))

    def _rules_key(self, name: str, now: float) -> int:
        """Return the host id for HostRequests: the crawl's own id where its rules are known, else a negative one.

        A robots.txt that is requested here does not set the rules of the crawl's host, which would lose its sitemaps.
        """
        host = self._slots.host(name)
        return host if host is not None and self._host_requests.has_rules(host, now) else -1 - self._host_number(name)

    def _request(self, asset: QueuedAsset) -> Request:
        key = asset.key
        headers = (*key.headers, *self._cache.request_headers(key))
        if asset.kind not in _DOCUMENTS:
            headers = (("Accept", "*/*"), *headers)
        limit = self._ledger.plan.fetch.max_asset_bytes
        secrets = self._keyring.secrets_for(key.url) if key.with_credentials else None
        return Request(
            key.url, self._next_request_id(), headers, max_body_bytes=limit, secrets=secrets, is_asset=True,
            method=key.method,
        )  # fmt: skip

    def _robots_request(self, host_request: HostRequest) -> Request:
        secrets = self._keyring.secrets_for(host_request.url)
        limit = host_request.max_body_bytes
        return Request(host_request.url, self._next_request_id(), any_type=True, max_body_bytes=limit, secrets=secrets)

    def _next_request_id(self) -> int:
        """Return a unique negative id, which distinguishes asset requests from page requests."""
        self._n_started += 1
        return -1 - self._n_started

    def _start(self, item: QueuedAsset | HostRequest, taken: TakenSlot, request: Request) -> None:
        self._in_flight[request.page] = item, taken
        self._pool.start(request)

    # -- responses ----------------------------------------------------------------------------------------------

    def receive(self, response: FetchResult) -> None:
        """Handle the response to a request that was started here: its page is below -1."""
        now = time.monotonic()
        item, taken = self._in_flight.pop(response.request.page)
        self._slots.end(taken, now)
        self._queues.on_slot_free(taken.name, now)
        if isinstance(item, QueuedAsset):
            self._receive(item, response, now)
        else:
            self._receive_robots(taken.name, response, now)

    def _receive(self, asset: QueuedAsset, response: FetchResult, now: float) -> None:
        number = self._host_number(asset.host)
        self._log.note("asset", **facts_of(response))
        self.n_bytes += response.n_bytes
        if response.outcome is Outcome.CANCELLED:
            return self._abort(asset, STOPPED)
        if response.outcome is Outcome.LOST and asset.n_lost < _MAX_LOST:
            asset.n_lost += 1
            return self._requeue(asset)
        asset.n_attempts += 1
        if response.outcome in HOST_FAILURES:
            self._record_host_failure(
                asset.host, response, now, asset.url if response.outcome is Outcome.SLOW_DOWN else None
            )
        elif response.outcome in _RETRYABLE:
            back_off_s = self._health.record_page_failure(
                number, response.request.page, now, bool(response.status), response.reason
            )
            self._back_off(asset.host, response, back_off_s, now)
        elif response.status:
            self._health.record_success(number)
        is_retryable = response.outcome in _RETRYABLE or response.outcome in HOST_FAILURES
        if (
            is_retryable
            and asset.n_attempts < _MAX_ATTEMPTS
            and not asset.callbacks
            and not self._health.is_abandoned(number)
        ):
            return self._requeue(asset)
        self._health.forget(number, asset.url)
        if response.outcome not in _STORED or response.full_response is None:
            return self._refuse(asset, response.reason)
        self._complete(asset, response)

    def _complete(self, asset: QueuedAsset, response: FetchResult) -> None:
        """Store the response and call the callbacks."""
        stored = self._cache.store(asset.key, asset.row, response)
        self._keyring.record_response(response.request, False, response.cookies)
        del self._assets[asset.key]
        if not asset.key.is_preflight:
            self._follow_asset(asset, response, stored)
        for callback in asset.callbacks:
            callback(stored)

    def _follow_asset(self, asset: QueuedAsset, response: FetchResult, stored: Response) -> None:
        """Count the asset; queue its redirect target and the assets that it names."""
        self.n_done += 1
        is_error = response.outcome in (Outcome.CLIENT_ERROR, Outcome.SERVER_ERROR, Outcome.SLOW_DOWN)
        self.n_failed += is_error or stored.outcome is Outcome.NOT_MODIFIED  # a 304 without a stored response
        key, depth, n_hops = asset.key, asset.depth, asset.n_hops
        follows = self._ledger.plan.crawl.assets and n_hops < MAX_HOPS
        if follows and response.outcome is Outcome.REDIRECT and stored.location:
            self.enqueue([stored.location], key, depth, n_hops + 1)
        is_document = response.content_type in _HTML
        if response.assets and depth <= (MAX_FRAME_DEPTH if is_document else MAX_DEPTH):
            self.enqueue(response.assets, key, depth + 1)

    def _refuse(self, asset: QueuedAsset, reason: str) -> None:
        """Record the refusal and call the callbacks with its reason."""
        self._cache.record_refusal(asset.key, asset.row, reason)
        if not asset.key.is_preflight:
            self.n_done += 1
            self.n_failed += 1
        self._assets.pop(asset.key, None)
        for callback in asset.callbacks:
            callback(_describe(reason))

    def _requeue(self, asset: QueuedAsset) -> None:
        """Queue the asset again, or let the browser wait for another attempt."""
        if asset.callbacks:
            self._awaited.setdefault(asset.host, {})[asset.key] = asset
        else:
            self._enqueue(asset)

    def _abort(self, asset: QueuedAsset, reason: str) -> None:
        """Call the callbacks with the reason; a durable request goes back to the queue."""
        callbacks, asset.callbacks = asset.callbacks, []
        if asset.row is None:
            del self._assets[asset.key]
        else:
            self._enqueue(asset)
        for callback in callbacks:
            callback(reason)

    def _record_host_failure(self, name: str, response: FetchResult, now: float, refused: str | None = None) -> None:
        """Record a failure of the host; `refused` is the URL of an asset whose response was 429 or 503."""
        back_off_s = self._health.record_failure(
            self._host_number(name), now, response.retry_after_s, response.reason, refused
        )
        self._back_off(name, response, back_off_s, now)

    def _back_off(self, name: str, response: FetchResult, back_off_s: float | None, now: float) -> None:
        """Back off from the host for `back_off_s`; None: it is abandoned for assets, and only pages are requested."""
        if back_off_s is None:
            self._log.note("host abandoned for assets", host=name, why=self._health.reason(self._host_number(name)))
        elif back_off_s:
            self._slots.snooze(name, now + back_off_s)
            self._log.note("host backs off", host=name, back_off_s=round(back_off_s, 3), why=response.reason)

    def _receive_robots(self, name: str, response: FetchResult, now: float) -> None:
        self._robots_in_flight.discard(name)
        self._log.note("robots", **facts_of(response))
        if response.outcome in (Outcome.CANCELLED, Outcome.LOST):
            return
        assert response.full_response is not None
        number = self._host_number(name)
        robots = self._host_requests.receive_robots(-1 - number, response.full_response, now)
        if robots is not None:
            self._health.record_success(number)
            self._slots.keep_delay(name, robots.delay_s)
        elif response.outcome is Outcome.FORBIDDEN_ADDRESS:
            self._refuse_all(name, response.reason, also_queued=True)
        elif response.outcome is not Outcome.REDIRECT:
            self._record_host_failure(name, response, now)
            self._refuse_all(name, Outcome.ROBOTS_UNREACHABLE, also_queued=False)

    def _refuse_all(self, name: str, reason: str, also_queued: bool) -> None:
        """Refuse the assets of a host that browsers wait for; with `also_queued` all of its assets."""
        waiting = list(self._awaited.pop(name, {}).values())
        if also_queued:
            waiting += self._queues.remove_host(name)
        for asset in waiting:
            if asset.row is None or also_queued:
                self._refuse(asset, reason)
            else:
                self._abort(asset, _describe(reason))


def facts_of(response: FetchResult) -> dict[str, Any]:
    """Return the fields of a response for the log."""
    facts = {
        "url": response.request.url,
        "outcome": response.reason,
        "status": response.status,
        "bytes": response.n_bytes,
        "duration_s": round(response.duration_s, 4),
    }
    if response.request.method != "GET":
        facts["method"] = response.request.method
    return facts | {"detail": response.detail} if response.detail else facts


def _describe(reason: str) -> str:
    return "robots.txt forbids it" if reason == Outcome.ROBOTS else str(reason)
