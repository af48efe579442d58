"""The class of hostile cases, which are in hostile_pages, hostile_codings, hostile_wire and hostile_places."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tests.fake_web.fake_response import FakeResponse

HOST = "hostile.test"

# Outcomes of a fetch, as in orienteer.pages.outcome.
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
    """A response that can harm a crawler, the permitted outcomes, and a note on what must not happen.

    The response is generated for each request, so that the corpus takes no memory.
    """

    name: str
    make: Callable[[], FakeResponse]
    outcome: tuple[str, ...]
    note: str
    place: str = ""  # its URL, if not http://hostile.test/<name>
    any_type: bool = False  # requested like robots.txt and sitemaps, with any content type
    never_ends: bool = False  # ends only by a timeout of the client

    @property
    def url(self) -> str:
        return self.place or f"http://{HOST}/{self.name}"

    @property
    def response(self) -> FakeResponse:
        return self.make()


def outcomes(text: str) -> tuple[str, ...]:
    """Split `"ok | too large"` into a tuple."""
    return tuple(name.strip() for name in text.split("|"))
