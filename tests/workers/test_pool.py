"""Worker processes give the same results as an inline worker, and a crash loses no request."""

from __future__ import annotations

import gzip
import os
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace

import pytest

from orienteer.errors import ProcessError
from orienteer.fetch import fetcher as loop_clock
from orienteer.fetch.fetcher import make_fetcher
from orienteer.fetch.settings import FetchSettings
from orienteer.pages.outcome import Outcome
from orienteer.responses.response import HostRequest, HostRequestKind, PageRequest, Request
from orienteer.store.archive_members import ACKNOWLEDGED
from orienteer.store.record import ArchivedPage, page_of
from orienteer.workers.fetch_result import FetchResult, ReadSettings
from orienteer.workers.remote_workers import ProcessBackend, RemoteWorkers, WorkerEvent, _without_response
from orienteer.workers.serving import WorkerResults, packed, unpack_orders
from orienteer.workers.worker import Worker, Workers
from tests.fake_web.fake_response import FakeResponse
from tests.fake_web.server import FakeWeb
from tests.fake_web.site import RequestHeaders, Site
from tests.processes.jobs import is_alive
from tests.workers.crashing_workers import CrashingBackend, FailingBackend, FailingFirstBackend

pytestmark = [pytest.mark.long, pytest.mark.usefixtures("ready_child_processes")]

HOSTS = ("a.example", "b.example", "c.example")
READINGS = {
    "as by default": ReadSettings(),
    "links only": ReadSettings(signatures=False, records=False),
    "everything": ReadSettings(texts=True, full_responses=True, revisits=True),
}


class Pages(Site):
    """Any page, with words and links that depend on its name; some redirect, some are missing, some are images."""

    def response(self, host: str, target: str, headers: RequestHeaders) -> FakeResponse:
        if "moved" in target:
            return FakeResponse("", status=302, headers=(("Location", "/target"),))
        if "missing" in target:
            return FakeResponse("there is no such page", status=404)
        if "picture" in target:
            return FakeResponse(b"\x89PNG\r\n\x1a\n", content_type="image/png")
        words = " ".join(f"{word}{target}" for word in ("one", "two", "three", "four", "five") * 10)
        links = "".join(f"<a href='{target}/{k}'>link {k}</a>" for k in range(5))
        return FakeResponse(f"<title>{target}</title><h1>{host}</h1><p>{words}{links}", headers=(("ETag", '"1"'),))


@pytest.fixture(scope="module")
def web() -> Iterator[FakeWeb]:
    with FakeWeb(Pages()) as web:
        yield web


@pytest.fixture(scope="module")
def settings(web: FakeWeb) -> FetchSettings:
    return FetchSettings(connect_to=web.address, timeout_s=60.0)


def urls(n: int) -> list[str]:
    kinds = ("page", "moved", "missing", "picture", "robots.txt")
    return [f"http://{HOSTS[k % 3]}/{kinds[k % len(kinds)]}-{k}" for k in range(n)]


def requests(names: list[str]) -> list[Request]:
    return [
        HostRequest(url, HostRequestKind.ROBOTS) if "robots" in url else PageRequest(url, k)
        for k, url in enumerate(names)
    ]


def finished(workers: Workers, asked: list[Request]) -> dict[str, FetchResult]:
    """All results by URL; each request returns once."""
    for request in asked:
        workers.start(request)
    return drained(workers)


def drained(workers: Workers) -> dict[str, FetchResult]:
    found: dict[str, FetchResult] = {}
    while workers.n_in_flight:
        for response in workers.poll(1.0):
            assert response.request.url not in found
            found[response.request.url] = response
    return found


def comparable(response: FetchResult) -> FetchResult:
    """Without the fields that differ each time: times, and the record with its id."""
    response = replace(response, started_at=0.0, duration_s=0.0, record=None, revisit=None)
    if response.full_response is not None:
        whole = replace(
            response.full_response,
            started_at=0.0,
            duration_s=0.0,
            headers=tuple(response.full_response.headers.items()),
        )  # type: ignore[arg-type]
        response.full_response = whole
    return response


def archived(record: bytes) -> ArchivedPage:
    return page_of(record)._replace(time=0.0, duration_s=None)


@pytest.mark.parametrize("wanted", READINGS)
def test_processes_do_what_one_worker_does(settings: FetchSettings, wanted: str) -> None:
    reading, asked = READINGS[wanted], requests(urls(60))
    with closing(Worker(make_fetcher(settings), reading)) as worker:
        expected = finished(worker, asked)
    with closing(RemoteWorkers(ProcessBackend(settings, reading), 2, 60.0, uses_network=True)) as pool:
        found = finished(pool, asked)
        assert len(pool.figures()) == 2
        assert sum(figures.n_responses for figures in pool.figures()) == 60
    assert found.keys() == expected.keys()
    for url, response in found.items():
        other = expected[url]
        assert comparable(response) == comparable(other)
        assert (response.record is None) == (other.record is None)
        if response.record is not None and other.record is not None:
            assert archived(response.record) == archived(other.record)


def test_records_say_what_the_archive_wants_of_them(settings: FetchSettings) -> None:
    with closing(RemoteWorkers(ProcessBackend(settings, ReadSettings()), 1, 60.0, uses_network=True)) as pool:
        for k in range(3):
            pool.record_headers = {ACKNOWLEDGED: f"0 {k}"}
            (response,) = finished(pool, [PageRequest(f"http://a.example/page-{k}", k)]).values()
            assert response.record is not None
            assert f"{ACKNOWLEDGED}: 0 {k}\r\n".encode() in gzip.decompress(response.record)


def test_requests_of_a_killed_worker_are_lost_and_retried(settings: FetchSettings) -> None:
    with closing(RemoteWorkers(ProcessBackend(settings, ReadSettings()), 2, 60.0, uses_network=True)) as pool:
        assert len(finished(pool, requests(urls(30)))) == 30
        for request in requests(urls(20)):
            pool.start(request)
        os.kill(pool.figures()[0].process, signal.SIGKILL)
        found = drained(pool)
        lost = [response.request for response in found.values() if response.outcome is Outcome.LOST]
        assert len(found) == 20
        assert {response.detail for response in found.values() if response.outcome is Outcome.LOST} <= {
            "killed by SIGKILL"
        }
        again = finished(pool, lost)
        assert all(response.outcome is not Outcome.LOST for response in again.values())
        while not pool.n_crashed:  # it may have had no requests
            assert pool.poll(1.0) == []
        assert pool.n_crashed == 1


def test_a_page_that_crashes_workers_is_unreadable_and_others_are_not(settings: FetchSettings) -> None:
    names = [f"http://a.example/page-{k}" for k in range(12)]
    names[5] = "http://a.example/deadly"
    with closing(RemoteWorkers(CrashingBackend(settings, ReadSettings()), 2, 60.0, uses_network=True)) as pool:
        waiting, done = requests(names), {}
        while waiting:
            found = finished(pool, waiting)
            waiting = [response.request for response in found.values() if response.outcome is Outcome.LOST]
            done |= {url: response.outcome for url, response in found.items() if response.outcome is not Outcome.LOST}
        assert done.pop("http://a.example/deadly") is Outcome.UNREADABLE
        assert set(done.values()) == {Outcome.OK}
        assert len(done) == 11
        assert pool.n_crashed == 5  # two with other requests in flight, three isolated


def test_a_robots_txt_that_crashes_workers_is_unreadable(settings: FetchSettings) -> None:
    request = HostRequest("http://a.example/deadly/robots.txt", HostRequestKind.ROBOTS)
    with closing(RemoteWorkers(CrashingBackend(settings, ReadSettings()), 2, 60.0, uses_network=True)) as pool:
        outcome = Outcome.LOST
        while outcome is Outcome.LOST:
            ((_, response),) = finished(pool, [request]).items()
            outcome = response.outcome
        assert outcome is Outcome.UNREADABLE
        assert response.full_response is not None
        assert response.full_response.outcome is Outcome.UNREADABLE


def test_a_worker_that_does_not_respond_is_killed(settings: FetchSettings) -> None:
    """The coordinator enforces the timeout, and late results are ignored."""
    with closing(
        RemoteWorkers(CrashingBackend(settings, ReadSettings()), 1, 1.0, uses_network=True, grace_s=1.0)
    ) as pool:
        process = pool.figures()[0].process
        found = finished(pool, requests(["http://a.example/page", "http://a.example/stuck"]))
        assert found["http://a.example/stuck"].outcome is Outcome.LOST
        assert "no response for 2 s" in found["http://a.example/stuck"].detail
        assert not is_alive(process)


def test_nothing_waits_for_a_worker_that_does_not_read(settings: FetchSettings) -> None:
    """However much there is to send."""
    with closing(
        RemoteWorkers(ProcessBackend(settings, ReadSettings()), 1, 1.0, uses_network=True, grace_s=1.0)
    ) as pool:
        while finished(pool, requests(urls(1)))[urls(1)[0]].outcome is Outcome.LOST:
            pass  # a busy machine is slow
        process = pool.figures()[0].process
        os.kill(process, signal.SIGSTOP)
        found = finished(pool, requests([f"http://a.example/{k}-{'x' * 2000}" for k in range(1000)]))
        assert {response.outcome for response in found.values()} == {Outcome.LOST}
        assert not is_alive(process)


def test_cancelled_requests_come_back_at_once(settings: FetchSettings) -> None:
    with closing(RemoteWorkers(ProcessBackend(settings, ReadSettings()), 2, 60.0, uses_network=True)) as pool:
        for request in requests(urls(20)):
            pool.start(request)
        pool.cancel()
        assert pool.n_in_flight == 20
        assert {response.outcome for response in pool.poll(0.0)} == {Outcome.CANCELLED}
        assert pool.n_in_flight == 0
        # The same requests again: late results of the cancelled ones are ignored.
        assert Outcome.CANCELLED not in {response.outcome for response in finished(pool, requests(urls(20))).values()}


def test_workers_that_crash_before_they_are_ready_raise_one_line(settings: FetchSettings) -> None:
    with (
        closing(RemoteWorkers(FailingBackend(settings, ReadSettings()), 2, 60.0, uses_network=True)) as pool,
        pytest.raises(ProcessError, match="workers crash before they are ready: ValueError: nothing works here"),
    ):
        while True:
            finished(pool, requests(urls(3)))


def test_workers_that_crash_together_at_start_are_restarted(settings: FetchSettings) -> None:
    with closing(RemoteWorkers(FailingFirstBackend(settings, ReadSettings(), 4), 4, 60.0, uses_network=True)) as pool:
        assert len(finished(pool, requests(urls(20)))) == 20
        assert pool.n_crashed == 4


def test_sticky_hosts_keep_their_worker_and_close_leaves_no_process(settings: FetchSettings) -> None:
    with closing(
        RemoteWorkers(ProcessBackend(settings, ReadSettings()), 2, 60.0, uses_network=True, sticky_hosts=True)
    ) as pool:
        finished(pool, requests([f"http://a.example/page-{k}" for k in range(50)]))
        assert sorted(figures.n_responses for figures in pool.figures()) == [0, 50]
        for request in requests(urls(40)):
            pool.start(request)
        pool.poll(0.0)
        processes = [figures.process for figures in pool.figures()]
        assert len(processes) == 2
    assert not any(is_alive(process) for process in processes)


class SlowBackend:
    """One worker whose results arrive one by one, however long the pool was not polled."""

    start_s = 60.0

    def __init__(self) -> None:
        self.asked: list[tuple[int, Request]] = []
        self.is_started = False
        self.n_ended = 0

    def begin(self) -> object:
        return self

    def send(self, worker: object, orders: bytes) -> None:
        self.asked += unpack_orders(orders).requests

    def wait(self, workers: Sequence[object], timeout_s: float) -> list[WorkerEvent]:
        responses = []
        if self.is_started and self.asked:
            number, request = self.asked.pop(0)
            responses = [(number, _without_response(request, Outcome.CANCELLED))]
        self.is_started = True
        return [WorkerEvent(self, packed(WorkerResults(responses)))]

    def end(self, worker: object, at_once: bool) -> None:
        self.n_ended += 1

    def location(self, worker: object) -> tuple[str, int]:
        return "here", 0


def test_a_blocked_loop_times_out_no_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop_clock, "_MAX_STEP_S", 0.0)
    worker = SlowBackend()
    pool = RemoteWorkers(worker, 1, timeout_s=0.1, uses_network=True, grace_s=0.1)
    assert pool.poll(0.0) == []
    for page in range(3):
        pool.start(PageRequest(f"http://a.test/{page}", page))
    found = pool.poll(0.0)
    time.sleep(0.5)
    while pool.n_in_flight:
        found += pool.poll(0.0)
    assert {response.outcome for response in found} == {Outcome.CANCELLED}
    assert (len(found), pool.n_crashed, worker.n_ended) == (3, 0, 0)
