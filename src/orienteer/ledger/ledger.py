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

from orienteer.answers.meaning import LOST_REDIRECTS, Meaning, Verdict
from orienteer.errors import InputError
from orienteer.extract.page import Page
from orienteer.ledger.checkpoint import checkpoint
from orienteer.ledger.duplicates import COPIES_FOLLOWED, Duplicates
from orienteer.ledger.hosts_inside import HostsInside
from orienteer.ledger.library import Library
from orienteer.ledger.plan import CrawlPlan
from orienteer.ledger.retelling import FROM_SITEMAP, Retelling
from orienteer.ledger.sessions import Sessions
from orienteer.ledger.setup import CrawlSetup
from orienteer.pages.added import Additions
from orienteer.pages.outcome import Outcome
from orienteer.pages.states import PageState
from orienteer.pages.unknown import ALL_KNOWN, NOBODY_KNOWS, UnknownLinks
from orienteer.policies.focused import FocusedPolicy
from orienteer.store.folder import CrawlFolder
from orienteer.store.page_row import NO_LINKS, PageRow
from orienteer.workers.received import Received

_STATES = {int(state): state for state in PageState}
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
        self._sessions = Sessions(self.database)
        self._hosts_inside = HostsInside(self.scope, self.seen)
        self._unacknowledged = 0
        self._noted: set[str] = set()  # what is said once in a run
        self._next_checkpoint = time.monotonic() + 30.0
        if self.database.n_urls() == 0:
            self.database.add_urls(0, plan.crawl.seeds)
            self._unacknowledged += 1
        if self.setup.survey is not None:
            self.setup.survey.begin(self.crawl, plan.crawl.workers)

    # -- what happens to pages ----------------------------------------------------------------------------------

    def take_in(self, page: int, answer: Received, now: float) -> None:
        """What an answer means becomes what is known of the page."""
        meaning = answer.meaning
        verdict = meaning.verdict
        if verdict is Verdict.FETCHED:
            self._fetched(page, answer, now)
        elif verdict is Verdict.REDIRECT and meaning.target is not None:
            self._redirected(page, answer, meaning.target, now)
        elif verdict is Verdict.FAILED:
            self._enter(page, PageState.FAILED, meaning.reason, answer, now)
        elif verdict is Verdict.SKIPPED:
            unknown = UnknownLinks(NOBODY_KNOWS, meaning.unknown) if meaning.unknown else ALL_KNOWN
            self._enter(page, PageState.SKIPPED, meaning.reason, answer, now, unknown=unknown)
        elif verdict is not Verdict.NOT_MODIFIED or not self._not_modified(page, answer, now):
            self.blocked(page, meaning.reason, answer, now)

    def _fetched(self, page: int, answer: Received, now: float) -> None:
        """The page is there. Its links are numbered and followed, unless it only repeats another page."""
        meaning, content, digest = answer.meaning, answer.meaning.page, answer.digest
        assert content is not None
        assert digest is not None
        known = self.library.before(page)
        if known is not None and known.digest == digest:
            same_as, similar_to = known.duplicate_of, known.near_duplicate_of
        else:
            same_as = self._duplicates.exact(page, digest)
            similar_to = self._duplicates.near(page, answer.signature, known is not None) if same_as is None else None
        if similar_to is not None and self.plan.crawl.near_duplicates == "merge":
            links, outside, unknown = NO_LINKS, NO_LINKS, UnknownLinks(NOBODY_KNOWS, "much like another page")
        else:
            links, outside, unknown = self._links_of(page, meaning)
        other_name = self._sessions.found(page, answer.request.url, answer.sessionless)
        if other_name is None and same_as is not None and self.plan.crawl.duplicates == "merge":
            if self._links_like(same_as, page, links, unknown):
                other_name = same_as
            elif self.database.n_with_digest(digest) > COPIES_FOLLOWED:
                links, outside, unknown = NO_LINKS, NO_LINKS, UnknownLinks(NOBODY_KNOWS, "a copy of another page")
        if other_name is not None:
            links, outside, unknown = np.array([other_name], np.uint32), NO_LINKS, ALL_KNOWN
        self._enter(
            page, PageState.FETCHED, Outcome.OK, answer, now, links, content, outside=outside, digest=digest,
            title=content.title, language=content.language, noindex=content.noindex, redirect_to=other_name,
            duplicate_of=same_as, near_duplicate_of=similar_to, etag=answer.etag, last_modified=answer.last_modified,
            relevance=meaning.relevance, added=meaning.added, unknown=unknown,
        )  # fmt: skip
        self._keep_canonical(page, content, known is not None)
        self._discover_named(content)

    def _keep_canonical(self, page: int, content: Page, was_known: bool) -> None:
        """Which page is to be shown in the place of this one, if they say the same: that is seen where pages are shown.

        To the certificate it is a link: pages lie about what they are.
        """
        ids = NO_LINKS
        if content.canonical is not None and content.canonical in content.links:
            ids, _ = self._numbered([content.canonical], self.depth(page) + 1)
        if len(ids) and ids[0] != page:
            self.database.set_canonical(page, int(ids[0]))
        elif was_known:
            self.database.set_canonical(page, None)

    def _discover_named(self, content: Page) -> None:
        """What a page names for machines is there, but nobody clicks it: it is known as if a sitemap named it."""
        settings = self.plan.crawl
        named = (*(content.feeds if settings.feeds else ()), *(content.alternates if settings.languages else ()))
        if named and not content.nofollow:
            n_known = len(self.seen)
            inside = [url for url, is_inside in zip(named, self.scope.contains(list(named)), strict=True) if is_inside]
            ids, _ = self._numbered(inside, FROM_SITEMAP)
            if len(new := ids[ids >= n_known]):
                self._discovered(new)

    def _links_of(self, page: int, meaning: Meaning) -> tuple[NDArray[np.uint32], NDArray[np.uint32], UnknownLinks]:
        """The links of a page inside and outside the scope, and what is not known of those inside."""
        links, outside = self._numbered(meaning.links, self.depth(page) + 1)
        if meaning.unknown:
            return links, outside, UnknownLinks(NOBODY_KNOWS, meaning.unknown)
        assert meaning.page is not None
        if not meaning.page.left_out:
            return links, outside, ALL_KNOWN
        left_out = set(meaning.page.left_out).difference(meaning.links, [self.url(page)])
        n_unknown = int(self.scope.may_contain(list(left_out)).sum()) if left_out else 0
        return links, outside, UnknownLinks(n_unknown, ", ".join(meaning.page.unknown_links) if n_unknown else "")

    def _links_like(self, first: int, page: int, links: NDArray[np.uint32], unknown: UnknownLinks) -> bool:
        """Whether a page with the content of the `first` has its links, too: relative ones may lead elsewhere."""
        row = self.database.page(first)
        if row is None or row.redirect_to is not None or self.database.unknown(first).n != unknown.n:
            return False
        names = {first, page}
        return set(links.tolist()) - names == set(row.links.tolist()) - names

    def _redirected(self, page: int, answer: Received, target: str, now: float) -> None:
        """The page is elsewhere; where one cannot follow, all that is known is that it is another name."""
        has_moved = page in self._seed_names and not self.library.has_moved_for_now(page, answer.status)
        is_widened = has_moved and not self.scope.contains([target])[0]
        if is_widened:
            self.scope.widen(target)
        if not self.scope.contains([target])[0]:
            _, outside = self._numbered([target], self.depth(page))
            return self._lost(page, Outcome.LEAVES_SCOPE, answer, now, outside)
        ids, _ = self._numbered([target], self.depth(page))
        n_hops = self._hops.get(page, 0) + 1
        if self.crawl.n_redirects_from(int(ids[0]), until=page) is None:
            return self._lost(page, Outcome.REDIRECT_LOOP, answer, now, ids)
        if n_hops > self.plan.fetch.max_redirects:
            return self._lost(page, Outcome.TOO_MANY_REDIRECTS, answer, now, ids)
        self._note_redirect(page, int(ids[0]))
        self._enter(page, PageState.FETCHED, Outcome.REDIRECT, answer, now, ids, redirect_to=int(ids[0]))
        if is_widened:
            self._find_more_links()

    def _lost(self, page: int, outcome: Outcome, answer: Received, now: float, outside: NDArray[np.uint32]) -> None:
        """A redirect that leads out of the scope, round in circles, or on for ever."""
        unknown = UnknownLinks(NOBODY_KNOWS, outcome)
        self._enter(page, PageState.BLOCKED, outcome, answer, now, outside=outside, unknown=unknown)

    def _find_more_links(self) -> None:
        """The scope has become wider: links that were outside are inside.

        Their pages become known. The pages that link there were told without these links, and whatever orders the
        frontier has gone by that; so to the certificate they stay links that are not known.
        """
        found = [(page, outside[self.scope.contains(self.database.urls(outside))]) for page, outside in
                 self.database.outside_links()]  # fmt: skip
        found = [(page, inside) for page, inside in found if len(inside)]
        if not found:
            return
        for page, inside in found:
            before = self.database.unknown(page)
            if before.n != NOBODY_KNOWS:
                n = before.n + len(inside)
                self.database.set_unknown(page, UnknownLinks(n, "found before the scope became wider"))
        pages = np.array([page for page, _ in found], np.uint32)
        self.crawl.find_more_links(pages, np.array([len(inside) for _, inside in found], np.int32))
        self._discovered(np.unique(np.concatenate([inside for _, inside in found])))

    def blocked(self, page: int, reason: str, answer: Received | None, now: float) -> None:
        """The page will not be fetched; without an answer its host was not asked."""
        unknown = UnknownLinks(NOBODY_KNOWS, reason) if reason in LOST_REDIRECTS else ALL_KNOWN
        self._enter(page, PageState.BLOCKED, reason, answer, now, unknown=unknown)

    def _not_modified(self, page: int, answer: Received, now: float) -> bool:
        """The page is as it was; False if nobody knows how that is, so that the server cannot mean it."""
        known = self.library.before(page)
        if known is None or known.digest is None:
            return False
        row = self.library.confirm(known, answer, self.position)
        self._happened(row, self.library.n_unknown(row), now)
        return True

    def carried(self, page: int, now: float) -> None:
        """The page need not be asked for: what is known of it stands."""
        row = self.library.carry(page, self.position)
        self._happened(row, self.library.n_unknown(row), now, asked=False)

    def left(self, page: int, now: float) -> None:
        """The page is too deep for this epoch."""
        self._happened(self.library.leave(page, self.position), 0, now, asked=False)

    def discovered(self, urls: Sequence[str]) -> int:
        """A sitemap names these pages; how many of them were new."""
        ids, _ = self._numbered(urls, FROM_SITEMAP)
        return self._discovered(ids)

    def _discovered(self, pages: NDArray[np.uint32]) -> int:
        before = len(self.crawl.frontier)
        self.database.add_known(self.position, pages)
        self._count()
        self.crawl.discover(pages)
        return len(self.crawl.frontier) - before

    def note(self, kind: str, host: int | None, detail: str) -> None:
        """Write down something about a host, or about the crawl."""
        self.database.add_event(time.time(), kind, host, detail=detail)
        self._unacknowledged += 1

    def wrote_besides(self) -> None:
        """Something was written that is no page; it is acknowledged with the pages."""
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
        self, page: int, state: PageState, outcome: str, answer: Received | None, now: float,
        links: NDArray[np.uint32] = NO_LINKS, content: Page | None = None, added: Additions | None = None,
        unknown: UnknownLinks = ALL_KNOWN, **rest: Any,
    ) -> None:  # fmt: skip
        """Something came of a page: the library takes it in, the Crawl hears of it."""
        row = PageRow(
            id=page,
            position=self.position,
            state=int(state),
            outcome=str(outcome),
            status=answer.status if answer else 0,
            time=answer.started_at if answer else time.time(),
            size_bytes=answer.size_bytes if answer else 0,
            content_type=answer.content_type if answer else "",
            depth=self.depth(page),
            links=links,
            **rest,
        )
        told = self.library.enter(row, answer, added, unknown)
        n_unknown = unknown.n if self.epoch is None else self.library.n_unknown(told)
        policy = self.crawl.policy
        if self.reader is not None and isinstance(policy, FocusedPolicy) and content and told.redirect_to is None:
            self.reader.keep_words(page, content, self.seen, links, policy)
        self._happened(told, n_unknown, now, asked=answer is not None)

    def _happened(self, row: PageRow, n_unknown: int, now: float, asked: bool = True) -> None:
        """The Crawl hears of a page; the row is the page as it is today, whatever is kept of yesterday's."""
        self._count()
        self._depths.reach(row.links, self.depth(row.id) + (row.redirect_to is None))
        was_answered = self.epoch is None and row.status > 0
        self._tell(
            row.id, _STATES[row.state], row.redirect_to, row.links, n_unknown, row.relevance, now, asked, was_answered
        )  # fmt: skip

    def _count(self) -> None:
        self.position += 1
        self._unacknowledged += 1

    def _numbered(self, urls: Sequence[str], depth: int) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
        """The ids of URLs inside and outside the scope; new ones are written down."""
        if not urls:
            return NO_LINKS, NO_LINKS
        urls = self._sessions.settled(urls)
        first = len(self.seen)
        ids, new = self.seen.number(urls)
        if len(new):
            self.database.add_urls(first, [urls[k] for k in new.tolist()])
        numbers = ids.astype(np.uint32)
        self._depths.reach(numbers, depth)
        inside = self._hosts_inside.contains(urls, numbers)
        if inside.all():
            return self.setup.linked(numbers), NO_LINKS
        return self.setup.linked(numbers[inside]), numbers[~inside]
