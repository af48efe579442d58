"""The verdict on a response: what it says about the page. One table, one function, no network.

    a page                          FETCHED       its links are followed
    a redirect                      REDIRECT      an alias of its target; redirects by scripts, too
    304                             NOT_MODIFIED  the stored version is current
    404, 410                        FAILED        there is no page
    an image, a file                SKIPPED       its type was not requested
    other 4xx, too large, robots    BLOCKED       there may be a page, but it cannot be fetched
    an unreadable document          BLOCKED       it may have links
    5xx, 429, timeout, ...          TRY_AGAIN     retried later; BLOCKED if that does not help

FAILED and SKIPPED pages count as pages without links, since their content is known. BLOCKED ones do not: there may be a
page with links. Some pages have unknown links, which widens the bounds (`Verdict.unknown`).
docs/theory/responses.md has the same table, row by row; a test compares them.

Live crawls, refreshes, imports, the replay of archives, graphs of WARC files and the Scrapy plug-in all use this.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from orienteer.extract.documents.document import DocumentReading, UnreadableDocumentError
from orienteer.extract.documents.kinds import HTML_TYPES, is_document
from orienteer.extract.documents.limited import read_document
from orienteer.extract.page import Page
from orienteer.extract.robot_rules import OUR_NAME
from orienteer.pages.added import Additions
from orienteer.pages.outcome import Outcome
from orienteer.responses.reading import may_hold_links, read_page
from orienteer.responses.rendered import RenderedPage, page_as_rendered, redirect_of
from orienteer.responses.response import Response


class VerdictKind(StrEnum):
    """What a response says about the page."""

    FETCHED = "fetched"
    REDIRECT = "redirect"
    NOT_MODIFIED = "not modified"
    FAILED = "failed"
    SKIPPED = "skipped"
    BLOCKED = "blocked"
    TRY_AGAIN = "try again"


VERDICTS: dict[Outcome, VerdictKind] = {
    Outcome.OK: VerdictKind.FETCHED,
    Outcome.REDIRECT: VerdictKind.REDIRECT,
    Outcome.NOT_MODIFIED: VerdictKind.NOT_MODIFIED,
    Outcome.CLIENT_ERROR: VerdictKind.BLOCKED,  # except NO_PAGE
    Outcome.UNWANTED_TYPE: VerdictKind.SKIPPED,
    Outcome.TLS_FAILED: VerdictKind.BLOCKED,
    Outcome.TOO_LARGE: VerdictKind.BLOCKED,
    Outcome.FORBIDDEN_ADDRESS: VerdictKind.BLOCKED,
    Outcome.NO_RESPONSE: VerdictKind.BLOCKED,
    Outcome.SERVER_ERROR: VerdictKind.TRY_AGAIN,
    Outcome.SLOW_DOWN: VerdictKind.TRY_AGAIN,
    Outcome.TIMED_OUT: VerdictKind.TRY_AGAIN,
    Outcome.NO_ADDRESS: VerdictKind.TRY_AGAIN,
    Outcome.NO_CONNECTION: VerdictKind.TRY_AGAIN,
    Outcome.BROKEN: VerdictKind.TRY_AGAIN,
    Outcome.CANCELLED: VerdictKind.TRY_AGAIN,
    Outcome.LOST: VerdictKind.TRY_AGAIN,
    Outcome.LOGGED_OUT: VerdictKind.TRY_AGAIN,
    Outcome.UNREADABLE: VerdictKind.BLOCKED,
    Outcome.ROBOTS: VerdictKind.BLOCKED,
    Outcome.ROBOTS_UNREACHABLE: VerdictKind.BLOCKED,
    Outcome.TOO_DEEP: VerdictKind.BLOCKED,
    Outcome.WOULD_LOG_OUT: VerdictKind.BLOCKED,
    Outcome.ASKS_FOR_LOGIN: VerdictKind.BLOCKED,
    Outcome.HOST_ABANDONED: VerdictKind.BLOCKED,
    Outcome.LEAVES_SCOPE: VerdictKind.BLOCKED,
    Outcome.LEADS_NOWHERE: VerdictKind.BLOCKED,
    Outcome.REDIRECT_LOOP: VerdictKind.BLOCKED,
    Outcome.TOO_MANY_REDIRECTS: VerdictKind.BLOCKED,
}
NO_PAGE = frozenset((404, 410))  # the other 4xx are refusals: there may be a page

# Decisions of the crawl, made without a request or from what is known about other pages.
DECISIONS = frozenset(
    (
        Outcome.ROBOTS,
        Outcome.ROBOTS_UNREACHABLE,
        Outcome.TOO_DEEP,
        Outcome.WOULD_LOG_OUT,
        Outcome.ASKS_FOR_LOGIN,
        Outcome.HOST_ABANDONED,
        Outcome.LEAVES_SCOPE,
        Outcome.REDIRECT_LOOP,
        Outcome.TOO_MANY_REDIRECTS,
    )
)

# Redirects to an unknown target: following the link may lead to a page that was fetched.
LOST_REDIRECTS = frozenset(
    (Outcome.LEAVES_SCOPE, Outcome.LEADS_NOWHERE, Outcome.REDIRECT_LOOP, Outcome.TOO_MANY_REDIRECTS)
)


@dataclass(frozen=True, slots=True)
class Verdict:
    """`reason` is the outcome in a word or two; `page` is set for FETCHED, `target` for REDIRECT.

    `unknown` says why the number of links is unknown, or "". `relevance` needs a topic, `added` needs hooks.
    `unreadable` says why a document cannot be parsed. `sent` is the page as sent if a browser rendered it.
    """

    kind: VerdictKind
    reason: str
    page: Page | None = None
    target: str | None = None
    unknown: str = ""
    relevance: float | None = None
    added: Additions | None = None
    unreadable: str = ""
    sent: Page | None = None

    @property
    def links(self) -> list[str]:
        """The links of the page, and those that hooks added."""
        if self.page is None:
            return []
        if self.added is None or not self.added.links:
            return self.page.links
        return list(dict.fromkeys((*self.page.links, *self.added.links)))


def verdict_kind_of(outcome: Outcome, status: int) -> VerdictKind:
    """Return the kind of verdict for an outcome and an HTTP status.

    >>> verdict_kind_of(Outcome.CLIENT_ERROR, 404).value, verdict_kind_of(Outcome.CLIENT_ERROR, 403).value
    ('failed', 'blocked')
    """
    if outcome is Outcome.CLIENT_ERROR and status in NO_PAGE:
        return VerdictKind.FAILED
    return VERDICTS[outcome]


def verdict_of(
    response: Response, with_text: bool = True, robot: str = OUR_NAME, documents: DocumentReading = read_document
) -> Verdict:
    """Return the verdict on a response. A page is parsed, with its text unless only links are needed.

    `robot` is the name of the crawler in robots rules, `documents` parses PDF and other documents.
    """
    kind = verdict_kind_of(response.outcome, response.status)
    if kind is VerdictKind.FETCHED:
        if (
            response.rendered is not None
            and (target := redirect_of(response.rendered, response.request.url)) is not None
        ):
            return Verdict(VERDICTS[Outcome.REDIRECT], Outcome.REDIRECT.describe(0), target=target)
        try:
            page = _page(response, with_text, robot, documents)
        except UnreadableDocumentError as error:
            outcome = Outcome.UNREADABLE
            return Verdict(VERDICTS[outcome], outcome.describe(0), unreadable=str(error))
        unread = "" if is_document(response.content_type) else _why_links_unknown(response)
        sent = None
        if response.rendered is not None:
            sent, page = page, _as_rendered(response, response.rendered, page, with_text, robot)
        return Verdict(kind, response.reason, page=page, unknown=page.why_uncounted or unread, sent=sent)
    if kind is VerdictKind.REDIRECT:
        return Verdict(kind, response.reason, target=response.location)
    unknown = _why_skipped_links_unknown(response) if kind is VerdictKind.SKIPPED else ""
    return Verdict(kind, response.reason, unknown=unknown)


def _why_links_unknown(response: Response) -> str:
    """Return why the links of an unparsed file are unknown; "" if it cannot have links."""
    return f"links in {response.content_type}" if may_hold_links(response.content_type) else ""


def _why_skipped_links_unknown(response: Response) -> str:
    """Return the same for a skipped file, which is HTML if an archive marks the page as an asset."""
    return f"links in {response.content_type}" if response.content_type in HTML_TYPES else _why_links_unknown(response)


def _page(response: Response, with_text: bool, robot: str, documents: DocumentReading) -> Page:
    headers = response.headers
    return read_page(
        response.content,
        response.request.url,
        response.content_type,
        response.charset,
        robots_header=_robots_header(response),
        refresh_header=headers.get("refresh") or "",
        with_text=with_text,
        now=response.started_at or None,
        robot=robot,
        documents=documents,
    )


def _as_rendered(response: Response, rendered: RenderedPage, sent: Page, with_text: bool, robot: str) -> Page:
    robots_header, now = _robots_header(response), response.started_at or None
    return page_as_rendered(
        sent, rendered, response.request.url, robots_header=robots_header, with_text=with_text, now=now, robot=robot
    )


def _robots_header(response: Response) -> str:
    return "\n".join(response.headers.get_all("x-robots-tag"))
