"""Requests and responses.

A failed fetch raises no exception: a 404, a timeout or an invalid certificate is an `Outcome`, and the crawl decides
what follows.
"""

from __future__ import annotations

import contextlib
import re
from dataclasses import dataclass, field
from datetime import UTC
from email.utils import parsedate_to_datetime
from enum import StrEnum
from functools import lru_cache

from orienteer.extract.documents.kinds import document_type
from orienteer.pages.outcome import Outcome
from orienteer.pages.render_reason import RenderReason
from orienteer.responses.body import BodyError, BodyTooLargeError, unpacked
from orienteer.responses.headers import Headers
from orienteer.responses.rendered import RenderedPage
from orienteer.responses.secrets import Secrets
from orienteer.responses.sniffing import UNKNOWN_TYPES, sniffed_type
from orienteer.url import canonical_url

_CHARSET = re.compile(r"""charset\s*=\s*["']?([^\s"';,]{1,40})""", re.IGNORECASE)
_SECONDS = re.compile(r"\d{1,9}")


@dataclass(eq=False, slots=True)
class Request:
    """One URL to fetch: a page, an asset, or something about a host.

    A result refers to its request object, so that two requests are never equal. `secrets` are sent to the origin of the
    URL and never stored. `max_body_bytes` replaces the limit of the settings.
    """

    url: str
    headers: tuple[tuple[str, str], ...] = field(default=(), kw_only=True)
    secrets: Secrets | None = field(default=None, kw_only=True)
    max_body_bytes: int | None = field(default=None, kw_only=True)

    @property
    def method(self) -> str:
        return "GET"


@dataclass(eq=False, slots=True)
class PageRequest(Request):
    """A page of the crawl. `render` is why a browser may render it."""

    page: int
    render: RenderReason = field(default=RenderReason.NONE, kw_only=True)


@dataclass(eq=False, slots=True)
class AssetRequest(Request):
    """A picture, style sheet, script or frame: any content type; the full response is archived and returned.

    `is_preflight`: it asks whether another origin may send a request (CORS).
    """

    is_preflight: bool = field(default=False, kw_only=True)

    @property
    def method(self) -> str:
        return "OPTIONS" if self.is_preflight else "GET"


class HostRequestKind(StrEnum):
    ROBOTS = "robots"
    SITEMAP = "sitemap"
    LOGIN = "login"
    WEBHOOK = "webhook"


@dataclass(eq=False, slots=True)
class HostRequest(Request):
    """A request about a host: any content type; a body that is too large is truncated, and returned unread.

    `is_guess`: a sitemap that robots.txt does not name.
    """

    kind: HostRequestKind
    is_guess: bool = field(default=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Response:
    """The response to a request, or the outcome of one that failed.

    `body` is as received: complete for pages, possibly truncated for redirects and errors. `content` is decoded; it is
    empty for an error page that cannot be decoded.
    """

    request: Request
    outcome: Outcome
    status: int = 0  # 0: no response
    status_line: str = ""
    headers: Headers = field(default_factory=Headers)
    raw_headers: bytes = b""  # from the status line to the blank line, without interim (1xx) responses
    body: bytes = b""
    content: bytes = b""
    address: str = ""  # connected to; with a proxy, the proxy's
    protocol: str = ""  # "http/1.1", "h2"
    started_at: float = 0.0  # seconds since 1970
    duration_s: float = 0.0
    detail: str = ""  # the error, in one line
    rendered: RenderedPage | None = None  # if a browser rendered it

    @property
    def content_type(self) -> str:
        """The media type in lower case, sniffed as browsers do if the header is missing or meaningless.

        Documents served as binary data, and feeds served as XML, are recognized by their content.
        """
        if not self.content:
            return media_type(self.headers)
        nosniff = (self.headers.get("x-content-type-options") or "").strip().lower() == "nosniff"
        sniffed = sniffed_type(self.headers.get("content-type") or "", nosniff, self.content)
        return document_type(sniffed, self.content)

    @property
    def charset(self) -> str | None:
        """The charset in the Content-Type header."""
        return charset_in(self.headers)

    @property
    def reason(self) -> str:
        """The outcome in a word or two, with the HTTP status if there is one: `http 404`, `timed out`."""
        return self.outcome.describe(self.status)

    @property
    def location(self) -> str | None:
        """The canonical target URL of a redirect."""
        return location_of(self.status, self.headers, self.request.url)

    @property
    def retry_after_s(self) -> float | None:
        """The seconds of Retry-After, counted from the end of the fetch."""
        return retry_after_s(self.headers, self.started_at + self.duration_s)


def outcome_of(status: int, headers: Headers, url: str) -> Outcome:
    """Return the outcome of a response with this status and these headers."""
    if status == 206:
        return Outcome.BROKEN  # partial content, though we send no Range header
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
    """Return the decoded body, the updated outcome, and the decoding error or "".

    An error page that cannot be decoded keeps its outcome, since its content is not used.
    """
    try:
        return unpacked(body, headers.get_all("content-encoding"), max_bytes), outcome, ""
    except BodyError as error:
        if outcome is not Outcome.OK:
            return b"", outcome, ""
        return b"", Outcome.TOO_LARGE if isinstance(error, BodyTooLargeError) else Outcome.BROKEN, str(error)


def media_type(headers: Headers) -> str:
    """Return `text/html` for `Text/HTML; charset=x`; "" if it is missing or meaningless."""
    return _media_type(headers.get("content-type") or "")


@lru_cache(maxsize=1024)  # most responses have one of a few types
def _media_type(stated: str) -> str:
    kind = re.split("[;,]", stated, maxsplit=1)[0].strip().lower()
    return kind if "/" in kind and kind not in UNKNOWN_TYPES else ""


def charset_in(headers: Headers) -> str | None:
    """Return the charset in the Content-Type header."""
    match = _CHARSET.search(headers.get("content-type") or "")
    return match[1] if match else None


def location_of(status: int, headers: Headers, url: str) -> str | None:
    """Return the canonical target of a redirect; None for other responses, and for targets that are not crawlable."""
    stated = headers.get("location") if 300 <= status < 400 and status != 304 else None
    if not stated:
        return None
    with contextlib.suppress(UnicodeError):
        # Header bytes are decoded as Latin-1; browsers read a Location as UTF-8.
        stated = stated.encode("latin-1").decode()
    return canonical_url(stated, url)


def retry_after_s(headers: Headers, now: float) -> float | None:
    """Return the seconds of Retry-After, which is a number or a date."""
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
