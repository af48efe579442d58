"""What a running crawl is fetching, as it stands among its figures (see live/under_way)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from orienteer.wording import plain

MAX_SHOWN = 10
MAX_CHARS = 300
_NAMED = 3


@dataclass(frozen=True)
class Fetching:
    """A URL that was asked for, and how long ago that was."""

    url: str
    for_s: float


def fetching_of(figures: Mapping[str, Any]) -> tuple[Fetching, ...]:
    """What was under way at the moment of the figures, the longest first; nothing in figures of older versions."""
    return tuple(
        Fetching(plain(str(one["url"]), MAX_CHARS), float(one["for_s"]))
        for one in (figures.get("fetching") or ())[:MAX_SHOWN]
    )


def fetching_in_words(fetching: Sequence[Fetching], n_under_way: int) -> str:
    """`https://a.example/, https://b.example/ and 14 more`; empty where nothing is under way."""
    named = [plain(one.url, 100) for one in fetching[:_NAMED]]
    n_more = n_under_way - len(named)
    return ", ".join(named) + (f" and {n_more:,} more" if named and n_more > 0 else "")
