"""Checks that the seeds can be reached: a mistyped host or a closed port is reported within seconds.

A crawl that has fetched pages retries failing hosts for minutes. A crawl without any page has nothing to wait for: when
no seed can be reached for some seconds, it ends with one line that says why. Where some seeds work, the crawl goes on,
and the failed ones are reported. Time is an argument.
"""

from __future__ import annotations

import numpy as np

from orienteer.errors import SeedError
from orienteer.inspect.status_text import describe_lost
from orienteer.ledger.ledger import Ledger
from orienteer.pages.outcome import Outcome
from orienteer.pages.states import PageState
from orienteer.responses.response import Response
from orienteer.responses.verdict import VerdictKind, verdict_kind_of
from orienteer.url import host_of
from orienteer.wording import plain
from orienteer.workers.fetch_result import FetchResult

_TIMEOUT_S = 2.2  # after the first failure without any response from a host; a host is requested twice in that time
_SERVER_TIMEOUT_S = 20.0  # the same, if a server has responded with an error or a Retry-After
_REDIRECTS_FOLLOWED = 20
_NO_FAILURES = frozenset((Outcome.CANCELLED, Outcome.LOST, Outcome.LOGGED_OUT))
_REPORT_EVERY_S = 10.0  # a shorter crawl names failed seeds in its report


class SeedCheck:
    """Receives every response of a run, and derives which seeds have failed, and why."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger, self._crawl = ledger, ledger.crawl
        self._seeds = range(len(ledger.plan.crawl.seeds))
        # By host: its last response if it was a failure. For the hosts of seeds and of their redirects.
        self._failures: dict[int, FetchResult] = {}
        self._hosts = {ledger.host(seed) for seed in self._seeds}
        self._failing_since: float | None = None
        self._reported: set[int] = set()
        self._next_report: float | None = None
        self.has_pages = ledger.epoch is not None or self._n_pages() > 0

    def on_response(self, response: FetchResult, now: float) -> None:
        """Record a response to a page or a host request."""
        host = self._ledger.host(response.request.page)
        if response.outcome is Outcome.OK and not response.request.any_type:
            self.has_pages = True
        if response.outcome is Outcome.REDIRECT and not self.has_pages:
            self._hosts.add(host)
        if verdict_kind_of(response.outcome, response.status) is not VerdictKind.TRY_AGAIN:
            self._failures.pop(host, None)
        elif response.outcome not in _NO_FAILURES and (host in self._hosts or not self.has_pages):
            self._failures[host] = response
            self._failing_since = now if self._failing_since is None else self._failing_since

    def check_reachable(self, now: float) -> None:
        """Raise SeedError if no page has been fetched and all seeds have failed for too long."""
        if self.has_pages or self._failing_since is None:
            return
        has_response = any(response.status for response in self._failures.values())
        timeout_s = _SERVER_TIMEOUT_S if has_response else _TIMEOUT_S
        if now - self._failing_since >= timeout_s and all(map(self._has_failed, self._seeds)):
            raise nothing_crawled(self.failed())

    def newly_failed(self, now: float) -> dict[str, str]:
        """Return the seeds that have failed since the last report while others work, with the reason."""
        if self._next_report is None:
            self._next_report = now + _REPORT_EVERY_S
        if not self.has_pages or now < self._next_report:
            return {}
        self._next_report = now + _REPORT_EVERY_S
        failed = [seed for seed in self._seeds if seed not in self._reported and self._has_failed(seed)]
        self._reported.update(failed)
        return {self._ledger.url(seed): self._reason(seed) for seed in failed}

    def failed(self) -> dict[str, str]:
        """Return the seeds that have failed so far, with the reason."""
        return {self._ledger.url(seed): self._reason(seed) for seed in self._seeds if self._has_failed(seed)}

    def _n_pages(self) -> int:
        """Return the number of fetched pages without redirects, which are other URLs of pages."""
        n_fetched = int(np.count_nonzero(self._crawl.states() == PageState.FETCHED))
        return n_fetched - self._crawl.n_aliases()

    def _redirect_target(self, page: int) -> int:
        """Follow the redirects of a page; return the last one."""
        for _ in range(_REDIRECTS_FOLLOWED):
            if not self._crawl.coverage.is_alias(page) or self._crawl.state(page) is not PageState.FETCHED:
                break
            page = int(self._crawl.web.links(page)[0])
        return page

    def _has_failed(self, seed: int) -> bool:
        page = self._redirect_target(seed)
        state = self._crawl.state(page)
        if state in (PageState.FAILED, PageState.SKIPPED, PageState.BLOCKED):
            return True
        return state is not PageState.FETCHED and self._ledger.host(page) in self._failures

    def _reason(self, seed: int) -> str:
        page = self._redirect_target(seed)
        url = plain(self._ledger.url(page), 200)
        why = self._describe_error(page, url)
        return why if page == seed else f"redirects to {url}, and there: {why}"

    def _describe_error(self, page: int, url: str) -> str:
        row = self._ledger.database.page(page)
        response = self._failures.get(self._ledger.host(page))
        if row is None or row.outcome == Outcome.HOST_ABANDONED:
            return describe_failure(response) if response is not None else "its host was abandoned after many failures"
        if row.outcome in _WHY:
            return _WHY[row.outcome].format(host=plain(host_of(url)))
        if row.outcome == Outcome.UNWANTED_TYPE:
            kind = plain(row.content_type, 60) or "without a content type"
            return f"it is not a page but {kind} (see fetch.content_types)"
        if row.outcome == Outcome.LEAVES_SCOPE and len(row.outside):
            return f"it redirects to {plain(self._ledger.url(int(row.outside[0])), 200)}, outside the scope"
        if row.status in _STATUSES:
            return f"the server answered {row.status} ({_STATUSES[row.status]})"
        if response is not None:
            return describe_failure(response)
        return f"the server answered {row.status}" if row.status >= 300 else plain(row.outcome)


_WHY: dict[str, str] = {
    Outcome.ASKS_FOR_LOGIN: "it asks for a login, or is the login page itself",
    Outcome.WOULD_LOG_OUT: "it would end the session of the crawl",
    Outcome.ROBOTS: "robots.txt of {host} does not allow it",
    Outcome.FORBIDDEN_ADDRESS: "{host} is a private address; --allow-private if it is your own",
    Outcome.UNREADABLE: "it is a document that cannot be read",
    Outcome.TLS_FAILED: "the certificate of {host} was not accepted, or it does not support TLS (http:// instead of https://?)",
}
_STATUSES = {401: "unauthorized", 403: "forbidden", 404: "not found", 410: "gone", 451: "unavailable for legal reasons"}


def describe_failure(response: FetchResult | Response) -> str:
    """Return why a host gave no usable response.

    `no address found for wikipdeia.org: is the name right?`, `127.0.0.1:9 refused the connection`.
    """
    host, detail = plain(host_of(response.request.url)), plain(response.detail, 200)
    if response.outcome is Outcome.NO_ADDRESS:
        return f"no address found for {host}: is the name right?"
    if response.outcome is Outcome.NO_CONNECTION:
        if "refused" in detail.lower() or "failed to connect" in detail.lower():
            return f"{host} refused the connection"
        return f"no connection to {host}" + (f" ({detail})" if detail else "")
    if response.outcome is Outcome.TIMED_OUT:
        return f"{host} did not answer in time"
    what = f"robots.txt of {host} cannot be read: " if response.request.any_type else ""
    return f"{what}the server answered {response.status}" if response.status else f"{what}{host} broke off its response"


def nothing_crawled(failed: dict[str, str]) -> SeedError:
    """Return the error for a crawl without a page, with the reasons in one line."""
    return SeedError(f"nothing was crawled: {describe_lost(failed)}")
