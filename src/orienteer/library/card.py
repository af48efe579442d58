"""What is shown of a crawl where there are many."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from orienteer.library.job import Job


@dataclass(frozen=True)
class Card:
    """A crawl of the library at a glance.

    `state` is "new" (nothing fetched yet), "running", "finished" (its goal is reached), "stopped" or "damaged". A crawl
    runs whoever started it; `job` is the one that works on it now, or else its last. `sentence` says how it stands.
    `lower` and `upper` bound the coverage that is proved, `measured` is what random walks say; None while not known.
    `last_time` is that of the newest page. `trouble` says in one line what is wrong with the folder.
    """

    name: str
    seeds: tuple[str, ...]
    state: str
    sentence: str
    lower: float | None
    upper: float | None
    measured: float | None
    n_fetched: int
    n_urls: int
    last_time: float | None
    bytes: int
    is_indexed: bool
    job: Job | None
    trouble: str | None

    def as_dict(self) -> dict[str, Any]:
        return asdict(self) | {"job": None if self.job is None else self.job.as_dict()}
