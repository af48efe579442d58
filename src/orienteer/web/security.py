"""Checks of every request, and security headers of every response.

    Host      must be a name of this machine if only this machine is served; this prevents DNS rebinding, by which other
              sites could read the responses
    token     required if other machines may connect: as `Authorization: Bearer`, or once as `?token=`, then replaced by
              a cookie; the right one is always accepted, and many wrong ones get 429
    Origin    of requests that change something (POST) or read data (/api/) must be these pages
    length    of addresses and bodies is limited, with or without Content-Length

The pages display untrusted content. It is escaped; in case that fails, the headers forbid the browser to run scripts or
load content other than that of these pages, and to send referrers to other sites.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import logging
import math
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from orienteer.web.error_responses import error_response, is_api

MAX_WRONG = 10  # different ones within the window; the same one again is an old link, not a guess
WINDOW_S = 60.0
_MAX_ADDRESSES = 4_096  # a bound on memory; the least recent are dropped


class WrongTokens:
    """Counts wrong tokens by client address; `clock` returns seconds.

    >>> now = [0.0]
    >>> wrong = WrongTokens(clock=lambda: now[0])
    >>> for guess in range(MAX_WRONG): wrong.note("10.0.0.1", str(guess))
    >>> wrong.must_wait_s("10.0.0.1"), wrong.must_wait_s("10.0.0.2")
    (60.0, 0.0)
    >>> now[0] = 60.0
    >>> wrong.must_wait_s("10.0.0.1")
    0.0
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._guesses: OrderedDict[str, list[tuple[float, int]]] = OrderedDict()  # time and hash, by address

    def note(self, address: str, token: str) -> None:
        guesses = self._guesses.setdefault(address, [])
        self._guesses.move_to_end(address)
        if hash(token) not in (guess for _, guess in guesses):
            guesses.append((self._clock(), hash(token)))
            del guesses[:-MAX_WRONG]
        while len(self._guesses) > _MAX_ADDRESSES:
            self._guesses.popitem(last=False)

    def must_wait_s(self, address: str) -> float:
        """Return how many seconds a client must wait before it may send another wrong token; 0 below the limit."""
        guesses = self._guesses.get(address, [])
        return max(0.0, guesses[0][0] + WINDOW_S - self._clock()) if len(guesses) == MAX_WRONG else 0.0


MAX_TARGET_BYTES = 8_192
MAX_BODY_BYTES = 65_536
# The right token is accepted after any number of wrong ones, so it must withstand as many guesses as the server can
# process, a few thousand a second.
MIN_TOKEN_CHARS = 16
MIN_TOKEN_VARIETY = 8  # different characters
FRAMED = "framed"  # key in the state of a request: the source that its page may load in a frame; none if absent
_SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
_OPEN_TO_ALL = "/static/"  # the form for the token needs its style
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
    """Whether only this machine can connect to the host.

    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("::1"), is_loopback("0.0.0.0")
    (True, True, True, False)
    """
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() == "localhost"


class Guard:
    """The ASGI middleware that checks requests before the application receives them."""

    def __init__(self, app: ASGIApp, token: str | None, only_this_machine: bool) -> None:
        self._app = app
        self._token = token
        self._only_this_machine = only_this_machine
        self._wrong = WrongTokens()
        # Cookies are sent to all ports of a host, so the cookie is not the token but a random value of this process.
        self._cookie = secrets.token_urlsafe(32)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        sent = _Sender(scope, send)
        request = Request(scope)
        try:
            response = self._refused(request) or self._unknown(request)
            if response is None and _has_body(request):
                body = await _body(receive)
                response = _too_large(request) if body is None else None
                receive = _receive_body(body or b"", receive)
            await (response or self._app)(scope, receive, sent)
        except Exception:
            _log.exception("%s %s", request.method, request.url.path)
            if sent.has_begun:
                raise
            await error_response(request, 500, "An internal error occurred; see the log of the server.")(
                scope, receive, sent
            )

    def _refused(self, request: Request) -> Response | None:
        scope, headers = request.scope, request.headers
        if self._only_this_machine and not is_loopback(name_of(headers.get("host", ""))):
            return error_response(request, 421, "This server accepts only names of this machine, such as localhost.")
        if len(scope.get("raw_path") or b"") + len(scope["query_string"]) > MAX_TARGET_BYTES:
            return error_response(request, 414, f"The address is too long; the limit is {MAX_TARGET_BYTES:,} bytes.")
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length[:20]) > MAX_BODY_BYTES:
            return _too_large(request)
        is_data = is_api(request) and headers.get("sec-fetch-dest", "document") != "document"
        if (is_data or request.method not in _SAFE_METHODS) and not _is_from_here(request):
            return error_response(request, 403, "Only pages of this server may request this.")
        return None

    def _unknown(self, request: Request) -> Response | None:
        """Return the response to a request without a valid token; None if it may pass."""
        if self._token is None or request.url.path.startswith(_OPEN_TO_ALL):
            return None
        name = f"orienteer-{(request.scope.get('server') or ('', 0))[1]}"
        scheme, _, bearer = request.headers.get("authorization", "").partition(" ")
        if _same(request.cookies.get(name), self._cookie):
            return None
        sent = bearer.strip().encode("latin-1").decode(errors="replace")  # headers are read as Latin-1
        if scheme.lower() == "bearer" and _same(sent, self._token):
            return None
        if request.method == "GET" and _same(request.query_params.get("token"), self._token):
            return self._welcome(request, name)
        if scheme.lower() == "bearer" or "token" in request.query_params:
            # Right tokens pass even so: clients behind a proxy share an address, and must not lock each other out.
            address = request.client.host if request.client else ""
            wait_s = self._wrong.must_wait_s(address)
            self._wrong.note(address, sent or request.query_params.get("token", ""))
            if wait_s:
                response = error_response(
                    request, 429, f"Too many wrong tokens; try again in {math.ceil(wait_s)} seconds."
                )
                response.headers["Retry-After"] = str(math.ceil(wait_s))
                return response
        return error_response(request, 401, "A token is needed; the server printed it when it started.", ask=True)

    def _welcome(self, request: Request, name: str) -> Response:
        """Redirect to the same address without the token, so that it does not stay in the browser's history."""
        pairs = parse_qsl(request.scope["query_string"].decode("latin-1"), keep_blank_values=True)
        rest = urlencode([pair for pair in pairs if pair[0] != "token"])
        path = "/" + request.url.path.lstrip("/")  # `//host` would redirect to another site
        response = RedirectResponse(path + ("?" + rest if rest else ""), 303)
        response.set_cookie(name, self._cookie, httponly=True, samesite="lax", path="/")
        return response


class _Sender:
    """Adds the security headers to a response."""

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
    """Return a response that closes the connection, so that the rest of the body is not read."""
    response = error_response(request, 413, f"The request is too large; at most {MAX_BODY_BYTES:,} bytes are read.")
    response.headers["Connection"] = "close"
    return response


def _has_body(request: Request) -> bool:
    return "transfer-encoding" in request.headers or request.headers.get("content-length", "0").strip("0") != ""


async def _body(receive: Receive) -> bytes | None:
    """Return the body of a request; None, without reading the rest, if it is too large."""
    body = bytearray()
    while True:
        message = await receive()
        body += message.get("body", b"")
        if len(body) > MAX_BODY_BYTES:
            return None
        if message["type"] != "http.request" or not message.get("more_body", False):
            return bytes(body)


def _receive_body(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` for the application that first yields the body that was already read."""
    is_received = False

    async def receive_body() -> Message:
        nonlocal is_received
        if is_received:
            return await receive()
        is_received = True
        return {"type": "http.request", "body": body, "more_body": False}

    return receive_body


def name_of(host: str) -> str:
    """Return the name in a Host header, without its port."""
    name, colon, port = host.rpartition(":")
    return name if colon and port.isdigit() else host


def _is_from_here(request: Request) -> bool:
    """Whether the request comes from a page of this server, or not from a browser, which would send these headers."""
    origin = request.headers.get("origin")
    if origin is not None:
        return origin in (f"{scheme}://{request.headers.get('host', '')}" for scheme in ("http", "https"))
    return request.headers.get("sec-fetch-site", "none") in ("same-origin", "none")


def _same(given: str | None, right: str) -> bool:
    """Compare in constant time, which does not leak even the length of the right token."""
    if given is None:
        return False
    digests = [hashlib.sha256(text.encode(errors="replace")).digest() for text in (given, right)]
    return hmac.compare_digest(*digests)
