"""Lists of URLs in files: sitemaps, feeds, and plain text with a URL a line."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from orienteer.answers.sitemaps import MAX_ENTRIES, MAX_SITEMAP_BYTES, sitemap_urls
from orienteer.errors import GraphFileError, InputError
from orienteer.files.compressed import byte_blocks
from orienteer.url import canonical_url, host_of

# Where a sitemap was found is not known, so that relative URLs in it lead nowhere. The name can belong to nobody.
_NO_HOST = "unknown.invalid"
_BEFORE_TEXT = b"\xef\xbb\xbf \t\r\n"


class UrlList(NamedTuple):
    """Canonical URLs in the order they are named; `sitemaps` are further ones, of an index."""

    urls: list[str]
    sitemaps: list[str]
    is_cut: bool = False  # there are more entries than a sitemap may have


def read_url_list(path: Path) -> UrlList:
    """The URLs of a sitemap or of a text; lines that start with # are none."""
    blocks = _blocks(path)
    first = next(blocks, b"")
    if first.lstrip(_BEFORE_TEXT).startswith(b"<") or first.startswith((b"\xff\xfe", b"\xfe\xff")):
        found = _of_sitemap(first, blocks)
    else:
        found = UrlList(list(_of_text(first, blocks)), [])
    if not found.urls and not found.sitemaps:
        raise InputError(f"{path}: no URLs in it, neither as a sitemap nor one a line")
    return found


def _of_sitemap(first: bytes, blocks: Iterator[bytes]) -> UrlList:
    content = bytearray(first)
    for block in blocks:
        if len(content) > MAX_SITEMAP_BYTES:
            break
        content += block
    part = sitemap_urls(bytes(content), f"https://{_NO_HOST}/sitemap.xml")
    urls, sitemaps = ([url for url in some if host_of(url) != _NO_HOST] for some in part)
    return UrlList(urls, sitemaps, len(part.pages) >= MAX_ENTRIES)


def _of_text(first: bytes, blocks: Iterator[bytes]) -> Iterator[str]:
    seen: set[str] = set()
    rest = b""
    for block in chain((first,), blocks):
        lines = (rest + block).split(b"\n")
        rest = lines.pop()
        yield from _new(lines, seen)
    yield from _new([rest], seen)


def _new(lines: list[bytes], seen: set[str]) -> Iterator[str]:
    for line in lines:
        text = line.strip(_BEFORE_TEXT).decode("utf-8", "replace")
        url = None if not text or text.startswith("#") else canonical_url(text)
        if url is not None and url not in seen:
            seen.add(url)
            yield url


def _blocks(path: Path) -> Iterator[bytes]:
    try:
        yield from byte_blocks(path)
    except GraphFileError as error:
        raise InputError(f"{path}: {error}") from None
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None
