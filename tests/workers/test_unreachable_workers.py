"""Workers that are not ready yet get no requests, and requests of unreachable workers are not retried while the worker
may still be fetching them."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any

import pytest

from orienteer.fetch.settings import FetchSettings
from orienteer.pages.outcome import Outcome
from orienteer.processes.child import Child
from orienteer.workers.fetch_result import ReadSettings
from orienteer.workers.remote_workers import ProcessBackend, RemoteWorkers, WorkerEvent
from tests.fake_web.server import FakeWeb
from tests.workers.test_pool import Pages, drained, finished, requests, urls

pytestmark = pytest.mark.usefixtures("ready_child_processes")

BUSY_S = 2.0


@pytest.fixture(scope="module")
def settings() -> Iterator[FetchSettings]:
    with FakeWeb(Pages()) as web:
        yield FetchSettings(connect_to=web.address, timeout_s=60.0)


class UncertainBackend(ProcessBackend):
    """It is uncertain whether a lost worker is still running."""

    def wait(self, workers: Sequence[Child], timeout_s: float) -> list[WorkerEvent]:
        events = super().wait(workers, timeout_s)
        until = time.monotonic() + BUSY_S
        return [event if event.results is not None else event._replace(busy_until=until) for event in events]


class FullCluster(ProcessBackend):
    """There is room for one worker only: all others wait forever."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.started: list[Child] = []

    def begin(self) -> Child:
        self.started.append(super().begin())
        return self.started[-1]

    def wait(self, workers: Sequence[Child], timeout_s: float) -> list[WorkerEvent]:
        return super().wait([worker for worker in workers if worker is self.started[0]], timeout_s)


@contextmanager
def pool_with_killed_worker(settings: FetchSettings) -> Iterator[tuple[RemoteWorkers, float]]:
    """A pool whose worker was killed with 20 requests in flight, and the time of that."""
    with closing(RemoteWorkers(UncertainBackend(settings, ReadSettings()), 1, 60.0, uses_network=True)) as pool:
        assert len(finished(pool, requests(urls(3)))) == 3
        os.kill(pool.figures()[0].process, signal.SIGSTOP)
        for request in requests(urls(20)):
            pool.start(request)
        pool.poll(0.0)
        killed = time.monotonic()
        os.kill(pool.figures()[0].process, signal.SIGKILL)
        while not pool.n_crashed:
            assert not pool.poll(0.1)
        yield pool, killed


def test_requests_of_an_unreachable_worker_are_lost_after_their_timeout(settings: FetchSettings) -> None:
    with pool_with_killed_worker(settings) as (pool, killed):
        assert pool.n_in_flight == 20
        found = drained(pool)
        assert time.monotonic() >= killed + BUSY_S
        assert {response.outcome for response in found.values()} == {Outcome.LOST}
        assert len(found) == 20


def test_cancelled_requests_of_an_unreachable_worker_return_at_once(settings: FetchSettings) -> None:
    with pool_with_killed_worker(settings) as (pool, _):
        pool.cancel()
        assert len(pool.poll(0.0)) == 20
        assert pool.n_in_flight == 0


def test_requests_go_to_workers_that_are_ready(settings: FetchSettings) -> None:
    with closing(RemoteWorkers(FullCluster(settings, ReadSettings()), 4, 60.0, uses_network=True)) as pool:
        assert len(finished(pool, requests(urls(60)))) == 60
        figures = pool.figures()
        assert [worker.n_responses for worker in figures] == [60] + [0] * (len(figures) - 1)
        assert len(figures) == 4
