"""The ledger applies each event to the Crawl and stores it in the folder, in the same order.

Events that were not acknowledged before a kill are lost: those pages are fetched again. `EventReplay` opens a
folder again; a ledger continues from there.

Each epoch has its own Crawl, which starts at the epoch's seeds and sees only responses of that epoch. The `PageStore`
has the pages of all epochs.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orienteer.errors import InputError
from orienteer.extract.page import Page
from orienteer.ledger.duplicates import COPIES_FOLLOWED, Duplicates, Sessions
from orienteer.ledger.event_replay import FROM_SITEMAP, EventReplay, checkpoint
from orienteer.ledger.page_store import PageStore
from orienteer.ledger.plan import CrawlPlan
from orienteer.ledger.scope import HostsInScope, n_by_host
from orienteer.ledger.setup import CrawlSetup
from orienteer.pages.added import Additions
from orienteer.pages.outcome import Outcome
from orienteer.pages.states import PageState
from orienteer.pages.unknown import ALL_KNOWN, UNKNOWN_COUNT, UnknownLinks
from orienteer.policies.focused import FocusedPolicy
from orienteer.responses.verdict import LOST_REDIRECTS, Verdict, VerdictKind
from orienteer.store.folder import CrawlFolder
from orienteer.store.page_row import NO_LINKS, PageRow
from orienteer.store.url_tables import ANCHORS
from orienteer.workers.fetch_result import FetchResult

_STATES = {int(state): state for state in PageState}
_CHECKPOINT_SHARE = 0.02  # the largest share of the time that checkpoints take


class Ledger(EventReplay):
    """A replayed crawl that continues: its events are stored in the folder."""

    def __init__(self, folder: CrawlFolder, plan: CrawlPlan, setup: CrawlSetup | None = None) -> None:
        super().__init__(folder, plan, setup)
        self.folder = folder
        self.page_store = PageStore(folder, self.epoch, plan.refresh, plan.crawl.archive)
        self.figures: dict[str, Any] | None = None  # stored for `status` at the next acknowledgement
        self._duplicates = Duplicates(
            self.database, plan.crawl.duplicates != "off", plan.crawl.near_duplicates != "off"
        )
        self._sessions = Sessions(self.database)
        self._hosts_inside = HostsInScope(self.scope, self.seen)
        self._unacknowledged = 0
        self._noted: set[str] = set()  # events that are stored once in a run
        self._anchors: set[str] | None = None  # the stored ANCHORS events; None until they are read
        self._next_checkpoint = time.monotonic() + 30.0
        if self.database.urls.count() == 0:
            self.database.urls.add(0, plan.crawl.seeds)
            self._unacknowledged += 1
        if self.setup.survey is not None:
            self.setup.survey.begin(self.crawl, plan.crawl.workers)

    # -- outcomes of pages --------------------------------------------------------------------------------------

    def record_response(self, page: int, response: FetchResult, now: float) -> None:
        """Record the outcome of a page by the verdict of its response."""
        verdict = response.verdict
        kind = verdict.kind
        if kind is VerdictKind.FETCHED:
            self._fetched(page, response, now)
        elif kind is VerdictKind.REDIRECT and verdict.target is not None:
            self._redirected(page, response, verdict.target, now)
        elif kind is VerdictKind.FAILED:
            self._record(page, PageState.FAILED, verdict.reason, response, now)
        elif kind is VerdictKind.SKIPPED:
            unknown = UnknownLinks(UNKNOWN_COUNT, verdict.unknown) if verdict.unknown else ALL_KNOWN
            self._record(page, PageState.SKIPPED, verdict.reason, response, now, unknown=unknown)
        elif kind is not VerdictKind.NOT_MODIFIED or not self._not_modified(page, response, now):
            self.blocked(page, verdict.reason, response, now)

    def _fetched(self, page: int, response: FetchResult, now: float) -> None:
        """Record a fetched page. Its links are numbered and followed, unless it is a copy of another page."""
        verdict, content, digest = response.verdict, response.verdict.page, response.digest
        assert content is not None
        assert digest is not None
        known = self.page_store.earlier_row(page)
        if known is not None and self.page_store.keeps_rendering(known, response):
            return self._confirm(known, response, now)
        is_same = known is not None and self.page_store.is_same_form(known, response)
        if known is not None and is_same and self._duplicates.still_repeats(known):
            same_as, similar_to = known.duplicate_of, known.near_duplicate_of
        else:
            same_as = self._duplicates.exact(page, digest)
            similar_to = self._duplicates.near(page, response.signature, known is not None) if same_as is None else None
        if similar_to is not None and self.plan.crawl.near_duplicates == "merge":
            links, outside, unknown = NO_LINKS, NO_LINKS, UnknownLinks(UNKNOWN_COUNT, "much like another page")
        else:
            links, outside, unknown = self._links_of(page, verdict)
        alias_of = self._sessions.original_of(page, response.request.url, response.sessionless_digest)
        if alias_of is None and same_as is not None and self.plan.crawl.duplicates == "merge":
            if self._has_same_links(same_as, page, links, unknown):
                alias_of = same_as
            elif self.database.pages.n_with_digest(digest) > COPIES_FOLLOWED:
                links, outside, unknown = NO_LINKS, NO_LINKS, UnknownLinks(UNKNOWN_COUNT, "a copy of another page")
        if alias_of is not None:
            links, outside, unknown = np.array([alias_of], np.uint32), NO_LINKS, ALL_KNOWN
        self._record(
            page, PageState.FETCHED, Outcome.OK, response, now, links, content, outside=outside, digest=digest,
            redirect_to=alias_of, duplicate_of=same_as, near_duplicate_of=similar_to, relevance=verdict.relevance,
            added=verdict.added, unknown=unknown,
        )  # fmt: skip
        if self.page_store.has_content(page, digest):
            self._set_canonical(page, content, known is not None)
        self._discover_feeds(content)
        self._note_anchors(page, response.anchors)

    def _set_canonical(self, page: int, content: Page, was_known: bool) -> None:
        """Store the canonical page, which results list instead of this one if both have the same content.

        The certificate treats it as a link, since the declaration may be wrong.
        """
        ids = NO_LINKS
        if content.canonical is not None and content.canonical in content.links:
            ids, _ = self._number([content.canonical])
        if len(ids) and ids[0] != page:
            self.database.details.set_canonical(page, int(ids[0]))
        elif was_known:
            self.database.details.set_canonical(page, None)

    def _note_anchors(self, page: int, fields: Sequence[str]) -> None:
        """Store that these route fields are assumed to be anchors on a page: only samples were compared."""
        if not fields:
            return
        if self._anchors is None:
            self._anchors = set(self.database.meta.anchors())
        for field in fields:
            detail = f"{self.seen.host_name(self.host(page))}: {field}"
            if detail not in self._anchors:
                self._anchors.add(detail)
                self.note(ANCHORS, self.host(page), detail)

    def _discover_feeds(self, content: Page) -> None:
        """Discover feeds and alternates of a page as if a sitemap listed them, since no visitor clicks them."""
        settings = self.plan.crawl
        named = (*(content.feeds if settings.feeds else ()), *(content.alternates if settings.languages else ()))
        if named and not content.nofollow:
            n_known = len(self.seen)
            inside = [url for url, is_inside in zip(named, self.scope.contains(list(named)), strict=True) if is_inside]
            ids, _ = self._number(inside)
            if len(new := ids[ids >= n_known]):
                self._discover(new)

    def _links_of(self, page: int, verdict: Verdict) -> tuple[NDArray[np.uint32], NDArray[np.uint32], UnknownLinks]:
        """Return the links of a page inside and outside the scope, and the unknown ones inside."""
        links, outside = self._number(verdict.links)
        if verdict.unknown:
            return links, outside, UnknownLinks(UNKNOWN_COUNT, verdict.unknown)
        assert verdict.page is not None
        if not verdict.page.left_out:
            return links, outside, ALL_KNOWN
        left_out = set(verdict.page.left_out).difference(verdict.links, [self.url(page)])
        n_unknown = int(self.scope.may_contain(list(left_out)).sum()) if left_out else 0
        return links, outside, UnknownLinks(n_unknown, ", ".join(verdict.page.unknown_links) if n_unknown else "")

    def _has_same_links(self, first: int, page: int, links: NDArray[np.uint32], unknown: UnknownLinks) -> bool:
        """Whether a copy of the page `first` also has its links: relative URLs may lead elsewhere."""
        row = self.database.pages.row(first)
        if row is None or row.redirect_to is not None or self.database.details.unknown(first).n != unknown.n:
            return False
        names = {first, page}
        return set(links.tolist()) - names == set(row.links.tolist()) - names

    def _redirected(self, page: int, response: FetchResult, target: str, now: float) -> None:
        """Record a redirect; if it cannot be followed, the page is an alias of an unknown page."""
        may_widen = self.setup.widens_scope and page in self._seed_pages
        has_moved = may_widen and not self.page_store.is_temporary_redirect(page, response.status)
        is_widened = has_moved and not self.scope.contains([target])[0]
        if is_widened:
            self.scope.widen(target)
        if not self.scope.contains([target])[0]:
            _, outside = self._number([target])
            return self._block_redirect(page, Outcome.LEAVES_SCOPE, response, now, outside)
        ids, _ = self._number([target])
        n_redirects = self._n_redirects.get(page, 0) + 1
        if self.crawl.n_redirects_from(int(ids[0]), until=page) is None:
            return self._block_redirect(page, Outcome.REDIRECT_LOOP, response, now, ids)
        if n_redirects > self.plan.fetch.max_redirects:
            return self._block_redirect(page, Outcome.TOO_MANY_REDIRECTS, response, now, ids)
        self._record(page, PageState.FETCHED, Outcome.REDIRECT, response, now, ids, redirect_to=int(ids[0]))
        if is_widened:
            self._discover_widened()

    def _block_redirect(
        self, page: int, outcome: Outcome, response: FetchResult, now: float, outside: NDArray[np.uint32]
    ) -> None:
        """Record a redirect that leaves the scope, is in a loop, or follows too many others."""
        unknown = UnknownLinks(UNKNOWN_COUNT, outcome)
        self._record(page, PageState.BLOCKED, outcome, response, now, outside=outside, unknown=unknown)

    def _discover_widened(self) -> None:
        """Discover the pages that are inside the scope now that it has become wider.

        The Crawl has recorded the linking pages without these links, and the policy has ordered the frontier by that.
        So the certificate still counts them as unknown links.
        """
        widened = [(page, outside[self.scope.contains(self.database.urls.of_all(outside))]) for page, outside in
                 self.database.pages.outside_links()]  # fmt: skip
        widened = [(page, inside) for page, inside in widened if len(inside)]
        if not widened:
            return
        for page, inside in widened:
            before = self.database.details.unknown(page)
            if before.n != UNKNOWN_COUNT:
                n = before.n + len(inside)
                self.database.details.set_unknown(page, UnknownLinks(n, "found before the scope became wider"))
        pages = np.array([page for page, _ in widened], np.uint32)
        self.crawl.add_unknown_links(pages, np.array([len(inside) for _, inside in widened], np.int32))
        self._discover(np.unique(np.concatenate([inside for _, inside in widened])))

    def blocked(self, page: int, reason: str, response: FetchResult | None, now: float) -> None:
        """Record that the page will not be fetched. `response` is None if no request was sent."""
        unknown = UnknownLinks(UNKNOWN_COUNT, reason) if reason in LOST_REDIRECTS else ALL_KNOWN
        self._record(page, PageState.BLOCKED, reason, response, now, unknown=unknown)

    def _not_modified(self, page: int, response: FetchResult, now: float) -> bool:
        """Keep a page that is not modified; False if no content is stored, so that the response is invalid."""
        known = self.page_store.earlier_row(page)
        if known is None or known.digest is None:
            return False
        self._confirm(known, response, now)
        return True

    def _confirm(self, known: PageRow, response: FetchResult, now: float) -> None:
        """Keep the stored row of an unchanged page."""
        row = self.page_store.confirm(known, response, self.position)
        self._apply_row(row, self.page_store.n_unknown(row), now)

    def keep(self, page: int, now: float) -> None:
        """Keep a fresh page without a request."""
        row = self.page_store.keep(page, self.position)
        self._apply_row(row, self.page_store.n_unknown(row), now, was_requested=False)

    def skip(self, page: int, now: float) -> None:
        """Skip a page that is too deep for this epoch."""
        self._apply_row(self.page_store.skip(page, self.position), 0, now, was_requested=False)

    def discover(self, urls: Sequence[str]) -> int:
        """Add pages that a sitemap lists; return how many of them were new."""
        ids, _ = self._number(urls)
        return self._discover(ids)

    def _discover(self, pages: NDArray[np.uint32]) -> int:
        before = len(self.crawl.frontier)
        self.database.history.add_known(self.position, pages)
        self._depths.reach(pages, FROM_SITEMAP)
        self._advance()
        self.crawl.discover(pages)
        return len(self.crawl.frontier) - before

    def note(self, kind: str, host: int | None, detail: str) -> None:
        """Store an event about a host, or about the crawl."""
        self.database.meta.add_event(time.time(), kind, host, detail=detail)
        self._unacknowledged += 1

    def mark_dirty(self) -> None:
        """Make the next `acknowledge` commit, even without new events: the caller has written to the database."""
        self._unacknowledged += 1

    def n_in_scope(self) -> tuple[int, int]:
        """Return how many known URLs are inside the scope, and how many hosts these have."""
        inside = self._hosts_inside.known_in_scope(self.database, self.crawl.states())
        return int(inside.sum()), int(np.count_nonzero(n_by_host(self.seen, inside)))

    # -- writing ------------------------------------------------------------------------------------------------

    def acknowledge(self) -> None:
        """Make all events so far durable."""
        self._unacknowledged += self.setup.save(self.database)
        if self._unacknowledged:
            if self.figures is not None:
                self.database.meta.set("figures", self.figures)
            self.folder.acknowledge()
            self._unacknowledged = 0

    def end_epoch(self) -> None:
        """End the epoch; the next refresh begins a new one."""
        self.database.epochs.end(self.epoch_number, time.time())
        self._unacknowledged += 1
        self.acknowledge()

    def checkpoint_if_due(self, now: float) -> None:
        """Save a checkpoint, unless the last one is so recent that they would take more than `_CHECKPOINT_SHARE`."""
        if now >= self._next_checkpoint:
            self.checkpoint()
            self._next_checkpoint = now + max(60.0, (time.monotonic() - now) / _CHECKPOINT_SHARE)

    def checkpoint(self) -> None:
        """Save a checkpoint for a quick resume, unless the state of the policy cannot be saved."""
        self.acknowledge()
        if not self.setup.uses_checkpoints:
            return
        try:
            arrays = checkpoint(self.crawl)
        except InputError as error:
            return self._note_once("no checkpoint", str(error))
        moment = {"position": np.array(self.position), "epoch": np.array(self.epoch_number)}
        self.folder.write_checkpoint(arrays | moment)

    def _note_once(self, kind: str, detail: str) -> None:
        if kind not in self._noted:
            self._noted.add(kind)
            self.note(kind, None, detail)
            self.acknowledge()

    def _record(
        self, page: int, state: PageState, outcome: str, response: FetchResult | None, now: float,
        links: NDArray[np.uint32] = NO_LINKS, content: Page | None = None, added: Additions | None = None,
        unknown: UnknownLinks = ALL_KNOWN, outside: NDArray[np.uint32] = NO_LINKS, digest: bytes | None = None,
        redirect_to: int | None = None, duplicate_of: int | None = None, near_duplicate_of: int | None = None,
        relevance: float | None = None,
    ) -> None:  # fmt: skip
        """Record the outcome of a page in the page store, and apply it to the Crawl."""
        title, language, noindex, etag, last_modified = "", "", False, "", ""
        if response is not None and content is not None:
            title, language, noindex = content.title, content.language, content.noindex
            etag, last_modified = response.etag, response.last_modified
        status, at, size_bytes, content_type = 0, time.time(), 0, ""
        if response is not None:
            status, at = response.status, response.started_at
            size_bytes, content_type = response.size_bytes, response.content_type
        row = PageRow(  # without the names of the fields, which take twice the time
            page, self.position, int(state), str(outcome), status, at, None, None, None, digest, size_bytes,
            content_type, language, title, noindex, self.depth(page), redirect_to, duplicate_of, near_duplicate_of,
            etag, last_modified, relevance, links, outside,
        )  # fmt: skip
        current = self.page_store.record(row, response, added, unknown)
        n_unknown = unknown.n if self.epoch is None else self.page_store.n_unknown(current)
        policy = self.crawl.policy
        is_read = content is not None and current.redirect_to is None and self.page_store.has_content(page, row.digest)
        if self.reader is not None and isinstance(policy, FocusedPolicy) and content is not None and is_read:
            self.reader.store_words(page, content, self.seen, links, policy)
        self._apply_row(current, n_unknown, now, was_requested=response is not None)

    def _apply_row(self, row: PageRow, n_unknown: int, now: float, was_requested: bool = True) -> None:
        """Apply an outcome to the Crawl. `row` describes the page as it is now; the stored row may differ."""
        self._advance()
        if row.redirect_to is not None:
            self._record_redirect(row.id, row.redirect_to)
        if len(row.links):
            self._depths.reach(row.links, self.depth(row.id) + (row.redirect_to is None))
        got_response = self.epoch is None and row.status > 0
        self._apply(
            row.id, _STATES[row.state], row.redirect_to, row.links, n_unknown, row.relevance, now,
            was_requested, got_response,
        )  # fmt: skip

    def _advance(self) -> None:
        self.position += 1
        self._unacknowledged += 1

    def _number(self, urls: Sequence[str]) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
        """Return the ids of URLs inside and outside the scope; new ones are stored."""
        if not urls:
            return NO_LINKS, NO_LINKS
        urls = self._sessions.canonical(urls)
        first = len(self.seen)
        ids, new = self.seen.number(urls)
        if len(new):
            self.database.urls.add(first, [urls[k] for k in new.tolist()])
        inside, outside = self._hosts_inside.divided(urls, ids)
        return self.setup.linked(inside), outside
