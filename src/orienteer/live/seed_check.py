"""Checks that the seeds can be reached: a mistyped host or a closed port is reported within seconds.

A crawl that has fetched pages retries failing hosts for minutes. A crawl without any page has nothing to wait for: when
no seed can be reached for some seconds, it ends with one line that says why. Where some seeds work, the crawl goes on,
and the failed ones are reported. Time is an argument.

A seed that was typed without a scheme is requested by https, and then by http. Seeds are fixed for the life of a crawl,
so this is decided before it begins, by a request for the robots.txt of each host with the fetcher and the limits of the
crawl.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np

from orienteer.errors import SeedError
from orienteer.fetch.addresses import forbidden_reason, literal_address
from orienteer.fetch.fetcher import make_fetcher
from orienteer.fetch.settings import FetchSettings
from orienteer.inspect.status_text import describe_lost
from orienteer.ledger.ledger import Ledger
from orienteer.ledger.plan import CrawlPlan
from orienteer.ledger.settings import canonical_seeds
from orienteer.pages.outcome import Outcome
from orienteer.pages.states import PageState
from orienteer.responses.response import HostRequest, HostRequestKind, PageRequest, Request, Response
from orienteer.responses.verdict import VerdictKind, verdict_kind_of
from orienteer.store.folder_view import settings_of_folder
from orienteer.url import canonical_url, host_of
from orienteer.wording import plain
from orienteer.workers.fetch_result import FetchResult

_TIMEOUT_S = 2.2  # after the first failure without any response from a host; a host is requested twice in that time
_SERVER_TIMEOUT_S = 20.0  # the same, if a server has responded with an error or a Retry-After
_REDIRECTS_FOLLOWED = 20
_NO_FAILURES = frozenset((Outcome.CANCELLED, Outcome.LOST, Outcome.LOGGED_OUT))
_REPORT_EVERY_S = 10.0  # a shorter crawl names failed seeds in its report
_SCHEME_TIMEOUT_S, _CONNECT_TIMEOUT_S = 10.0, 5.0  # while the scheme of a seed is not known
_NEAR_TIMEOUT_S = 2.0  # for private addresses: a server without TLS may wait for more bytes and never respond
_POLL_S = 0.25


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

    def on_response(self, host: int, response: FetchResult, now: float) -> None:
        """Record a response to a page or a host request."""
        if response.outcome is Outcome.OK and self.has_pages and host not in self._failures:
            return  # most responses
        if response.outcome is Outcome.OK and isinstance(response.request, PageRequest):
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
        row = self._ledger.database.pages.row(page)
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
    what = f"robots.txt of {host} cannot be read: " if isinstance(response.request, HostRequest) else ""
    return f"{what}the server answered {response.status}" if response.status else f"{what}{host} broke off its response"


def nothing_crawled(failed: dict[str, str]) -> SeedError:
    """Return the error for a crawl without a page, with the reasons in one line."""
    return SeedError(f"nothing was crawled: {describe_lost(failed)}")


def resolve_schemes(
    plan: CrawlPlan, typed: Sequence[str], folder: Path, notify: Callable[[str], None] | None = None
) -> CrawlPlan:
    """Return the plan, with http for those `typed` seeds whose hosts do not respond by https.

    The plan has them as https. If the folder has a crawl already, its seeds decide without any request. `notify`
    receives a line for each host that did not respond by https. Raises SeedError if no seed responded by either.
    """
    by_https = {}
    for text in typed:
        seed = canonical_seeds([text])[0]
        if "://" not in text and seed in plan.crawl.seeds:
            by_https[seed] = canonical_url(f"http://{text}") or seed
    stored = settings_of_folder(folder)
    if stored is not None:
        known = CrawlPlan.parse(stored, str(folder / "crawl.toml")).crawl.seeds
        moved = {https: http for https, http in by_https.items() if http in known}
    else:
        moved = _answering(by_https, plan, notify)
    seeds = tuple(dict.fromkeys(moved.get(seed, seed) for seed in plan.crawl.seeds))
    if len(seeds) < len(plan.crawl.seeds):  # one was also typed with http; merging them would change the trust
        return plan
    return replace(plan, crawl=replace(plan.crawl, seeds=seeds))


def _answering(by_https: Mapping[str, str], plan: CrawlPlan, notify: Callable[[str], None] | None) -> dict[str, str]:
    """Return the seeds that respond only by http, with their http URLs."""
    failed = {url: response for url, response in _requested(list(by_https), plan.fetch).items() if not response.status}
    # A forbidden address is forbidden by http as well; the crawl reports it.
    retryable = {url: response for url, response in failed.items() if response.outcome is not Outcome.FORBIDDEN_ADDRESS}
    again = _requested([by_https[url] for url in retryable], plan.fetch)
    moved, lost = {}, []
    for url, response in retryable.items():
        other = again[by_https[url]]
        seed, why = plain(url.partition("://")[2], 200), _why(response)
        if other.status:
            moved[url] = by_https[url]
            if notify is not None:
                notify(f"{seed}: https was tried ({why}), http answers: starting at {plain(by_https[url], 200)}")
        elif why == _why(other):
            lost.append(f"{seed}: https, then http was tried ({why})")
        else:
            lost.append(f"{seed}: https was tried ({why}), then http ({_why(other)})")
    if lost and len(lost) == len(plan.crawl.seeds):
        raise SeedError(f"nothing was crawled: {'; '.join(lost[:3])}")
    if notify is not None:
        for line in lost:
            notify(f"seed {line}")
    return moved


def _requested(urls: Sequence[str], settings: FetchSettings) -> dict[str, Response]:
    """Request the robots.txt of each URL; with a fetcher that sends no requests to hosts, the page itself."""
    if not urls:
        return {}
    limit_s = _NEAR_TIMEOUT_S if all(_is_near(url, settings) for url in urls) else _CONNECT_TIMEOUT_S
    timeout_s, connect_s = min(settings.timeout_s, _SCHEME_TIMEOUT_S), min(settings.connect_timeout_s, limit_s)
    responses: dict[str, Response] = {}
    with closing(make_fetcher(replace(settings, timeout_s=timeout_s, connect_timeout_s=connect_s))) as fetcher:
        at_once = getattr(fetcher, "max_in_flight", len(urls))
        waiting, url_of = list(urls)[::-1], dict[Request, str]()
        while waiting or fetcher.n_in_flight:
            while waiting and fetcher.n_in_flight < at_once:
                url = waiting.pop()
                target = f"{urlsplit(url).scheme}://{urlsplit(url).netloc}/robots.txt" if fetcher.uses_network else url
                request = HostRequest(target, HostRequestKind.ROBOTS)
                url_of[request] = url
                fetcher.start(request)
            responses |= {url_of[response.request]: response for response in fetcher.poll(_POLL_S)}
    return responses


def _is_near(url: str, settings: FetchSettings) -> bool:
    """Return whether the host is this machine, or in a private network."""
    address = literal_address(url if settings.connect_to is None else f"http://{settings.connect_to}/")
    return address is not None and forbidden_reason(address) is not None


def _why(response: Response) -> str:
    if response.outcome is Outcome.TLS_FAILED:
        return "it does not support TLS, or its certificate was not accepted"
    return describe_failure(response)
