"""Decide which pages are inside the scope, by host where the scope contains only whole hosts.

Most scopes do. Then each host is tested once, and a link costs only one array access, since there are millions of
links.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from orienteer.arrays import grown
from orienteer.frontier.seen import SeenUrls
from orienteer.ledger.scope import Scope
from orienteer.pages.states import PageState
from orienteer.store.database import Database


class HostsInScope:
    """The hosts and pages of a scope, by their numbers in `seen`."""

    def __init__(self, scope: Scope, seen: SeenUrls) -> None:
        self._scope = scope
        self._seen = seen
        self._is_inside: NDArray[np.bool_] = np.zeros(64, np.bool_)
        self._n_hosts = 0  # tested so far
        self._n_widened = 0
        self._pages: NDArray[np.bool_] = np.zeros(0, np.bool_)  # only if the hosts do not decide
        self._pages_widened = 0

    def contains(self, urls: Sequence[str], pages: NDArray[np.uint32]) -> NDArray[np.bool_]:
        """Return for each URL whether it is inside; `pages` are their numbers."""
        if not self._scope.takes_whole_hosts:
            return self._scope.contains(urls)
        self._update_hosts()
        return self._is_inside[self._seen.hosts[pages]]

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
                for block in database.url_blocks(first)
            ]
            self._pages = np.concatenate([self._pages, *blocks])


def n_by_host(seen: SeenUrls, inside: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Count these pages by host."""
    return np.bincount(seen.hosts[: len(inside)][inside], minlength=seen.n_hosts)
