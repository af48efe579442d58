"""Decide which requests of pages are passed to the owner, and build the fulfillments.

Only GET and CORS preflights of GET (OPTIONS) are passed. The browser enforces CORS: it gets the responses with the
headers of the server, and a cross-origin request carries its `Origin`, because the response may depend on it.
"""

from __future__ import annotations

import base64
import re
from typing import Any, NamedTuple

from orienteer.browser.job import RenderJob
from orienteer.responses.response import Response
from orienteer.responses.secrets import origin_of

PASS, REFUSE, UNWANTED = "pass", "refuse", "unwanted"

_KINDS = {
    "Document": "frame",
    "Stylesheet": "style",
    "Script": "script",
    "Image": "image",
    "Font": "font",
    "Media": "media",
    "XHR": "fetch",
    "Fetch": "fetch",
}
_PREFLIGHT_HEADERS = ("Origin", "Access-Control-Request-Method", "Access-Control-Request-Headers")
_PICTURES = frozenset({"image", "font", "media"})
_REFUSED_TYPES = frozenset({"Ping", "CSPViolationReport", "EventSource", "Prefetch", "WebSocket", "SignedExchange"})
_WEB = re.compile(r"https?://", re.IGNORECASE)
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_UNFIT = re.compile(r"[^\t\x20-\x7e]")

# The content is decoded and complete; nothing is saved to a file; reports would go to the network.
_LEFT_OUT = frozenset({
    "content-encoding", "content-length", "transfer-encoding", "connection", "keep-alive", "trailer", "upgrade",
    "content-disposition", "report-to", "reporting-endpoints", "nel", "alt-svc", "speculation-rules",
})  # fmt: skip
_PAGE_STATUSES = frozenset({200, 203, 206, *range(400, 600)})


class PausedRequest(NamedTuple):
    """A request as the browser reports it; `redirected_from` is the id of the request that was redirected here."""

    id: str
    url: str
    method: str
    frame: str
    kind: str
    is_document: bool
    headers: dict[str, str]
    type: str
    redirected_from: str = ""

    @classmethod
    def of(cls, params: dict[str, Any]) -> PausedRequest:
        request, kind = params["request"], params.get("resourceType", "")
        headers = {name.lower(): value for name, value in request.get("headers", {}).items()}
        url = request["url"] + request.get("urlFragment", "")
        method, frame = request.get("method", "GET"), params.get("frameId", "")
        name = "preflight" if method == "OPTIONS" else _KINDS.get(kind, "other")
        redirected_from = params.get("redirectedRequestId", "")
        return cls(params["requestId"], url, method, frame, name, kind == "Document", headers, kind, redirected_from)

    @property
    def cors_headers(self) -> tuple[tuple[str, str], ...]:
        """The headers by which a server decides whether the requesting origin may read the response."""
        if self.kind == "preflight":
            headers = ((name, self.headers.get(name.lower(), "")) for name in _PREFLIGHT_HEADERS)
            return tuple((name, value) for name, value in headers if value)
        origin = self.headers.get("origin", "")
        return (("Origin", origin),) if origin and origin != origin_of(self.url) else ()


def decision(request: PausedRequest, job: RenderJob) -> str:
    """Decide about a request that is not for the document of the main frame."""
    headers = request.headers
    is_preflight = request.kind == "preflight" and headers.get("access-control-request-method") == "GET"
    if not (request.method == "GET" or is_preflight) or not _WEB.match(request.url) or request.type in _REFUSED_TYPES:
        return REFUSE
    if headers.get("service-worker") == "script" or "text/event-stream" in headers.get("accept", ""):
        return REFUSE  # a service worker outlives the page, an event stream never ends
    if "prefetch" in headers.get("sec-purpose", "") or headers.get("purpose") == "prefetch":
        return REFUSE  # for pages that are not visited here
    if not job.pictures and (request.kind in _PICTURES or request.url.endswith("/favicon.ico")):
        return UNWANTED
    return PASS


def main_document(request: PausedRequest, job: RenderJob) -> dict[str, Any]:
    status = job.response.status
    return _fulfilment(request, job.response, status if status in _PAGE_STATUSES else 200)


def asset(request: PausedRequest, response: Response) -> dict[str, Any]:
    return _fulfilment(request, response, response.status if 200 <= response.status <= 599 else 502)


def _fulfilment(request: PausedRequest, response: Response, status: int) -> dict[str, Any]:
    named = [
        {"name": name, "value": _UNFIT.sub(_escaped, value)}
        for name, value in response.headers.items()
        if _NAME.fullmatch(name) and name.lower() not in _LEFT_OUT
    ]
    return {
        "requestId": request.id,
        "responseCode": status,
        "responseHeaders": named,
        "body": base64.b64encode(response.content).decode("ascii"),
    }


def _escaped(sign: re.Match[str]) -> str:
    """Percent-encode a non-ASCII byte of a header (decoded as Latin-1), which is useful only in URLs."""
    return (
        ""
        if sign[0] < " " or sign[0] == "\x7f"
        else "".join(f"%{byte:02X}" for byte in sign[0].encode("latin-1", "replace"))
    )
