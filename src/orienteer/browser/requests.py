"""The requests of pages: which are put to the owner, which are refused at once, and how answers go back.

Only GET is ever passed on. A browser asks before a request to another origin whether it may be made (OPTIONS); for GET
we say yes without asking anybody, since the answer itself says who may read it.
"""

from __future__ import annotations

import base64
import re
from typing import Any, NamedTuple

from orienteer.browser.job import RenderJob, Supplied

PASS, REFUSE, UNWANTED, PREFLIGHT = "pass", "refuse", "unwanted", "preflight"

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
_PICTURES = frozenset({"image", "font", "media"})
_REFUSED_TYPES = frozenset({"Ping", "CSPViolationReport", "EventSource", "Prefetch", "WebSocket", "SignedExchange"})
_WEB = re.compile(r"https?://", re.IGNORECASE)
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_UNFIT = re.compile(r"[^\t\x20-\x7e]")

# The content is unpacked and whole; nothing is saved to a file; reports would go to the network.
_LEFT_OUT = frozenset({
    "content-encoding", "content-length", "transfer-encoding", "connection", "keep-alive", "trailer", "upgrade",
    "content-disposition", "report-to", "reporting-endpoints", "nel", "alt-svc", "speculation-rules",
})  # fmt: skip
_PAGE_STATUSES = frozenset({200, 203, 206, *range(400, 600)})


class Asked(NamedTuple):
    """A request as the browser reports it."""

    id: str
    url: str
    method: str
    frame: str
    kind: str
    is_document: bool
    headers: dict[str, str]
    type: str

    @classmethod
    def of(cls, params: dict[str, Any]) -> Asked:
        request, kind = params["request"], params.get("resourceType", "")
        headers = {name.lower(): value for name, value in request.get("headers", {}).items()}
        url = request["url"] + request.get("urlFragment", "")
        method, frame = request.get("method", "GET"), params.get("frameId", "")
        return cls(
            params["requestId"], url, method, frame, _KINDS.get(kind, "other"), kind == "Document", headers, kind
        )


def verdict(asked: Asked, job: RenderJob) -> str:
    """What is done with a request of a page that is no document for its main frame."""
    headers = asked.headers
    if asked.method == "OPTIONS" and headers.get("access-control-request-method") == "GET":
        return PREFLIGHT
    if asked.method != "GET" or not _WEB.match(asked.url) or asked.type in _REFUSED_TYPES:
        return REFUSE
    if headers.get("service-worker") == "script" or "text/event-stream" in headers.get("accept", ""):
        return REFUSE  # one outlives the page, the other never ends
    if "prefetch" in headers.get("sec-purpose", "") or headers.get("purpose") == "prefetch":
        return REFUSE  # for pages that may come next: they do not
    if not job.pictures and (asked.kind in _PICTURES or asked.url.endswith("/favicon.ico")):
        return UNWANTED
    return PASS


def main_document(asked: Asked, job: RenderJob) -> dict[str, Any]:
    status = job.status if job.status in _PAGE_STATUSES else 200
    return _fulfilment(asked, status, job.headers, job.content)


def answer(asked: Asked, supplied: Supplied) -> dict[str, Any]:
    return _fulfilment(
        asked, supplied.status if 200 <= supplied.status <= 599 else 502, supplied.headers, supplied.content
    )


def preflight_answer(asked: Asked) -> dict[str, Any]:
    headers = (
        ("access-control-allow-origin", asked.headers.get("origin", "*")),
        ("access-control-allow-credentials", "true"),
        ("access-control-allow-methods", "GET"),
        ("access-control-allow-headers", asked.headers.get("access-control-request-headers", "*")),
    )
    return _fulfilment(asked, 204, headers, b"")


def _fulfilment(asked: Asked, status: int, headers: tuple[tuple[str, str], ...], content: bytes) -> dict[str, Any]:
    named = [
        {"name": name, "value": _UNFIT.sub(_escaped, value)}
        for name, value in headers
        if _NAME.fullmatch(name) and name.lower() not in _LEFT_OUT
    ]
    return {
        "requestId": asked.id,
        "responseCode": status,
        "responseHeaders": named,
        "body": base64.b64encode(content).decode("ascii"),
    }


def _escaped(sign: re.Match[str]) -> str:
    """Headers are bytes, read as Latin-1; those beyond ASCII are of use in addresses alone."""
    return (
        ""
        if sign[0] < " " or sign[0] == "\x7f"
        else "".join(f"%{byte:02X}" for byte in sign[0].encode("latin-1", "replace"))
    )
