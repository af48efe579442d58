"""Incremental counts of the pages of a crawl folder: rows that were read once are not read again."""

from __future__ import annotations

import secrets
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from orienteer.arrays import grown
from orienteer.crawl.seen import SeenUrls
from orienteer.ledger.event_replay import redirect_targets
from orienteer.ledger.plan import CrawlPlan
from orienteer.ledger.scope import HostsInScope, Scope, n_by_host
from orienteer.pages.states import PageState
from orienteer.progress import Progress, silent
from orienteer.store.database import DatabaseView
from orienteer.store.failures import damaged
from orienteer.store.page_tables import StateGroup

DONE = (PageState.FETCHED, PageState.FAILED, PageState.SKIPPED, PageState.BLOCKED)
_N_STATES = len(PageState)
_STATES = frozenset(map(int, PageState))
_REPEATS, _NEARLY_REPEATS, _OTHER_NAME, _UNARCHIVED = 1, 2, 4, 8


@dataclass(frozen=True)
class HostPages:
    """The pages of a host. `n_known` are its URLs inside the scope that were seen."""

    host: str
    n_fetched: int
    n_redirects: int
    n_skipped: int
    n_failed: int
    n_blocked: int
    n_known: int


class DoneTally:
    """The state and outcome of each page, with counts; about 40 bytes for each URL."""

    def __init__(self, plan: CrawlPlan) -> None:
        self.seen = SeenUrls(secrets.token_bytes(16))
        self._scope = Scope(plan.scope, plan.crawl.seeds)
        self._seeds: set[int] = set(range(len(plan.crawl.seeds)))  # those that are not known to redirect
        self._max_redirects = plan.fetch.max_redirects
        self._hosts_inside = HostsInScope(self._scope, self.seen)
        self._inside: NDArray[np.bool_] = np.zeros(0, np.bool_)
        self.position = 0  # of the next event: all before it is counted
        self._states: NDArray[np.uint8] = np.zeros(1024, np.uint8)
        self._outcomes: NDArray[np.int32] = np.zeros(1024, np.int32)
        self._repeats: NDArray[np.uint8] = np.zeros(1024, np.uint8)
        self._names: dict[str, int] = {}  # of outcomes

    def catch_up(self, database: DatabaseView, progress: Progress = silent) -> None:
        """Count the events since the last call."""
        database.urls.add_to(self.seen, progress)
        self._make_room()
        for rows in database.pages.outcomes_from(self.position):
            pages = np.array([row.page for row in rows], np.int64)
            if pages.max() >= len(self.seen) or pages.min() < 0:
                raise damaged(database.path, f"page {pages.max()} has no URL")
            if not {row.state for row in rows} <= _STATES:
                raise damaged(database.path, "a page has an unknown state")
            self._states[pages] = [row.state for row in rows]
            self._outcomes[pages] = [self._names.setdefault(row.outcome, len(self._names)) for row in rows]
            self._repeats[pages] = [
                _REPEATS * row.repeats
                + _NEARLY_REPEATS * row.nearly_repeats
                + _OTHER_NAME * row.is_alias
                + _UNARCHIVED * row.is_unarchived
                for row in rows
            ]
        self.position = database.history.next_position()
        self._widen(database)
        self._inside = self._hosts_inside.known_in_scope(database, self._states)

    def _widen(self, database: DatabaseView) -> None:
        """Add the targets of redirecting seeds to the scope."""
        moved = [seed for seed in self._seeds if seed < len(self.seen) and self._repeats[seed] & _OTHER_NAME]
        for seed in moved:
            self._seeds.remove(seed)
            for page in redirect_targets(database, seed, self._max_redirects):
                url = database.urls.of(page)
                if not self._scope.contains([url])[0]:
                    self._scope.widen(url)

    @property
    def n_inside(self) -> int:
        """The number of URLs seen inside the scope."""
        return int(self._inside.sum())

    def groups(self) -> list[StateGroup]:
        """Return the pages by state and outcome, the most frequent first."""
        n_urls = len(self.seen)
        states, repeats = self._states[:n_urls], self._repeats[:n_urls]
        kinds = self._outcomes[:n_urls] * _N_STATES + states
        n_kinds = len(self._names) * _N_STATES
        flags = (_REPEATS, _NEARLY_REPEATS, _OTHER_NAME, _UNARCHIVED)
        counts = [
            np.bincount(kinds[chosen], minlength=n_kinds)
            for chosen in (states > 0, *((repeats & kind) > 0 for kind in flags))
        ]
        names = list(self._names)
        found = [
            StateGroup(kind % _N_STATES, names[kind // _N_STATES], *(int(count[kind]) for count in counts))
            for kind in np.flatnonzero(counts[0]).tolist()
        ]
        return sorted(found, key=lambda group: (group.state, -group.n_pages, group.outcome))

    def hosts(self, at_most: int) -> tuple[tuple[HostPages, ...], int, int]:
        """Return the hosts with the most pages done; how many have any; how many have URLs inside the scope."""
        hosts, n_hosts, states = self.seen.hosts, self.seen.n_hosts, self._states[: len(self.seen)]
        is_fetched = states == PageState.FETCHED
        is_redirect = is_fetched & ((self._repeats[: len(self.seen)] & _OTHER_NAME) > 0)
        kinds = (
            is_fetched & ~is_redirect,
            is_redirect,
            states == PageState.SKIPPED,
            states == PageState.FAILED,
            states == PageState.BLOCKED,
        )
        columns = [np.bincount(hosts[chosen], minlength=n_hosts) for chosen in kinds]
        n_done, n_known = np.sum(columns, axis=0), n_by_host(self.seen, self._inside)
        n_begun = int(np.count_nonzero(n_done))
        most_first = np.lexsort((-n_known, -n_done))[: min(at_most, n_begun)]
        names = self.seen.host_names
        rows = tuple(
            HostPages(names[host], *(int(column[host]) for column in (*columns, n_known)))
            for host in most_first.tolist()
        )
        return rows, n_begun, int(np.count_nonzero(n_known))

    def _make_room(self) -> None:
        n_urls = len(self.seen)
        self._states, self._repeats = grown(self._states, n_urls), grown(self._repeats, n_urls)
        self._outcomes = grown(self._outcomes, n_urls)
