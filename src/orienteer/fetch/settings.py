"""How pages are fetched: limits, what we say of ourselves, and by which way we connect."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from orienteer import __version__
from orienteer.answers.reading import READ_TYPES
from orienteer.errors import InputError
from orienteer.extract.documents.kinds import READERS, UNTYPED, is_document, may_be_document

MAX_HEADER_BYTES = 256 << 10  # libcurl itself takes little more

_PROXY = re.compile(r"(https?|socks4a?|socks5h?)://[^\s/]+/?")
_PLACE = re.compile(r"(\[[0-9a-fA-F:.]+\]|[^\s:\[\]/]+):(\d{1,5})")
_MEDIA_TYPE = re.compile(r"[^\s/;,]+/[^\s/;,]+")


@dataclass(frozen=True)
class FetchSettings:
    """`content_types` are the types of pages; others are skipped. `max_document_bytes` is the limit of documents (PDF,
    Office, EPUB), packed and unpacked, where it is higher than that of pages; `max_part_bytes` that of what pages are
    shown with (pictures, styles, scripts).

    `connect_to` sends every connection to one `host:port`, whatever the URL says: a whole web on loopback.
    `max_redirects` is for whoever follows redirects; a fetch never does. `fetcher` says who fetches: a name, and its
    own settings behind a colon, such as `archive:path=old-crawl`."""

    fetcher: str = "libcurl"
    user_agent: str = f"Orienteer/{__version__} (+https://example.org/orienteer; set a contact with --user-agent)"
    timeout_s: float = 30.0
    connect_timeout_s: float = 10.0
    max_body_bytes: int = 10 << 20
    max_decoded_bytes: int = 30 << 20
    max_document_bytes: int = 32 << 20
    max_part_bytes: int = 20 << 20
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
        for name in ("max_body_bytes", "max_decoded_bytes", "max_document_bytes", "max_part_bytes", "max_header_bytes"):
            if not 1 <= getattr(self, name) < 1 << 31:
                raise InputError(f"{name} is {getattr(self, name)}; it must lie between 1 byte and 2 GiB")
        if self.max_header_bytes > MAX_HEADER_BYTES:
            raise InputError(f"max_header_bytes is {self.max_header_bytes}; it must be at most {MAX_HEADER_BYTES}")
        if self.max_redirects < 0:
            raise InputError(f"max_redirects is {self.max_redirects}; it must be 0 or more")
        if not (math.isfinite(self.dns_cache_s) and 0 <= self.dns_cache_s <= 86_400):
            raise InputError(f"dns_cache_s is {self.dns_cache_s}; it must lie between 0 and a day")
        self._check_texts()
        self._check_way()

    def _check_texts(self) -> None:
        for name in ("user_agent", "accept_language"):
            value = getattr(self, name)
            if not value.strip() or not value.isprintable() or not value.isascii():
                raise InputError(f"{name} is {value!r}; it must be a line of plain ASCII text")
        if not self.content_types:
            raise InputError("content_types is empty; '*/*' stands for all types")
        for pattern in self.content_types:
            if not _MEDIA_TYPE.fullmatch(pattern):
                raise InputError(f"content_types has {pattern!r}; a type is like 'text/html', 'text/*' or '*/*'")

    def _check_way(self) -> None:
        if self.proxy is not None and not _PROXY.fullmatch(self.proxy):
            raise InputError(f"proxy is {self.proxy!r}; it must be like 'http://host:port' or 'socks5h://host:port'")
        if self.connect_to is not None:
            place = _PLACE.fullmatch(self.connect_to)
            if place is None or not 0 < int(place[2]) < 1 << 16:
                raise InputError(f"connect_to is {self.connect_to!r}; it must be like '127.0.0.1:8080'")
            if self.proxy is not None:
                raise InputError("connect_to and proxy cannot be combined: each says where every connection goes")

    def wants(self, media_type: str) -> bool:
        """Whether a page of this type is wanted; one that states none may be anything, and is."""
        matching = (media_type, media_type.partition("/")[0] + "/*", "*/*")
        return not media_type or any(pattern.lower() in matching for pattern in self.content_types)

    def may_want(self, media_type: str) -> bool:
        """Whether the content decides: a server that knows no better calls a document binary data, or a zip file."""
        return media_type in UNTYPED and any(self.wants(kind) for kind in READERS)

    def wants_content(self, media_type: str, content: bytes) -> bool:
        """Whether a page of this type is wanted that begins like this."""
        return self.wants(media_type) or (self.may_want(media_type) and may_be_document(content))

    def max_bytes(self, media_type: str, limit: int) -> int:
        """The limit of a page of this type, which for others is `limit`."""
        is_larger = is_document(media_type) or self.may_want(media_type)
        return max(limit, self.max_document_bytes) if is_larger else limit
