"""A crawl of the real web: the Crawl selects pages, the WorkerPool fetches them, the Ledger makes results durable.

One thread runs the loop:

    start requests for the next pages while workers are free
    wait for responses; pass each one to the ledger
    every `commit_every_s`: commit, flush the log, save a checkpoint if one is due

`responses/verdict.py` interprets the outcome of a response.

A refresh skips pages that are not due and sends conditional requests for the others.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from orienteer import __version__
from orienteer.crawl.retries import HOST_FAILURES, Retries
from orienteer.credentials.keyring import Keyring, Step
from orienteer.frontier.host_health import HostHealth
from orienteer.hooks.page_hooks import Hook
from orienteer.ledger.intake import Intake
from orienteer.ledger.ledger import Ledger
from orienteer.live.assets import AssetFetcher, facts_of
from orienteer.live.compiling import KernelCompilation
from orienteer.live.host_requests import HostRequest, HostRequests
from orienteer.live.host_slots import HostSlots
from orienteer.live.impossible_goal import ImpossibleGoal
from orienteer.live.in_flight import InFlight
from orienteer.live.rendering import Rendering
from orienteer.live.worker_shares import WorkerShares
from orienteer.pages.outcome import Outcome
from orienteer.pages.stop_reason import StopReason
from orienteer.responses.response import Request
from orienteer.responses.verdict import VerdictKind
from orienteer.store.log import Log, NoLog
from orienteer.url import canonical_url, host_of
from orienteer.workers.fetch_result import FetchResult
from orienteer.workers.rendering import RenderLimits
from orienteer.workers.worker_pool import WorkerPool

_TICK_S = 0.25  # the longest wait for responses, which bounds the delay of a stop

# Verdicts on pages that a session gets only while it is logged in.
_LOGGED_IN = frozenset((VerdictKind.FETCHED, VerdictKind.NOT_MODIFIED, VerdictKind.SKIPPED))
_SEEDS_LOGGED = 20
_MAX_UNFETCHED = 1000  # pages in a row that need no request, before responses are polled again


class StopRequest:
    """Asks a crawl to stop, from another thread or a signal handler: once, to finish the requests in flight; twice, to
    cancel them. It may be asked before the crawl is open."""

    def __init__(self) -> None:
        self.level = 0
        self._live: LiveCrawl | None = None

    def attach(self, live: LiveCrawl) -> None:
        """Stop this crawl when asked, or now if that has happened."""
        self._live = live
        live.stop_level = max(live.stop_level, self.level)

    def ask(self) -> None:
        self.level += 1
        if self._live is not None:
            self.attach(self._live)


class LiveCrawl:
    """Runs the crawl of a ledger over the network until its goal is reached or it is stopped."""

    def __init__(
        self, ledger: Ledger, pool: WorkerPool, hooks: Sequence[Hook] = (), keyring: Keyring | None = None,
        render_limits: RenderLimits | None = None, kernels: KernelCompilation | None = None,
    ) -> None:  # fmt: skip
        """`render_limits`: None without a browser. `kernels`: None if they are compiled already."""
        plan = ledger.plan
        self.ledger = ledger
        self.crawl = ledger.crawl
        self.log = (Log if plan.crawl.log else NoLog)(ledger.folder.log_path)
        self.intake = Intake(ledger, hooks, self.log)
        self.pool = pool
        self.keyring = keyring or Keyring()
        render_limits = render_limits if pool.uses_network else None
        pool.begin(replace(self.intake.reading, rendering=render_limits))
        self.workers = min(plan.crawl.workers, pool.max_in_flight)
        self.health = HostHealth(plan.retry)
        self.shares = WorkerShares(self.crawl.frontier, self.workers)
        uses_robots = plan.crawl.robots and pool.uses_network
        self.host_requests = HostRequests(
            plan.fetch.user_agent, uses_robots, plan.crawl.sitemaps, plan.crawl.guess_sitemap
        )
        self.slots = HostSlots(ledger, self.host_requests)
        self.retries = Retries(self.crawl, self.health, self.slots.is_shared)
        self.assets = AssetFetcher(ledger, pool, self.slots, self.health, self.keyring, self.log, self.workers)
        self.rendering = Rendering(ledger, pool, self.assets, render_limits is not None)
        self._kernels = kernels
        self.stop_level = 0  # 1: finish the requests in flight; 2: cancel them
        self.on_response: Callable[[FetchResult], None] = lambda response: None  # called before it is processed
        self.notify: Callable[[str], None] = lambda line: None  # receives one-line messages for the user
        self.impossible_goal = ImpossibleGoal(ledger)
        self.n_in_flight = 0  # when requests were last started
        self.in_flight = InFlight()  # without assets
        self._host_request_of: dict[int, HostRequest | Step] = {}  # by the page whose slot it uses
        self._held: dict[int, list[int]] = {}  # by host: pages that wait for the end of its host request

    def run(self, tick: Callable[[], None] = lambda: None) -> StopReason:
        """Crawl until the goal is reached, the frontier is empty, or `stop_level` is set; return the reason.

        `tick` is called several times a second.
        """
        self._log_start()
        self.pool.record_headers = self.ledger.folder.archive.record_headers()
        self.slots.register_hosts()
        self.assets.enqueue_earlier_assets()
        started = time.monotonic()
        try:
            why = self._run(tick)
            ended = str(why)
        except BaseException as error:
            ended = f"error: {error}"
            raise
        finally:
            self._log_end(ended, time.monotonic() - started)
        return why

    def _run(self, tick: Callable[[], None]) -> StopReason:
        commit_every_s = self.ledger.plan.crawl.commit_every_s
        committed_at = time.monotonic()
        while True:
            self.in_flight.drop_ended()
            self._compile_remaining()
            has_started_all = self._start_fetches()
            self._check_goal()
            self.n_in_flight = self.pool.n_in_flight
            if self.pool.n_in_flight == 0 and self._is_over():
                break
            wait_s = self._wait_s() if has_started_all else 0.0
            if self.pool.n_in_flight:
                self._receive_all(self.pool.poll(wait_s))
                self.rendering.relay()
            else:
                time.sleep(wait_s)  # all hosts wait for their delays
            now = time.monotonic()
            self.slots.update_if_due(now)
            if now - committed_at >= commit_every_s:
                self.assets.acknowledge()
                self.ledger.acknowledge()
                self.pool.record_headers = self.ledger.folder.archive.record_headers()
                self.log.flush()
                self.ledger.checkpoint_if_due(now)
                committed_at = now
            tick()
        self.retries.requeue(math.inf)
        self.crawl.certificate()  # settles the coverage, so that the report shows the same figures
        self._check_goal()
        self.assets.acknowledge()
        self.ledger.checkpoint()
        pause_reason = StopReason.LOGIN_FAILED if self.keyring.problem else StopReason.INTERRUPTED
        return self.crawl.stopped_because or pause_reason

    @property
    def _waits_for_kernels(self) -> bool:
        """Whether requests must wait: the kernels will be compiled in this process once nothing is in flight."""
        return self._kernels is not None and self._kernels.has_failed

    def _compile_remaining(self) -> None:
        if self._kernels is not None and self._waits_for_kernels and not self.pool.n_in_flight:
            self._kernels.compile_here()

    def _check_goal(self) -> None:
        notice = self.impossible_goal.notice()
        if notice is not None:
            self.log.note("goal impossible", **notice.facts)
            self.notify(notice.line)
        if self.crawl.stopped_because is not None and (line := self.assets.notice()):
            self.notify(line)

    # -- starting -----------------------------------------------------------------------------------------------

    def _start_fetches(self) -> bool:
        """Start fetches while workers and hosts are free; False if it should be called again at once."""
        if self.keyring.problem and not self.stop_level:
            self._pause(self.keyring.problem)
        if self.stop_level >= 2:
            self.pool.cancel()
            self.assets.cancel()
        holds_requests = bool(self.stop_level) or self._waits_for_kernels
        self.assets.start_due(time.monotonic(), only_awaited=holds_requests)
        if holds_requests:
            return True
        self.retries.requeue(time.monotonic())
        for _ in range(self.workers + _MAX_UNFETCHED):
            if self.pool.n_in_flight >= self.workers:
                return True
            page = self.crawl.next(time.monotonic(), self.shares.only_quick())
            if page is None:
                return True
            self._start_page(page)
        return False

    def _pause(self, why: str) -> None:
        """Stop after a failed login: pages for anonymous users would be wrong. A resumed crawl logs in again."""
        self.stop_level = 1
        self.ledger.note(StopReason.LOGIN_FAILED, None, why)
        self.log.note(StopReason.LOGIN_FAILED, why=why)

    def _start_page(self, page: int) -> None:
        now = time.monotonic()
        host, url = self.ledger.host(page), self.ledger.url(page)
        max_depth = self.ledger.max_depth
        if self.ledger.page_store.is_fresh(page):
            return self.ledger.keep(page, now)
        if self.health.is_abandoned(host):
            return self.intake.block(page, Outcome.HOST_ABANDONED, now)
        if max_depth is not None and self.ledger.depth(page) > max_depth:
            return self._skip_too_deep(page, now)
        if (refusal := self.keyring.refusal(url)) is not None:
            return self.intake.block(page, refusal, now)
        if host in self._held:
            self._held[host].append(page)
            return
        if self.slots.is_shared(host) and (back_off_s := self.health.back_off_left_s(host, now)) > 0:
            return self.retries.wait(page, now, back_off_s)
        host_request = self.keyring.next_step(url) or self.host_requests.next(host, url, now)
        if host_request is not None:
            self._held[host] = []
            self._host_request_of[page] = host_request
            self._start(self._request_of(host_request, url, page), host)
        elif not self.host_requests.allows(host, url):
            self.intake.block(page, Outcome.ROBOTS, now)
        else:
            render = self.rendering.reason(page, url)
            headers, secrets = self.ledger.page_store.request_headers(page, render), self.keyring.secrets_for(url)
            self._start(Request(url, page, headers, secrets=secrets, render=render), host)

    def _request_of(self, host_request: HostRequest | Step, page_url: str, page: int) -> Request:
        if isinstance(host_request, Step):
            return self.keyring.request_of(host_request, page_url, page)
        secrets = self.keyring.secrets_for(host_request.url)
        return Request(
            host_request.url, page, any_type=True, max_body_bytes=host_request.max_body_bytes, secrets=secrets
        )

    def _start(self, request: Request, host: int) -> None:
        self.slots.request_started(host)
        self.shares.started(request.page, host)
        is_login = isinstance(self._host_request_of.get(request.page), Step)
        url = request.url.partition("?")[0] if is_login else request.url  # the query of a login may hold a ticket
        self.in_flight.started(request.page, url, time.monotonic())
        self.pool.start(request)

    def _wait_s(self) -> float:
        """Return how long to wait for responses before another request can start, at most a tick."""
        if self.stop_level or self._waits_for_kernels:
            return _TICK_S
        times = [self.assets.next_time()]
        if not self.crawl.is_closed and self.pool.n_in_flight < self.workers:
            times += [self.crawl.frontier.next_time(), self.retries.next_time()]
        due = min((due for due in times if due is not None), default=math.inf)
        return min(max(due - time.monotonic(), 0.0), _TICK_S)

    def _is_over(self) -> bool:
        if self.stop_level:
            return True
        if self.assets.n_waiting:
            return False
        if self.crawl.stopped_because is not None:
            return True
        return len(self.crawl.frontier) == 0 and not len(self.retries)

    # -- responses ----------------------------------------------------------------------------------------------

    def _receive_all(self, responses: list[FetchResult]) -> None:
        for response in responses:
            if response.request.page < 0:
                self.assets.receive(response)
        responses = [response for response in responses if response.request.page >= 0]
        self.intake.completed(
            [response for response in responses if response.request.page not in self._host_request_of]
        )
        for response in responses:
            self.intake.n_bytes += response.n_bytes
            self.on_response(response)
            host = self.ledger.host(response.request.page)
            host_request = self._host_request_of.pop(response.request.page, None)
            self.shares.ended(host, response)
            self.in_flight.ended(response.request.page)
            if host_request is None:
                self.slots.request_ended(host, response.verdict.kind is VerdictKind.FETCHED)
                self._receive_page(response)
            else:
                self.slots.request_ended(host, False)
                back_off_s = self._receive_host_request(host_request, host, response)
                is_forbidden = response.outcome is Outcome.FORBIDDEN_ADDRESS and not isinstance(host_request, Step)
                self._release_held(host, response, back_off_s, is_forbidden)
            if self.slots.is_shared(host):
                self.slots.keep_delay(host, time.monotonic())
            self.assets.on_slot_free(host)
        self.slots.register_hosts()

    def _receive_page(self, response: FetchResult) -> None:
        page, now = response.request.page, time.monotonic()
        host = self.ledger.host(page)
        self.log.note("fetch", **facts_of(response), retry=self.retries.n_attempts(page))
        self.rendering.page_received(response)
        if response.outcome is Outcome.CANCELLED:
            self.crawl.retry(page, now, 0.0)
        elif response.outcome is Outcome.LOST:
            self.retries.retry(page, host, now, 0.0)
        elif response.outcome is Outcome.LOGGED_OUT:
            self.keyring.record_logged_out(response.request)
            self.retries.retry(page, host, now, 0.0)
        elif response.verdict.kind is VerdictKind.TRY_AGAIN:
            self._retry_later(page, host, response, now)
        else:
            if response.status:
                self.health.record_success(host)
            self.retries.forget(page, host)
            self.keyring.record_response(response.request, response.verdict.kind in _LOGGED_IN, response.cookies)
            self.intake.record_response(page, response, now)
            self.assets.enqueue_page_assets(page, response)
            self.slots.follow_links(page, host)

    def _retry_later(self, page: int, host: int, response: FetchResult, now: float) -> None:
        """Schedule another attempt after a failure of the page or its host; block the page after the last one."""
        self.intake.outcomes[response.reason] += 1
        back_off_s = self._record_failure(host, response, now, page)
        if self.retries.was_last_attempt(page, host, response.outcome):
            self.ledger.blocked(page, response.reason, response, now)
            self.retries.back_off(host, now, back_off_s)
            return
        wait_s = self.retries.requeue_later(page, host, response.outcome, now, back_off_s, response.retry_after_s)
        if wait_s:
            self.log.note("page waits", url=response.request.url, wait_s=round(wait_s, 3), why=response.reason)

    def _record_failure(self, host: int, response: FetchResult, now: float, resource: int | str | None = None) -> float:
        """Record a failure of the host; return its back-off, 0 if it is abandoned.

        `resource` is the requested page or sitemap, if the failure may be due to it alone.
        """
        if self.health.is_abandoned(host):
            return 0.0
        why, name = response.reason, self.ledger.seen.host_name(host)
        status, retry_after_s = response.status, response.retry_after_s
        back_off_s = self.retries.record_failure(
            host, resource, response.outcome, now, why, retry_after_s, got_response=bool(status)
        )
        if back_off_s is None:
            self.ledger.note(Outcome.HOST_ABANDONED, host, self.health.reason(host))
            self.log.note("host abandoned", host=name, why=self.health.reason(host))
            return 0.0
        if back_off_s:
            self.log.note("host backs off", host=name, back_off_s=round(back_off_s, 3), why=why)
        return back_off_s

    def _skip_too_deep(self, page: int, now: float) -> None:
        """Block a page beyond the maximum depth; in a refresh, skip it for this epoch only."""
        if self.ledger.epoch is None:
            return self.intake.block(page, Outcome.TOO_DEEP, now)
        self.ledger.skip(page, now)

    # -- host requests ------------------------------------------------------------------------------------------

    def _receive_host_request(self, host_request: HostRequest | Step, host: int, response: FetchResult) -> float:
        """Handle robots.txt, a sitemap or a login step; return the back-off of the host."""
        now = time.monotonic()
        if isinstance(host_request, Step):
            return self._receive_login_step(host_request, host, response, now)
        self.log.note("robots" if host_request.is_robots else "sitemap", **facts_of(response))
        if response.outcome is Outcome.LOST and not host_request.is_robots:
            self.host_requests.requeue(host, host_request)
        elif response.outcome in (Outcome.CANCELLED, Outcome.LOST):
            pass
        elif host_request.is_robots:
            return self._receive_robots(host, response, now)
        elif response.verdict.kind is VerdictKind.TRY_AGAIN:
            return self._retry_sitemap(host, host_request, response, now)
        else:
            assert response.full_response is not None
            pages, sitemaps = self.host_requests.receive_sitemap(response.full_response)
            self._add_sitemap(pages, sitemaps)
        return 0.0

    def _receive_login_step(self, step: Step, host: int, response: FetchResult, now: float) -> float:
        """Handle a login step; the log omits the query of its URL, which may hold a ticket."""
        page_url = self.ledger.url(response.request.page)
        self.log.note("login", step=step.kind, url=step.url.partition("?")[0], outcome=response.reason)
        if response.outcome in (Outcome.CANCELLED, Outcome.LOST):
            return 0.0
        assert response.full_response is not None
        if self.keyring.is_inconclusive(step, response.full_response):
            self.keyring.restart_login(page_url)
            return self._record_failure(host, response, now)
        self.health.record_success(host)
        self.keyring.complete_step(step, page_url, response.full_response, response.cookies)
        return 0.0

    def _release_held(self, host: int, response: FetchResult, back_off_s: float, is_forbidden: bool) -> None:
        """Requeue the pages that waited for a host request; block them if its address is forbidden."""
        now = time.monotonic()
        for waiting in (response.request.page, *self._held.pop(host)):
            if is_forbidden:
                self.intake.block(waiting, response.reason, now)
            elif response.outcome is Outcome.CANCELLED:
                self.crawl.retry(waiting, now, 0.0)
            else:
                self.retries.retry(waiting, host, now, back_off_s)

    def _receive_robots(self, host: int, response: FetchResult, now: float) -> float:
        """Apply a robots.txt; return the back-off of the host, 0 unless the file is unreachable."""
        assert response.full_response is not None
        robots = self.host_requests.receive_robots(host, response.full_response, now)
        if robots is None and response.outcome is Outcome.REDIRECT:
            return 0.0
        if robots is None:
            # Without a response the outcome is an error of the connection, not of robots.txt.
            has_status = response.status or response.outcome is Outcome.FORBIDDEN_ADDRESS
            self.intake.outcomes[Outcome.ROBOTS_UNREACHABLE if has_status else response.reason] += 1
            return self._record_failure(host, response, now)
        self.health.record_success(host)
        self.slots.keep_delay(host, now)
        self._add_sitemap([], robots.sitemaps)
        guess = canonical_url("/sitemap.xml", self.ledger.url(response.request.page))
        if guess is not None and self.ledger.scope.contains([guess])[0]:
            self.host_requests.guess_sitemap(host, guess)
        return 0.0

    def _retry_sitemap(self, host: int, host_request: HostRequest, response: FetchResult, now: float) -> float:
        """Queue a failed sitemap again; return the back-off. A server error of a sitemap is not one of its host."""
        is_host_failure = response.outcome in HOST_FAILURES
        back_off_s = 0.0 if host_request.is_guess else self.ledger.plan.retry.back_off_s
        if is_host_failure:
            back_off_s = self._record_failure(host, response, now, host_request.url)
        if not host_request.is_guess and not self.retries.was_last_attempt(host_request.url, host, response.outcome):
            is_refused = response.outcome is Outcome.SLOW_DOWN
            self.host_requests.requeue(
                host, host_request, after_page=is_refused and self.crawl.frontier.has_pages(host)
            )
        return back_off_s

    def _add_sitemap(self, pages: list[str], sitemaps: list[str]) -> None:
        pages = [url for url, is_inside in zip(pages, self.ledger.scope.contains(pages), strict=True) if is_inside]
        if pages:
            self.ledger.discover(pages)
        for url in sitemaps:
            host = self.ledger.host_named(host_of(url))
            if host is not None and self.ledger.scope.contains([url])[0]:
                self.host_requests.queue_sitemaps(host, [url])

    # -- the log ------------------------------------------------------------------------------------------------

    def _log_start(self) -> None:
        plan, crawl = self.ledger.plan, self.crawl
        if (upgrade := self.ledger.folder.upgrade) is not None:
            self.log.note("upgraded", detail=upgrade)
        self.log.note(
            "start", version=__version__, seeds=plan.crawl.seeds[:_SEEDS_LOGGED], n_seeds=len(plan.crawl.seeds),
            policy=plan.crawl.policy, until=plan.crawl.until, budget=plan.crawl.budget, scope=plan.scope.kind,
            epoch=self.ledger.epoch_number, workers=self.workers, delay_s=plan.politeness.delay_s,
            robots=plan.crawl.robots, hooks=plan.crawl.hooks, access=plan.crawl.access, n_done=len(crawl.order),
            n_known=self.ledger.n_in_scope()[0],
        )  # fmt: skip

    def _log_end(self, why: str, elapsed_s: float) -> None:
        self.log.note(
            "end", why=why, n_done=len(self.crawl.order), n_known=self.ledger.n_in_scope()[0],
            n_bytes=self.intake.n_bytes, n_assets=self.assets.n_done, n_assets_failed=self.assets.n_failed,
            assets_bytes=self.assets.n_bytes, elapsed_s=round(elapsed_s, 3),
        )  # fmt: skip
        self.log.close()
