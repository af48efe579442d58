"""The requests in flight of a running crawl, from its figures (see live/in_flight)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from orienteer.wording import plain

MAX_LISTED = 10
MAX_CHARS = 300
_NAMED = 3


@dataclass(frozen=True)
class Fetching:
    """A requested URL, and how long ago the request began."""

    url: str
    for_s: float


def fetching_of(figures: Mapping[str, Any]) -> tuple[Fetching, ...]:
    """Return the requests in flight at the time of the figures, the longest first; none in figures of old versions."""
    return tuple(
        Fetching(plain(str(one["url"]), MAX_CHARS), float(one["for_s"]))
        for one in (figures.get("fetching") or ())[:MAX_LISTED]
    )


def describe_fetching(fetching: Sequence[Fetching], n_in_flight: int) -> str:
    """`https://a.example/, https://b.example/ and 14 more`; empty if nothing is in flight."""
    named = [plain(one.url, 100) for one in fetching[:_NAMED]]
    n_more = n_in_flight - len(named)
    return ", ".join(named) + (f" and {n_more:,} more" if named and n_more > 0 else "")
