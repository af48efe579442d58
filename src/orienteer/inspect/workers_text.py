"""The requests in flight and the workers of a running crawl, from its figures, for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from orienteer.wording import counted, plain

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


@dataclass(frozen=True)
class WorkerNow:
    """A worker: its machine and process, its requests in flight, and its responses so far and per second.

    `busy` is the share of a core that it uses, None if that is not known.
    """

    where: str
    process: int
    n_in_flight: int
    n_responses: int
    responses_per_s: float
    busy: float | None

    @property
    def name(self) -> str:
        return f"{self.where}, process {self.process}" if self.process else self.where


def workers_of(figures: Mapping[str, Any]) -> tuple[WorkerNow, ...]:
    """Return the present workers; none in figures of older versions."""
    return tuple(
        WorkerNow(
            where=plain(str(worker["where"]), 60),
            process=int(worker["process"]),
            n_in_flight=int(worker["n_in_flight"]),
            n_responses=int(worker["n_responses"]),
            responses_per_s=float(worker["responses_per_s"]),
            busy=None if worker["busy"] is None else float(worker["busy"]),
        )
        for worker in figures.get("workers") or ()
    )


def describe_workers(workers: Sequence[WorkerNow], n_crashed: int) -> str:
    """`3 processes, 240 responses/s, 92 % busy; 1 crashed`; empty where one process does everything."""
    if not n_crashed and all(worker.process == 0 for worker in workers):
        return ""
    machines = len({worker.where for worker in workers})
    on = f" on {counted(machines, 'machine')}" if machines > 1 else ""
    busy = [worker.busy for worker in workers if worker.busy is not None]
    clauses = [
        counted(len(workers), "process", "processes") + on,
        f"{sum(worker.responses_per_s for worker in workers):,.0f} responses/s",
        f"{100 * sum(busy) / len(busy):.0f} % busy" if busy else "",
    ]
    crashed = f"; {n_crashed:,} crashed and {'was' if n_crashed == 1 else 'were'} replaced" if n_crashed else ""
    return ", ".join(clause for clause in clauses if clause) + crashed
