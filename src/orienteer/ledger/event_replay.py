"""Rebuild the Crawl of a folder by replaying its events. Nothing is written.

Every event has a *position*, counted from 0: a page was fetched, redirected, failed or blocked, or pages were
discovered without a link. Replayed in that order, they bring a new Crawl to the state of the old one, whatever the
policy.

A *checkpoint* replaces the first events: it has the state of the policy and the coverage, the page states and the
frontier, as they were after some event, but not the links. A new policy needs no code for it:
`policies/policy_state.py` pickles and signs its attributes. An inconsistent checkpoint is ignored.

URLs are numbered in order of discovery, inside and outside the scope alike. The Crawl only sees the links inside.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orienteer.arrays import grown, zeros
from orienteer.crawl.crawl import Crawl
from orienteer.errors import OrienteerError
from orienteer.kernel import allocating_kernel, kernel
from orienteer.ledger.plan import CrawlPlan
from orienteer.ledger.scope import Scope
from orienteer.ledger.setup import CrawlSetup
from orienteer.ledger.topic_reading import Reader
from orienteer.pages.states import PageState
from orienteer.policies.policy_state import ObjectState, set_state, state_of
from orienteer.store.database import Database
from orienteer.store.failures import damaged
from orienteer.store.folder_view import FolderFiles
from orienteer.store.history import DonePages, KnownPages

FROM_SITEMAP = 1  # the depth of a page that a sitemap lists
_DEEPEST = 65_000


class Depths:
    """How many links pages are from a seed, by the shortest known path.

    >>> depths = Depths()
    >>> depths.reach([4, 7], 3)
    >>> depths.reach([7, 9], 1)
    >>> depths.of(4), depths.of(7), depths.of(9)
    (3, 1, 1)
    """

    def __init__(self) -> None:
        self._one_more: NDArray[np.uint16] = np.zeros(1024, np.uint16)  # than the depth; 0: not known

    def of(self, page: int) -> int:
        """Return the depth of a page; 0 for a page that was never reached."""
        return max(int(self._one_more[page]) - 1, 0) if page < len(self._one_more) else 0

    def reach(self, pages: Any, depth: int) -> None:
        """Record a path of `depth` links to these pages."""
        ids = pages if isinstance(pages, np.ndarray) and pages.dtype == np.uint32 else np.asarray(pages, np.uint32)
        reached = min(depth, _DEEPEST) + 1
        n_done = _reach(ids, reached, self._one_more)
        if n_done >= 0:
            self._one_more = grown(self._one_more, int(ids.max()) + 1)
            _reach(ids[n_done:], reached, self._one_more)

    def reach_in_order(
        self,
        pages: NDArray[np.uint32],
        offsets: NDArray[np.int64],
        links: NDArray[np.uint32],
        is_redirect: NDArray[np.bool_],
    ) -> None:
        """Record the links of these pages, one page after the other; a redirect's target is as deep as the redirect."""
        highest = max(int(pages.max(initial=0)), int(links.max(initial=0)))
        self._one_more = grown(self._one_more, highest + 1)
        _reach_in_order(pages, offsets, links, is_redirect, self._one_more)


@kernel
def _reach(pages: Any, reached: int, one_more: Any) -> Any:
    """Return -1, or the index of the first page beyond the end of the array."""
    for k in range(len(pages)):
        page = pages[k]
        if page >= len(one_more):
            return k
        if one_more[page] == 0 or one_more[page] > reached:
            one_more[page] = reached
    return -1


@allocating_kernel
def _reach_in_order(pages: Any, offsets: Any, links: Any, is_redirect: Any, one_more: Any) -> None:
    for k in range(len(pages)):
        reached = one_more[pages[k]] + (0 if is_redirect[k] else 1)
        for j in range(offsets[k], offsets[k + 1]):
            target = links[j]
            if one_more[target] == 0 or one_more[target] > reached:
                one_more[target] = reached


class EventReplay:
    """The Crawl of a folder, with the numbers of its URLs, their depths, and its scope as widened by redirects."""

    def __init__(self, folder: FolderFiles, plan: CrawlPlan, setup: CrawlSetup | None = None) -> None:
        self.plan = plan
        self.database = folder.database
        self.setup = setup or CrawlSetup(folder, plan)
        self.epoch = self.setup.epoch
        self.reader = Reader.of_folder(folder) if plan.crawl.topic else None
        self.scope = Scope(plan.scope, plan.crawl.seeds)
        self.seen = self.database.urls.seen()
        if len(self.seen) == 0:
            self.seen.number(plan.crawl.seeds)
        if len(self.seen) < len(plan.crawl.seeds):
            raise damaged(self.database.path, "not all seeds are numbered")
        self.position = self.database.history.next_position()  # of the next event
        self._n_redirects: dict[int, int] = {}  # by page: the longest chain of redirects to it
        self._seed_pages = set(range(len(plan.crawl.seeds)))  # the seeds and their redirect targets
        self._depths = Depths()
        self._begin()
        self.crawl = self.setup.new_crawl(self.seen.page_hosts)
        self._resume(self._checkpoint(folder))
        self.crawl.recheck_goal()

    # -- known pages --------------------------------------------------------------------------------------------

    @property
    def epoch_number(self) -> int:
        """The number of the epoch: 0 is the first crawl."""
        return 0 if self.epoch is None else self.epoch.id

    @property
    def max_depth(self) -> int | None:
        """The largest number of links from a seed; in an epoch, from one of its first pages. None: no limit."""
        return self.plan.scope.max_depth if self.epoch is None else self.epoch.hops

    def url(self, page: int) -> str:
        return self.database.urls.of(page)

    def host(self, page: int) -> int:
        return int(self.seen.page_hosts.array[page])

    def depth(self, page: int) -> int:
        """Return the number of links from a seed, by the shortest known path."""
        return self._depths.of(page)

    # -- applying events ----------------------------------------------------------------------------------------

    def _apply(
        self,
        page: int,
        state: PageState,
        redirect_to: int | None,
        links: NDArray[np.uint32],
        n_unknown: int,
        relevance: float | None,
        now: float = 0.0,
        was_requested: bool = True,
        got_response: bool = False,
    ) -> None:
        """Apply an event to the Crawl, both when it happens and in a replay."""
        if state is PageState.BLOCKED:
            self.crawl.blocked(page, now, was_requested, is_redirect=n_unknown != 0, got_response=got_response)
        elif state is PageState.FAILED:
            self.crawl.failed(page, now, was_requested)
        elif state is PageState.SKIPPED:
            self.crawl.skipped(page, now, was_requested, n_unknown)
        elif redirect_to is not None:
            self.crawl.redirected(page, redirect_to, now, was_requested=was_requested)
        else:
            about = None if self.reader is None else self.reader.about(page, relevance)
            self.crawl.fetched(page, links, now, None, was_requested, about, n_unknown)

    def _record_redirect(self, page: int, target: int) -> None:
        self._n_redirects[target] = max(self._n_redirects.get(target, 0), self._n_redirects.get(page, 0) + 1)
        if page in self._seed_pages:
            self._seed_pages.add(target)

    # -- opening ------------------------------------------------------------------------------------------------

    def _begin(self) -> None:
        """Set the depth of the first pages, and widen the scope as earlier epochs did."""
        if self.epoch is not None:
            for seed in range(len(self.plan.crawl.seeds)):
                for page in redirect_targets(self.database, seed, self.plan.fetch.max_redirects):
                    self._seed_pages.add(page)
                    self.scope.widen(self.url(page))
        self._depths.reach(self.setup.first_pages(), 0)

    def _checkpoint(self, folder: FolderFiles) -> Arrays | None:
        saved = folder.read_checkpoint() if self.setup.uses_checkpoints else None
        fits = saved is not None and int(saved.get("epoch", -1)) == self.epoch_number
        return saved if fits else None

    def _resume(self, saved: Arrays | None) -> None:
        if saved is not None:
            try:
                return self._replay_all(saved)
            except (KeyError, ValueError, TypeError, AttributeError):  # written by another version: replay everything
                self.crawl = self.setup.new_crawl(self.seen.page_hosts)
        try:
            self._replay_all(None)
        except OrienteerError:
            raise
        except (KeyError, ValueError, IndexError, OverflowError) as error:
            raise damaged(self.database.path, f"inconsistent event history: {error}") from None

    def _replay_all(self, saved: Arrays | None) -> None:
        """Replay all events for numbers, depths and links, and apply those after the checkpoint to the Crawl."""
        n_restored = 0 if saved is None else int(saved["position"])
        if n_restored > self.position:
            raise ValueError("the checkpoint is of another crawl")
        is_restored = saved is None
        for events in self.setup.history(self.database):
            first, last = _positions(events)
            n_old = 0
            if isinstance(events, DonePages):
                self._replay_depths(events)
                n_old = int(np.searchsorted(events.positions, n_restored))
                self._add_links(events, n_old)
            else:
                self._depths.reach(events.pages, FROM_SITEMAP)
            if last >= n_restored and not is_restored:
                self._restore(saved)
                is_restored = True
            if isinstance(events, DonePages):
                for k in range(n_old, len(events.pages)):
                    self._replay(events, k)
            elif first >= n_restored:
                self.crawl.discover(events.pages)
        if not is_restored:
            self._restore(saved)

    def _restore(self, saved: Arrays | None) -> None:
        assert saved is not None
        self.crawl.web.grow_to(int(saved["crawl.n_pages"]))
        restore(self.crawl, saved)

    def _replay_depths(self, events: DonePages) -> None:
        """Replay depths and redirects, in order."""
        is_redirect = events.redirects >= 0
        self._depths.reach_in_order(events.pages, events.link_offsets, events.links, is_redirect)
        for k in np.flatnonzero(is_redirect).tolist():
            page, target = int(events.pages[k]), int(events.redirects[k])
            if page in self._seed_pages and not self.scope.contains([self.url(target)])[0]:
                self.scope.widen(self.url(target))
            self._record_redirect(page, target)

    def _add_links(self, events: DonePages, n: int) -> None:
        """Add the links of the first n pages to the web; the checkpoint of the Crawl has the rest of their state."""
        has_links = np.flatnonzero(events.states[:n] != PageState.BLOCKED)  # blocked pages have no links
        offsets = np.append(events.link_offsets[has_links], events.link_offsets[n])
        self.crawl.web.add_batch(events.pages[has_links], offsets, events.links[: offsets[-1]])

    def _replay(self, events: DonePages, k: int) -> None:
        page, state = int(events.pages[k]), PageState(int(events.states[k]))
        target = int(events.redirects[k])
        if state is not PageState.BLOCKED:
            self.crawl.take(page)
        links = events.links[events.link_offsets[k] : events.link_offsets[k + 1]]
        relevance = None if np.isnan(events.relevance[k]) else float(events.relevance[k])
        n_unknown, was_requested = int(events.n_unknown[k]), bool(events.requested[k])
        redirect_to = target if target >= 0 else None
        self._apply(
            page, state, redirect_to, links, n_unknown, relevance,
            was_requested=was_requested, got_response=was_requested,
        )  # fmt: skip


def redirect_targets(database: Database, page: int, max_redirects: int) -> Iterator[int]:
    """Yield the pages that a page redirects to, one after the other."""
    for _ in range(max_redirects + 1):
        row = database.pages.row(page)
        if row is None or row.redirect_to is None:
            return
        page = row.redirect_to
        yield page


def _positions(events: DonePages | KnownPages) -> tuple[int, int]:
    """Return the first and the last position of some events."""
    if isinstance(events, KnownPages):
        return events.position, events.position
    return int(events.positions[0]), int(events.positions[-1])


Arrays = dict[str, NDArray[Any]]

_BLOCK_BYTES = 1 << 20


def checkpoint(crawl: Crawl) -> Arrays:
    """Return what `restore` needs, except for the links; an InputError if the state of the policy cannot be saved."""
    state = state_of(_owners(crawl), crawl.web)
    pages, priorities = crawl.waiting()
    return {f"state.{k}": _used(array) for k, array in enumerate(state.arrays)} | {
        "state": np.frombuffer(state.signed, np.uint8),
        "state.sizes": np.array([len(array) for array in state.arrays], np.int64),
        "crawl.n_pages": np.array(crawl.web.n_pages),
        "crawl.order": np.array(crawl.order, np.uint32),
        "crawl.blocked": np.array(crawl.blocked_pages, np.uint32),
        "crawl.state": crawl.states(),
        "crawl.own_proof_holds": np.array(crawl.own_proof_holds),
        "crawl.n_asked": np.array(crawl.n_requested),
        "frontier.pages": pages,
        "frontier.priorities": priorities,
    }


def restore(crawl: Crawl, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Restore the state of a new Crawl, whose web has the links already.

    An unusable checkpoint raises a KeyError, ValueError, TypeError or AttributeError: so does one of version 0.1 or
    0.2, whose state is not signed, or whose arrays have no sizes.

    The frontier's clock starts again: no host is snoozed, nothing is in flight.
    """
    n_pages = crawl.web.n_pages
    if int(arrays["crawl.n_pages"]) != n_pages or arrays["crawl.state"].shape != (n_pages,):
        raise ValueError("the checkpoint has other pages than the database")
    if arrays["frontier.priorities"].shape != arrays["frontier.pages"].shape:
        raise ValueError("the checkpoint has pages without a priority")
    order, blocked, waiting = (
        _pages(arrays[key], n_pages) for key in ("crawl.order", "crawl.blocked", "frontier.pages")
    )
    surveyed = None if crawl.survey is None else (crawl.survey.start, crawl.survey.pending_rounds)
    sizes = arrays["state.sizes"].tolist()
    state = ObjectState(arrays["state"].tobytes(), [_whole(arrays[f"state.{k}"], size) for k, size in enumerate(sizes)])
    set_state(_owners(crawl), crawl.web, state)
    if crawl.survey is not None:
        crawl.survey.restore(*surveyed)  # type: ignore[misc]
    crawl.restore_state(
        order=array("I", order.tobytes()),
        blocked=array("I", blocked.tobytes()),
        states=arrays["crawl.state"],
        own_proof_holds=bool(arrays["crawl.own_proof_holds"]),
        n_requested=int(arrays["crawl.n_asked"]),
        waiting=(waiting, arrays["frontier.priorities"]),
    )


def _owners(crawl: Crawl) -> dict[str, object]:
    owners: dict[str, object] = {"policy": crawl.policy, "coverage": crawl.coverage}
    return owners if crawl.survey is None else owners | {"survey": crawl.survey}


def _used(array: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return the array without the zeros at its end: arrays that grow have room for more than they hold."""
    end = len(array)
    while end > 0:
        start = max(0, end - _BLOCK_BYTES)
        if array[start:end].any():
            return array[: start + int(np.flatnonzero(array[start:end])[-1]) + 1]
        end = start
    return array[:0]


def _whole(used: NDArray[np.uint8], size: int) -> NDArray[np.uint8]:
    """Return the array of this size; its unused part takes no memory."""
    if used.dtype != np.uint8 or used.ndim != 1 or len(used) > size:
        raise ValueError("the checkpoint has arrays of another size")
    whole = zeros(size, np.uint8)
    whole[: len(used)] = used
    return whole


def _pages(saved: NDArray[Any], n_pages: int) -> NDArray[np.uint32]:
    if saved.dtype != np.uint32 or saved.max(initial=0) >= n_pages:
        raise ValueError("the checkpoint has pages that do not exist")
    return saved
