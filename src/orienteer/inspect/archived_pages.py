"""Check that crawl.db agrees with the archive: read every record again, and compare it with the row of its page.

The bounds follow from the rows. This check ties them to the archive, and so to the digests of its files. For a page
with a record, it compares with the archive:

    state, outcome, status, time   the row agrees with the verdict of the record
    links                          those of the archived page, in their order: none missing, none added
    side of the scope              by the rule in the settings, for each link and for each redirect
    redirects                      the archived response, or the archived document, leads to that page
    merged pages                   the archived contents are the same, apart from a session in the URL
    links that are not known       at least those that the archived page leaves out

Records without a row are checked by `archive_check`. Pages without a record cannot be checked: those of them that
count as fetched are `unchecked`, and `library_certificate` computes the bounds that hold without them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from orienteer.errors import CrawlFolderError
from orienteer.extract import near_duplicates
from orienteer.extract.documents.kinds import is_document
from orienteer.extract.page import MAX_TEXT_CHARS
from orienteer.extract.robot_rules import ALL_ROBOTS, robot_name
from orienteer.fetch.archive import archived_page, archived_response, rendered_resource
from orienteer.fetch.settings import FetchSettings
from orienteer.ledger.event_replay import redirect_targets
from orienteer.ledger.plan import CrawlPlan
from orienteer.ledger.scope import HostsInScope, Scope
from orienteer.pages.outcome import Outcome
from orienteer.pages.states import PageState
from orienteer.pages.unknown import UNKNOWN_COUNT
from orienteer.responses.rendered import rendered_document_of
from orienteer.responses.response import PageRequest
from orienteer.responses.verdict import LOST_REDIRECTS, VerdictKind
from orienteer.store.archive import Position
from orienteer.store.database import DatabaseView
from orienteer.store.folder_view import FolderView
from orienteer.store.page_row import PageRow
from orienteer.url import host_of, session_of
from orienteer.wording import plain
from orienteer.workers.fetch_result import FetchResult, ReadSettings, read_response

SAME_TIME_S = 0.01  # the time of a row and that of its record, which WARC rounds to microseconds
_STATES = {
    VerdictKind.FETCHED: PageState.FETCHED, VerdictKind.REDIRECT: PageState.FETCHED,
    VerdictKind.FAILED: PageState.FAILED,
}  # fmt: skip
ADDED_LINKS, MERGED, OLD_FORMAT = "links added by page hooks", "merged under other settings", "of an old format"
SESSIONS = "sessions that may make a difference"


class ArchivedSessions:
    """Collects the contents without sessions from the archive, and which links and pages count for another page."""

    def __init__(self, database: DatabaseView) -> None:
        self._database = database
        self._contents: dict[str, dict[str, set[bytes]]] = {}  # by the URL without its session, by URL
        self._uses: dict[tuple[str, int], set[int]] = {}  # by (URL, page it counts for): the pages that depend on it

    def add(self, url: str, sessionless: bytes | None) -> None:
        """Add the digest of an archived content without the session; None: it is like no other."""
        session = session_of(url)
        if session is not None:
            contents = self._contents.setdefault(session.stripped, {}).setdefault(url, set())
            contents |= set() if sessionless is None else {sessionless}

    def first(self, url: str) -> int | None:
        """Return the page that a URL with a session counts for by the database; None if it is a page itself."""
        session = session_of(url)
        row = None if session is None else self._database.details.session(session.stripped)
        return row.page if row is not None and row.is_same else None

    def may_name(self, url: str, page: int) -> bool:
        """Whether the URL counts for this page by the database."""
        return self.first(url) == page

    def use(self, url: str, target: int, page: int) -> None:
        """Record that `url`, that of `page` or of a link on it, counts for the page `target`."""
        self._uses.setdefault((url, target), set()).add(page)

    def unconfirmed(self) -> Iterator[int]:
        """Yield the pages that depend on a session which, by the archive, may make a difference."""
        for (url, target), pages in self._uses.items():
            if not self._is_same(url, self._database.urls.of(target)):
                yield from pages

    def _is_same(self, url: str, target: str) -> bool:
        """Whether the content of the URL is that of the target; of any other session where the URL is not archived."""
        session = session_of(url)
        contents = {} if session is None else self._contents.get(session.stripped, {})
        own = contents.get(target, set())
        others = [contents[url]] if url in contents else [contents[other] for other in contents if other != target]
        return any(own & other for other in others)


class Records:
    """Reads the records of a folder as the crawl has read its responses."""

    def __init__(self, folder: FolderView, plan: CrawlPlan, read_stored: bool = False) -> None:
        usual = FetchSettings()
        # A page with a record passed the filters and limits when it was fetched; the settings may have changed since.
        self._fetch = replace(
            plan.fetch,
            content_types=("*/*",),
            max_decoded_bytes=max(plan.fetch.max_decoded_bytes, usual.max_decoded_bytes),
            max_document_bytes=max(plan.fetch.max_document_bytes, usual.max_document_bytes),
        )
        self._reading = ReadSettings(
            signatures=False, records=False, robot=robot_name(plan.fetch.user_agent) or ALL_ROBOTS
        )
        self._folder, self._read_stored = folder, read_stored

    def can_be_read(self, file: int) -> bool:
        """Whether to read a file: those in object storage only with `read_stored`."""
        archive = self._folder.archive
        return self._read_stored or archive.path(file).exists() or file not in archive.stored.files

    def content_type(self, page: int, url: str, location: Position) -> str:
        """Return the content type of a record without reading it; a CrawlFolderError if it is not of this page."""
        return archived_response(
            PageRequest(url, page), archived_page(self._folder, location, url), self._fetch
        ).content_type

    def read(self, page: int, url: str, location: Position, rendered: bool = True) -> FetchResult:
        """Read the record of a page; a CrawlFolderError if it is not of this page."""
        response = archived_response(PageRequest(url, page), archived_page(self._folder, location, url), self._fetch)
        resource = rendered_resource(self._folder, page, url) if rendered else None
        is_html = resource is not None and resource.content_type.startswith("text/html")
        if resource is not None and is_html:
            response = replace(response, rendered=rendered_document_of(resource.body, url))
        archived = read_response(response, self._reading)
        if resource is not None and not is_html and archived.digest is not None:
            # The text that a browser rendered identifies an imported page.
            text = resource.body.decode("utf-8", "replace")[:MAX_TEXT_CHARS]
            archived.digest, archived.sessionless_digest = near_duplicates.digest(text.encode("utf-8", "replace")), None
        return archived


@dataclass(frozen=True)
class Merged:
    """A row by which its page is another name of `target`, since their contents are the same."""

    page: int
    target: int
    digest: bytes | None
    links: frozenset[int]
    n_unknown: int


class RowCheck:
    """Compares rows with their records, one after the other in the order they were done.

    `unchecked` collects the pages whose record is not sufficient, by the reason; `anchors` the route fields ("host:
    field") that records assume to be anchors.
    """

    def __init__(self, folder: FolderView, plan: CrawlPlan, records: Records) -> None:
        self._database, self._plan, self._records = folder.database, plan, records
        self.seen = folder.database.urls.seen()
        self.n_urls = len(self.seen)
        self.sessions = ArchivedSessions(folder.database)
        self.unchecked: dict[str, list[int]] = {}
        self.anchors: set[str] = set()
        self._merged: list[Merged] = []
        self._stored_anchors = set(folder.database.meta.anchors())
        self._seed_pages = set(range(len(plan.crawl.seeds)))
        self._scope = Scope(plan.scope, plan.crawl.seeds)  # as it was at the time of the row that is compared
        self.final_scope = Scope(plan.scope, plan.crawl.seeds)
        for url in self.names_of_seeds():
            self.final_scope.widen(url)
        self.past_scope = self.final_scope  # with the targets of the seeds before they were refreshed
        self._inside = HostsInScope(self.final_scope, self.seen)

    def names_of_seeds(self) -> list[str]:
        """Return the seeds, and where they redirect to by the database."""
        names = list(self._plan.crawl.seeds)
        for seed in range(min(len(names), self.n_urls)):
            for page in redirect_targets(self._database, seed, self._plan.fetch.max_redirects):
                names.append(self._database.urls.of(page))
        return names

    def widen_past_scope(self, redirects: Sequence[tuple[str, str]]) -> None:
        """Add the targets of seeds in older records, (URL, target), to `past_scope`."""
        names = set(self.names_of_seeds())
        self.past_scope = Scope(self._plan.scope, list(names))
        for url, target in redirects:
            if url in names:
                names.add(target)
                self.past_scope.widen(target)

    def problem(self, row: PageRow, url: str) -> str:
        """Return how the row contradicts its record; "" if it does not."""
        assert row.archived is not None
        is_unreadable = row.state == PageState.BLOCKED and row.outcome == Outcome.UNREADABLE
        try:
            if is_unreadable and not is_document(self._records.content_type(row.id, url, row.archived)):
                # Workers crashed on it, and only documents are read in other processes.
                self.mark_unchecked(row.outcome, row.id)
                return ""
            archived = self._records.read(row.id, url, row.archived)
        except CrawlFolderError as error:
            return str(error)
        self.sessions.add(url, archived.sessionless_digest)
        for field in archived.anchors:
            self.anchors.add(f"{host_of(url)}: {field}")
            if f"{host_of(url)}: {field}" not in self._stored_anchors:
                return f"its record assumes that routes with other values of {field} are one page, not so the database"
        if row.id >= len(self._plan.crawl.seeds) and not self.past_scope.contains([url])[0]:
            return "it was fetched, although it is outside the scope of the settings"
        if is_unreadable and archived.outcome == Outcome.UNREADABLE:
            return ""
        if row.status != archived.status or abs(row.time - archived.started_at) > SAME_TIME_S:
            return f"its record is another response than the row in the database (HTTP status {archived.status})"
        return self._state_problem(row, archived) or self._content_problem(row, url, archived)

    def last_problems(self) -> list[tuple[int, str]]:
        """Return the problems, (page, problem), that depend on other rows, once all rows were compared."""
        problems: list[tuple[int, str]] = []
        for page in self.sessions.unconfirmed():
            self.mark_unchecked(SESSIONS, page)
        for merged in self._merged:
            row = self._database.pages.row(merged.target)
            if row is not None and self._repeats(merged, row):
                if self._plan.crawl.duplicates != "merge":
                    self.mark_unchecked(MERGED, merged.page)
            elif self._database.epochs.last() is not None:
                self.mark_unchecked(MERGED, merged.page)  # the other page may have changed since
            else:
                target = plain(self._database.urls.of(merged.target), 150)
                problems.append((merged.page, f"it is not another name of {target}: their archived contents differ"))
        return problems

    def _repeats(self, merged: Merged, row: PageRow) -> bool:
        """Whether a page has the content of this row, and its links, the number of unknown ones included."""
        names = {merged.page, merged.target}
        if row.redirect_to is not None or row.digest != merged.digest:
            return False
        if self._database.details.unknown(row.id).n != merged.n_unknown:
            if "unknown" not in self._database.connection.missing_tables:
                return False
            self.mark_unchecked(OLD_FORMAT, merged.page)
        return set(row.links.tolist()) - names == merged.links - names

    # -- state and content --------------------------------------------------------------------------------------

    def _state_problem(self, row: PageRow, archived: FetchResult) -> str:
        verdict = archived.verdict.kind
        state = _STATES.get(verdict, PageState.BLOCKED)
        n_unknown = self._database.details.unknown(row.id).n
        if archived.reason in LOST_REDIRECTS and n_unknown != UNKNOWN_COUNT:
            return "its record is a redirect, which the database omits"
        if row.state == PageState.BLOCKED and self._may_be_blocked(row, archived, n_unknown):
            return ""
        outcome = {VerdictKind.FETCHED: Outcome.OK, VerdictKind.REDIRECT: Outcome.REDIRECT}.get(
            verdict, archived.reason
        )
        if row.state == state and (row.outcome == outcome or state is PageState.BLOCKED):
            return ""
        state_name = PageState(row.state).name.lower()
        outcomes = f"{plain(row.outcome, 60)} in the database, {archived.reason} in the archive"
        return f"its outcome is {outcomes}; it counts as {state_name}"

    def _may_be_blocked(self, row: PageRow, archived: FetchResult, n_unknown: int) -> bool:
        """Whether the crawl may have blocked a page with a response."""
        verdict = archived.verdict.kind
        if verdict is VerdictKind.REDIRECT:  # out of the scope, in a loop, or after too many redirects
            return row.outcome in LOST_REDIRECTS and n_unknown == UNKNOWN_COUNT
        if row.outcome == Outcome.ASKS_FOR_LOGIN and self._plan.crawl.access:
            return True
        if row.outcome == Outcome.UNREADABLE and is_document(archived.content_type):
            return True  # it took too long to read then
        return verdict not in _STATES

    def _content_problem(self, row: PageRow, url: str, archived: FetchResult) -> str:
        if row.state != PageState.FETCHED:
            return ""
        if archived.digest is not None and row.digest != archived.digest:
            return "its content in the archive has another digest than in the database"
        if archived.verdict.kind is VerdictKind.REDIRECT:
            return self._redirect_problem(row, archived.verdict.target)
        if row.redirect_to is not None:
            return self._merge_problem(row, url, archived)
        return self._links_problem(row, url, archived)

    # -- redirects and links ------------------------------------------------------------------------------------

    def _redirect_problem(self, row: PageRow, target: str | None) -> str:
        leads_to = row.redirect_to
        if leads_to is None or target is None or leads_to not in self.names_of(target):
            stored = "nowhere" if leads_to is None else plain(self._database.urls.of(leads_to), 150)
            return f"it does not redirect to {stored} in the archive"
        if leads_to != self.seen.find(target):
            self.sessions.use(target, leads_to, row.id)
        if row.id in self._seed_pages:
            self._seed_pages.add(leads_to)
            self._scope.widen(target)
        if not self.past_scope.contains([target])[0]:
            return f"it redirects to {plain(target, 150)}, which is outside the scope"
        return self._other_name_problem(row)

    def _merge_problem(self, row: PageRow, url: str, archived: FetchResult) -> str:
        target = row.redirect_to
        assert target is not None
        if self.sessions.may_name(url, target):
            self.sessions.use(url, target, row.id)
        else:
            ids, _ = self.seen.number(archived.verdict.links)
            inside, _ = self._inside.divided(archived.verdict.links, ids)
            links, n_unknown = frozenset(inside.tolist()), self._n_unknown(url, archived)
            self._merged.append(Merged(row.id, target, archived.digest, links, n_unknown))
        return self._other_name_problem(row)

    def _other_name_problem(self, row: PageRow) -> str:
        if row.links.tolist() == [row.redirect_to] and not len(row.outside):
            return ""
        return "it is another name of a page, and the database has other links for it"

    def names_of(self, url: str) -> set[int]:
        """Return the pages that a link to this URL may count for."""
        own = self.seen.find(url)
        names = set() if own is None else {own}
        first = self.sessions.first(url)
        if first is not None and first != own:
            names.add(first)
        return names

    def _links_problem(self, row: PageRow, url: str, archived: FetchResult) -> str:
        n_unknown = self._database.details.unknown(row.id).n
        if n_unknown == UNKNOWN_COUNT and not len(row.links) and not len(row.outside):
            return ""  # a copy of another page is not followed
        archived_links = archived.verdict.links
        ids, _ = self.seen.number(archived_links)
        inside, outside = self._inside.divided(archived_links, ids)
        n_moved, problem = 0, ""
        if not (np.array_equal(inside, row.links) and np.array_equal(outside, row.outside)):
            n_moved, problem = self._compared_links(row, archived_links, ids)
        if problem:
            return problem
        return self._unknown_problem(row, url, archived, n_unknown, n_moved)

    def _compared_links(self, row: PageRow, archived_links: Sequence[str], ids: NDArray[np.uint32]) -> tuple[int, str]:
        """Count the links that are inside the scope by now but outside in the database; and the first problem, or "".

        The lists are compared link by link, since links may count for another page with the same content.
        """
        stored, outside, n_moved = deque(row.links.tolist()), deque(row.outside.tolist()), 0
        for url, own in zip(archived_links, ids.tolist(), strict=True):
            names = {own} | self.names_of(url)
            if stored and stored[0] in names:
                target, is_inside = stored.popleft(), True
            elif outside and outside[0] in names:
                target, is_inside = outside.popleft(), False
            else:
                return 0, f"the archived page has a link to {plain(url, 150)}, which is not in the database"
            if target != own:
                self.sessions.use(url, target, row.id)
            where = [self._database.urls.of(target)]
            if is_inside and not self.past_scope.contains(where)[0]:
                return 0, f"its link to {plain(url, 150)} is outside the scope, but inside in the database"
            n_moved += not is_inside and bool(self.final_scope.contains(where)[0])
        left = [*stored, *outside]
        if left and not self._plan.crawl.hooks:
            link = plain(self._database.urls.of(left[0]), 150)
            return 0, f"the database has a link to {link}, which is not on the archived page"
        if left:
            self.mark_unchecked(ADDED_LINKS, row.id)
        return n_moved, ""

    def _unknown_problem(self, row: PageRow, url: str, archived: FetchResult, n_unknown: int, n_moved: int) -> str:
        """Return whether more links are unknown than the database has: those that the page omits, or moved ones."""
        if n_unknown == UNKNOWN_COUNT:
            return ""
        n_left_out = self._n_unknown(url, archived)
        if n_left_out != UNKNOWN_COUNT and n_unknown >= n_left_out + n_moved:
            return ""
        if "unknown" in self._database.connection.missing_tables:
            self.mark_unchecked(OLD_FORMAT, row.id)
            return ""
        if n_moved and not archived.verdict.unknown and n_unknown < n_moved:
            return "some of its links are inside the scope, but outside in the database"
        why = archived.verdict.unknown or "some are left out"
        return f"not all of its links are known ({why}), which the database omits"

    def _n_unknown(self, url: str, archived: FetchResult) -> int:
        """Return how many links the archived page leaves out."""
        page = archived.verdict.page
        assert page is not None
        if archived.verdict.unknown:
            return UNKNOWN_COUNT
        left_out = list(set(page.left_out).difference(archived.verdict.links, [url]))
        return int(self._scope.may_contain(left_out).sum()) if left_out else 0

    def mark_unchecked(self, why: str, page: int) -> None:
        """Mark a page as unchecked, since its record is not sufficient."""
        self.unchecked.setdefault(why, []).append(page)
