"""Response headers, including malformed ones."""

from __future__ import annotations

import re
from collections.abc import Iterable

# Validators are sent back in later requests: accept only what the standard allows.
_ETAG = re.compile(r'(?:W/)?"[\x21\x23-\x7e]{0,200}"')
_SPACES = " \t\r\n"  # not the other spaces of Latin-1, which belong to a value
_DATE = re.compile(r"[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT")


class Headers:
    """Names and values in the order received; the lookup of names is case-insensitive.

    Headers are bytes without a defined charset. Values are decoded as Latin-1, which is lossless:
    `value.encode("latin-1")`.
    """

    __slots__ = ("_by_name", "_items")

    def __init__(self, items: Iterable[tuple[str, str]] = ()) -> None:
        self._items = tuple(items)
        self._by_name: dict[str, list[str]] = {}
        for name, value in self._items:
            self._by_name.setdefault(name.lower(), []).append(value)

    @classmethod
    def from_lines(cls, lines: Iterable[bytes]) -> Headers:
        """Parse header lines as received. A line that begins with a space continues the previous one; a line without a
        colon is ignored."""
        items: list[tuple[str, str]] = []
        for line in lines:
            text = line.decode("latin-1")
            if text[:1] in (" ", "\t"):
                if items:
                    items[-1] = (items[-1][0], f"{items[-1][1]} {text.strip(_SPACES)}".strip(_SPACES))
                continue
            name, colon, value = text.partition(":")
            if colon:
                items.append((name.strip(_SPACES), value.strip(_SPACES)))
        return cls(items)

    def get(self, name: str, default: str | None = None) -> str | None:
        """The first value of this name."""
        values = self._by_name.get(name.lower())
        return values[0] if values else default

    def get_all(self, name: str) -> list[str]:
        """All values of this name."""
        return list(self._by_name.get(name.lower(), ()))

    def items(self) -> tuple[tuple[str, str], ...]:
        return self._items

    def __contains__(self, name: str) -> bool:
        return name.lower() in self._by_name

    def __len__(self) -> int:
        return len(self._items)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Headers) and self._items == other._items

    def __hash__(self) -> int:
        return hash(self._items)

    def __repr__(self) -> str:
        return f"Headers({list(self._items)!r})"


def validators(headers: Headers) -> tuple[str, str]:
    """Return ETag and Last-Modified, each "" if missing or malformed.

    >>> validators(Headers([("ETag", '"a1"'), ("Last-Modified", "yesterday")]))
    ('"a1"', '')
    """
    etag, date = headers.get("etag") or "", headers.get("last-modified") or ""
    return etag if _ETAG.fullmatch(etag) else "", date if _DATE.fullmatch(date) else ""
