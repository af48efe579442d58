"""What a hostile case is. The cases stand in hostile_pages, hostile_codings, hostile_wire and hostile_places."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from orienteer.fake_web.answers import Answer

HOST = "hostile.test"

# What may come of a fetch, as in orienteer.answers.answer.
OUTCOMES = frozenset(
    (
        "ok",
        "redirect",
        "not modified",
        "client error",
        "server error",
        "slow down",
        "timed out",
        "no address",
        "no connection",
        "tls failed",
        "broken answer",
        "redirect leads nowhere",
        "too large",
        "unwanted type",
        "forbidden address",
        "cancelled",
    )
)


@dataclass(frozen=True)
class HostileCase:
    """An answer that would hurt a careless crawler, the outcomes a careful one may report, and what must not happen.

    The answer is made anew whenever it is asked for, so that the corpus takes no memory.
    """

    name: str
    make: Callable[[], Answer]
    outcome: tuple[str, ...]
    note: str
    place: str = ""  # where it stands, if not at http://hostile.test/<name>
    any_type: bool = False  # to be asked for as robots.txt and sitemaps are: whatever their type
    never_ends: bool = False  # only the client's patience ends it

    @property
    def url(self) -> str:
        return self.place or f"http://{HOST}/{self.name}"

    @property
    def answer(self) -> Answer:
        return self.make()


def outcomes(text: str) -> tuple[str, ...]:
    """`"ok | too large"` as a tuple."""
    return tuple(part.strip() for part in text.split("|"))
