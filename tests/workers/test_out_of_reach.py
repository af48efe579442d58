"""Workers that are begun and not there yet, and workers that are out of reach: nothing waits for the first, and nothing
is asked for again while the second may be at it."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any

import pytest

from orienteer.fake_web.server import FakeWeb
from orienteer.fetch.settings import FetchSettings
from orienteer.pages.outcome import Outcome
from orienteer.processes.child import Child
from orienteer.workers.pool import Pool
from orienteer.workers.processes import Event, Processes
from orienteer.workers.received import Reading
from tests.workers.test_pool import Pages, finished, requests, rest, urls

pytestmark = pytest.mark.usefixtures("ready_child_processes")

LINGERS_S = 2.0


@pytest.fixture(scope="module")
def settings() -> Iterator[FetchSettings]:
    with FakeWeb(Pages()) as web:
        yield FetchSettings(connect_to=web.address, timeout_s=60.0)


class Doubtful(Processes):
    """Nobody knows whether a worker that is gone is dead."""

    def wait(self, workers: Sequence[Child], timeout_s: float) -> list[Event]:
        events = super().wait(workers, timeout_s)
        until = time.monotonic() + LINGERS_S
        return [event if event.results is not None else event._replace(busy_until=until) for event in events]


class Crowded(Processes):
    """There is room for one worker alone: all others wait for ever."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.begun: list[Child] = []

    def begin(self) -> Child:
        self.begun.append(super().begin())
        return self.begun[-1]

    def wait(self, workers: Sequence[Child], timeout_s: float) -> list[Event]:
        return super().wait([worker for worker in workers if worker is self.begun[0]], timeout_s)


@contextmanager
def with_a_dead_worker(settings: FetchSettings) -> Iterator[tuple[Pool, float]]:
    """A pool whose worker was killed with 20 requests in hand, and the time of that."""
    with closing(Pool(Doubtful(settings, Reading()), 1, 60.0, asks_web=True)) as pool:
        assert len(finished(pool, requests(urls(3)))) == 3
        os.kill(pool.figures()[0].process, signal.SIGSTOP)
        for request in requests(urls(20)):
            pool.start(request)
        pool.poll(0.0)
        killed = time.monotonic()
        os.kill(pool.figures()[0].process, signal.SIGKILL)
        while not pool.n_died:
            assert not pool.poll(0.1)
        yield pool, killed


def test_what_may_be_under_way_is_lost_when_it_is_over(settings: FetchSettings) -> None:
    with with_a_dead_worker(settings) as (pool, killed):
        assert pool.n_under_way == 20
        found = rest(pool)
        assert time.monotonic() >= killed + LINGERS_S
        assert {answer.outcome for answer in found.values()} == {Outcome.LOST}
        assert len(found) == 20


def test_cancelled_it_comes_back_at_once(settings: FetchSettings) -> None:
    with with_a_dead_worker(settings) as (pool, _):
        pool.cancel()
        assert len(pool.poll(0.0)) == 20
        assert pool.n_under_way == 0


def test_the_work_goes_to_those_that_are_there(settings: FetchSettings) -> None:
    with closing(Pool(Crowded(settings, Reading()), 4, 60.0, asks_web=True)) as pool:
        assert len(finished(pool, requests(urls(60)))) == 60
        figures = pool.figures()
        assert [worker.n_answers for worker in figures] == [60] + [0] * (len(figures) - 1)
        assert len(figures) == 4
