"""A crawl and its folder in step: whatever happens to a page is told to the Crawl and written down, in the same order.

Every such event has a *position*, counted from 0: a page was fetched, redirected, failed or blocked, or pages became
known from elsewhere than a link. Opening the folder again tells them to a new Crawl in that order, so it ends up where
the old one was, whatever the policy; a checkpoint saves telling the first part. What was not acknowledged when the
process died has not happened: those pages are fetched again.

Each epoch has a Crawl of its own, from the epoch's seeds on; what it hears is the web of these days. What is kept of
each page over all epochs is up to the `Library`.

URLs are numbered in order of discovery, inside and outside the scope alike. The Crawl only hears of the links inside.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orienteer.answers.answer import Fetched
from orienteer.answers.headers import validators
from orienteer.answers.meaning import Meaning, Verdict
from orienteer.crawl.crawl import Crawl
from orienteer.errors import InputError
from orienteer.extract import near_duplicates
from orienteer.extract.page import Page
from orienteer.frontier.seen import SeenUrls
from orienteer.ledger.checkpoint import Arrays, checkpoint, restore
from orienteer.ledger.depths import Depths
from orienteer.ledger.duplicates import Duplicates
from orienteer.ledger.kept_policy import spec_of_crawl
from orienteer.ledger.library import Heard, Library, other_names
from orienteer.ledger.plan import CrawlPlan
from orienteer.ledger.scope import Scope
from orienteer.ledger.topic_reading import Reader
from orienteer.pages.outcome import Outcome
from orienteer.pages.states import PageState
from orienteer.policies.focused import FocusedPolicy
from orienteer.policies.policy import TrustedPages
from orienteer.policies.policy_spec import PolicySpec
from orienteer.store.folder import CrawlFolder
from orienteer.store.history import DonePages, KnownPages
from orienteer.store.page_row import NO_LINKS, PageRow

_CHECKPOINT_SHARE = 0.02  # of the time may go into checkpoints
_FROM_SITEMAP = 1  # the depth of a page that a sitemap names


class Ledger:
    """The Crawl, the numbers of its URLs, and the folder that makes them durable."""

    def __init__(self, folder: CrawlFolder, plan: CrawlPlan) -> None:
        self.folder = folder
        self.plan = plan
        self.database = folder.database
        self.epoch = self.database.last_epoch()
        self.library = Library(folder, self.epoch, plan.refresh, plan.crawl.archive)
        self.reader = Reader.of_folder(folder) if plan.crawl.topic else None
        self.scope = Scope(plan.scope, plan.crawl.seeds)
        self.seen = SeenUrls(secrets.token_bytes(16))
        self.position = self.database.next_position()  # of the next event
        self._hops: dict[int, int] = {}  # redirects that led to a page
        self._seed_names = set(range(len(plan.crawl.seeds)))  # the seeds, and what they redirect to
        self._depths = Depths()
        self._duplicates = Duplicates(
            self.database, plan.crawl.duplicates != "off", plan.crawl.near_duplicates != "off"
        )
        self._unacknowledged = 0
        self._noted: set[str] = set()  # what is said once in a run
        self._next_checkpoint = time.monotonic() + 30.0
        self.figures: dict[str, Any] | None = None  # to be kept for `status` at the next acknowledgement
        self._open()

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
            links, outside = self._numbered(content.links, self.depth(page) + 1)
        else:
            links, outside = np.array([merged], np.uint32), NO_LINKS
        etag, last_modified = validators(answer.headers)
        self._enter(
            page, PageState.FETCHED, Outcome.OK, answer, now, links, content, outside=outside, digest=digest,
            title=content.title, language=content.language, noindex=content.noindex, redirect_to=merged,
            duplicate_of=same_as, near_duplicate_of=similar_to, etag=etag, last_modified=last_modified,
            relevance=meaning.relevance,
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
        heard = self.library.confirm(known, answer, *validators(answer.headers), self.position)
        self._happened(page, heard, now)
        return True

    def carried(self, page: int, now: float) -> None:
        """The page need not be asked for: what is known of it stands."""
        self._happened(page, self.library.carry(page, self.position), now, asked=False)

    def left(self, page: int, now: float) -> None:
        """The page is too deep for this epoch."""
        self._happened(page, self.library.leave(page, self.position), now, asked=False)

    def discovered(self, urls: Sequence[str]) -> int:
        """A sitemap names these pages; how many of them were new."""
        ids, _ = self._numbered(urls, _FROM_SITEMAP)
        before = len(self.crawl.frontier)
        self.database.add_known(self.position, ids)
        self._count()
        self.crawl.discover(ids, self.seen.hosts[ids])
        return len(self.crawl.frontier) - before

    def note(self, kind: str, host: int | None, detail: str) -> None:
        """Write down something about a host, or about the crawl."""
        self.database.add_event(time.time(), kind, host, detail=detail)
        self._unacknowledged += 1

    @property
    def number(self) -> int:
        """Of the epoch: 0 is the first crawl."""
        return 0 if self.epoch is None else self.epoch.id

    @property
    def max_depth(self) -> int | None:
        """Links from a seed that the crawl goes; in an epoch, from a seed or a page that is due."""
        return self.plan.scope.max_depth if self.epoch is None else self.epoch.hops

    # -- what is known ------------------------------------------------------------------------------------------

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

    # -- writing ------------------------------------------------------------------------------------------------

    def acknowledge(self) -> None:
        """Make all that has happened durable."""
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
        try:
            arrays = checkpoint(self.crawl)
        except InputError as error:
            return self._note_once("no checkpoint", str(error))
        self.folder.write_checkpoint(arrays | self._moment())

    def _note_once(self, kind: str, detail: str) -> None:
        if kind not in self._noted:
            self._noted.add(kind)
            self.note(kind, None, detail)
            self.acknowledge()

    def _enter(
        self, page: int, state: PageState, outcome: str, answer: Fetched | None, now: float,
        links: NDArray[np.uint32] = NO_LINKS, content: Page | None = None, **rest: Any,
    ) -> None:  # fmt: skip
        """Something came of a page: the library takes it in, the Crawl hears of it."""
        row = PageRow(
            id=page,
            position=self.position,
            state=int(state),
            outcome=outcome,
            status=answer.status if answer else 0,
            time=answer.started_at if answer else time.time(),
            size_bytes=len(answer.content) if answer else 0,
            content_type=answer.content_type if answer else "",
            depth=self.depth(page),
            links=links,
            **rest,
        )
        heard = self.library.enter(row, answer)
        policy = self.crawl.policy
        if self.reader is not None and isinstance(policy, FocusedPolicy) and content and heard.redirect_to is None:
            self.reader.keep_words(page, content, self.seen, links, policy)
        self._happened(page, heard, now, asked=answer is not None)

    def _moment(self) -> Arrays:
        return {"position": np.array(self.position), "epoch": np.array(self.number)}

    def _happened(self, page: int, heard: Heard, now: float, asked: bool = True) -> None:
        self._count()
        self._depths.reach(heard.links, self.depth(page) + (heard.redirect_to is None))
        self._tell(page, heard, now, asked)

    def _count(self) -> None:
        self.position += 1
        self._unacknowledged += 1

    def _tell(self, page: int, heard: Heard, now: float, asked: bool) -> None:
        """The Crawl hears of an event; the same when it happens and when the folder is opened again."""
        hosts, target = self.seen.hosts, heard.redirect_to
        if heard.state is PageState.BLOCKED:
            self.crawl.blocked(page, now, asked)
        elif heard.state is PageState.FAILED:
            self.crawl.failed(page, now, asked)
        elif target is not None:
            self.crawl.redirected(page, target, now, int(hosts[target]), asked)
        else:
            about = None if self.reader is None else self.reader.about(page, heard.relevance)
            self.crawl.fetched(page, heard.links, now, hosts[heard.links], asked, about)

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
        return numbers[inside], numbers[~inside]

    def _note_redirect(self, page: int, target: int) -> None:
        self._hops[target] = max(self._hops.get(target, 0), self._hops.get(page, 0) + 1)
        if page in self._seed_names:
            self._seed_names.add(target)

    # -- opening ------------------------------------------------------------------------------------------------

    def _open(self) -> None:
        """Number the URLs that are known, and bring a new Crawl to where the old one was."""
        seeds = self.plan.crawl.seeds
        if self.database.n_urls() == 0:
            self.seen.number(seeds)
            self.database.add_urls(0, seeds)
            self._unacknowledged += 1
        else:
            for block in self.database.url_blocks():
                self.seen.number_lines(block)
        self._begin()
        self.crawl = self._new_crawl()
        saved = self._checkpoint_of_epoch()
        try:
            self._resume(saved)
        except (
            KeyError,
            ValueError,
            TypeError,
            AttributeError,
        ):  # a checkpoint of another version: everything is told anew
            if saved is None:
                raise
            self.crawl = self._new_crawl()
            self._resume(None)
        self.crawl.reconsider()

    def _begin(self) -> None:
        """Where the epoch starts, and what the scope has come to before it."""
        if self.epoch is None:
            return self._depths.reach(np.arange(len(self.plan.crawl.seeds)), 0)
        for seed in range(len(self.plan.crawl.seeds)):
            for page in other_names(self.database, seed, self.plan.fetch.max_redirects):
                self._seed_names.add(page)
                self.scope.widen(self.url(page))
        # What is new is mostly a link away from what is due, so one may go on from there as from a seed.
        self._depths.reach(np.append(self.epoch.seeds, self.epoch.due), 0)

    def _new_crawl(self) -> Crawl:
        epoch = self.epoch
        if epoch is None:
            n_seeds = len(self.plan.crawl.seeds)
            trusted = TrustedPages(np.arange(n_seeds, dtype=np.uint32), self.plan.crawl.seed_trust())
        else:
            trusted = TrustedPages(epoch.seeds, epoch.trust)
        spec = spec_of_crawl(self.folder.path, PolicySpec.parse(self.plan.crawl.policy))
        policy = spec.make(self.plan.crawl.damping)
        crawl = Crawl(policy, trusted, self.plan.goal(), self.plan.politeness, self.seen.hosts[trusted.pages])
        if epoch is not None:
            crawl.discover(epoch.due, self.seen.hosts[epoch.due])
        return crawl

    def _checkpoint_of_epoch(self) -> Arrays | None:
        saved = self.folder.read_checkpoint()
        is_of_this = saved is not None and int(saved.get("epoch", -1)) == self.number
        return saved if is_of_this else None

    def _history(self) -> Iterator[DonePages | KnownPages]:
        """All that the Crawl of this epoch was told."""
        return self.database.pages_after() if self.epoch is None else self.database.visits_from(self.epoch.position)

    def _resume(self, saved: Arrays | None) -> None:
        """Go through all that has happened. The Crawl hears of what is not in the checkpoint."""
        told = 0 if saved is None else int(saved["position"])
        if told > self.position:
            raise ValueError("the checkpoint is of another crawl")
        is_restored = saved is None
        for events in self._history():
            first, last = _positions(events)
            n_old = 0
            if isinstance(events, DonePages):
                self._note_again(events)
                n_old = int(np.searchsorted(events.positions, told))
                self._link_again(events, n_old)
            else:
                self._depths.reach(events.pages, _FROM_SITEMAP)
            if last >= told and not is_restored:
                self._restore(saved)
                is_restored = True
            if isinstance(events, DonePages):
                for k in range(n_old, len(events.pages)):
                    self._tell_again(events, k)
            elif first >= told:
                self.crawl.discover(events.pages, self.seen.hosts[events.pages])
        if not is_restored:
            self._restore(saved)

    def _restore(self, saved: Arrays | None) -> None:
        assert saved is not None
        n_pages = int(saved["crawl.n_pages"])
        self.crawl.web.know(n_pages)
        self.crawl.web.set_hosts(np.arange(n_pages), self.seen.hosts[:n_pages])
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
        heard = Heard(state, target if target >= 0 else None, links, relevance)
        self._tell(page, heard, 0.0, bool(events.asked[k]))


def _positions(events: DonePages | KnownPages) -> tuple[int, int]:
    """The first and the last position of some events."""
    if isinstance(events, KnownPages):
        return events.position, events.position
    return int(events.positions[0]), int(events.positions[-1])
