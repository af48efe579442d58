"""A libcurl handle that is reused for one fetch after the other, and the response it receives.

Constant options are set once, when the handle is created. libcurl passes header lines and pieces of the body to
callbacks, which count them and abort the transfer as soon as the page is known to be too large or of another type.
"""

from __future__ import annotations

import re
import socket
import ssl
import time
from functools import cache, lru_cache

import pycurl

from orienteer.fetch.addresses import forbidden_reason, literal_address
from orienteer.fetch.settings import FetchSettings
from orienteer.pages.outcome import Outcome
from orienteer.responses.headers import Headers
from orienteer.responses.response import (
    AssetRequest,
    HostRequest,
    Request,
    Response,
    media_type,
    outcome_of,
    unpacked_content,
)
from orienteer.responses.secrets import Secrets, origin_of

MAX_HEADERS = 1000
_DECIDING_BYTES = 64  # of the content, to recognize a document

_BUFFER_BYTES = 64 << 10
_NO_HEADERS = Headers()
_STATUS_LINE = re.compile(rb"HTTP/[\d.]+ +(\d{3})")
_CONTROLS = re.compile(r"[\x00-\x1f\x7f]+")
_PROTOCOLS = {1: "http/1.0", 2: "http/1.1", 3: "h2", 30: "h3"}

# Options of libcurl that pycurl has no names for.
_SUPPRESS_CONNECT_HEADERS = 265  # the headers of a proxy's response to CONNECT
_DISALLOW_USERNAME_IN_URL = 278

# Accept is what browsers send. The encodings are those that responses/body.py decodes; libcurl must not decode them.
_REQUEST_HEADERS = (
    "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
    "Accept-Encoding: gzip, deflate, br, zstd",
)

_FAILURES = {
    pycurl.E_OPERATION_TIMEDOUT: Outcome.TIMED_OUT,
    pycurl.E_URL_MALFORMAT: Outcome.NO_ADDRESS,
    pycurl.E_COULDNT_RESOLVE_HOST: Outcome.NO_ADDRESS,
    pycurl.E_COULDNT_RESOLVE_PROXY: Outcome.NO_CONNECTION,
    pycurl.E_COULDNT_CONNECT: Outcome.NO_CONNECTION,
    pycurl.E_NO_CONNECTION_AVAILABLE: Outcome.NO_CONNECTION,
    pycurl.E_INTERFACE_FAILED: Outcome.NO_CONNECTION,
    97: Outcome.NO_CONNECTION,  # CURLE_PROXY
    100: Outcome.TOO_LARGE,  # CURLE_TOO_LARGE: a single header line
    pycurl.E_SSL_CONNECT_ERROR: Outcome.TLS_FAILED,
    pycurl.E_PEER_FAILED_VERIFICATION: Outcome.TLS_FAILED,
    pycurl.E_SSL_CERTPROBLEM: Outcome.TLS_FAILED,
    pycurl.E_SSL_CIPHER: Outcome.TLS_FAILED,
    pycurl.E_SSL_CACERT_BADFILE: Outcome.TLS_FAILED,
    pycurl.E_SSL_ISSUER_ERROR: Outcome.TLS_FAILED,
    pycurl.E_SSL_INVALIDCERTSTATUS: Outcome.TLS_FAILED,
    pycurl.E_SSL_ENGINE_INITFAILED: Outcome.TLS_FAILED,
}


class _DuplicatedSocket(socket.socket):
    """A socket that pycurl duplicates; ours is closed when it is garbage collected."""

    def __del__(self) -> None:
        self.close()


class Transfer:
    """A libcurl handle and its current fetch."""

    def __init__(self, settings: FetchSettings, cookies: pycurl.CurlShare | None) -> None:
        self._settings = settings
        self._accepts = lru_cache(maxsize=64)(settings.accepts)
        self._headers_to_send = [*_REQUEST_HEADERS, f"Accept-Language: {settings.accept_language}"]
        self._sends_more_headers = False
        self._method = "GET"
        self.has_sent_secrets = False  # then it is not reused
        self.started_by_loop_s = 0.0  # start of the fetch, by the LoopClock of the fetcher
        self.skipped_then_s = 0.0  # `skipped_s` of that clock at the start
        self.curl = pycurl.Curl()
        self._set_options()
        self._set_route()
        if cookies is not None:
            self.curl.setopt(pycurl.SHARE, cookies)
            self.curl.setopt(pycurl.COOKIEFILE, "")  # no file: cookies in memory

    def close(self) -> None:
        self.curl.close()

    def begin(self, request: Request) -> None:
        """Prepare the handle for a request. Raises pycurl.error or ValueError if libcurl does not accept it."""
        self._request = request
        self._is_truncatable = isinstance(request, HostRequest)
        self._started_at = time.time()
        self._started = time.monotonic()
        self._max_body_bytes = request.max_body_bytes or self._settings.max_body_bytes
        self._lines: list[bytes] = []
        self._n_header_bytes = 0
        self._status = 0
        self._headers: Headers | None = None  # None until they are complete
        self._body = bytearray()
        self._is_truncated = False
        self._refusal: tuple[Outcome, str] | None = None
        self._has_opened = False
        self._forbidden = ""
        self._undecided = ""  # the stated type while the content has to decide whether it is accepted
        if request.secrets is not None:
            self._set_secrets(request, request.secrets)
        elif request.headers or self._sends_more_headers:
            self._send_headers(request.headers)
            self._sends_more_headers = bool(request.headers)
        if request.method != self._method:
            self._set_method(request.method)
        self.curl.setopt(pycurl.URL, request.url)

    def _set_method(self, method: str) -> None:
        self._method = method
        if method == "GET":
            self.curl.unsetopt(pycurl.CUSTOMREQUEST)
        else:
            self.curl.setopt(pycurl.CUSTOMREQUEST, method)

    def _set_secrets(self, request: Request, secrets: Secrets) -> None:
        if origin_of(request.url) != secrets.origin:
            raise ValueError(f"the secrets are for {secrets.origin} only")
        self.has_sent_secrets = True
        self._send_headers((*request.headers, *secrets.headers))
        self.curl.setopt(pycurl.HEADEROPT, pycurl.HEADER_SEPARATE)  # not sent to a proxy
        if secrets.form is not None:
            self.curl.setopt(pycurl.POST, 1)
            self.curl.setopt(pycurl.COPYPOSTFIELDS, secrets.form)
        if secrets.certificate:
            self.curl.setopt(pycurl.SSLCERT_BLOB, secrets.certificate)
            self.curl.setopt(pycurl.SSLKEY_BLOB, secrets.key)
            if secrets.key_password:
                self.curl.setopt(pycurl.KEYPASSWD, secrets.key_password)

    def _send_headers(self, headers: tuple[tuple[str, str], ...]) -> None:
        """Set these headers, and the default headers with other names."""
        more = [f"{name}: {_CONTROLS.sub(' ', value)}" for name, value in headers]
        named = {line.partition(":")[0].lower() for line in more}
        own = [line for line in self._headers_to_send if line.partition(":")[0].lower() not in named]
        self.curl.setopt(pycurl.HTTPHEADER, [_header_bytes(line) for line in own + more])

    @property
    def timeout_message(self) -> str:
        """The error message for a fetch that timed out."""
        elapsed_ms = round(1000 * (time.monotonic() - self._started))
        return f"Operation timed out after {elapsed_ms} milliseconds with {len(self._body)} bytes received"

    def refused_address(self) -> str | None:
        """Return why a URL is refused with a proxy: no address is resolved here, so only a literal one is checked."""
        if self._settings.proxy is None or self._settings.allow_private:
            return None
        address = literal_address(self._request.url)
        reason = None if address is None else forbidden_reason(address)
        return None if reason is None else f"{address} is {reason}"

    def failed(self, outcome: Outcome, detail: str) -> Response:
        """Return the response for a fetch that ended without one."""
        duration_s = time.monotonic() - self._started
        detail = _one_line(detail)
        return Response(self._request, outcome, started_at=self._started_at, duration_s=duration_s, detail=detail)

    def finished(self, code: int, message: str) -> Response:
        """Return the response, given libcurl's code and message (0 and "" without an error)."""
        headers = self._headers or _NO_HEADERS
        if self._undecided:
            self._decide(is_all=True)
        outcome, detail = self._outcome(code, message)
        has_body = code == 0 or self._is_truncated or outcome in _BY_STATUS
        body = bytes(self._body) if has_body and not self._refusal else b""
        self._body = bytearray()  # release the memory while the handle is idle
        max_bytes = self._settings.max_bytes(media_type(headers), self._settings.max_decoded_bytes)
        if isinstance(self._request, AssetRequest):
            max_bytes = max(max_bytes, self._max_body_bytes)
        content, outcome, problem = unpacked_content(body, headers, outcome, max_bytes)
        detail = problem or detail
        raw_headers = b"".join(self._lines) if self._headers is not None else b""
        return Response(
            request=self._request,
            outcome=outcome,
            status=self._status,
            status_line=self._lines[0].decode("latin-1").strip() if raw_headers else "",
            headers=headers,
            raw_headers=raw_headers,
            body=body,
            content=content,
            address=self.curl.getinfo(pycurl.PRIMARY_IP),
            protocol=_PROTOCOLS.get(self.curl.getinfo(pycurl.INFO_HTTP_VERSION), "") if raw_headers else "",
            started_at=self._started_at,
            duration_s=time.monotonic() - self._started,
            detail=_one_line(detail) if detail else "",
        )

    def _outcome(self, code: int, message: str) -> tuple[Outcome, str]:
        if self._refusal is not None:
            return self._refusal
        if self._headers is not None and (code == 0 or self._is_truncated or self._status >= 300):
            # The status of a redirect or an error is enough; the body may be incomplete.
            outcome = outcome_of(self._status, self._headers, self._request.url)
            if outcome is Outcome.BROKEN:
                message = message or f"status {self._status} that leads nowhere"
            return outcome, "the body is truncated" if self._is_truncated else message
        if self._forbidden and not self._has_opened:
            return Outcome.FORBIDDEN_ADDRESS, self._forbidden
        return _FAILURES.get(code, Outcome.BROKEN), message or pycurl.easy_strerror(code)

    def _set_options(self) -> None:
        settings, set_option = self._settings, self.curl.setopt
        set_option(pycurl.NOSIGNAL, 1)
        set_option(pycurl.PROTOCOLS, pycurl.PROTO_HTTP | pycurl.PROTO_HTTPS)
        set_option(pycurl.PATH_AS_IS, 1)  # the URL is canonical already
        set_option(_DISALLOW_USERNAME_IN_URL, 1)
        set_option(pycurl.HTTP09_ALLOWED, 0)
        version = pycurl.CURL_HTTP_VERSION_2TLS if settings.http2 else pycurl.CURL_HTTP_VERSION_1_1
        set_option(pycurl.HTTP_VERSION, version)
        set_option(pycurl.USERAGENT, settings.user_agent)
        set_option(pycurl.HTTPHEADER, self._headers_to_send)
        set_option(pycurl.CONNECTTIMEOUT_MS, int(settings.connect_timeout_s * 1000))
        set_option(pycurl.DNS_CACHE_TIMEOUT, int(settings.dns_cache_s))
        set_option(pycurl.BUFFERSIZE, _BUFFER_BYTES)
        set_option(pycurl.HEADERFUNCTION, self._on_header)
        set_option(pycurl.WRITEFUNCTION, self._on_body)
        set_option(pycurl.SSL_VERIFYPEER, int(settings.verify_tls))
        set_option(pycurl.SSL_VERIFYHOST, 2 if settings.verify_tls else 0)
        ca_file, ca_path = (settings.ca_file, None) if settings.ca_file else _certificates()
        for option, path in (
            (pycurl.CAINFO, ca_file),
            (pycurl.PROXY_CAINFO, ca_file),
            (pycurl.CAPATH, ca_path),
            (pycurl.PROXY_CAPATH, ca_path),
        ):
            if path is None:
                self.curl.unsetopt(option)
            else:
                set_option(option, path)

    def _set_route(self) -> None:
        """Set the options for connections. Proxies in environment variables are ignored."""
        settings, set_option = self._settings, self.curl.setopt
        set_option(pycurl.PROXY, settings.proxy or "")
        set_option(pycurl.NOPROXY, "")
        set_option(_SUPPRESS_CONNECT_HEADERS, 1)
        if settings.connect_to is not None:
            set_option(pycurl.CONNECT_TO, [f"::{settings.connect_to}"])
        if settings.connect_to is None and settings.proxy is None and not settings.allow_private:
            set_option(pycurl.OPENSOCKETFUNCTION, self._on_open)

    def _on_open(self, purpose: int, address: pycurl.CurlSockAddr) -> _DuplicatedSocket | int:
        """Check an address that libcurl is about to connect to: after DNS, for each address of a name."""
        reason = forbidden_reason(address.addr[0])
        if reason is not None:
            self._forbidden = f"{address.addr[0]} is {reason}"
            return pycurl.SOCKET_BAD  # type: ignore[no-any-return]
        self._has_opened = True
        try:
            return _DuplicatedSocket(address.family, address.socktype, address.protocol)
        except OSError:  # no file descriptors left: fails like an unreachable host
            return pycurl.SOCKET_BAD  # type: ignore[no-any-return]

    # The callbacks return None to continue, and 0 (bytes consumed) to abort.

    def _on_header(self, line: bytes) -> int | None:
        self._n_header_bytes += len(line)
        if self._n_header_bytes > self._settings.max_header_bytes or len(self._lines) >= MAX_HEADERS:
            return self._refuse(Outcome.TOO_LARGE, "the headers are too large")
        if self._headers is not None:
            if self._status >= 200:
                return None  # a trailer
            self._lines, self._headers = [], None  # the previous headers were an interim (1xx) response
        self._lines.append(line)
        return self._on_headers_end() if line in (b"\r\n", b"\n") else None

    def _on_headers_end(self) -> int | None:
        status = _STATUS_LINE.match(self._lines[0])
        self._status = int(status[1]) if status else 0
        self._headers = headers = Headers.from_lines(self._lines[1:-1])
        if not 200 <= self._status < 300:
            return None
        kind = media_type(headers)
        if not isinstance(self._request, AssetRequest | HostRequest) and not self._accepts(kind):
            if not self._settings.may_accept(kind) or headers.get("content-encoding"):
                return self._refuse(Outcome.UNWANTED_TYPE, kind)
            self._undecided = kind
        if not self._is_truncatable and self._request.max_body_bytes is None:
            self._max_body_bytes = self._settings.max_bytes(kind, self._max_body_bytes)
        stated = headers.get("content-length", "")
        if stated and stated.isdecimal() and int(stated[:20]) > self._max_body_bytes and not self._is_truncatable:
            return self._refuse(Outcome.TOO_LARGE, f"a body of {stated[:20]} bytes")
        return None

    def _on_body(self, data: bytes) -> int | None:
        n_left = self._max_body_bytes - len(self._body)
        if len(data) <= n_left:
            self._body += data
            return self._decide() if self._undecided else None
        if self._status < 300 and not self._is_truncatable:
            return self._refuse(Outcome.TOO_LARGE, f"a body of more than {self._max_body_bytes:,} bytes")
        self._body += data[:n_left]  # for errors and robots.txt the beginning is enough
        self._is_truncated = True
        return 0

    def _decide(self, is_all: bool = False) -> int | None:
        """Decide by the first bytes whether binary data is a document; waits for enough bytes."""
        if len(self._body) < _DECIDING_BYTES and not is_all:
            return None
        kind, self._undecided = self._undecided, ""
        if self._settings.accepts_content(kind, bytes(self._body[:_DECIDING_BYTES])):
            return None
        return self._refuse(Outcome.UNWANTED_TYPE, kind)

    def _refuse(self, outcome: Outcome, detail: str) -> int:
        self._refusal = outcome, detail
        return 0


# For these outcomes an incomplete body is kept.
_BY_STATUS = frozenset((Outcome.REDIRECT, Outcome.CLIENT_ERROR, Outcome.SERVER_ERROR, Outcome.SLOW_DOWN))


@cache
def _certificates() -> tuple[str | None, str | None]:
    """Return the file and the folder with the trusted certificates of this machine."""
    # A libcurl from a wheel would use the paths of the machine that built it.
    paths = ssl.get_default_verify_paths()
    return paths.cafile, paths.capath


def _header_bytes(line: str) -> bytes:
    # Values from a server, such as an ETag, are sent back as the same bytes.
    try:
        return line.encode("latin-1")
    except UnicodeEncodeError:
        return line.encode("utf-8", "replace")


def _one_line(text: str) -> str:
    return _CONTROLS.sub(" ", text.encode("utf-8", "replace").decode())[:300].strip()
