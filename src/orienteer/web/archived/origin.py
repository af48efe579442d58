"""The origin of archived pages, which are displayed in a frame from the archive alone.

Archived pages are untrusted. Three measures isolate them, each sufficient alone:

    no scripts      they are removed from pages (see `extract/static_page`), and forbidden by `sandbox` and `script-src`
    no network      the browser may load only addresses of this view; the page that contains the frame allows it to
                    navigate only there, too
    no origin       `sandbox` gives them an opaque origin: no cookies, no storage, no access to other pages

Every address contains the secret id of a view (see `views`), so no other site can request anything. Of the archived
headers only the media type is sent. One origin serves all crawls.
"""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import quote

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from orienteer.errors import InputError, OrienteerError
from orienteer.extract.assets import decoded_style
from orienteer.extract.parser import decoded
from orienteer.extract.static_page import UrlRewriter, Use, static_page
from orienteer.inspect.captures import ArchivedContent
from orienteer.responses.response import location_of
from orienteer.responses.sniffing import is_xml
from orienteer.web.archived.views import (
    ASSET,
    FILE,
    FRAME,
    RENDERED,
    SENT,
    FramedPage,
    FrameView,
    Opening,
    ViewAddress,
    Views,
    address_in,
    origin_of,
    path_to,
)
from orienteer.web.security import MAX_TARGET_BYTES, is_loopback, name_of
from orienteer.wording import plain

_HEADERS = {
    "Access-Control-Allow-Origin": "*",  # fonts are requested by the origin `null`; addresses are secret
    "Cache-Control": "no-store",
    "Connection-Allowlist": "(response-origin)",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "cross-origin",  # the frame has an opaque origin
    "Permissions-Policy": "camera=(), display-capture=(), fullscreen=(), geolocation=(), microphone=(), usb=()",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-DNS-Prefetch-Control": "off",
    "X-Robots-Tag": "none",
}
_PICTURE = (
    b'<svg xmlns="http://www.w3.org/2000/svg" width="24" height="24"><title>not in the archive</title>'
    b'<rect x="1" y="1" width="22" height="22" fill="none" stroke="#999" stroke-dasharray="3 3"/></svg>'
)
_HTML = ("text/html", "application/xhtml+xml")
_TYPE = re.compile(r"[a-z0-9!#$&^_.+-]+/[a-z0-9!#$&^_.+-]+")
_NOTE = (
    '<!DOCTYPE html><html lang="en"><meta name="viewport" content="width=device-width"><title>{title}</title>'
    "<style>body{{font:1rem/1.5 system-ui,sans-serif;margin:3rem auto;max-width:40rem;padding:0 1rem;color:#57606a;"
    "background:#fff;overflow-wrap:anywhere}}h1{{font-size:1.25rem;color:#1b1f24}}</style><h1>{title}</h1><p>{line}</p>"
)
_DISPLAYED_TYPES = re.compile(r"(?:text|image|audio|video|font)/.+|application/(?:json|xml|.+\+xml|.+\+json)")


class _FoundRecord(NamedTuple):
    """A record of the archive, and its time; `is_rendered`: it is the DOM after a browser ran the scripts."""

    content: ArchivedContent
    time: float
    is_rendered: bool


class _ArchivedReply(NamedTuple):
    """A response before the headers of this origin are added."""

    status: int
    type: str
    content: bytes
    headers: Mapping[str, str] = {}


def can_be_framed(media_type: str) -> bool:
    """Whether a browser can display this media type in a frame; other files can be saved."""
    return not media_type or media_type in _HTML or _DISPLAYED_TYPES.fullmatch(media_type) is not None


class ArchivedOrigin:
    """The application of this origin. It is read-only, and has no access to the other pages."""

    def __init__(self, views: Views, only_this_machine: bool) -> None:
        self._views = views
        self._only_this_machine = only_this_machine

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            response = await run_in_threadpool(self._respond, Request(scope))
            await response(scope, receive, send)

    def _respond(self, request: Request) -> Response:
        scope = request.scope
        target = (scope.get("raw_path") or b"").decode("latin-1")
        query = scope["query_string"].decode("latin-1")
        if self._only_this_machine and not is_loopback(name_of(request.headers.get("host", ""))):
            return _response(None, _ArchivedReply(421, "text/plain", b""))
        if len(target) + len(query) > MAX_TARGET_BYTES:
            return _response(None, _ArchivedReply(414, "text/plain", b""))
        address = address_in(f"{target}?{query}" if query else target)
        view = None if address is None else self._views.get(address.view)
        if request.method not in ("GET", "HEAD"):
            return _response(view, _ArchivedReply(405, "text/plain", b""))
        if address is None or view is None:
            line = "Go back to the page it was opened from, and open it again."
            return _response(None, _note(404, "This is no longer open", line))
        try:
            reply = self._reply(view, address, request.headers.get("sec-fetch-dest", ""))
        except OrienteerError as error:
            reply = _note(409, "This cannot be read", plain(str(error), 500))
        return _response(view, reply, is_outer=address.kind in (RENDERED, SENT))

    def _reply(self, view: FrameView, address: ViewAddress, destination: str) -> _ArchivedReply:
        record = _find(view, address)
        if address.kind in (RENDERED, SENT):
            time = None if record is None else record.time
            self._views.set_page(view, FramedPage(address.url, address.time, time, address.kind == RENDERED))
        elif address.kind in (ASSET, FRAME) and (record is None or _target(record.content) is None):
            self._views.note_asset(view, address.url, 0 if record is None else record.content.status)
        if record is None:
            return _missing(address, destination)
        if address.kind == FILE:
            name = quote(record.content.url.partition("?")[0].rstrip("/").rpartition("/")[2][:100] or "page", safe="")
            saved = {"Content-Disposition": f"attachment; filename*=UTF-8''{name}"}
            return _ArchivedReply(200, "application/octet-stream", record.content.content, saved)
        return _displayed(view, address, record)


def _find(view: FrameView, address: ViewAddress) -> _FoundRecord | None:
    with view.archive() as archive, archive.reading() as captures:
        row = captures.nearest(address.url, address.time)
        if row is None:
            return None
        times = captures.times_of(address.url) if address.kind in (RENDERED, FRAME) else ()
        dom = next((time.dom for time in times if time.capture == row), None)
        content = captures.content(dom or row)
        return None if content is None else _FoundRecord(content, row.time, dom is not None)


def _target(content: ArchivedContent) -> str | None:
    """Return the target of a redirect; None for any other response."""
    return location_of(content.status, content.headers, content.url)


def _displayed(view: FrameView, address: ViewAddress, record: _FoundRecord) -> _ArchivedReply:
    """Return an archived record in a form that a frame can display safely."""
    url, _, stated, _, kind, charset, content = record.content
    target = _target(record.content)
    if target is not None:
        location = path_to(view.id, address.kind, record.time, target)
        return _ArchivedReply(302, "text/plain", b"", {"Location": location})
    status = stated if 200 <= stated < 600 and stated not in (204, 205, 206, 304) else 200

    def rewrite(url: str, use: Use) -> str:
        inside = {Use.ASSET: ASSET, Use.FRAME: FRAME, Use.PAGE: address.kind if address.kind != ASSET else FRAME}
        return path_to(view.id, inside[use], record.time, url)

    if kind in _HTML:
        text = static_page(decoded(content, charset), url, rewrite, record.is_rendered, is_xml(kind))
        return _ArchivedReply(status, "text/html; charset=utf-8", text.encode(errors="replace"))
    if kind == "text/css":
        text = UrlRewriter(url, rewrite).rewrite_css(decoded_style(content, charset))
        return _ArchivedReply(status, "text/css; charset=utf-8", text.encode(errors="replace"))
    if not _TYPE.fullmatch(kind) or (address.kind != ASSET and not can_be_framed(kind)):
        line = "Files of this type cannot be displayed in a frame. Use the link above to save it."
        return _note(200, f"A file: {kind or 'of an unknown type'}", line)
    if kind.startswith("text/") or kind.endswith(("json", "javascript")):
        text = decoded(content, charset)
        return _ArchivedReply(status, f"{kind}; charset=utf-8", text.encode(errors="replace"))
    return _ArchivedReply(status, kind, content)


def _missing(address: ViewAddress, destination: str) -> _ArchivedReply:
    """Return a placeholder for a URL that is not in the archive."""
    if address.kind == ASSET and destination == "image":
        return _ArchivedReply(404, "image/svg+xml", _PICTURE)
    if address.kind == ASSET:
        return _ArchivedReply(404, "text/plain", b"")
    return _note(404, "This page is not in the archive", plain(address.url, 2_100))


def _note(status: int, title: str, line: str) -> _ArchivedReply:
    text = _NOTE.format(title=html.escape(title), line=html.escape(line))
    return _ArchivedReply(status, "text/html; charset=utf-8", text.encode(errors="replace"))


def _response(view: FrameView | None, reply: _ArchivedReply, is_outer: bool = True) -> Response:
    response = Response(reply.content, reply.status, {**_HEADERS, **reply.headers}, reply.type)
    response.headers["Content-Security-Policy"] = policy(view, is_outer)
    return response


def policy(view: FrameView | None, is_outer: bool) -> str:
    """Return the content security policy of a page; inner frames have unknown ancestors, so it names none."""
    own_address = "'none'" if view is None else view.address
    loaded = " ".join(f"{kind}-src {own_address} data:;" for kind in ("img", "media", "font", "object"))
    is_named = view is not None and is_outer and "[" not in view.pages  # IPv6 addresses cannot be named there
    ancestors = f" frame-ancestors {view.pages};" if view is not None and is_named else ""
    return (
        f"sandbox; default-src 'none'; script-src 'none'; connect-src 'none'; {loaded} frame-src {own_address}; "
        f"style-src {own_address} data: 'unsafe-inline'; form-action 'none'; base-uri 'none';{ancestors}"
    )


_ORIGIN = re.compile(r"https?://(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?/?")


class ArchivedPages:
    """The archived pages of a server. `port` is set when the server listens; `at` is the origin as browsers see it."""

    def __init__(self, only_this_machine: bool, at: str | None = None) -> None:
        if at is not None and not _ORIGIN.fullmatch(at):
            raise InputError(f"--archive-origin is {at!r}; an origin is expected, such as https://archive.example.org")
        self.views = Views()
        self.origin = ArchivedOrigin(self.views, only_this_machine)
        self.port: int | None = None
        self._at = None if at is None else at.rstrip("/")

    def begin_view(self, request: Request, archive: Opening) -> FrameView:
        """Open a view for a client. The second origin is the host of the request on another port, or `at`."""
        scheme, host = request.url.scheme, request.headers.get("host", "")
        named = "localhost" if host.startswith("[") and is_loopback(name_of(host)) else host
        pages, own = origin_of(scheme, host), self._at or origin_of(scheme, named, self.port)
        if pages is None or own is None or pages == own:
            raise InputError("Archived pages need a server with a host name and a second port.")
        if "[" in own:  # a content security policy cannot name such an address
            raise InputError("Archived pages cannot be displayed at an IPv6 address: open these pages by a host name.")
        return self.views.begin(pages, own, request.scope.get("root_path", ""), archive)


def archived_pages(request: Request) -> ArchivedPages:
    pages = request.app.state.archived
    assert isinstance(pages, ArchivedPages)
    return pages
