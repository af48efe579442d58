"""A crawl as its folder tells it: all that has happened is told to a new Crawl. Reads, and writes nothing.

Every event has a *position*, counted from 0: a page was fetched, redirected, failed or blocked, or pages became known
from elsewhere than a link. Told in that order, a new Crawl ends up where the old one was, whatever the policy. A
checkpoint saves telling the first part; one that does not fit is ignored.

URLs are numbered in order of discovery, inside and outside the scope alike. The Crawl only hears of the links inside.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from orienteer.errors import OrienteerError
from orienteer.ledger.checkpoint import Arrays, restore
from orienteer.ledger.depths import Depths
from orienteer.ledger.plan import CrawlPlan
from orienteer.ledger.scope import Scope
from orienteer.ledger.setup import CrawlSetup
from orienteer.ledger.topic_reading import Reader
from orienteer.pages.states import PageState
from orienteer.store.database import Database
from orienteer.store.failures import damaged
from orienteer.store.folder_files import FolderFiles
from orienteer.store.history import DonePages, KnownPages
from orienteer.store.url_numbers import seen_urls

FROM_SITEMAP = 1  # the depth of a page that a sitemap names


class Retelling:
    """The Crawl of a folder, with the numbers of its URLs, their depths, and its scope as it has become."""

    def __init__(self, folder: FolderFiles, plan: CrawlPlan, setup: CrawlSetup | None = None) -> None:
        self.plan = plan
        self.database = folder.database
        self.setup = setup or CrawlSetup(folder, plan)
        self.epoch = self.setup.epoch
        self.reader = Reader.of_folder(folder) if plan.crawl.topic else None
        self.scope = Scope(plan.scope, plan.crawl.seeds)
        self.seen = seen_urls(self.database)
        if len(self.seen) == 0:
            self.seen.number(plan.crawl.seeds)
        self.position = self.database.next_position()  # of the next event
        self._hops: dict[int, int] = {}  # redirects that led to a page
        self._seed_names = set(range(len(plan.crawl.seeds)))  # the seeds, and what they redirect to
        self._depths = Depths()
        self._begin()
        self.crawl = self.setup.new_crawl(self.seen.page_hosts)
        self._resume(self._checkpoint(folder))
        self.crawl.reconsider()

    # -- what is known ------------------------------------------------------------------------------------------

    @property
    def number(self) -> int:
        """Of the epoch: 0 is the first crawl."""
        return 0 if self.epoch is None else self.epoch.id

    @property
    def max_depth(self) -> int | None:
        """Links from a seed that the crawl goes; in an epoch, from a seed or a page that is due."""
        return self.plan.scope.max_depth if self.epoch is None else self.epoch.hops

    def url(self, page: int) -> str:
        return self.database.url(page)

    def host(self, page: int) -> int:
        return int(self.seen.hosts[page])

    def host_named(self, name: str) -> int | None:
        """The number of a host; None if no URL of it is known."""
        return self.seen.find_host(name)

    def depth(self, page: int) -> int:
        """Links from a seed, by the shortest way known."""
        return self._depths.of(page)

    # -- telling ------------------------------------------------------------------------------------------------

    def _tell(
        self,
        page: int,
        state: PageState,
        redirect_to: int | None,
        links: NDArray[np.uint32],
        n_unknown: int,
        relevance: float | None,
        now: float = 0.0,
        asked: bool = True,
        was_answered: bool = False,
    ) -> None:
        """The Crawl hears of an event; the same when it happens and when the folder is opened again."""
        if state is PageState.BLOCKED:
            self.crawl.blocked(page, now, asked, is_redirect=n_unknown != 0, was_answered=was_answered)
        elif state is PageState.FAILED:
            self.crawl.failed(page, now, asked)
        elif state is PageState.SKIPPED:
            self.crawl.skipped(page, now, asked, n_unknown)
        elif redirect_to is not None:
            self.crawl.redirected(page, redirect_to, now, asked=asked)
        else:
            about = None if self.reader is None else self.reader.about(page, relevance)
            self.crawl.fetched(page, links, now, None, asked, about, n_unknown)

    def _note_redirect(self, page: int, target: int) -> None:
        self._hops[target] = max(self._hops.get(target, 0), self._hops.get(page, 0) + 1)
        if page in self._seed_names:
            self._seed_names.add(target)

    # -- opening ------------------------------------------------------------------------------------------------

    def _begin(self) -> None:
        """Where the epoch starts, and what the scope has come to before it."""
        if self.epoch is not None:
            for seed in range(len(self.plan.crawl.seeds)):
                for page in other_names(self.database, seed, self.plan.fetch.max_redirects):
                    self._seed_names.add(page)
                    self.scope.widen(self.url(page))
        self._depths.reach(self.setup.first_pages(), 0)

    def _checkpoint(self, folder: FolderFiles) -> Arrays | None:
        saved = folder.read_checkpoint() if self.setup.uses_checkpoints else None
        is_of_this = saved is not None and int(saved.get("epoch", -1)) == self.number
        return saved if is_of_this else None

    def _resume(self, saved: Arrays | None) -> None:
        if saved is not None:
            try:
                return self._go_through(saved)
            except (KeyError, ValueError, TypeError, AttributeError):  # of another version: everything is told anew
                self.crawl = self.setup.new_crawl(self.seen.page_hosts)
        try:
            self._go_through(None)
        except OrienteerError:
            raise
        except (KeyError, ValueError, IndexError, OverflowError) as error:
            raise damaged(self.database.path, f"it tells what cannot have happened: {error}") from None

    def _go_through(self, saved: Arrays | None) -> None:
        """Go through all that has happened. The Crawl hears of what is not in the checkpoint."""
        told = 0 if saved is None else int(saved["position"])
        if told > self.position:
            raise ValueError("the checkpoint is of another crawl")
        is_restored = saved is None
        for events in self.setup.history(self.database):
            first, last = _positions(events)
            n_old = 0
            if isinstance(events, DonePages):
                self._note_again(events)
                n_old = int(np.searchsorted(events.positions, told))
                self._link_again(events, n_old)
            else:
                self._depths.reach(events.pages, FROM_SITEMAP)
            if last >= told and not is_restored:
                self._restore(saved)
                is_restored = True
            if isinstance(events, DonePages):
                for k in range(n_old, len(events.pages)):
                    self._tell_again(events, k)
            elif first >= told:
                self.crawl.discover(events.pages)
        if not is_restored:
            self._restore(saved)

    def _restore(self, saved: Arrays | None) -> None:
        assert saved is not None
        self.crawl.web.know(int(saved["crawl.n_pages"]))
        restore(self.crawl, saved)

    def _note_again(self, events: DonePages) -> None:
        """Depths and redirects, as they came about."""
        is_redirect = events.redirects >= 0
        self._depths.reach_in_order(events.pages, events.link_offsets, events.links, is_redirect)
        for k in np.flatnonzero(is_redirect).tolist():
            page, target = int(events.pages[k]), int(events.redirects[k])
            if page in self._seed_names and not self.scope.contains([self.url(target)])[0]:
                self.scope.widen(self.url(target))
            self._note_redirect(page, target)

    def _link_again(self, events: DonePages, n: int) -> None:
        """Enter the links of the first n pages into the web, for a Crawl that knows of them by its checkpoint."""
        kept = np.flatnonzero(events.states[:n] != PageState.BLOCKED)  # those others have no links
        offsets = np.append(events.link_offsets[kept], events.link_offsets[n])
        self.crawl.web.add_batch(events.pages[kept], offsets, events.links[: offsets[-1]])

    def _tell_again(self, events: DonePages, k: int) -> None:
        page, state = int(events.pages[k]), PageState(int(events.states[k]))
        target = int(events.redirects[k])
        if state is not PageState.BLOCKED:
            self.crawl.take(page)
        links = events.links[events.link_offsets[k] : events.link_offsets[k + 1]]
        relevance = None if np.isnan(events.relevance[k]) else float(events.relevance[k])
        n_unknown, is_asked = int(events.n_unknown[k]), bool(events.asked[k])
        redirect_to = target if target >= 0 else None
        self._tell(page, state, redirect_to, links, n_unknown, relevance, asked=is_asked, was_answered=is_asked)


def other_names(database: Database, page: int, max_redirects: int) -> Iterator[int]:
    """The pages that a page redirects to, one after the other."""
    for _ in range(max_redirects + 1):
        row = database.page(page)
        if row is None or row.redirect_to is None:
            return
        page = row.redirect_to
        yield page


def _positions(events: DonePages | KnownPages) -> tuple[int, int]:
    """The first and the last position of some events."""
    if isinstance(events, KnownPages):
        return events.position, events.position
    return int(events.positions[0]), int(events.positions[-1])
