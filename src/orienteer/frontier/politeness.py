"""When a host may be requested again. Time is an argument: the crawl's clock may be real or virtual."""

from __future__ import annotations

from dataclasses import dataclass

from orienteer.settings import check, setting


@dataclass(frozen=True)
class Politeness:
    """At most `connections` requests to a host at once, and `delay_s` between the end of one and the next.

    With `per_host=False` there are no such limits: hosts are ignored, and the best page always goes first.
    """

    per_host: bool = setting(True, "Limit requests by host; false: none of the limits below.")
    delay_s: float = setting(
        1.0, "Seconds between two requests to a host.", option="--delay", group="Politeness", basic=True, least=0
    )
    connections: int = setting(1, "Concurrent requests per host.", option="--connections", group="Politeness", least=1)

    def __post_init__(self) -> None:
        check(self)


ANY_TIME = Politeness(per_host=False, delay_s=0.0)
