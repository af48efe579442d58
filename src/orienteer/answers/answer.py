"""What is asked of the web and what came of it.

An answer without a page is no error of the program: a 404, a time-out or a bad certificate is an `Outcome`, and the
crawl decides what follows from it. Whatever a server sends ends up as one of these.
"""

from __future__ import annotations

import contextlib
import re
from dataclasses import dataclass, field
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import NamedTuple

from orienteer.answers.body import BodyError, BodyTooLargeError, unpacked
from orienteer.answers.headers import Headers
from orienteer.answers.secrets import Secrets
from orienteer.answers.shown import Shown
from orienteer.answers.sniffing import UNKNOWN_TYPES, sniffed_type
from orienteer.extract.documents.kinds import document_type
from orienteer.pages.outcome import Outcome
from orienteer.pages.render_reason import RenderReason
from orienteer.url import canonical_url

_CHARSET = re.compile(r"""charset\s*=\s*["']?([^\s"';,]{1,40})""", re.IGNORECASE)
_SECONDS = re.compile(r"\d{1,9}")


class Request(NamedTuple):
    """One page to fetch.

    `any_type` is for robots.txt and sitemaps: the wanted content types do not apply, and of a body that is too large
    the beginning is taken. `secrets` go with it to the origin of the URL, and are kept nowhere. `is_part`: it is what a
    page is shown with; the wanted content types do not apply, and it is archived and handed over whole. `render`: for
    what reason a browser may show the page.
    """

    url: str
    page: int
    headers: tuple[tuple[str, str], ...] = ()
    any_type: bool = False
    max_body_bytes: int | None = None
    secrets: Secrets | None = None
    is_part: bool = False
    render: RenderReason = RenderReason.NONE


@dataclass(frozen=True, slots=True)
class Fetched:
    """What came of a request.

    The body is there when the answer came to its end, and for redirects and errors as far as it came. `body` is as
    received, `content` is unpacked; where an error page cannot be unpacked, `content` is empty.
    """

    request: Request
    outcome: Outcome
    status: int = 0  # 0: there was no answer
    status_line: str = ""
    headers: Headers = field(default_factory=Headers)
    raw_headers: bytes = b""  # from the status line to the blank line, of the last answer only
    body: bytes = b""
    content: bytes = b""
    address: str = ""  # connected to; with a proxy, the proxy's
    protocol: str = ""  # "http/1.1", "h2"
    started_at: float = 0.0  # seconds since 1970
    duration_s: float = 0.0
    detail: str = ""  # one line that says more about what went wrong
    shown: Shown | None = None  # what a browser made of it, if one has looked

    @property
    def content_type(self) -> str:
        """The media type in lower case, as browsers take it: by the content where what is stated says nothing.

        Documents are recognised by their content, too, where a server calls them binary data, or a feed XML.
        """
        if not self.content:
            return media_type(self.headers)
        nosniff = (self.headers.get("x-content-type-options") or "").strip().lower() == "nosniff"
        sniffed = sniffed_type(self.headers.get("content-type") or "", nosniff, self.content)
        return document_type(sniffed, self.content)

    @property
    def charset(self) -> str | None:
        """The charset the header states."""
        return charset_in(self.headers)

    @property
    def reason(self) -> str:
        """The outcome in a word or two, with the status where there is one: `http 404`, `timed out`."""
        return self.outcome.in_words(self.status)

    @property
    def location(self) -> str | None:
        """The canonical URL that a redirect leads to."""
        return location_of(self.status, self.headers, self.request.url)

    @property
    def retry_after_s(self) -> float | None:
        """How long the server wants to be left alone, counted from the end of the fetch."""
        return retry_after_s(self.headers, self.started_at + self.duration_s)


def outcome_of(status: int, headers: Headers, url: str) -> Outcome:
    """What an answer means that came with this status and these headers."""
    if status == 206:
        return Outcome.BROKEN  # a part of a page; nobody asked for a part
    if 200 <= status < 300:
        return Outcome.OK
    if status == 304:
        return Outcome.NOT_MODIFIED
    if 300 <= status < 400:
        return Outcome.REDIRECT if location_of(status, headers, url) is not None else Outcome.LEADS_NOWHERE
    if status == 408:
        return Outcome.TIMED_OUT
    if status == 429 or (status == 503 and retry_after_s(headers, 0.0) is not None):
        return Outcome.SLOW_DOWN
    if 400 <= status < 500:
        return Outcome.CLIENT_ERROR
    return Outcome.SERVER_ERROR if status >= 500 else Outcome.BROKEN


def unpacked_content(body: bytes, headers: Headers, outcome: Outcome, max_bytes: int) -> tuple[bytes, Outcome, str]:
    """The body without its content codings, the outcome with that known, and what was wrong with it, or "".

    An error page that cannot be unpacked is one all the same; nobody reads it.
    """
    try:
        return unpacked(body, headers.get_all("content-encoding"), max_bytes), outcome, ""
    except BodyError as error:
        if outcome is not Outcome.OK:
            return b"", outcome, ""
        return b"", Outcome.TOO_LARGE if isinstance(error, BodyTooLargeError) else Outcome.BROKEN, str(error)


def media_type(headers: Headers) -> str:
    """`text/html` of `Text/HTML; charset=x`; "" where there is none, or what is there says nothing."""
    stated = re.split("[;,]", headers.get("content-type") or "", maxsplit=1)[0].strip().lower()
    return stated if "/" in stated and stated not in UNKNOWN_TYPES else ""


def charset_in(headers: Headers) -> str | None:
    """The charset that the Content-Type states."""
    found = _CHARSET.search(headers.get("content-type") or "")
    return found[1] if found else None


def location_of(status: int, headers: Headers, url: str) -> str | None:
    """The canonical URL a redirect leads to; None for what is no redirect, or leads nowhere a crawler can go."""
    stated = headers.get("location") if 300 <= status < 400 and status != 304 else None
    if not stated:
        return None
    with contextlib.suppress(UnicodeError):
        # Header bytes are kept as Latin-1; browsers take those of a location for UTF-8.
        stated = stated.encode("latin-1").decode()
    return canonical_url(stated, url)


def retry_after_s(headers: Headers, now: float) -> float | None:
    """The seconds that `Retry-After` states, as a number or as a date."""
    stated = headers.get("retry-after")
    if stated is None:
        return None
    if _SECONDS.fullmatch(stated):
        return float(stated)
    try:
        date = parsedate_to_datetime(stated)
        return max(0.0, (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp() - now)
    except (ValueError, OverflowError, IndexError, TypeError):
        return None
