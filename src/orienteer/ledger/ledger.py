"""A crawl and its folder in step: whatever happens to a page is told to the Crawl and written down, in the same order.

What was not acknowledged when the process died has not happened: those pages are fetched again. `Retelling` is what
opens a folder again; a ledger goes on from there.

Each epoch has a Crawl of its own, from the epoch's seeds on; what it hears is the web of these days. What is kept of
each page over all epochs is up to the `Library`.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orienteer.answers.answer import Fetched
from orienteer.answers.headers import validators
from orienteer.answers.meaning import Meaning, Verdict
from orienteer.errors import InputError
from orienteer.extract import near_duplicates
from orienteer.extract.page import Page
from orienteer.ledger.checkpoint import checkpoint
from orienteer.ledger.duplicates import Duplicates
from orienteer.ledger.library import Library
from orienteer.ledger.plan import CrawlPlan
from orienteer.ledger.retelling import FROM_SITEMAP, Retelling
from orienteer.ledger.setup import CrawlSetup
from orienteer.pages.added import Additions
from orienteer.pages.outcome import Outcome
from orienteer.pages.states import PageState
from orienteer.policies.focused import FocusedPolicy
from orienteer.store.folder import CrawlFolder
from orienteer.store.page_row import NO_LINKS, PageRow

_CHECKPOINT_SHARE = 0.02  # of the time may go into checkpoints


class Ledger(Retelling):
    """A retold crawl that goes on, and the folder that makes it durable."""

    def __init__(self, folder: CrawlFolder, plan: CrawlPlan, setup: CrawlSetup | None = None) -> None:
        super().__init__(folder, plan, setup)
        self.folder = folder
        self.library = Library(folder, self.epoch, plan.refresh, plan.crawl.archive)
        self.figures: dict[str, Any] | None = None  # to be kept for `status` at the next acknowledgement
        self._duplicates = Duplicates(
            self.database, plan.crawl.duplicates != "off", plan.crawl.near_duplicates != "off"
        )
        self._unacknowledged = 0
        self._noted: set[str] = set()  # what is said once in a run
        self._next_checkpoint = time.monotonic() + 30.0
        if self.database.n_urls() == 0:
            self.database.add_urls(0, plan.crawl.seeds)
            self._unacknowledged += 1

    # -- what happens to pages ----------------------------------------------------------------------------------

    def take_in(self, page: int, answer: Fetched, meaning: Meaning, now: float, digest: bytes | None = None) -> None:
        """What an answer means becomes what is known of the page; `digest` is of content that it does not hold."""
        verdict = meaning.verdict
        if verdict is Verdict.FETCHED:
            self._fetched(page, answer, meaning, now, digest)
        elif verdict is Verdict.REDIRECT and meaning.target is not None:
            self._redirected(page, answer, meaning.target, now)
        elif verdict in (Verdict.FAILED, Verdict.SKIPPED):
            self._failed(page, meaning.reason, answer, now)
        elif verdict is not Verdict.NOT_MODIFIED or not self._not_modified(page, answer, now):
            self.blocked(page, meaning.reason, answer, now)

    def _fetched(self, page: int, answer: Fetched, meaning: Meaning, now: float, digest: bytes | None) -> None:
        """The page is there. Its links are numbered and followed, unless it only repeats another page."""
        content = meaning.page
        assert content is not None
        digest = near_duplicates.digest(answer.content) if digest is None else digest
        known = self.library.before(page)
        if known is not None and known.digest == digest:
            same_as, similar_to = known.duplicate_of, known.near_duplicate_of
        else:
            same_as = self._duplicates.exact(page, digest)
            similar_to = self._duplicates.near(page, content.text, known is not None) if same_as is None else None
        merged = same_as if self.plan.crawl.duplicates == "merge" else None
        merged = similar_to if merged is None and self.plan.crawl.near_duplicates == "merge" else merged
        if merged is None:
            links, outside = self._numbered(meaning.links, self.depth(page) + 1)
        else:
            links, outside = np.array([merged], np.uint32), NO_LINKS
        etag, last_modified = validators(answer.headers)
        self._enter(
            page, PageState.FETCHED, Outcome.OK, answer, now, links, content, outside=outside, digest=digest,
            title=content.title, language=content.language, noindex=content.noindex, redirect_to=merged,
            duplicate_of=same_as, near_duplicate_of=similar_to, etag=etag, last_modified=last_modified,
            relevance=meaning.relevance, added=meaning.added,
        )  # fmt: skip

    def _redirected(self, page: int, answer: Fetched, target: str, now: float) -> None:
        """The page is elsewhere: a redirect that goes round in circles, goes on for ever or leaves the scope fails."""
        has_moved = page in self._seed_names and not self.library.has_moved_for_now(page, answer.status)
        if has_moved and not self.scope.contains([target])[0]:
            self.scope.widen(target)
        if not self.scope.contains([target])[0]:
            _, outside = self._numbered([target], self.depth(page))
            return self._failed(page, Outcome.LEAVES_SCOPE, answer, now, outside)
        ids, _ = self._numbered([target], self.depth(page))
        n_hops = self._hops.get(page, 0) + 1
        if self.crawl.n_redirects_from(int(ids[0]), until=page) is None:
            return self._failed(page, Outcome.REDIRECT_LOOP, answer, now, ids)
        if n_hops > self.plan.fetch.max_redirects:
            return self._failed(page, Outcome.TOO_MANY_REDIRECTS, answer, now, ids)
        self._note_redirect(page, int(ids[0]))
        self._enter(page, PageState.FETCHED, Outcome.REDIRECT, answer, now, ids, redirect_to=int(ids[0]))

    def _failed(
        self, page: int, outcome: str, answer: Fetched, now: float, outside: NDArray[np.uint32] = NO_LINKS
    ) -> None:
        """It is known what there is: no page, or nothing with links in it."""
        self._enter(page, PageState.FAILED, outcome, answer, now, outside=outside)

    def blocked(self, page: int, reason: str, answer: Fetched | None, now: float) -> None:
        """The page will not be fetched; without an answer its host was not asked."""
        self._enter(page, PageState.BLOCKED, reason, answer, now)

    def _not_modified(self, page: int, answer: Fetched, now: float) -> bool:
        """The page is as it was; False if nobody knows how that is, so that the server cannot mean it."""
        known = self.library.before(page)
        if known is None or known.digest is None:
            return False
        row = self.library.confirm(known, answer, *validators(answer.headers), self.position)
        self._happened(row, now)
        return True

    def carried(self, page: int, now: float) -> None:
        """The page need not be asked for: what is known of it stands."""
        self._happened(self.library.carry(page, self.position), now, asked=False)

    def left(self, page: int, now: float) -> None:
        """The page is too deep for this epoch."""
        self._happened(self.library.leave(page, self.position), now, asked=False)

    def discovered(self, urls: Sequence[str]) -> int:
        """A sitemap names these pages; how many of them were new."""
        ids, _ = self._numbered(urls, FROM_SITEMAP)
        before = len(self.crawl.frontier)
        self.database.add_known(self.position, ids)
        self._count()
        self.crawl.discover(ids, self.seen.hosts[ids])
        return len(self.crawl.frontier) - before

    def note(self, kind: str, host: int | None, detail: str) -> None:
        """Write down something about a host, or about the crawl."""
        self.database.add_event(time.time(), kind, host, detail=detail)
        self._unacknowledged += 1

    # -- writing ------------------------------------------------------------------------------------------------

    def acknowledge(self) -> None:
        """Make all that has happened durable."""
        self._unacknowledged += self.setup.save(self.database)
        if self._unacknowledged:
            if self.figures is not None:
                self.database.set("figures", self.figures)
            self.folder.acknowledge()
            self._unacknowledged = 0

    def end_epoch(self) -> None:
        """It has come to its end; the next refresh begins a new one."""
        self.database.end_epoch(self.number, time.time())
        self._unacknowledged += 1
        self.acknowledge()

    def checkpoint_if_due(self, now: float) -> None:
        """Save a checkpoint, rarely enough that it costs next to nothing."""
        if now >= self._next_checkpoint:
            self.checkpoint()
            self._next_checkpoint = now + max(60.0, (time.monotonic() - now) / _CHECKPOINT_SHARE)

    def checkpoint(self) -> None:
        """Save what makes the next opening quick, unless the policy has come to hold what cannot be saved."""
        self.acknowledge()
        if not self.setup.uses_checkpoints:
            return
        try:
            arrays = checkpoint(self.crawl)
        except InputError as error:
            return self._note_once("no checkpoint", str(error))
        moment = {"position": np.array(self.position), "epoch": np.array(self.number)}
        self.folder.write_checkpoint(arrays | moment)

    def _note_once(self, kind: str, detail: str) -> None:
        if kind not in self._noted:
            self._noted.add(kind)
            self.note(kind, None, detail)
            self.acknowledge()

    def _enter(
        self, page: int, state: PageState, outcome: str, answer: Fetched | None, now: float,
        links: NDArray[np.uint32] = NO_LINKS, content: Page | None = None, added: Additions | None = None, **rest: Any,
    ) -> None:  # fmt: skip
        """Something came of a page: the library takes it in, the Crawl hears of it."""
        row = PageRow(
            id=page,
            position=self.position,
            state=int(state),
            outcome=str(outcome),
            status=answer.status if answer else 0,
            time=answer.started_at if answer else time.time(),
            size_bytes=len(answer.content) if answer else 0,
            content_type=answer.content_type if answer else "",
            depth=self.depth(page),
            links=links,
            **rest,
        )
        told = self.library.enter(row, answer, added)
        policy = self.crawl.policy
        if self.reader is not None and isinstance(policy, FocusedPolicy) and content and told.redirect_to is None:
            self.reader.keep_words(page, content, self.seen, links, policy)
        self._happened(told, now, asked=answer is not None)

    def _happened(self, row: PageRow, now: float, asked: bool = True) -> None:
        """The Crawl hears of a page; the row is the page as it is today, whatever is kept of yesterday's."""
        self._count()
        self._depths.reach(row.links, self.depth(row.id) + (row.redirect_to is None))
        self._tell(row.id, PageState(row.state), row.redirect_to, row.links, row.relevance, now, asked)

    def _count(self) -> None:
        self.position += 1
        self._unacknowledged += 1

    def _numbered(self, urls: Sequence[str], depth: int) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
        """The ids of URLs inside and outside the scope; new ones are written down."""
        if not urls:
            return NO_LINKS, NO_LINKS
        first = len(self.seen)
        ids, new = self.seen.number(urls)
        if len(new):
            self.database.add_urls(first, [urls[k] for k in new.tolist()])
        self._depths.reach(ids, depth)
        inside = self.scope.contains(urls)
        numbers = ids.astype(np.uint32)
        return self.setup.linked(numbers[inside]), numbers[~inside]
