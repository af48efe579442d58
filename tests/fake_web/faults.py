"""A site whose pages and hosts fail like real ones; which ones fail is determined by a hash of the URL.

Each URL has one *fate*. The shares of the fates are arguments, and `fate` returns the one of a URL:

    web = Faulty(site, not_found=0.02, server_error=0.02, redirects=0.05)
    web.fate("http://h3.test/p17")         # "fine", "not found", "server error", "moved", "reset" or "slow"

robots.txt never fails, since a failing robots.txt would affect the whole host.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from itertools import accumulate

from orienteer.errors import InputError
from tests.fake_web.fake_response import NOT_FOUND, FakeResponse, redirect_to
from tests.fake_web.site import RequestHeaders, Site, host_and_target

_MOVED = "moved=1"
_REDIRECTS = (301, 302, 307, 308)
_SERVER_ERRORS = (500, 502, 503)


@dataclass
class Faulty(Site):
    """The site, with injected faults.

    `latency_s` is the range of the delay of each URL. `server_error` is the share of URLs whose first
    `n_failures` requests fail. `redirects` is the share that redirect to the same URL with an added query. `slow` pages
    are sent at `slow_bytes_per_s`. Connections to `dead_hosts` are always reset; those to a host in `dies_after` after
    that many requests.
    """

    site: Site
    rng: int = 0
    latency_s: tuple[float, float] = (0.0, 0.0)
    not_found: float = 0.0
    server_error: float = 0.0
    n_failures: int = 2
    redirects: float = 0.0
    resets: float = 0.0
    slow: float = 0.0
    slow_bytes_per_s: float = 1000.0
    dead_hosts: Collection[str] = ()
    dies_after: Mapping[str, int] = field(default_factory=dict)
    _n_requests: Counter[str] = field(default_factory=Counter, init=False, repr=False)
    _n_failed: Counter[tuple[str, str]] = field(default_factory=Counter, init=False, repr=False)

    def __post_init__(self) -> None:
        shares = (self.not_found, self.server_error, self.redirects, self.resets, self.slow)
        if min(shares) < 0 or sum(shares) > 1:
            raise InputError(f"the shares of faults are {shares}; they are from 0 to 1, and so is their sum")
        if not 0 <= self.latency_s[0] <= self.latency_s[1]:
            raise InputError(f"latency_s is {self.latency_s}; it is a range such as (0.01, 0.2)")
        if self.n_failures < 1:
            raise InputError(f"n_failures is {self.n_failures}; it must be at least 1 (or server_error 0)")
        fates = ("not found", "server error", "moved", "reset", "slow")
        self._fates = tuple(zip(accumulate(shares), fates, strict=True))

    def fate(self, url: str) -> str:
        """Return the fate of requests for this URL, if its host is alive."""
        return self._fate(*host_and_target(url))

    def response(self, host: str, target: str, headers: RequestHeaders) -> FakeResponse:
        self._n_requests[host] += 1
        n_requests = self._n_requests[host]
        if host in self.dead_hosts or n_requests > self.dies_after.get(host, n_requests):
            return FakeResponse(reset=True)
        response = self._faulty(host, target, headers)
        low, high = self.latency_s
        delay_s = low + (high - low) * self._drawn(host, target, "latency")
        return replace(response, delay_s=response.delay_s + delay_s) if delay_s else response

    def _drawn(self, host: str, target: str, purpose: str) -> float:
        """Return a number from 0 to 1, determined by URL, purpose and rng."""
        digest = blake2b(f"{self.rng} {purpose} {host}{target}".encode(), digest_size=7).digest()
        return int.from_bytes(digest) / 2**56

    def _fate(self, host: str, target: str) -> str:
        if target == "/robots.txt" or self._moved_from(host, target) is not None:
            return "fine"
        share = self._drawn(host, target, "fate")
        return next((name for limit, name in self._fates if share < limit), "fine")

    def _moved_from(self, host: str, target: str) -> str | None:
        """Return the old target of a moved page; None if this target is not a new location."""
        if not target.endswith(("?" + _MOVED, "&" + _MOVED)):
            return None
        old = target[: -len(_MOVED) - 1]
        return old if self._fate(host, old) == "moved" else None

    def _faulty(self, host: str, target: str, headers: RequestHeaders) -> FakeResponse:
        fate = self._fate(host, target)
        if fate == "not found":
            return NOT_FOUND
        if fate == "server error" and self._n_failed[host, target] < self.n_failures:
            self._n_failed[host, target] += 1
            return FakeResponse("Out of order", self._one_of(_SERVER_ERRORS, host, target), content_type="text/plain")
        if fate == "reset":
            return FakeResponse(reset=True)
        if fate == "moved":
            new = f"{target}{'&' if '?' in target else '?'}{_MOVED}"
            return redirect_to(new, self._one_of(_REDIRECTS, host, target))
        response = self.site.response(host, self._moved_from(host, target) or target, headers)
        return replace(response, bytes_per_s=self.slow_bytes_per_s) if fate == "slow" else response

    def _one_of(self, statuses: tuple[int, ...], host: str, target: str) -> int:
        return statuses[int(self._drawn(host, target, "status") * len(statuses))]
