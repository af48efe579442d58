"""How the workers of a crawl are doing, by what they did in the last seconds."""

from __future__ import annotations

from dataclasses import dataclass

from orienteer.inspect.workers_in_words import WorkerNow
from orienteer.workers.worker import WorkerFigures

_OVER_S = 5.0  # rates are of about so many seconds


@dataclass(frozen=True)
class _Then:
    time: float
    n_answers: int
    cpu_s: float


class WorkerRates:
    """Looks at workers now and then."""

    def __init__(self) -> None:
        self._then: dict[tuple[str, int], list[_Then]] = {}

    def now(self, workers: list[WorkerFigures], time: float) -> list[WorkerNow]:
        """How they are doing at this time, in seconds by any clock."""
        known = {(worker.where, worker.process) for worker in workers}
        self._then = {name: seen for name, seen in self._then.items() if name in known}
        return [self._rated(worker, time) for worker in workers]

    def _rated(self, worker: WorkerFigures, time: float) -> WorkerNow:
        seen = self._then.setdefault((worker.where, worker.process), [])
        seen.append(_Then(time, worker.n_answers, worker.cpu_s))
        while len(seen) > 2 and seen[1].time <= time - _OVER_S:
            seen.pop(0)
        first, passed_s = seen[0], time - seen[0].time
        rate = (worker.n_answers - first.n_answers) / passed_s if passed_s > 0 else 0.0
        is_known = passed_s > 0 and worker.cpu_s > 0
        busy = min((worker.cpu_s - first.cpu_s) / passed_s, 1.0) if is_known else None
        return WorkerNow(*worker[:4], round(rate, 2), None if busy is None else round(busy, 3))
