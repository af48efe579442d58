"""Request rates and CPU load of the workers of a crawl over the last seconds."""

from __future__ import annotations

from dataclasses import dataclass

from orienteer.inspect.figures import WorkerNow
from orienteer.workers.worker import WorkerFigures

_OVER_S = 5.0  # the window of rates


@dataclass(frozen=True)
class _Sample:
    time: float
    n_responses: int
    cpu_s: float


class WorkerRates:
    """Recent samples of the counters of workers."""

    def __init__(self) -> None:
        self._samples: dict[tuple[str, int], list[_Sample]] = {}

    def now(self, workers: list[WorkerFigures], time: float) -> list[WorkerNow]:
        """Return the rates at this time, in seconds of any clock."""
        known = {(worker.where, worker.process) for worker in workers}
        self._samples = {name: samples for name, samples in self._samples.items() if name in known}
        return [self._rated(worker, time) for worker in workers]

    def _rated(self, worker: WorkerFigures, time: float) -> WorkerNow:
        samples = self._samples.setdefault((worker.where, worker.process), [])
        samples.append(_Sample(time, worker.n_responses, worker.cpu_s))
        while len(samples) > 2 and samples[1].time <= time - _OVER_S:
            samples.pop(0)
        first, passed_s = samples[0], time - samples[0].time
        rate = (worker.n_responses - first.n_responses) / passed_s if passed_s > 0 else 0.0
        is_known = passed_s > 0 and worker.cpu_s > 0
        busy = min((worker.cpu_s - first.cpu_s) / passed_s, 1.0) if is_known else None
        return WorkerNow(*worker[:4], round(rate, 2), None if busy is None else round(busy, 3))
