"""The icon of a host from the archive: the one linked from its home page, or /favicon.ico.

A crawl has icons if it has fetched them, as with --assets. Only small pictures are sent, recognized by their first
bytes; otherwise a tile with a letter is drawn. SVG from a host is never sent, since it may contain scripts.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from threading import Lock
from typing import NamedTuple
from xml.sax.saxutils import escape

from orienteer.extract.assets import icon_urls
from orienteer.web.served_archive import ServedArchive

_MAX_BYTES = 256 << 10
_MAX_TRIED = 4
_N_CACHED = 500
_KINDS = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF8": "image/gif",
    b"\x00\x00\x01\x00": "image/x-icon",
}
_COLOURS = ("#7a3e9d", "#0a53be", "#1a6b3c", "#8a4b00", "#b3261e", "#00646e", "#5b5f00", "#8d2465")


class Icon(NamedTuple):
    content: bytes
    type: str
    is_final: bool = True  # False while the archive is still being read


class Icons:
    """The icons of hosts, with a cache."""

    def __init__(self, archive: ServedArchive) -> None:
        self._archive = archive
        self._lock = Lock()
        self._icons: OrderedDict[str, Icon] = OrderedDict()

    def of(self, host: str) -> Icon:
        with self._lock:
            if host in self._icons:
                self._icons.move_to_end(host)
                return self._icons[host]
        icon = self._found(host)
        if icon.is_final:
            with self._lock:
                self._icons[host] = icon
                while len(self._icons) > _N_CACHED:
                    self._icons.popitem(last=False)
        return icon

    def _found(self, host: str) -> Icon:
        home = f"http://{host}/"  # the archive finds it by https, too
        was_known = self._archive.is_known  # checked before the lookups, which may start to read the archive
        page = self._archive.local_content(home)
        if not was_known:
            return Icon(tile(host), "image/svg+xml", is_final=False)
        named = icon_urls(page.content, page.url, page.charset) if page else icon_urls(b"", home)
        for url in named[: _MAX_TRIED - 1] + named[-1:]:
            found = self._archive.local_content(url)
            kind = None if found is None or found.status != 200 else picture_type(found.content)
            if found is not None and kind is not None:
                return Icon(found.content, kind)
        return Icon(tile(host), "image/svg+xml")


def picture_type(content: bytes) -> str | None:
    """Return the media type of a small picture by its first bytes; None for anything else."""
    if len(content) > _MAX_BYTES:
        return None
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for begin, kind in _KINDS.items() if content.startswith(begin)), None)


def tile(host: str) -> bytes:
    """Return an SVG square with the first letter of a host, in a colour that depends on the host."""
    name = host.removeprefix("www.")
    letter = next((letter for letter in name.upper() if letter.isalnum()), "?")
    colour = _COLOURS[hashlib.blake2b(name.encode(), digest_size=1).digest()[0] % len(_COLOURS)]
    drawn = (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" '
        f'fill="{colour}"/><text x="16" y="23" text-anchor="middle" font-family="system-ui, sans-serif" font-size="20" '
        f'font-weight="600" fill="#fff">{escape(letter)}</text></svg>'
    )
    return drawn.encode()
