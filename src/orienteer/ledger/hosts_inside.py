"""Which pages are inside the scope, told from the numbers of their hosts where these decide it.

Most scopes take a host as a whole. Then each host is looked at once, and links, which come by the million, cost a look
into an array.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from orienteer.arrays import grown
from orienteer.frontier.seen import SeenUrls
from orienteer.ledger.scope import Scope


class HostsInside:
    """The hosts of a scope, by their numbers in `seen`."""

    def __init__(self, scope: Scope, seen: SeenUrls) -> None:
        self._scope = scope
        self._seen = seen
        self._is_inside: NDArray[np.bool_] = np.zeros(64, np.bool_)
        self._n_hosts = 0  # that were looked at
        self._n_widened = 0

    def contains(self, urls: Sequence[str], pages: NDArray[np.uint32]) -> NDArray[np.bool_]:
        """For each URL, whether it is inside; `pages` are their numbers."""
        if not self._scope.takes_whole_hosts:
            return self._scope.contains(urls)
        if self._n_widened != self._scope.n_widened:
            self._n_hosts, self._n_widened = 0, self._scope.n_widened
        if self._n_hosts < self._seen.n_hosts:
            self._look_at_new()
        return self._is_inside[self._seen.hosts[pages]]

    def _look_at_new(self) -> None:
        first, end = self._n_hosts, self._seen.n_hosts
        names = self._seen.host_names
        self._is_inside = grown(self._is_inside, end)
        self._is_inside[first:end] = self._scope.contains([f"http://{names[host]}/" for host in range(first, end)])
        self._n_hosts = end
