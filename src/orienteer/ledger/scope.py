"""Which pages belong to a crawl, by their URLs alone.

    host      the hosts of the seeds, with their ports; http and https alike
    site      the registrable domains of the seeds: all of `example.org` for a seed at `www.example.org`
    prefix    URLs that begin with the directory of a seed, up to the last `/` of its path; http and https alike
    web       every page

Of these, only URLs that match a pattern of `allow` (if there are any) and no pattern of `deny` are inside. All others
are outside: known and reported by `explain`, never fetched. URLs are canonical (`url.canonical_url`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orienteer.arrays import grown
from orienteer.crawl.seen import SeenUrls
from orienteer.kernel import kernel
from orienteer.ledger.settings import ScopeSettings, compiled
from orienteer.pages.states import PageState
from orienteer.store.database import Database
from orienteer.url import canonical_host_of, site_of

_MAX_CACHED_HOSTS = 1 << 17


class Scope:
    """The pages of a crawl that starts at `seeds`.

    >>> scope = Scope(ScopeSettings("site", deny=("/login",)), ["https://www.example.org/"])
    >>> scope.contains(["http://blog.example.org/a", "http://example.com/", "https://example.org/login"]).tolist()
    [True, False, False]
    >>> scope.why_outside("http://example.com/")
    "site example.com is not among the seeds' sites"
    """

    def __init__(self, settings: ScopeSettings, seeds: Sequence[str]) -> None:
        self.settings = settings
        self._allow = compiled("allow", settings.allow)
        self._deny = compiled("deny", settings.deny)
        self._roots: dict[str, None] = {}  # the seeds' hosts, sites or directories
        self._prefixes: tuple[str, ...] = ()
        self._is_host_inside: dict[str, bool] = {}
        self.n_widened = 0  # how often the scope has changed
        self._tests: dict[str, Callable[[Sequence[str]], list[bool]]] = {
            "host": self._on_hosts,
            "site": self._on_sites,
            "prefix": self._in_directories,
            "web": lambda urls: [True] * len(urls),
        }
        for seed in seeds:
            self.widen(seed)

    def widen(self, url: str) -> None:
        """Add the host, site or directory of `url`, to which a seed has been redirected."""
        self._roots[self._root_of(url)] = None
        self._prefixes = tuple(self._roots)
        self._is_host_inside.clear()
        self.n_widened += 1

    @property
    def takes_whole_hosts(self) -> bool:
        """Whether the pages of a host are all inside, or all outside."""
        return self.settings.kind != "prefix" and not self._allow and not self._deny

    def contains(self, urls: Sequence[str]) -> NDArray[np.bool_]:
        """Return for each URL whether it is inside."""
        inside = self._tests[self.settings.kind](urls)
        for k, url in enumerate(urls if self._allow or self._deny else ()):
            inside[k] = inside[k] and self._mismatch(url) is None
        return np.array(inside, np.bool_)

    def may_contain(self, urls: Sequence[str]) -> NDArray[np.bool_]:
        """Return for each truncated URL whether the whole one may be inside; `allow` and `deny` are ignored."""
        return np.array(self._tests[self.settings.kind](urls), np.bool_)

    def why_outside(self, url: str) -> str | None:
        """Return why a URL is outside, in a few words; None if it is inside."""
        if self._tests[self.settings.kind]([url])[0]:
            return self._mismatch(url)
        if self.settings.kind == "prefix":
            return "it is in no directory of a seed"
        return f"{self.settings.kind} {self._root_of(url)} is not among the seeds' {self.settings.kind}s"

    def _root_of(self, url: str) -> str:
        if self.settings.kind == "prefix":
            return _without_scheme(url.partition("?")[0]).rpartition("/")[0] + "/"
        host = canonical_host_of(url)
        return site_of(host) if self.settings.kind == "site" else host

    def _mismatch(self, url: str) -> str | None:
        if self._allow and not any(pattern.search(url) for pattern in self._allow):
            return "matches no --allow"
        for pattern in self._deny:
            if pattern.search(url):
                return f"matches --deny {pattern.pattern!r}"
        return None

    def _on_hosts(self, urls: Sequence[str]) -> list[bool]:
        hosts = self._roots
        return [canonical_host_of(url) in hosts for url in urls]

    def _on_sites(self, urls: Sequence[str]) -> list[bool]:
        is_inside = self._is_host_inside
        result = []
        for url in urls:
            host = canonical_host_of(url)
            inside = is_inside.get(host)
            if inside is None:
                if len(is_inside) == _MAX_CACHED_HOSTS:
                    is_inside.clear()
                inside = is_inside[host] = site_of(host) in self._roots
            result.append(inside)
        return result

    def _in_directories(self, urls: Sequence[str]) -> list[bool]:
        prefixes = self._prefixes
        return [_without_scheme(url).startswith(prefixes) for url in urls]


def _without_scheme(url: str) -> str:
    return url.partition("://")[2]


class HostsInScope:
    """The hosts and pages of a scope, by their numbers in `seen`.

    Most scopes contain only whole hosts. Then each host is tested once, and a link costs only one array access, since
    there are millions of links.
    """

    def __init__(self, scope: Scope, seen: SeenUrls) -> None:
        self._scope = scope
        self._seen = seen
        self._is_inside: NDArray[np.bool_] = np.zeros(64, np.bool_)
        self._n_hosts = 0  # tested so far
        self._n_widened = 0
        self._pages: NDArray[np.bool_] = np.zeros(0, np.bool_)  # only if the hosts do not decide
        self._pages_widened = 0

    def divided(self, urls: Sequence[str], pages: NDArray[np.uint32]) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
        """Return the pages inside and outside, in order; `pages` are the numbers of these URLs."""
        if not self._scope.takes_whole_hosts:
            inside = self._scope.contains(urls)
            return pages[inside], pages[~inside]
        if self._n_hosts != self._seen.n_hosts or self._n_widened != self._scope.n_widened:
            self._update_hosts()
        divided = np.empty_like(pages)
        n_inside = _divide(pages, self._seen.page_hosts.array, self._is_inside, divided)
        return divided[:n_inside], divided[n_inside:]

    def known_in_scope(self, database: Database, states: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """Return for each numbered URL whether it is inside; those with a state other than KNOWN are.

        `states` are by page and may be shorter. A URL is read once, and only if its host does not decide.
        """
        if self._scope.takes_whole_hosts:
            self._update_hosts()
            inside = self._is_inside[self._seen.hosts]
        else:
            self._update_pages(database)
            inside = self._pages[: len(self._seen)].copy()
        n = min(len(inside), len(states))
        inside[:n] |= states[:n] != PageState.KNOWN
        return inside

    def _update_hosts(self) -> None:
        if self._n_widened != self._scope.n_widened:
            self._n_hosts, self._n_widened = 0, self._scope.n_widened
        first, end = self._n_hosts, self._seen.n_hosts
        if first == end:
            return
        names = self._seen.host_names
        self._is_inside = grown(self._is_inside, end)
        self._is_inside[first:end] = self._scope.contains([f"http://{names[host]}/" for host in range(first, end)])
        self._n_hosts = end

    def _update_pages(self, database: Database) -> None:
        if self._pages_widened != self._scope.n_widened:
            self._pages, self._pages_widened = self._pages[:0], self._scope.n_widened
        first = len(self._pages)
        if first < len(self._seen):
            blocks = [
                self._scope.contains(block.decode("utf-8", "replace").split("\n"))
                for block in database.urls.blocks(first)
            ]
            self._pages = np.concatenate([self._pages, *blocks])


def n_by_host(seen: SeenUrls, inside: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Count these pages by host."""
    return np.bincount(seen.hosts[: len(inside)][inside], minlength=seen.n_hosts)


@kernel
def _divide(pages: Any, hosts: Any, is_inside: Any, divided: Any) -> Any:
    """Fill `divided` with the pages of hosts that are inside, then the others; return the number of the former."""
    n_inside = 0
    for k in range(len(pages)):
        n_inside += 1 if is_inside[hosts[pages[k]]] else 0
    next_inside, next_outside = 0, n_inside
    for k in range(len(pages)):
        if is_inside[hosts[pages[k]]]:
            divided[next_inside] = pages[k]
            next_inside += 1
        else:
            divided[next_outside] = pages[k]
            next_outside += 1
    return n_inside
