"""The workers of a running crawl, as they stand among its figures (see live/worker_rates)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from orienteer.wording import counted, plain


@dataclass(frozen=True)
class WorkerNow:
    """A worker: the machine it is on and its process, requests in hand, answers so far and a second, and how busy it
    is: 1 is a whole core. `busy` is None where that is not known."""

    where: str
    process: int
    n_in_hand: int
    n_answers: int
    answers_per_s: float
    busy: float | None

    @property
    def name(self) -> str:
        return f"{self.where}, process {self.process}" if self.process else self.where


def workers_of(figures: Mapping[str, Any]) -> tuple[WorkerNow, ...]:
    """Those who fetch and read now; none in figures of older versions."""
    return tuple(
        WorkerNow(
            where=plain(str(worker["where"]), 60),
            process=int(worker["process"]),
            n_in_hand=int(worker["n_in_hand"]),
            n_answers=int(worker["n_answers"]),
            answers_per_s=float(worker["answers_per_s"]),
            busy=None if worker["busy"] is None else float(worker["busy"]),
        )
        for worker in figures.get("workers") or ()
    )


def workers_in_words(workers: Sequence[WorkerNow], n_died: int) -> str:
    """`3 processes, 240 answers/s, 92 % busy; 1 died`; empty where all is done in one process, as ever."""
    if not n_died and all(worker.process == 0 for worker in workers):
        return ""
    machines = len({worker.where for worker in workers})
    on = f" on {counted(machines, 'machine')}" if machines > 1 else ""
    busy = [worker.busy for worker in workers if worker.busy is not None]
    parts = [
        counted(len(workers), "process", "processes") + on,
        f"{sum(worker.answers_per_s for worker in workers):,.0f} answers/s",
        f"{100 * sum(busy) / len(busy):.0f} % busy" if busy else "",
    ]
    died = f"; {n_died:,} died and {'was' if n_died == 1 else 'were'} replaced" if n_died else ""
    return ", ".join(part for part in parts if part) + died
