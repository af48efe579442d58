"""Counts of a crawl folder for its status: pages by state and host, the results of each epoch, the stored archive.

Pages are counted incrementally: rows that were read once are not read again.
"""

from __future__ import annotations

import secrets
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orienteer.arrays import grown
from orienteer.crawl.seen import SeenUrls
from orienteer.ledger.event_replay import redirect_targets
from orienteer.ledger.plan import CrawlPlan
from orienteer.ledger.scope import HostsInScope, Scope, n_by_host
from orienteer.pages.states import PageState
from orienteer.progress import Progress, silent
from orienteer.store.archive import Archive
from orienteer.store.database import Database, DatabaseView
from orienteer.store.failures import damaged
from orienteer.store.object_store import StoreSettings
from orienteer.store.page_tables import StateGroup
from orienteer.store.visits import REQUESTED, named_visits
from orienteer.wording import counted, plain

DONE = (PageState.FETCHED, PageState.FAILED, PageState.SKIPPED, PageState.BLOCKED)
_N_STATES = len(PageState)
_STATES = frozenset(map(int, PageState))
_REPEATS, _NEARLY_REPEATS, _OTHER_NAME, _UNARCHIVED = 1, 2, 4, 8


FIRST_CRAWL = "first_crawl"  # in the database: its pages by kind of visit, as they were when the second epoch began
_REQUESTED = frozenset(kind.words for kind in REQUESTED)


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


@dataclass(frozen=True)
class EpochStatus:
    """`number` 0 is the first crawl, all of whose pages are new. `visits` are counted by kind (see VisitKind).

    `unsent_bytes` need not be sent, because the page was not modified. `ended` is None while the epoch is not over, and
    for the first crawl.
    """

    number: int
    began: float | None
    ended: float | None
    n_seeds: int
    n_due: int
    visits: dict[str, int]
    unsent_bytes: int

    @property
    def n_requested(self) -> int:
        """The number of pages that took a request."""
        return sum(n for kind, n in self.visits.items() if kind in _REQUESTED)

    def as_dict(self) -> dict[str, Any]:
        return asdict(self) | {"n_requested": self.n_requested}


def first_crawl(database: Database) -> dict[str, int]:
    """Return the pages of the first crawl by kind of visit; nothing if it was not refreshed."""
    counts = database.meta.get(FIRST_CRAWL) or {}
    if not isinstance(counts, dict) or not all(isinstance(n, int) and n >= 0 for n in counts.values()):
        raise damaged(database.path, f"{FIRST_CRAWL} does not count visits")
    return counts


def epochs_of(database: Database, n_seeds: int, began: float | None) -> list[EpochStatus]:
    """Return the first crawl and all epochs after it; nothing while there are none."""
    rows = database.epochs.all()
    if not rows:
        return []
    result = [EpochStatus(0, began, None, n_seeds, 0, first_crawl(database), 0)]
    ends = [row.position for row in rows[1:]] + [None]
    for row, end in zip(rows, ends, strict=True):
        visits = named_visits(database.visits.counts(row.position, end))
        unsent_bytes = database.visits.unsent_bytes(row.position, end)
        result.append(EpochStatus(row.id, row.began, row.ended, row.n_seeds, row.n_due, visits, unsent_bytes))
    return result


@dataclass(frozen=True)
class StoredArchive:
    """The archive has `n_files`; `n_stored` of them are in object storage, and `n_dropped` of these no longer here.

    `n_waiting` are to be uploaded; `problem` is the last error of that, in one line. `locations` are the object
    stores, that of the settings first.
    """

    locations: tuple[str, ...]
    n_files: int
    n_stored: int
    n_dropped: int
    n_waiting: int
    problem: str

    @classmethod
    def of(cls, archive: Archive, settings: StoreSettings) -> StoredArchive | None:
        """Count the files of an archive; None without object storage."""
        stored = archive.stored
        named = [] if settings.archive_to is None else [settings.archive_to.rstrip("/")]
        if not named and not stored.files:
            return None
        return cls(
            locations=tuple(dict.fromkeys([*named, *(file.location.url for file in stored.files.values())])),
            n_files=len(archive.numbers()),
            n_stored=len(stored.files),
            n_dropped=sum(not archive.path(number).exists() for number in stored.files),
            n_waiting=len(archive.complete_files()) if named else 0,
            problem=stored.problem,
        )

    def describe(self) -> str:
        """`7 files, 5 in s3://bucket/prefix, 1 waits to be uploaded`."""
        locations = " and ".join(plain(location, 200) for location in self.locations)
        here = f", {self.n_dropped:,} of them no longer here" if self.n_dropped else ""
        waiting = counted(self.n_waiting, "waits to be uploaded", "wait to be uploaded")
        clauses = [
            f"{counted(self.n_files, 'file')}, {self.n_stored:,} in {locations}{here}",
            waiting if self.n_waiting else "",
            f"last error: {plain(self.problem, 300)}" if self.problem else "",
        ]
        return "; ".join(part for part in clauses if part)
