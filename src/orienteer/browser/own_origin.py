"""Decide which requests of a page may carry the credentials that the crawl has for the origin of the page.

Frames and workers of other origins, sandboxed frames and redirects through another origin must never get a response
that was fetched with credentials. A request gets them only if all of this holds:

1. The browser itself would send a cookie. For the page's origin a cookie of a random name and value is set, HttpOnly
   and SameSite=Strict, so that scripts can neither read nor set it. It goes to no server: the browser reports it with
   those requests that would carry it. They are of the same site, and so are the initiator and all ancestors of the
   frame; their credentials mode allows cookies.
2. The frame and its ancestors have had no document of another origin. A site has many origins: cookies are the same for
   all ports of a host, and SameSite allows requests between subdomains.
3. The same was true of every request that was redirected to this one.

What cannot be attributed to a frame gets no credentials; shared workers, which belong to many, are such a case.
"""

from __future__ import annotations

import secrets
from typing import Any

from orienteer.browser.requests import PausedRequest
from orienteer.responses.secrets import origin_of
from orienteer.url import canonical_url


class OwnOrigin:
    """Tracks the origins of the frames and workers of one page, and checks their requests."""

    def __init__(self, page_url: str) -> None:
        self._origin = origin_of(page_url)
        self._name, self._value = secrets.token_hex(8), secrets.token_hex(16)
        self._foreign: dict[str, bool] = {}  # by frame or worker: whether it or an ancestor has had another origin
        self._allowed: set[str] = set()  # ids of requests

    @property
    def cookie(self) -> dict[str, Any]:
        """The cookie, as a parameter of `Storage.setCookies`."""
        return {
            "name": self._name,
            "value": self._value,
            "url": f"{self._origin}/",
            "httpOnly": True,
            "sameSite": "Strict",
        }

    def add_page(self, frame: str) -> None:
        """The main frame, whose only document is the page."""
        self._foreign[frame] = False

    def add(self, frame: str, parent: str) -> None:
        """A frame or a worker that begins with the origin of its parent."""
        self._foreign[frame] = self._foreign.get(frame, False) or self._foreign.get(parent, True)

    def add_document(self, frame: str, url: str) -> None:
        """Record that a frame has, or will have, a document from this URL.

        If the URL has no origin (about:, data:), the document has that of the frame or of an ancestor, or an
        opaque one, for which the browser sends no cookie.
        """
        origin = _origin_at(url)
        if origin and origin != self._origin:
            self._foreign[frame] = True

    def allows(self, request: PausedRequest) -> bool:
        """Whether a request may carry the credentials of the page's origin."""
        if request.is_document:
            self.add_document(request.frame, request.url)
        allowed = (
            not self._foreign.get(request.frame, True)
            and (not request.redirected_from or request.redirected_from in self._allowed)
            and _origin_at(request.url) == self._origin
            and request.headers.get("origin", self._origin) == self._origin
            and f"{self._name}={self._value}" in request.headers.get("cookie", "").split("; ")
        )
        if allowed:
            self._allowed.add(request.id)
        return allowed


def _origin_at(url: str) -> str:
    """Return the origin of a URL; "" if the URL has none (about:, data:)."""
    return origin_of(canonical_url(url.removeprefix("blob:")) or "")
