"""Fetch the assets of pages: images, style sheets, fonts, scripts, frames, and what scripts request.

Assets are not pages of the crawl: the graph, the budget and the certificate ignore them. They follow the same rules:
host slots, crawl delays, robots.txt, size limits; and they are archived.

    assets.fetch_for_browser(key, kind, callback)  calls `callback` once, with the response or the reason for a refusal
    assets.enqueue(urls, parent)                   queues the assets of an archived page; the queue survives a kill
    assets.start_due(now)                          starts the requests that may start now
    assets.receive(request, response)              handles the response to a request that was started here
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

from orienteer.crawl.host_scheduler import HostScheduler, HostSlot
from orienteer.credentials.keyring import Keyring
from orienteer.ledger.ledger import Ledger
from orienteer.live.asset_cache import AssetCache
from orienteer.live.asset_queues import AssetKey, AssetQueue, AssetQueues, Callback, QueuedAsset
from orienteer.live.host_requests import HostFailures, HostRequests
from orienteer.pages.outcome import Outcome
from orienteer.responses.response import AssetRequest, Response
from orienteer.responses.secrets import origin_of
from orienteer.responses.verdict import VerdictKind
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
_MAX_LOST = 3
_NO_FAILURES = frozenset((Outcome.LOST, Outcome.LOGGED_OUT))  # of the host
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
        hosts: HostScheduler,
        host_requests: HostRequests,
        failures: HostFailures,
        keyring: Keyring,
        log: Log,
        workers: int,
    ) -> None:
        self.n_done = self.n_failed = self.n_bytes = 0
        self._ledger, self._pool, self._keyring, self._log = ledger, pool, keyring, log
        self._workers = workers
        self._hosts, self._host_requests, self._failures = hosts, host_requests, failures
        host_requests.on_robots_failure = self._refuse_all
        self._cache = AssetCache(ledger, keyring)
        self._assets: dict[AssetKey, QueuedAsset] = {}  # queued and in flight
        self._awaited: dict[str, dict[AssetKey, QueuedAsset]] = {}  # by host: assets that browsers wait for
        self._awaited_due: dict[str, float] = {}  # by host: when to try again
        self._queues = AssetQueues()
        self._in_flight: dict[AssetRequest, QueuedAsset] = {}
        self._is_announced = False
        if ledger.plan.crawl.assets:
            for row in ledger.database.assets.requested():
                key = AssetKey(row.url, self._cache.has_credentials(row))
                self._enqueue(QueuedAsset(key, host_of(row.url), row.id, depth=1))

    @property
    def n_waiting(self) -> int:
        """The number of assets that are queued and not in flight."""
        return len(self._assets) - len(self._in_flight)

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
        self._hosts.register_hosts(now)
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

    def on_slot_free(self, slot: HostSlot) -> None:
        """Reschedule the queue of a host after a response to one of its requests."""
        if self._queues:
            self._queues.on_slot_free(slot.name, 0.0, by_page=slot.page is not None)

    def _has_free_worker(self) -> bool:
        """Whether a worker is free for queued assets, which no browser waits for."""
        return self._n_held() < max(1, self._workers // 2) and self._pool.n_in_flight < self._workers

    def _n_held(self) -> int:
        """Return the number of requests in flight for assets, with those for robots.txt."""
        return len(self._in_flight) + self._host_requests.n_for_assets

    def _start_awaited(self, host: str, now: float) -> None:
        self._awaited_due.pop(host, None)
        assets = self._awaited.get(host, {})
        while assets and self._n_held() < self._workers:  # pages in a browser may hold all workers
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
            if queue.is_page_next and self._hosts.has_waiting_page(queue.host):
                return self._queues.schedule(queue, math.inf)
            asset, n_held = queue.first, self._n_held()
            retry_at = self._try_start(asset, now)
            queue.is_page_next = queue.is_page_next or self._n_held() > n_held
            if retry_at is not None:
                return self._queues.schedule(queue, retry_at)
            queue.assets.pop(asset.key, None)
        self._queues.remove_host(queue.host)

    def _try_start(self, asset: QueuedAsset, now: float) -> float | None:
        """Start or refuse the request and return None; otherwise return when to try again.

        Infinity means: after the next response of the host.
        """
        name, url, rules = asset.host, asset.url, self._hosts.rules
        robots = rules.robots_request(name, url, now)
        refusal = self._refusal(asset)
        if refusal is None and robots is None and not rules.allows(name, url):
            refusal = Outcome.ROBOTS
        if refusal is not None:
            self._refuse(asset, refusal)
            return None
        needs_login = asset.key.with_credentials and self._keyring.next_step(url) is not None
        if needs_login and not self._ledger.crawl.is_closed:
            return math.inf  # a page of the host runs the login
        if robots is not None:
            is_for_page = not asset.callbacks or self._keyring.next_step(url) is not None
            if self._host_requests.is_in_flight(name) or (is_for_page and self._hosts.has_waiting_page(name)):
                return math.inf  # a page of the host requests robots.txt, after a login, and then its sitemaps
        free_at = self._hosts.free_at(name, now)
        if free_at > now:
            return free_at
        if robots is not None:
            self._host_requests.start_for_asset(robots, name, now)
            return math.inf
        request = self._request(asset)
        self._hosts.take(request, name, now)
        self._in_flight[request] = asset
        self._pool.start(request)
        return None

    def _refusal(self, asset: QueuedAsset) -> Outcome | None:
        """Return why the asset is not requested, regardless of robots.txt; None if it may be."""
        if self._hosts.is_abandoned_for_assets(asset.host):
            return Outcome.HOST_ABANDONED
        return self._keyring.refusal(asset.url) if asset.key.with_credentials else None

    def _request(self, asset: QueuedAsset) -> AssetRequest:
        key = asset.key
        headers = (*key.headers, *self._cache.request_headers(key))
        if asset.kind not in _DOCUMENTS:
            headers = (("Accept", "*/*"), *headers)
        limit = self._ledger.plan.fetch.max_asset_bytes
        secrets = self._keyring.secrets_for(key.url) if key.with_credentials else None
        return AssetRequest(
            key.url, headers=headers, max_body_bytes=limit, secrets=secrets, is_preflight=key.is_preflight
        )

    # -- responses ----------------------------------------------------------------------------------------------

    def receive(self, request: AssetRequest, response: FetchResult) -> None:
        """Handle the response to a request that was started here."""
        now = time.monotonic()
        asset = self._in_flight.pop(request)
        self._log.note("asset", **response.facts)
        self.n_bytes += response.n_bytes
        if response.outcome is Outcome.CANCELLED:
            return self._abort(asset, STOPPED)
        if response.outcome is Outcome.LOST and asset.n_lost < _MAX_LOST:
            asset.n_lost += 1
            return self._requeue(asset)
        asset.n_attempts += 1
        health = self._hosts.asset_health
        has_failed = response.verdict.kind is VerdictKind.TRY_AGAIN and response.outcome not in _NO_FAILURES
        if has_failed:
            self._failures.record_for_assets(asset.host, response, now, asset.url)
        elif response.status:
            health.record_success(asset.host)
        is_last = asset.n_attempts >= _MAX_ATTEMPTS or bool(asset.callbacks) or health.is_abandoned(asset.host)
        if has_failed and not is_last:
            return self._requeue(asset)
        health.forget(asset.host, asset.url)
        if response.outcome not in _STORED or response.full_response is None:
            return self._refuse(asset, response.reason)
        self._complete(asset, request, response)

    def _complete(self, asset: QueuedAsset, request: AssetRequest, response: FetchResult) -> None:
        """Store the response and call the callbacks."""
        stored = self._cache.store(asset.key, asset.row, response)
        self._keyring.record_response(request, False, response.cookies)
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


def _describe(reason: str) -> str:
    return "robots.txt forbids it" if reason == Outcome.ROBOTS else str(reason)
