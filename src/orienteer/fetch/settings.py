"""Settings of fetches: limits, request headers, and routing."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from orienteer import __version__
from orienteer.errors import InputError
from orienteer.extract.documents.kinds import READERS, UNTYPED, is_document, may_be_document
from orienteer.responses.reading import READ_TYPES

MAX_HEADER_BYTES = 256 << 10  # libcurl's own limit is slightly higher

_PROXY = re.compile(r"(https?|socks4a?|socks5h?)://[^\s/]+/?")
_ADDRESS = re.compile(r"(\[[0-9a-fA-F:.]+\]|[^\s:\[\]/]+):(\d{1,5})")
_MEDIA_TYPE = re.compile(r"[^\s/;,]+/[^\s/;,]+")


@dataclass(frozen=True)
class FetchSettings:
    """`content_types` are the types of pages; others are skipped. `max_document_bytes` is the limit for documents (PDF,
    Office, EPUB), compressed and decompressed, if it is higher than that for pages; `max_asset_bytes` is for images,
    styles and scripts.

    `connect_to` sends every connection to one `host:port`, such as a simulated web on loopback. `max_redirects` is for
    the coordinator; a fetch never follows redirects. `fetcher` is a name, followed by a colon and settings of that
    fetcher, such as `archive:path=old-crawl`."""

    fetcher: str = "libcurl"
    user_agent: str = f"Orienteer/{__version__} (+https://example.org/orienteer; set a contact with --user-agent)"
    timeout_s: float = 30.0
    connect_timeout_s: float = 10.0
    max_body_bytes: int = 10 << 20
    max_decoded_bytes: int = 30 << 20
    max_document_bytes: int = 32 << 20
    max_asset_bytes: int = 20 << 20
    max_header_bytes: int = 64 << 10
    max_redirects: int = 10
    accept_language: str = "en, *;q=0.5"
    content_types: tuple[str, ...] = READ_TYPES
    cookies: bool = False
    proxy: str | None = None
    connect_to: str | None = None
    allow_private: bool = False
    http2: bool = True
    verify_tls: bool = True
    ca_file: str | None = None
    dns_cache_s: float = 300.0

    def __post_init__(self) -> None:
        for name in ("timeout_s", "connect_timeout_s"):
            if not 0.001 <= getattr(self, name) <= 86_400:
                raise InputError(f"{name} is {getattr(self, name)}; it must lie between 0.001 seconds and a day")
        limits = ("max_body_bytes", "max_decoded_bytes", "max_document_bytes", "max_asset_bytes", "max_header_bytes")
        for name in limits:
            if not 1 <= getattr(self, name) < 1 << 31:
                raise InputError(f"{name} is {getattr(self, name)}; it must lie between 1 byte and 2 GiB")
        if self.max_header_bytes > MAX_HEADER_BYTES:
            raise InputError(f"max_header_bytes is {self.max_header_bytes}; it must be at most {MAX_HEADER_BYTES}")
        if self.max_redirects < 0:
            raise InputError(f"max_redirects is {self.max_redirects}; it must be 0 or more")
        if not (math.isfinite(self.dns_cache_s) and 0 <= self.dns_cache_s <= 86_400):
            raise InputError(f"dns_cache_s is {self.dns_cache_s}; it must lie between 0 and a day")
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
