"""What an answer means for a page: one table, one function, no network.

    a page                          FETCHED       its links are followed
    a redirect                      REDIRECT      another name of its target; one by a script, in a browser, too
    304                             NOT_MODIFIED  as it was when it came last
    404, 410                        FAILED        there is no page
    an image, a file                SKIPPED       nobody asked for its type
    other 4xx, too large, robots    BLOCKED       there may be a page, but it is not for us
    a document nobody can read      BLOCKED       it may have links; one that is read is a page
    5xx, 429, timeout, ...          TRY_AGAIN     it may work later; BLOCKED if it does not

FAILED and SKIPPED pages count as pages without links: what there is has been found out. BLOCKED ones do not: whatever
may hide a page is blocked. Of some pages not all links are known, and the certificate is told so (`Meaning.unknown`).
docs/theory/answers.md has the same table, row by row; a test compares them.

The live crawl, refreshes, imports, the replay of archives, graphs of WARC files and the Scrapy plug-in all ask here.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from orienteer.answers.answer import Fetched
from orienteer.answers.reading import HTML_TYPES, may_hold_links, read_page
from orienteer.answers.shown import Shown
from orienteer.answers.shown_reading import page_as_shown, redirect_of
from orienteer.extract.documents.as_page import DocumentReading
from orienteer.extract.documents.document import UnreadableDocumentError
from orienteer.extract.documents.kinds import is_document
from orienteer.extract.documents.limited import read_document
from orienteer.extract.page import Page
from orienteer.extract.robot_rules import OUR_NAME
from orienteer.pages.added import Additions
from orienteer.pages.outcome import Outcome


class Verdict(StrEnum):
    """What becomes of the page."""

    FETCHED = "fetched"
    REDIRECT = "redirect"
    NOT_MODIFIED = "not modified"
    FAILED = "failed"
    SKIPPED = "skipped"
    BLOCKED = "blocked"
    TRY_AGAIN = "try again"


VERDICTS: dict[Outcome, Verdict] = {
    Outcome.OK: Verdict.FETCHED,
    Outcome.REDIRECT: Verdict.REDIRECT,
    Outcome.NOT_MODIFIED: Verdict.NOT_MODIFIED,
    Outcome.CLIENT_ERROR: Verdict.BLOCKED,  # but for NO_PAGE
    Outcome.UNWANTED_TYPE: Verdict.SKIPPED,
    Outcome.TLS_FAILED: Verdict.BLOCKED,
    Outcome.TOO_LARGE: Verdict.BLOCKED,
    Outcome.FORBIDDEN_ADDRESS: Verdict.BLOCKED,
    Outcome.NO_ANSWER: Verdict.BLOCKED,
    Outcome.SERVER_ERROR: Verdict.TRY_AGAIN,
    Outcome.SLOW_DOWN: Verdict.TRY_AGAIN,
    Outcome.TIMED_OUT: Verdict.TRY_AGAIN,
    Outcome.NO_ADDRESS: Verdict.TRY_AGAIN,
    Outcome.NO_CONNECTION: Verdict.TRY_AGAIN,
    Outcome.BROKEN: Verdict.TRY_AGAIN,
    Outcome.CANCELLED: Verdict.TRY_AGAIN,
    Outcome.LOST: Verdict.TRY_AGAIN,
    Outcome.LOGGED_OUT: Verdict.TRY_AGAIN,
    Outcome.UNREADABLE: Verdict.BLOCKED,
    Outcome.ROBOTS: Verdict.BLOCKED,
    Outcome.ROBOTS_OUT_OF_REACH: Verdict.BLOCKED,
    Outcome.TOO_DEEP: Verdict.BLOCKED,
    Outcome.WOULD_LOG_OUT: Verdict.BLOCKED,
    Outcome.ASKS_FOR_LOGIN: Verdict.BLOCKED,
    Outcome.HOST_GIVEN_UP: Verdict.BLOCKED,
    Outcome.LEAVES_SCOPE: Verdict.BLOCKED,
    Outcome.LEADS_NOWHERE: Verdict.BLOCKED,
    Outcome.REDIRECT_LOOP: Verdict.BLOCKED,
    Outcome.TOO_MANY_REDIRECTS: Verdict.BLOCKED,
}
NO_PAGE = frozenset((404, 410))  # of all 4xx these alone say that there is none; the others are refusals

# Decisions of the crawl, which may be made without asking, or by what is known of other pages.
DECISIONS = frozenset(
    (
        Outcome.ROBOTS,
        Outcome.ROBOTS_OUT_OF_REACH,
        Outcome.TOO_DEEP,
        Outcome.WOULD_LOG_OUT,
        Outcome.ASKS_FOR_LOGIN,
        Outcome.HOST_GIVEN_UP,
        Outcome.LEAVES_SCOPE,
        Outcome.REDIRECT_LOOP,
        Outcome.TOO_MANY_REDIRECTS,
    )
)

# These stand for a page that is not known: whoever goes there may end up on a page that was fetched.
LOST_REDIRECTS = frozenset(
    (Outcome.LEAVES_SCOPE, Outcome.LEADS_NOWHERE, Outcome.REDIRECT_LOOP, Outcome.TOO_MANY_REDIRECTS)
)


@dataclass(frozen=True, slots=True)
class Meaning:
    """`reason` is the outcome in a word or two; `page` is what a FETCHED page says, `target` where a REDIRECT leads.

    `unknown` is why not even the number of its links is known, "" where it is. `relevance` is that to the topic of a
    crawl, where there is one to tell it; `added` is what its hooks made of the page, where it has any. `unreadable`
    says why a document cannot be read. `sent` is the page as it was sent, where a browser has shown it.
    """

    verdict: Verdict
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
        """Those of the page, and those that hooks added to it."""
        if self.page is None:
            return []
        if self.added is None or not self.added.links:
            return self.page.links
        return list(dict.fromkeys((*self.page.links, *self.added.links)))


def verdict_of(outcome: Outcome, status: int) -> Verdict:
    """What becomes of a page whose fetch ended like this, by the outcome and the HTTP status alone.

    >>> verdict_of(Outcome.CLIENT_ERROR, 404).value, verdict_of(Outcome.CLIENT_ERROR, 403).value
    ('failed', 'blocked')
    """
    if outcome is Outcome.CLIENT_ERROR and status in NO_PAGE:
        return Verdict.FAILED
    return VERDICTS[outcome]


def meaning_of(
    answer: Fetched, with_text: bool = True, robot: str = OUR_NAME, documents: DocumentReading = read_document
) -> Meaning:
    """What an answer means; a page is read, without its text where only links are wanted, a document by `documents`.

    `robot` is our name.
    """
    verdict = verdict_of(answer.outcome, answer.status)
    if verdict is Verdict.FETCHED:
        if answer.shown is not None and (target := redirect_of(answer.shown, answer.request.url)) is not None:
            return Meaning(VERDICTS[Outcome.REDIRECT], Outcome.REDIRECT.in_words(0), target=target)
        try:
            page = _page(answer, with_text, robot, documents)
        except UnreadableDocumentError as error:
            outcome = Outcome.UNREADABLE
            return Meaning(VERDICTS[outcome], outcome.in_words(0), unreadable=str(error))
        unread = "" if is_document(answer.content_type) else _links_in(answer)
        sent = None
        if answer.shown is not None:
            sent, page = page, _as_shown(answer, answer.shown, page, with_text, robot)
        return Meaning(verdict, answer.reason, page=page, unknown=page.why_uncounted or unread, sent=sent)
    if verdict is Verdict.REDIRECT:
        return Meaning(verdict, answer.reason, target=answer.location)
    return Meaning(verdict, answer.reason, unknown=_links_left(answer) if verdict is Verdict.SKIPPED else "")


def _links_in(answer: Fetched) -> str:
    """Why nobody knows the links of something that is not read; "" where it has none."""
    return f"links in {answer.content_type}" if may_hold_links(answer.content_type) else ""


def _links_left(answer: Fetched) -> str:
    """The same for what is skipped; HTML is, where an archive says that pages were shown with it."""
    return f"links in {answer.content_type}" if answer.content_type in HTML_TYPES else _links_in(answer)


def _page(answer: Fetched, with_text: bool, robot: str, documents: DocumentReading) -> Page:
    headers = answer.headers
    return read_page(
        answer.content,
        answer.request.url,
        answer.content_type,
        answer.charset,
        robots_header=_robots_header(answer),
        refresh_header=headers.get("refresh") or "",
        with_text=with_text,
        now=answer.started_at or None,
        robot=robot,
        documents=documents,
    )


def _as_shown(answer: Fetched, shown: Shown, sent: Page, with_text: bool, robot: str) -> Page:
    robots_header, now = _robots_header(answer), answer.started_at or None
    return page_as_shown(
        sent, shown, answer.request.url, robots_header=robots_header, with_text=with_text, now=now, robot=robot
    )


def _robots_header(answer: Fetched) -> str:
    return "\n".join(answer.headers.get_all("x-robots-tag"))
