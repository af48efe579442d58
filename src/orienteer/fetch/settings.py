"""Settings of fetches: limits, request headers, and routing."""

from __future__ import annotations

import re
from dataclasses import dataclass

from orienteer import __version__
from orienteer.errors import InputError
from orienteer.extract.documents.kinds import READ_TYPES, READERS, UNTYPED, is_document, may_be_document
from orienteer.settings import check, setting

MAX_HEADER_BYTES = 256 << 10  # libcurl's own limit is slightly higher

_TIMEOUT = {"least": 0.001, "most": 86_400}
_SIZE = {"least": 1, "most": (1 << 31) - 1}
_PROXY = re.compile(r"(https?|socks4a?|socks5h?)://[^\s/]+/?")
_ADDRESS = re.compile(r"(\[[0-9a-fA-F:.]+\]|[^\s:\[\]/]+):(\d{1,5})")
_MEDIA_TYPE = re.compile(r"[^\s/;,]+/[^\s/;,]+")


@dataclass(frozen=True)
class FetchSettings:
    """How a page is fetched. Limits of sizes are in bytes."""

    fetcher: str = setting(
        "libcurl", "Fetcher: libcurl, archive:path=DIR (the archive of another crawl), or a plug-in.",
        option="--fetcher", metavar="NAME", group="Network",
    )  # fmt: skip
    user_agent: str = setting(
        f"Orienteer/{__version__} (+https://example.org/orienteer; set a contact with --user-agent)",
        "User-Agent header; include how to contact you.",
        option="--user-agent", group="Politeness", basic=True,
    )  # fmt: skip
    timeout_s: float = setting(30.0, "Timeout of a page, in seconds.", **_TIMEOUT)
    connect_timeout_s: float = setting(10.0, "Timeout of a connection, in seconds.", **_TIMEOUT)
    max_body_bytes: int = setting(10 << 20, "Maximum size of a page.", **_SIZE)
    max_decoded_bytes: int = setting(30 << 20, "Maximum size of a page when decompressed.", **_SIZE)
    max_document_bytes: int = setting(
        32 << 20, "Maximum size of a document (PDF, Office, EPUB), compressed and decompressed.", **_SIZE
    )
    max_asset_bytes: int = setting(20 << 20, "Maximum size of an image, style, script or other asset.", **_SIZE)
    max_header_bytes: int = setting(64 << 10, "Maximum size of headers.", least=1, most=MAX_HEADER_BYTES)
    max_redirects: int = setting(10, "Redirects to follow in a row.", least=0)
    accept_language: str = setting("en, *;q=0.5", "Accept-Language header.")
    content_types: tuple[str, ...] = setting(READ_TYPES, "Types of pages, such as text/*; others are skipped.")
    cookies: bool = setting(False, "Store and send cookies.")
    proxy: str | None = setting(
        None, "Proxy, such as http://localhost:3128.", option="--proxy", metavar="URL", group="Network"
    )
    connect_to: str | None = setting(
        None, "Connect to this address for every URL, such as a test server.",
        option="--connect-to", metavar="HOST:PORT", group="Network",
    )  # fmt: skip
    allow_private: bool = setting(
        False, "Allow private, loopback and link-local addresses.", option="--allow-private", group="Network"
    )
    http2: bool = setting(True, "Use HTTP/2.")
    verify_tls: bool = setting(True, "Verify certificates of servers.")
    ca_file: str | None = setting(None, "File with the certificates of authorities.")
    dns_cache_s: float = setting(300.0, "Seconds to cache addresses.", least=0, most=86_400)

    def __post_init__(self) -> None:
        check(self)
        self._check_texts()
        self._check_route()

    def _check_texts(self) -> None:
        for name in ("user_agent", "accept_language"):
            value = getattr(self, name)
            if not value.strip() or not value.isprintable() or not value.isascii():
                raise InputError(f"{name} is {value!r}; it must be a line of plain ASCII text")
        if not self.content_types:
            raise InputError("content_types is empty; use '*/*' for all types")
        for pattern in self.content_types:
            if not _MEDIA_TYPE.fullmatch(pattern):
                raise InputError(f"content_types has {pattern!r}; a type is like 'text/html', 'text/*' or '*/*'")

    def _check_route(self) -> None:
        if self.proxy is not None and not _PROXY.fullmatch(self.proxy):
            raise InputError(f"proxy is {self.proxy!r}; it must be like 'http://host:port' or 'socks5h://host:port'")
        if self.connect_to is not None:
            address = _ADDRESS.fullmatch(self.connect_to)
            if address is None or not 0 < int(address[2]) < 1 << 16:
                raise InputError(f"connect_to is {self.connect_to!r}; it must be like '127.0.0.1:8080'")
            if self.proxy is not None:
                raise InputError("connect_to and proxy cannot be combined: each sets the target of every connection")

    def accepts(self, media_type: str) -> bool:
        """Whether pages of this type are fetched; a page without a type is."""
        matching = (media_type, media_type.partition("/")[0] + "/*", "*/*")
        return not media_type or any(pattern.lower() in matching for pattern in self.content_types)

    def may_accept(self, media_type: str) -> bool:
        """Whether the content decides: some servers send documents as binary data or zip files."""
        return media_type in UNTYPED and any(self.accepts(kind) for kind in READERS)

    def accepts_content(self, media_type: str, content: bytes) -> bool:
        """Whether pages of this type with this beginning are fetched."""
        return self.accepts(media_type) or (self.may_accept(media_type) and may_be_document(content))

    def max_bytes(self, media_type: str, limit: int) -> int:
        """Return the limit for this type: `limit`, or more for documents."""
        is_larger = is_document(media_type) or self.may_accept(media_type)
        return max(limit, self.max_document_bytes) if is_larger else limit
