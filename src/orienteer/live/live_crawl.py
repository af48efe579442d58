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
from typing import Any

import numpy as np

from orienteer import __version__
from orienteer.crawl.host_rules import HostRules
from orienteer.crawl.host_scheduler import HostScheduler, HostSlot
from orienteer.credentials.keyring import Keyring
from orienteer.hooks import Hook
from orienteer.inspect.figures import MAX_CHARS, MAX_LISTED, Fetching
from orienteer.inspect.status_text import describe_impossible
from orienteer.ledger.intake import Intake
from orienteer.ledger.ledger import Ledger
from orienteer.live.assets import AssetFetcher
from orienteer.live.host_requests import HostFailures, HostRequests
from orienteer.live.rendering import Rendering
from orienteer.live.warm_up import KernelCompilation
from orienteer.pages.outcome import Outcome
from orienteer.pages.states import PageState
from orienteer.pages.stop_reason import StopReason
from orienteer.responses.response import AssetRequest, HostRequest, PageRequest
from orienteer.responses.verdict import VerdictKind
from orienteer.store.log import Log, NoLog
from orienteer.wording import goal_share, plain
from orienteer.workers.fetch_result import FetchResult
from orienteer.workers.worker_pool import WorkerPool

_TICK_S = 0.25  # the longest wait for responses, which bounds the delay of a stop

# Verdicts on pages that a session gets only while it is logged in.
_LOGGED_IN = frozenset((VerdictKind.FETCHED, VerdictKind.NOT_MODIFIED, VerdictKind.SKIPPED))
_SEEDS_LOGGED = 20
_PAGES_READ = 200  # blocked pages, for the reasons why a goal is impossible
_MAX_REASONS = 3
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
        browser: str | None = None, kernels: KernelCompilation | None = None,
    ) -> None:  # fmt: skip
        """`browser` is the program that renders pages, "" for any; None: no page is rendered.

        `kernels`: None if they are compiled already.
        """
        plan = ledger.plan
        self.ledger = ledger
        self.crawl = ledger.crawl
        self.log = (Log if plan.crawl.log else NoLog)(ledger.folder.log_path)
        self.intake = Intake(ledger, hooks, self.log)
        self.pool = pool
        self.keyring = keyring or Keyring()
        renders = browser is not None and pool.uses_network
        pool.begin(replace(self.intake.reading, render=plan.render if renders else None, browser=browser or ""))
        self.workers = min(plan.crawl.workers, pool.max_in_flight)
        uses_robots = plan.crawl.robots and pool.uses_network
        rules = HostRules(plan.fetch.user_agent, uses_robots, plan.crawl.sitemaps, plan.crawl.guess_sitemap)
        n_seeds = len(plan.crawl.seeds)
        self.hosts = HostScheduler(self.crawl, ledger.seen, rules, plan.retry, self.workers, n_seeds)
        self.retries = self.hosts.retries
        self._failures = HostFailures(ledger, self.hosts, self.log)
        self.host_requests = HostRequests(ledger, pool, self.hosts, self._failures, self.keyring, self.intake, self.log)
        self.assets = AssetFetcher(
            ledger, pool, self.hosts, self.host_requests, self._failures, self.keyring, self.log, self.workers
        )
        self.rendering = Rendering(ledger, pool, self.assets, renders)
        self._kernels = kernels
        self.stop_level = 0  # 1: finish the requests in flight; 2: cancel them
        # Called with the number of a host and a result, before it is processed; not for assets.
        self.on_response: Callable[[int, FetchResult], None] = lambda host, result: None
        self.notify: Callable[[str], None] = lambda line: None  # receives one-line messages for the user
        self.impossible_goal = ImpossibleGoal(ledger)
        self.n_in_flight = 0  # when requests were last started

    def run(self, tick: Callable[[], None] = lambda: None) -> StopReason:
        """Crawl until the goal is reached, the frontier is empty, or `stop_level` is set; return the reason.

        `tick` is called several times a second.
        """
        self._log_start()
        self.pool.record_headers = self.ledger.folder.archive.record_headers()
        self.hosts.register_hosts(time.monotonic())
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
            self.hosts.drop_ended()
            self._compile_remaining()
            has_started_all = self._start_fetches()
            self._check_goal()
            self.n_in_flight = self.pool.n_in_flight
            if self.pool.n_in_flight == 0 and self._is_over():
                break
            wait_s = self._wait_s() if has_started_all else 0.0
            if self.pool.n_in_flight:
                self.receive(self.pool.poll(wait_s))
                self.rendering.relay()
            else:
                time.sleep(wait_s)  # all hosts wait for their delays
            now = time.monotonic()
            self.hosts.update_if_due(now)
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
            facts, line = notice
            self.log.note("goal impossible", **facts)
            self.notify(line)
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
            page = self.hosts.next_page(time.monotonic())
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
        if self.hosts.health.is_abandoned(host):
            return self.intake.block(page, Outcome.HOST_ABANDONED, now)
        if max_depth is not None and self.ledger.depth(page) > max_depth:
            return self._skip_too_deep(page, now)
        if (refusal := self.keyring.refusal(url)) is not None:
            return self.intake.block(page, refusal, now)
        slot = HostSlot(self.hosts.name(host), host, page, url=url)
        if self.host_requests.is_in_flight(slot.name):
            return self.host_requests.hold(slot.name, page)
        if self.hosts.is_shared(host) and (back_off_s := self.hosts.health.back_off_left_s(host, now)) > 0:
            return self.retries.wait(page, now, back_off_s)
        if self.host_requests.start_before(url, slot, now):
            return
        if not self.hosts.rules.allows(slot.name, url):
            return self.intake.block(page, Outcome.ROBOTS, now)
        render = self.rendering.reason(page, url)
        headers, secrets = self.ledger.page_store.request_headers(page, render), self.keyring.secrets_for(url)
        request = PageRequest(url, page, headers=headers, secrets=secrets, render=render)
        self.hosts.start(request, slot, now)
        self.pool.start(request)

    def fetching(self, now: float) -> tuple[Fetching, ...]:
        """Return the first few URLs that have been in flight longest."""
        slots = self.hosts.longest_in_flight(MAX_LISTED)
        return tuple(Fetching(slot.url[:MAX_CHARS], round(max(now - slot.started_at, 0.0), 2)) for slot in slots)

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

    def receive(self, results: list[FetchResult]) -> None:
        """Process what workers return: each result releases the slot of its host."""
        self.intake.completed([result for result in results if isinstance(result.request, PageRequest)])
        for result in results:
            self._receive(result)
        self.hosts.register_hosts(time.monotonic())

    def _receive(self, result: FetchResult) -> None:
        request, now = result.request, time.monotonic()
        is_page = isinstance(request, PageRequest) and result.verdict.kind is VerdictKind.FETCHED
        slot = self.hosts.end(request, now, result.status, result.duration_s, is_page)
        if slot.page is not None and slot.host is not None:
            self.intake.n_bytes += result.n_bytes
            self.on_response(slot.host, result)
        if isinstance(request, AssetRequest):
            self.assets.receive(request, result)
        elif isinstance(request, HostRequest):
            self.host_requests.receive(request, result, slot, now)
        else:
            assert isinstance(request, PageRequest)
            self._receive_page(request, result)
        if slot.page is not None:
            self.hosts.released(slot, time.monotonic())
        self.assets.on_slot_free(slot)

    def _receive_page(self, request: PageRequest, response: FetchResult) -> None:
        page, now = request.page, time.monotonic()
        host = self.ledger.host(page)
        self.log.note("fetch", **response.facts, retry=self.retries.n_attempts(page))
        self.rendering.page_received(response)
        if response.outcome is Outcome.CANCELLED:
            self.crawl.retry(page, now, 0.0)
        elif response.outcome is Outcome.LOST:
            self.retries.retry(page, host, now, 0.0)
        elif response.outcome is Outcome.LOGGED_OUT:
            self.keyring.record_logged_out(request)
            self.retries.retry(page, host, now, 0.0)
        elif response.verdict.kind is VerdictKind.TRY_AGAIN:
            self._retry_later(page, host, response, now)
        else:
            if response.status:
                self.hosts.health.record_success(host)
            self.retries.forget(page, host)
            self.keyring.record_response(request, response.verdict.kind in _LOGGED_IN, response.cookies)
            self.intake.record_response(page, response, now)
            self.assets.enqueue_page_assets(page, response)
            self.hosts.follow_links(page, host, now, self.ledger.depth)

    def _retry_later(self, page: int, host: int, response: FetchResult, now: float) -> None:
        """Schedule another attempt after a failure of the page or its host; block the page after the last one."""
        self.intake.outcomes[response.reason] += 1
        back_off_s = self._failures.record(host, response, now, page)
        if self.retries.was_last_attempt(page, host, response.outcome):
            self.ledger.blocked(page, response.reason, response, now)
            self.retries.back_off(host, now, back_off_s)
            return
        wait_s = self.retries.requeue_later(page, host, response.outcome, now, back_off_s, response.retry_after_s)
        if wait_s:
            self.log.note("page waits", url=response.request.url, wait_s=round(wait_s, 3), why=response.reason)

    def _skip_too_deep(self, page: int, now: float) -> None:
        """Block a page beyond the maximum depth; in a refresh, skip it for this epoch only."""
        if self.ledger.epoch is None:
            return self.intake.block(page, Outcome.TOO_DEEP, now)
        self.ledger.skip(page, now)

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


class ImpossibleGoal:
    """Detects a goal that cannot be reached, and reports it once in a run."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._is_announced = False

    def notice(self) -> tuple[dict[str, Any], str] | None:
        """Return once, at almost no cost, that the goal cannot be reached: fields for the log, and a line."""
        crawl = self._ledger.crawl
        until = crawl.goal.until
        if self._is_announced or until is None or not crawl.goal_is_impossible:
            return None
        self._is_announced = True
        proved, reasons = crawl.certificate(), self._reasons()
        facts = {"until": until, "lower": proved.lower, "blocked": proved.blocked, "unknown": proved.unknown}
        line = describe_impossible(until, proved, ", ".join(reasons))
        if crawl.stopped_because is None:
            line += f"; going on until {goal_share(until)} of what is reachable is covered"
        return {**facts, "reasons": reasons}, line

    def _reasons(self) -> list[str]:
        """Return the few reasons of blocked pages that cost the most mass, by a sample of the heaviest pages."""
        crawl, database = self._ledger.crawl, self._ledger.database
        mass = crawl.coverage.p
        blocked = np.flatnonzero(crawl.coverage.blocked)
        cost: dict[str, float] = {}
        for page in blocked[np.argsort(-mass[blocked])][:_PAGES_READ].tolist():
            row = database.pages.row(page)
            if row is not None and row.state == PageState.BLOCKED:
                cost[row.outcome] = cost.get(row.outcome, 0.0) + float(mass[page])
        return [plain(reason, 60) for reason in sorted(cost, key=lambda reason: -cost[reason])[:_MAX_REASONS]]
