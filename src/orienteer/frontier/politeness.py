"""When a host may be requested again. Time is an argument: the crawl's clock may be real or virtual."""

from __future__ import annotations

from dataclasses import dataclass

from orienteer.errors import InputError


@dataclass(frozen=True)
class Politeness:
    """At most `connections` requests to a host at once, and `delay_s` between the end of one and the next.

    With `per_host=False` there are no such limits: hosts are ignored, and the best page always goes first.
    """

    per_host: bool = True
    delay_s: float = 1.0
    connections: int = 1

    def __post_init__(self) -> None:
        if not 0 <= self.delay_s < float("inf"):
            raise InputError(f"delay_s is {self.delay_s}; it must be 0 or more seconds")
        if self.connections < 1:
            raise InputError(f"connections is {self.connections}; a host needs at least one")


ANY_TIME = Politeness(per_host=False, delay_s=0.0)
