"""Workers in the figures of a crawl, and their description."""

from __future__ import annotations

from orienteer.inspect.figures import WorkerNow, describe_workers
from orienteer.live.figures import WorkerRates
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


def test_describe_workers() -> None:
    several = [
        WorkerNow(where, process, 1, 9, rate, busy)
        for where, process, rate, busy in (("a", 1, 100.2, 0.9), ("b", 2, 50.0, 0.5), ("b", 3, 0.0, None))
    ]
    assert describe_workers(several, 0) == "3 processes on 2 machines, 150 responses/s, 70 % busy"
    assert describe_workers(several[:1], 2) == "1 process, 100 responses/s, 90 % busy; 2 crashed and were replaced"
    assert several[0].name == "a, process 1"


def test_a_crawl_in_one_process_says_nothing_of_it() -> None:
    assert describe_workers([WorkerNow("here", 0, 1, 9, 10.0, 0.2)], 0) == ""
