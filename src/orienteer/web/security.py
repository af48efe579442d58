"""What every request must keep to, and what every answer says to the browser.

    Host      a name of this machine, where only this machine is served: other sites cannot have their names lead here
              and read what is answered (DNS rebinding)
    token     where others may connect: as `Authorization: Bearer`, or once as `?token=`, kept in a cookie from then on
    Origin    of what changes something (POST), and of what is asked for as data (/api/): these pages, and no others
    length    of addresses and bodies, whether or not they say how long they are

The pages show what strangers wrote. It is escaped; and should that fail once, the browser is told to run nothing but
the scripts of these pages, to load nothing from elsewhere, and not to tell other sites what was looked at.
"""

from __future__ import annotations

import hmac
import ipaddress
import logging
import math
import secrets
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from orienteer.web.refusals import is_api, refusal
from orienteer.web.wrong_tokens import WrongTokens

MAX_TARGET_BYTES = 8_192
MAX_BODY_BYTES = 65_536
MIN_TOKEN_CHARS = 16
FRAMED = "framed"  # what a page may show in a frame, in the state of its request; nothing, where it is not there
_SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
_OPEN_TO_ALL = "/static/"  # so that the page which asks for the token can be seen
_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",  # with no-referrer, forms of these pages would be sent with `Origin: null`
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
_log = logging.getLogger(__name__)


def is_loopback(host: str) -> bool:
    """Whether only this machine can connect there.

    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("::1"), is_loopback("0.0.0.0")
    (True, True, True, False)
    """
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() == "localhost"


class Guard:
    """Stands before the application."""

    def __init__(self, app: ASGIApp, token: str | None, only_this_machine: bool) -> None:
        self._app = app
        self._token = token
        self._only_this_machine = only_this_machine
        self._wrong = WrongTokens()
        # Cookies go to all ports of a host: what is kept there is not the token, and means nothing after the end.
        self._cookie = secrets.token_urlsafe(32)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        sent = _Sender(scope, send)
        request = Request(scope)
        try:
            answer = self._refused(request) or self._unknown(request)
            if answer is None and _has_body(request):
                body = await _body(receive)
                answer = _too_large(request) if body is None else None
                receive = _replayed(body or b"", receive)
            await (answer or self._app)(scope, receive, sent)
        except Exception:
            _log.exception("%s %s", request.method, request.url.path)
            if sent.has_begun:
                raise
            await refusal(request, 500, "Something went wrong here; the server has written down what.")(
                scope, receive, sent
            )

    def _refused(self, request: Request) -> Response | None:
        scope, headers = request.scope, request.headers
        if self._only_this_machine and not is_loopback(name_of(headers.get("host", ""))):
            return refusal(request, 421, "This server answers to the names of this machine only, such as localhost.")
        if len(scope.get("raw_path") or b"") + len(scope["query_string"]) > MAX_TARGET_BYTES:
            return refusal(request, 414, f"The address is too long; at most {MAX_TARGET_BYTES:,} bytes are read.")
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length[:20]) > MAX_BODY_BYTES:
            return _too_large(request)
        is_data = is_api(request) and headers.get("sec-fetch-dest", "document") != "document"
        if (is_data or request.method not in _SAFE_METHODS) and not _is_from_here(request):
            return refusal(request, 403, "This can be asked for by the pages of this server only.")
        return None

    def _unknown(self, request: Request) -> Response | None:
        """What is said to those who have no token where there must be one."""
        if self._token is None or request.url.path.startswith(_OPEN_TO_ALL):
            return None
        name = f"orienteer-{(request.scope.get('server') or ('', 0))[1]}"
        scheme, _, bearer = request.headers.get("authorization", "").partition(" ")
        if _same(request.cookies.get(name), self._cookie):
            return None
        address = request.client.host if request.client else ""
        wait_s = self._wrong.must_wait_s(address)
        if wait_s:
            said = refusal(request, 429, f"Too many wrong tokens; try again in {math.ceil(wait_s)} seconds.")
            said.headers["Retry-After"] = str(math.ceil(wait_s))
            return said
        sent = bearer.strip().encode("latin-1").decode(errors="replace")  # headers are read as Latin-1
        if scheme.lower() == "bearer" and _same(sent, self._token):
            return None
        if request.method == "GET" and _same(request.query_params.get("token"), self._token):
            return self._welcome(request, name)
        if scheme.lower() == "bearer" or "token" in request.query_params:
            self._wrong.note(address, sent or request.query_params.get("token", ""))
        return refusal(request, 401, "A token is needed here; it was printed when the server was started.", ask=True)

    def _welcome(self, request: Request, name: str) -> Response:
        """On to the same address without the token, which is to stay in no history."""
        pairs = parse_qsl(request.scope["query_string"].decode("latin-1"), keep_blank_values=True)
        rest = urlencode([pair for pair in pairs if pair[0] != "token"])
        path = "/" + request.url.path.lstrip("/")  # `//host` would lead elsewhere
        answer = RedirectResponse(path + ("?" + rest if rest else ""), 303)
        answer.set_cookie(name, self._cookie, httponly=True, samesite="lax", path="/")
        return answer


class _Sender:
    """Sends an answer on, with the headers that all of them have."""

    def __init__(self, scope: Scope, send: Send) -> None:
        self._scope = scope
        self._is_static = scope["path"].startswith(_OPEN_TO_ALL)
        self._send = send
        self.has_begun = False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.has_begun = True
            headers = MutableHeaders(scope=message)
            for name, value in _HEADERS.items():
                headers[name] = value
            if framed := self._scope.get("state", {}).get(FRAMED):
                headers["Content-Security-Policy"] += f"; frame-src {framed}"
            headers.setdefault("Cache-Control", "no-cache" if self._is_static else "no-store")
        await self._send(message)


def _too_large(request: Request) -> Response:
    """The connection ends with it: what is still on its way is not read."""
    answer = refusal(request, 413, f"The request is too large; at most {MAX_BODY_BYTES:,} bytes are read.")
    answer.headers["Connection"] = "close"
    return answer


def _has_body(request: Request) -> bool:
    return "transfer-encoding" in request.headers or request.headers.get("content-length", "0").strip("0") != ""


async def _body(receive: Receive) -> bytes | None:
    """The body of a request; None where it is too large, and the rest of it is not read."""
    body = bytearray()
    while True:
        message = await receive()
        body += message.get("body", b"")
        if len(body) > MAX_BODY_BYTES:
            return None
        if message["type"] != "http.request" or not message.get("more_body", False):
            return bytes(body)


def _replayed(body: bytes, receive: Receive) -> Receive:
    """What the application receives of a request whose body was read before."""
    is_told = False

    async def replayed() -> Message:
        nonlocal is_told
        if is_told:
            return await receive()
        is_told = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replayed


def name_of(host: str) -> str:
    """The name in a Host header, without its port."""
    name, colon, port = host.rpartition(":")
    return name if colon and port.isdigit() else host


def _is_from_here(request: Request) -> bool:
    """Whether a page of this server asks, or no page at all: browsers say it, other programs need not."""
    origin = request.headers.get("origin")
    if origin is not None:
        return origin in (f"{scheme}://{request.headers.get('host', '')}" for scheme in ("http", "https"))
    return request.headers.get("sec-fetch-site", "none") in ("same-origin", "none")


def _same(given: str | None, right: str) -> bool:
    return given is not None and hmac.compare_digest(given.encode(errors="replace"), right.encode())
