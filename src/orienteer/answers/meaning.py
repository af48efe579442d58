"""What an answer means for a page: one table, one function, no network.

    a page                          FETCHED       its links are followed
    a redirect                      REDIRECT      another name of its target
    304                             NOT_MODIFIED  as it was when it came last
    404 and other 4xx               FAILED        there is no page
    an image, a file                SKIPPED       no links in it; nobody asked for its like
    401, 403, 451, too large, ...   BLOCKED       there may be a page, but it is not for us
    5xx, 429, time-out, ...         TRY_AGAIN     it may be otherwise later; BLOCKED if it stays so

FAILED and SKIPPED pages count as pages without links: what there is has been found out. BLOCKED ones do not.

The live crawl, refreshes, imports, the replay of archives, graphs of WARC files and the Scrapy plug-in all ask here.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from orienteer.answers.answer import Fetched
from orienteer.answers.reading import read_page
from orienteer.extract.page import Page
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
    Outcome.CLIENT_ERROR: Verdict.FAILED,  # but for KEEP_OUT
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
}
KEEP_OUT = frozenset((401, 402, 403, 407, 451))  # there is something, but not for us


@dataclass(frozen=True, slots=True)
class Meaning:
    """`reason` is the outcome in a word or two; `page` is what a FETCHED page says, `target` where a REDIRECT leads.

    `relevance` is that to the topic of a crawl, where there is one to tell it; `added` is what its hooks made of the
    page, where it has any.
    """

    verdict: Verdict
    reason: str
    page: Page | None = None
    target: str | None = None
    relevance: float | None = None
    added: Additions | None = None

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
    if outcome is Outcome.CLIENT_ERROR and status in KEEP_OUT:
        return Verdict.BLOCKED
    return VERDICTS[outcome]


def meaning_of(answer: Fetched, with_text: bool = True) -> Meaning:
    """What an answer means; a page is read, without its text where only links are wanted."""
    verdict = verdict_of(answer.outcome, answer.status)
    if verdict is Verdict.FETCHED:
        return Meaning(verdict, answer.reason, page=_page(answer, with_text))
    if verdict is Verdict.REDIRECT:
        return Meaning(verdict, answer.reason, target=answer.location)
    return Meaning(verdict, answer.reason)


def _page(answer: Fetched, with_text: bool) -> Page:
    robots_header = "\n".join(answer.headers.get_all("x-robots-tag"))
    return read_page(answer.content, answer.request.url, answer.content_type, answer.charset, robots_header, with_text)
