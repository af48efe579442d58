"""The origin of archived pages: what a frame shows, from the archive alone.

Archived pages are strangers' pages. What keeps them to themselves, each by itself enough:

    no scripts      they are left out of pages (see `extract/still_html`); the browser is told to run none, twice (by
                    `sandbox` and by `script-src`)
    no network      the browser may load what has an address of this view, and nothing else; the page around the frame
                    lets it go nowhere else, either
    no origin       `sandbox` gives them one that nobody else has: no cookies, no storage, nothing of the other pages

A view's id is needed for everything (see `views`), so no other site can ask for anything here. Of the headers that were
archived none comes through but the media type.
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

from orienteer.answers.answer import location_of
from orienteer.answers.sniffing import is_xml
from orienteer.errors import OrienteerError
from orienteer.extract.charset import decoded
from orienteer.extract.led_urls import Leading, Use
from orienteer.extract.still_html import still_html
from orienteer.inspect.captures import ArchivedContent
from orienteer.web.archived.addresses import FILE, FRAME, PART, SENT, SHOWN, Address, address_in, path_to
from orienteer.web.archived.views import Shown, View, Views
from orienteer.web.security import MAX_TARGET_BYTES, is_loopback, name_of
from orienteer.wording import plain

_HEADERS = {
    "Access-Control-Allow-Origin": "*",  # fonts are asked for by `null`; who knows the address may see it
    "Cache-Control": "no-store",
    "Connection-Allowlist": "(response-origin)",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "cross-origin",  # the frame's origin is none of ours
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
_SHOWN_TYPES = re.compile(r"(?:text|image|audio|video|font)/.+|application/(?:json|xml|.+\+xml|.+\+json)")


class _Found(NamedTuple):
    """What was found in the archive, and when it was archived; `was_run`: a browser has run its scripts."""

    content: ArchivedContent
    time: float
    was_run: bool


class _Part(NamedTuple):
    """An answer: its status, media type and content."""

    status: int
    type: str
    content: bytes
    headers: Mapping[str, str] = {}


def can_be_framed(media_type: str) -> bool:
    """Whether a frame can show such a thing; the rest can be saved."""
    return not media_type or media_type in _HTML or _SHOWN_TYPES.fullmatch(media_type) is not None


class ArchivedOrigin:
    """The application of that origin. It knows nothing of the other pages, and changes nothing."""

    def __init__(self, views: Views, only_this_machine: bool) -> None:
        self._views = views
        self._only_this_machine = only_this_machine

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            answer = await run_in_threadpool(self._answer, Request(scope))
            await answer(scope, receive, send)

    def _answer(self, request: Request) -> Response:
        scope = request.scope
        target = (scope.get("raw_path") or b"").decode("latin-1")
        query = scope["query_string"].decode("latin-1")
        if self._only_this_machine and not is_loopback(name_of(request.headers.get("host", ""))):
            return _response(None, _Part(421, "text/plain", b""))
        if len(target) + len(query) > MAX_TARGET_BYTES:
            return _response(None, _Part(414, "text/plain", b""))
        address = address_in(f"{target}?{query}" if query else target)
        view = None if address is None else self._views.get(address.view)
        if request.method not in ("GET", "HEAD"):
            return _response(view, _Part(405, "text/plain", b""))
        if address is None or view is None:
            line = "Go back to the page it was opened from, and open it again."
            return _response(None, _note(404, "This is no longer open", line))
        try:
            part = self._part(view, address, request.headers.get("sec-fetch-dest", ""))
        except OrienteerError as error:
            part = _note(409, "This cannot be read", plain(str(error), 500))
        return _response(view, part, is_outer=address.kind in (SHOWN, SENT))

    def _part(self, view: View, address: Address, wanted_for: str) -> _Part:
        found = _found(view, address)
        if address.kind in (SHOWN, SENT):
            time = None if found is None else found.time
            self._views.show(view, Shown(address.url, address.time, time, address.kind == SHOWN))
        elif address.kind in (PART, FRAME):
            self._views.note_part(view, address.url, found is not None)
        if found is None:
            return _missing(address, wanted_for)
        if address.kind == FILE:
            name = quote(found.content.url.partition("?")[0].rstrip("/").rpartition("/")[2][:100] or "page", safe="")
            saved = {"Content-Disposition": f"attachment; filename*=UTF-8''{name}"}
            return _Part(200, "application/octet-stream", found.content.content, saved)
        return _replayed(view, address, found)


def _found(view: View, address: Address) -> _Found | None:
    with view.archive() as archive, archive.reading() as captures:
        row = captures.nearest(address.url, address.time)
        if row is None:
            return None
        times = captures.times_of(address.url) if address.kind in (SHOWN, FRAME) else ()
        dom = next((time.dom for time in times if time.capture == row), None)
        content = captures.content(dom or row)
        return None if content is None else _Found(content, row.time, dom is not None)


def _replayed(view: View, address: Address, found: _Found) -> _Part:
    """What was archived, as a frame can show it."""
    url, _, stated, headers, kind, charset, content = found.content
    target = location_of(stated, headers, url)
    if target is not None:
        return _Part(302, "text/plain", b"", {"Location": path_to(view.id, address.kind, found.time, target)})
    status = stated if 200 <= stated < 600 and stated not in (204, 205, 206, 304) else 200

    def lead(url: str, use: Use) -> str:
        inside = {Use.PART: PART, Use.FRAME: FRAME, Use.PAGE: address.kind if address.kind != PART else FRAME}
        return path_to(view.id, inside[use], found.time, url)

    if kind in _HTML:
        text = still_html(decoded(content, charset), url, lead, found.was_run, is_xml(kind))
        return _Part(status, "text/html; charset=utf-8", text.encode(errors="replace"))
    if kind == "text/css":
        text = Leading(url, lead).led_css(decoded(content, charset))
        return _Part(status, "text/css; charset=utf-8", text.encode(errors="replace"))
    if not _TYPE.fullmatch(kind) or (address.kind != PART and not can_be_framed(kind)):
        line = "A frame cannot show files of this type. It can be saved by the link above."
        return _note(200, f"A file: {kind or 'of an unknown type'}", line)
    if kind.startswith("text/") or kind.endswith(("json", "javascript")):
        text = decoded(content, charset)
        return _Part(status, f"{kind}; charset=utf-8", text.encode(errors="replace"))
    return _Part(status, kind, content)


def _missing(address: Address, wanted_for: str) -> _Part:
    """What stands in for what is not in the archive."""
    if address.kind == PART and wanted_for == "image":
        return _Part(404, "image/svg+xml", _PICTURE)
    if address.kind == PART:
        return _Part(404, "text/plain", b"")
    return _note(404, "This page is not in the archive", plain(address.url, 2_100))


def _note(status: int, title: str, line: str) -> _Part:
    text = _NOTE.format(title=html.escape(title), line=html.escape(line))
    return _Part(status, "text/html; charset=utf-8", text.encode(errors="replace"))


def _response(view: View | None, part: _Part, is_outer: bool = True) -> Response:
    response = Response(part.content, part.status, {**_HEADERS, **part.headers}, part.type)
    response.headers["Content-Security-Policy"] = policy(view, is_outer)
    return response


def policy(view: View | None, is_outer: bool) -> str:
    """What the browser is told of a page. In frames of pages nobody knows the names of those around them."""
    here = "'none'" if view is None else view.address
    loaded = " ".join(f"{kind}-src {here} data:;" for kind in ("img", "media", "font", "object"))
    is_named = view is not None and is_outer and "[" not in view.pages  # IPv6 addresses cannot be named there
    around = f" frame-ancestors {view.pages};" if view is not None and is_named else ""
    return (
        f"sandbox; default-src 'none'; script-src 'none'; connect-src 'none'; {loaded} frame-src {here}; "
        f"style-src {here} data: 'unsafe-inline'; form-action 'none'; base-uri 'none';{around}"
    )
