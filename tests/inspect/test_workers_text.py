"""Workers in the figures of a crawl, and their description."""

from __future__ import annotations

from orienteer.inspect.workers_text import describe_workers, workers_of
from orienteer.live.worker_rates import WorkerRates
from orienteer.workers.worker import WorkerFigures


def test_rates_are_of_the_last_seconds() -> None:
    rates = WorkerRates()
    for second in range(20):
        # Ten answers a second at first, then two; half a core all the time.
        n_responses = 10 * min(second, 10) + 2 * max(second - 10, 0)
        (now,) = rates.now([WorkerFigures("a", 7, 3, n_responses, 1.0 + second / 2)], float(second))
    assert (now.where, now.process, now.n_in_flight, now.n_responses) == ("a", 7, 3, 118)
    assert now.responses_per_s == 2.0
    assert now.busy == 0.5


def test_a_replaced_worker_begins_again() -> None:
    rates = WorkerRates()
    rates.now([WorkerFigures("a", 7, 0, 100, 5.0)], 0.0)
    (now,) = rates.now([WorkerFigures("a", 8, 0, 4, 1.0)], 1.0)
    assert (now.responses_per_s, now.busy) == (0.0, None)


def figures_with(*workers: tuple[str, int, float, float | None]) -> dict[str, object]:
    return {
        "workers": [
            {"where": where, "process": process, "busy": busy, "n_in_flight": 1, "n_responses": 9}
            | {"responses_per_s": rate}
            for where, process, rate, busy in workers
        ]
    }


def test_describe_workers() -> None:
    several = workers_of(figures_with(("a", 1, 100.2, 0.9), ("b", 2, 50.0, 0.5), ("b", 3, 0.0, None)))
    assert describe_workers(several, 0) == "3 processes on 2 machines, 150 responses/s, 70 % busy"
    assert describe_workers(several[:1], 2) == "1 process, 100 responses/s, 90 % busy; 2 crashed and were replaced"
    assert several[0].name == "a, process 1"


def test_a_crawl_in_one_process_says_nothing_of_it() -> None:
    assert describe_workers(workers_of(figures_with(("here", 0, 10.0, 0.2))), 0) == ""
    assert workers_of({}) == ()
