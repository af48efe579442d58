"""Workers in other processes do what one does here; and when they die, nothing is lost but their time."""

from __future__ import annotations

import gzip
import os
import signal
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace

import pytest

from orienteer.answers.answer import Request
from orienteer.errors import ProcessError
from orienteer.fake_web.answers import Answer
from orienteer.fake_web.server import FakeWeb
from orienteer.fake_web.site import RequestHeaders, Site
from orienteer.fetch.choice import make_fetcher
from orienteer.fetch.settings import FetchSettings
from orienteer.pages.outcome import Outcome
from orienteer.store.archive_tail import ACKNOWLEDGED
from orienteer.store.record import ArchivedPage, page_of
from orienteer.workers.pool import Pool
from orienteer.workers.processes import Processes
from orienteer.workers.received import Reading, Received
from orienteer.workers.worker import Worker, Workers
from tests.processes.readings import is_alive
from tests.workers.deadly import DeadlyProcesses, FailingAtFirst, FailingProcesses

pytestmark = [pytest.mark.long, pytest.mark.usefixtures("ready_child_processes")]

HOSTS = ("a.example", "b.example", "c.example")
READINGS = {
    "as by default": Reading(),
    "links only": Reading(signs=False, records=False),
    "everything": Reading(words=True, whole=True, revisits=True),
}


class Pages(Site):
    """Any page, with words and links that its name decides; some redirect, some are missing, some are pictures."""

    def answer(self, host: str, target: str, headers: RequestHeaders) -> Answer:
        if "moved" in target:
            return Answer("", status=302, headers=(("Location", "/elsewhere"),))
        if "missing" in target:
            return Answer("there is no such page", status=404)
        if "picture" in target:
            return Answer(b"\x89PNG\r\n\x1a\n", content_type="image/png")
        words = " ".join(f"{word}{target}" for word in ("one", "two", "three", "four", "five") * 10)
        links = "".join(f"<a href='{target}/{k}'>link {k}</a>" for k in range(5))
        return Answer(f"<title>{target}</title><h1>{host}</h1><p>{words}{links}", headers=(("ETag", '"1"'),))


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
    return [Request(url, k, any_type="robots" in url) for k, url in enumerate(names)]


def finished(workers: Workers, asked: list[Request]) -> dict[str, Received]:
    """All answers, by URL; each request comes back once."""
    for request in asked:
        workers.start(request)
    return rest(workers)


def rest(workers: Workers) -> dict[str, Received]:
    found: dict[str, Received] = {}
    while workers.n_under_way:
        for answer in workers.poll(1.0):
            assert answer.request.url not in found
            found[answer.request.url] = answer
    return found


def comparable(answer: Received) -> Received:
    """Without what is another one each time: the moment, and what names the record."""
    answer = replace(answer, started_at=0.0, duration_s=0.0, record=None, revisited=None)
    if answer.whole is not None:
        whole = replace(answer.whole, started_at=0.0, duration_s=0.0, headers=tuple(answer.whole.headers.items()))  # type: ignore[arg-type]
        answer.whole = whole
    return answer


def archived(record: bytes) -> ArchivedPage:
    return page_of(record)._replace(time=0.0, duration_s=None)


@pytest.mark.parametrize("wanted", READINGS)
def test_processes_do_what_one_worker_does(settings: FetchSettings, wanted: str) -> None:
    reading, asked = READINGS[wanted], requests(urls(60))
    with closing(Worker(make_fetcher(settings), reading)) as worker:
        expected = finished(worker, asked)
    with closing(Pool(Processes(settings, reading), 2, 60.0, asks_web=True)) as pool:
        found = finished(pool, asked)
        assert len(pool.figures()) == 2
        assert sum(figures.n_answers for figures in pool.figures()) == 60
    assert found.keys() == expected.keys()
    for url, answer in found.items():
        other = expected[url]
        assert comparable(answer) == comparable(other)
        assert (answer.record is None) == (other.record is None)
        if answer.record is not None and other.record is not None:
            assert archived(answer.record) == archived(other.record)


def test_records_say_what_the_archive_wants_of_them(settings: FetchSettings) -> None:
    with closing(Pool(Processes(settings, Reading()), 1, 60.0, asks_web=True)) as pool:
        for k in range(3):
            pool.record_headers = {ACKNOWLEDGED: f"0 {k}"}
            (answer,) = finished(pool, [Request(f"http://a.example/page-{k}", k)]).values()
            assert answer.record is not None
            assert f"{ACKNOWLEDGED}: 0 {k}\r\n".encode() in gzip.decompress(answer.record)


def test_what_a_killed_worker_had_in_hand_is_lost_and_asked_again(settings: FetchSettings) -> None:
    with closing(Pool(Processes(settings, Reading()), 2, 60.0, asks_web=True)) as pool:
        assert len(finished(pool, requests(urls(30)))) == 30
        for request in requests(urls(20)):
            pool.start(request)
        os.kill(pool.figures()[0].process, signal.SIGKILL)
        found = rest(pool)
        lost = [answer.request for answer in found.values() if answer.outcome is Outcome.LOST]
        assert len(found) == 20
        assert {answer.detail for answer in found.values() if answer.outcome is Outcome.LOST} <= {"killed by SIGKILL"}
        again = finished(pool, lost)
        assert all(answer.outcome is not Outcome.LOST for answer in again.values())
        while not pool.n_died:  # it may have had nothing in hand
            assert pool.poll(1.0) == []
        assert pool.n_died == 1


def test_a_page_that_kills_workers_costs_that_page_alone(settings: FetchSettings) -> None:
    names = [f"http://a.example/page-{k}" for k in range(12)]
    names[5] = "http://a.example/deadly"
    with closing(Pool(DeadlyProcesses(settings, Reading()), 2, 60.0, asks_web=True)) as pool:
        waiting, done = requests(names), {}
        while waiting:
            found = finished(pool, waiting)
            waiting = [answer.request for answer in found.values() if answer.outcome is Outcome.LOST]
            done |= {url: answer.outcome for url, answer in found.items() if answer.outcome is not Outcome.LOST}
        assert done.pop("http://a.example/deadly") is Outcome.UNREADABLE
        assert set(done.values()) == {Outcome.OK}
        assert len(done) == 11
        assert pool.n_died == 5  # two of them with others in hand, three with this one alone


def test_a_robots_txt_that_kills_workers_is_out_of_reach(settings: FetchSettings) -> None:
    request = Request("http://a.example/deadly/robots.txt", 0, any_type=True)
    with closing(Pool(DeadlyProcesses(settings, Reading()), 2, 60.0, asks_web=True)) as pool:
        outcome = Outcome.LOST
        while outcome is Outcome.LOST:
            ((_, answer),) = finished(pool, [request]).items()
            outcome = answer.outcome
        assert outcome is Outcome.UNREADABLE
        assert answer.whole is not None
        assert answer.whole.outcome is Outcome.UNREADABLE


def test_a_worker_that_does_not_answer_is_ended(settings: FetchSettings) -> None:
    """The crawl waits no longer than it wants to, and what the worker says later is not heard."""
    with closing(Pool(DeadlyProcesses(settings, Reading()), 1, 1.0, asks_web=True, grace_s=1.0)) as pool:
        process = pool.figures()[0].process
        found = finished(pool, requests(["http://a.example/page", "http://a.example/stuck"]))
        assert found["http://a.example/stuck"].outcome is Outcome.LOST
        assert "no answer for 2 s" in found["http://a.example/stuck"].detail
        assert not is_alive(process)


def test_nothing_waits_for_a_worker_that_does_not_read(settings: FetchSettings) -> None:
    """However much there is to send."""
    with closing(Pool(Processes(settings, Reading()), 1, 1.0, asks_web=True, grace_s=1.0)) as pool:
        while finished(pool, requests(urls(1)))[urls(1)[0]].outcome is Outcome.LOST:
            pass  # a busy machine takes its time
        process = pool.figures()[0].process
        os.kill(process, signal.SIGSTOP)
        found = finished(pool, requests([f"http://a.example/{k}-{'x' * 2000}" for k in range(1000)]))
        assert {answer.outcome for answer in found.values()} == {Outcome.LOST}
        assert not is_alive(process)


def test_cancelled_requests_come_back_at_once(settings: FetchSettings) -> None:
    with closing(Pool(Processes(settings, Reading()), 2, 60.0, asks_web=True)) as pool:
        for request in requests(urls(20)):
            pool.start(request)
        pool.cancel()
        assert pool.n_under_way == 20
        assert {answer.outcome for answer in pool.poll(0.0)} == {Outcome.CANCELLED}
        assert pool.n_under_way == 0
        # The same requests again: what was under way before does not come through.
        assert Outcome.CANCELLED not in {answer.outcome for answer in finished(pool, requests(urls(20))).values()}


def test_workers_that_die_before_they_begin_are_one_clear_line(settings: FetchSettings) -> None:
    with (
        closing(Pool(FailingProcesses(settings, Reading()), 2, 60.0, asks_web=True)) as pool,
        pytest.raises(ProcessError, match="workers die before they have begun: ValueError: nothing works here"),
    ):
        while True:
            finished(pool, requests(urls(3)))


def test_workers_that_die_together_before_they_begin_are_begun_again(settings: FetchSettings) -> None:
    with closing(Pool(FailingAtFirst(settings, Reading(), 4), 4, 60.0, asks_web=True)) as pool:
        assert len(finished(pool, requests(urls(20)))) == 20
        assert pool.n_died == 4


def test_a_host_keeps_its_worker_where_it_has_cookies_and_none_is_left_behind(settings: FetchSettings) -> None:
    with closing(Pool(Processes(settings, Reading()), 2, 60.0, asks_web=True, sticks=True)) as pool:
        finished(pool, requests([f"http://a.example/page-{k}" for k in range(50)]))
        assert sorted(figures.n_answers for figures in pool.figures()) == [0, 50]
        for request in requests(urls(40)):
            pool.start(request)
        pool.poll(0.0)
        processes = [figures.process for figures in pool.figures()]
        assert len(processes) == 2
    assert not any(is_alive(process) for process in processes)
