"""Sends robots.txt, sitemaps and logins, and handles their responses.

A host request takes the slot of a page: the selected page waits, the host request is sent instead, and then the page
returns to the frontier for the crawl delay. If only assets of a host are waiting, its robots.txt takes a slot of its
own. So host requests obey the same delays and limits as pages, and a host has one of them at a time.

Pages of a host whose robots.txt is unreachable must not be requested (RFC 9309); the crawl backs off from it, as from
any failing host.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from orienteer.crawl.host_scheduler import HostScheduler, HostSlot
from orienteer.crawl.politeness import HOST_FAILURES, Failure
from orienteer.credentials.keyring import Keyring, Step
from orienteer.ledger.intake import Intake
from orienteer.ledger.ledger import Ledger
from orienteer.pages.outcome import Outcome
from orienteer.responses.response import HostRequest, HostRequestKind
from orienteer.responses.robots import Robots
from orienteer.responses.verdict import VerdictKind
from orienteer.store.log import Log
from orienteer.url import canonical_url, host_of
from orienteer.workers.fetch_result import FetchResult
from orienteer.workers.worker_pool import WorkerPool


class HostFailures:
    """Records failures of hosts in the scheduler, the log and the database."""

    def __init__(self, ledger: Ledger, hosts: HostScheduler, log: Log) -> None:
        self._ledger, self._hosts, self._log = ledger, hosts, log

    def record(self, host: int, result: FetchResult, now: float, key: int | str | None = None) -> float:
        """Record a failure for pages; return the back-off of the host, 0 if it is abandoned.

        `key` is the requested page or sitemap, if the failure may be due to it alone.
        """
        health = self._hosts.health
        if health.is_abandoned(host):
            return 0.0
        back_off_s = self._hosts.retries.record_failure(host, key, _failure_of(result), now)
        name = self._hosts.name(host)
        if back_off_s is None:
            self._ledger.note(Outcome.HOST_ABANDONED, host, health.reason(host))
            self._log.note("host abandoned", host=name, why=health.reason(host))
        elif back_off_s:
            self._note_back_off(name, back_off_s, result)
        return back_off_s or 0.0

    def record_for_assets(self, name: str, result: FetchResult, now: float, key: str | None = None) -> None:
        """Record a failure for assets, after which only pages of an abandoned host are requested."""
        back_off_s = self._hosts.record_asset_failure(name, key, _failure_of(result), now)
        if back_off_s is None:
            self._log.note("host abandoned for assets", host=name, why=self._hosts.asset_health.reason(name))
        elif back_off_s:
            self._note_back_off(name, back_off_s, result)

    def _note_back_off(self, name: str, back_off_s: float, result: FetchResult) -> None:
        self._log.note("host backs off", host=name, back_off_s=round(back_off_s, 3), why=result.reason)


def _failure_of(result: FetchResult) -> Failure:
    return Failure(result.outcome, result.reason, result.retry_after_s, got_response=bool(result.status))


@dataclass(eq=False, slots=True)
class _Waiting:
    """The pages that wait for a host request; the first one has given its slot, except where it is for an asset."""

    pages: list[int]
    step: Step | None = None
    page_url: str = ""


class HostRequests:
    """The host requests of a live crawl.

    `on_robots_failure` is called with the name of a host, why its assets cannot be requested, and whether that is so
    for good.
    """

    def __init__(
        self, ledger: Ledger, pool: WorkerPool, hosts: HostScheduler, failures: HostFailures, keyring: Keyring,
        intake: Intake, log: Log,
    ) -> None:  # fmt: skip
        self._ledger, self._pool, self._hosts, self._failures = ledger, pool, hosts, failures
        self._rules = hosts.rules
        self._keyring, self._intake, self._log = keyring, intake, log
        self._waiting: dict[str, _Waiting] = {}  # by host: its request is in flight
        self.n_for_assets = 0  # in flight
        self.on_robots_failure: Callable[[str, str, bool], None] = lambda name, why, is_final: None

    def is_in_flight(self, name: str) -> bool:
        """Return whether a host request of this host is in flight: nothing else of the host may be started."""
        return name in self._waiting

    def hold(self, name: str, page: int) -> None:
        """Let a selected page wait until the host request has ended."""
        self._waiting[name].pages.append(page)

    # -- starting -----------------------------------------------------------------------------------------------

    def start_before(self, url: str, slot: HostSlot, now: float) -> bool:
        """Start the request that must precede this page, in the page's slot; return False if there is none."""
        assert slot.page is not None
        step, name = self._keyring.next_step(url), slot.name
        if step is not None:
            request, slot.url = self._keyring.request_of(step, url), step.url_without_query
        else:
            if (robots := self._rules.new_rules(name)) is not None:
                self._queue_sitemaps(name, robots, url)
            next_request = self._rules.next(name, url, now)
            if next_request is None:
                return False
            request, slot.url = next_request, next_request.url
            request.secrets = self._keyring.secrets_for(request.url)
        self._waiting[name] = _Waiting([slot.page], step, url)
        self._hosts.start(request, slot, now)
        self._pool.start(request)
        return True

    def start_for_asset(self, robots: HostRequest, name: str, now: float) -> None:
        """Request the robots.txt of a host in a slot of its own, which must be free."""
        self._hosts.take(robots, name, now)
        robots.secrets = self._keyring.secrets_for(robots.url)
        self._waiting[name] = _Waiting([])
        self.n_for_assets += 1
        self._pool.start(robots)

    # -- responses ----------------------------------------------------------------------------------------------

    def receive(self, request: HostRequest, result: FetchResult, slot: HostSlot, now: float) -> None:
        """Handle the response; then the pages that waited return to the frontier."""
        waiting = self._waiting.pop(slot.name)
        self.n_for_assets -= slot.page is None
        back_off_s = 0.0
        if waiting.step is not None:
            back_off_s = self._receive_login_step(waiting.step, waiting.page_url, result, slot, now)
        else:
            self._log.note(str(request.kind), **result.facts)
            if request.kind is HostRequestKind.ROBOTS:
                back_off_s = self._receive_robots(result, slot, now)
            else:
                back_off_s = self._receive_sitemap(request, result, slot, now)
        is_forbidden = result.outcome is Outcome.FORBIDDEN_ADDRESS and waiting.step is None
        for page in waiting.pages:
            if is_forbidden:
                self._intake.block(page, result.reason, now)
            elif result.outcome is Outcome.CANCELLED:
                self._ledger.crawl.retry(page, now, 0.0)
            else:
                self._hosts.retries.retry(page, self._ledger.host(page), now, back_off_s)

    def _receive_login_step(
        self, step: Step, page_url: str, result: FetchResult, slot: HostSlot, now: float
    ) -> float:  # fmt: skip
        """Handle a login step; the log omits the query of its URL, which may hold a ticket."""
        self._log.note("login", step=step.kind, url=step.url_without_query, outcome=result.reason)
        if result.outcome in (Outcome.CANCELLED, Outcome.LOST):
            return 0.0
        assert result.full_response is not None
        assert slot.host is not None
        if self._keyring.is_inconclusive(step, result.full_response):
            self._keyring.restart_login(page_url)
            return self._failures.record(slot.host, result, now)
        self._hosts.health.record_success(slot.host)
        self._keyring.complete_step(step, page_url, result.full_response, result.cookies)
        return 0.0

    def _receive_robots(self, result: FetchResult, slot: HostSlot, now: float) -> float:
        """Apply a robots.txt; return the back-off of pages, 0 unless the file is unreachable."""
        if result.outcome in (Outcome.CANCELLED, Outcome.LOST):
            return 0.0
        assert result.full_response is not None
        robots = self._rules.receive_robots(slot.name, result.full_response, now)
        if robots is not None:
            self._hosts.record_success(slot)
            self._hosts.apply_delay(slot.name, now)
            return 0.0
        is_forbidden = result.outcome is Outcome.FORBIDDEN_ADDRESS
        if result.outcome is Outcome.REDIRECT:
            return 0.0
        back_off_s = 0.0
        if slot.page is not None and slot.host is not None:
            # Without a response the outcome is an error of the connection, not of robots.txt.
            has_status = result.status or is_forbidden
            self._intake.outcomes[Outcome.ROBOTS_UNREACHABLE if has_status else result.reason] += 1
            back_off_s = self._failures.record(slot.host, result, now)
        elif not is_forbidden:
            self._failures.record_for_assets(slot.name, result, now)
        self.on_robots_failure(slot.name, result.reason if is_forbidden else Outcome.ROBOTS_UNREACHABLE, is_forbidden)
        return back_off_s

    def _receive_sitemap(self, request: HostRequest, result: FetchResult, slot: HostSlot, now: float) -> float:
        """Add the pages of a sitemap, or queue it again; return the back-off of the host.

        A server error of a sitemap is not one of its host.
        """
        assert slot.host is not None
        if result.outcome in (Outcome.CANCELLED, Outcome.LOST):
            if result.outcome is Outcome.LOST:
                self._rules.requeue(slot.name, request.url)
            return 0.0
        if result.verdict.kind is not VerdictKind.TRY_AGAIN:
            assert result.full_response is not None
            self._add_sitemap(*self._rules.receive_sitemap(result.full_response))
            return 0.0
        back_off_s = 0.0 if request.is_guess else self._ledger.plan.retry.back_off_s
        if result.outcome in HOST_FAILURES:
            back_off_s = self._failures.record(slot.host, result, now, request.url)
        retries = self._hosts.retries
        if not request.is_guess and not retries.was_last_attempt(request.url, slot.host, result.outcome):
            is_refused = result.outcome is Outcome.SLOW_DOWN
            after_page = is_refused and self._ledger.crawl.has_pages(slot.host)
            self._rules.requeue(slot.name, request.url, after_page)
        return back_off_s

    def _queue_sitemaps(self, name: str, robots: Robots, page_url: str) -> None:
        """Queue the sitemaps that robots.txt names; else the usual one, as a guess."""
        self._add_sitemap([], robots.sitemaps)
        guess = canonical_url("/sitemap.xml", page_url)
        if guess is not None and self._ledger.scope.contains([guess])[0]:
            self._rules.guess_sitemap(name, guess)

    def _add_sitemap(self, pages: list[str], sitemaps: list[str]) -> None:
        pages = [url for url, is_inside in zip(pages, self._ledger.scope.contains(pages), strict=True) if is_inside]
        if pages:
            self._ledger.discover(pages)
        for url in sitemaps:
            name = host_of(url)
            if self._hosts.number(name) is not None and self._ledger.scope.contains([url])[0]:
                self._rules.queue_sitemaps(name, [url])
