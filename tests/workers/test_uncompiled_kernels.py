"""A worker whose kernels are not compiled yet parses pages as plain Python and goes on fetching."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from orienteer import kernel_folder
from orienteer.fetch.fetcher import make_fetcher
from orienteer.fetch.settings import FetchSettings
from orienteer.kernel import never_waiting, runs_plain, substituted
from orienteer.pages.outcome import Outcome
from orienteer.processes.child import Child
from orienteer.responses.response import PageRequest, Response
from orienteer.store.record import page_of
from orienteer.workers import worker as worker_module
from orienteer.workers.fetch_result import FetchResult, ReadSettings, read_response
from orienteer.workers.serving import reading_kernels, warm_up_reading
from orienteer.workers.worker import Worker
from tests.fake_web.server import FakeWeb
from tests.fake_web.site import MadeSite

LARGE, SMALL = "http://a.test/large", "http://a.test/small"
WORDS = " ".join(f"word{k} <a href=/{k}>link {k}</a>" for k in range(8_000))
PAGES = {LARGE: f"<title>Large</title><p>{WORDS}", SMALL: "<title>Small</title><a href=/large>large</a>"}


class NeverCompiled:
    def poll(self) -> None:
        return None

    def wait(self) -> None:
        raise AssertionError("no worker may wait for the kernels")


@pytest.fixture(scope="module")
def settings() -> Iterator[FetchSettings]:
    with FakeWeb(MadeSite(PAGES)) as web:
        yield FetchSettings(connect_to=web.address)


def received(worker: Worker, n: int) -> dict[str, FetchResult]:
    found: list[FetchResult] = []
    while len(found) < n:
        found += worker.poll(60.0)
    return {response.request.url: response for response in found}


def test_others_do_not_wait_for_a_large_page(settings: FetchSettings, monkeypatch: pytest.MonkeyPatch) -> None:
    go_on = threading.Event()

    def slowly(response: Response, *arguments: object) -> FetchResult:
        if response.request.url == LARGE:
            go_on.wait()
        return read_response(response, *arguments)  # type: ignore[arg-type]

    with closing(Worker(make_fetcher(settings), ReadSettings())) as worker:
        worker.start(PageRequest(LARGE, 0))
        compiled = received(worker, 1)[LARGE]
    monkeypatch.setattr(worker_module, "read_response", slowly)
    with (
        closing(Worker(make_fetcher(settings), ReadSettings())) as worker,
        substituted(NeverCompiled()),
        never_waiting(),
    ):
        worker.start(PageRequest(LARGE, 0))
        while not worker.n_reading:
            assert worker.poll(60.0) == []
        worker.start(PageRequest(SMALL, 1))
        assert received(worker, 1)[SMALL].outcome is Outcome.OK
        assert worker.n_in_flight == 1
        go_on.set()
        plain = received(worker, 1)[LARGE]
        assert worker.n_in_flight == 0
    assert comparable(plain) == comparable(compiled)
    assert plain.record is not None
    assert compiled.record is not None
    assert page_of(plain.record).body == page_of(compiled.record).body


REQUEST = PageRequest(LARGE, 0)


def comparable(response: FetchResult) -> FetchResult:
    return replace(response, request=REQUEST, started_at=0.0, duration_s=0.0, record=None)


def test_a_large_page_that_is_read_can_be_cancelled(settings: FetchSettings, monkeypatch: pytest.MonkeyPatch) -> None:
    go_on = threading.Event()

    def slowly(response: Response, *arguments: object) -> FetchResult:
        if response.content:  # a cancelled response has none
            go_on.wait()
        return read_response(response, *arguments)  # type: ignore[arg-type]

    with (
        closing(Worker(make_fetcher(settings), ReadSettings())) as worker,
        substituted(NeverCompiled()),
        never_waiting(),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(worker_module, "read_response", slowly)
            worker.start(PageRequest(LARGE, 0))
            while not worker.n_reading:
                assert worker.poll(60.0) == []
            worker.cancel()
            assert [response.outcome for response in worker.poll(60.0)] == [Outcome.CANCELLED]
        go_on.set()
        worker.start(PageRequest(SMALL, 1))
        assert received(worker, 1).keys() == {SMALL}


def test_errors_in_the_thread_are_raised(settings: FetchSettings, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(response: Response, *arguments: object) -> FetchResult:
        raise RuntimeError("no reading today")

    monkeypatch.setattr(worker_module, "read_response", failing)
    with (
        closing(Worker(make_fetcher(settings), ReadSettings())) as worker,
        substituted(NeverCompiled()),
        never_waiting(),
    ):
        worker.start(PageRequest(LARGE, 0))
        with pytest.raises(RuntimeError, match="no reading today"):
            received(worker, 1)


def report_reading(channel: Connection, folder: Path) -> None:
    """Parse a page in a process with this kernel cache and send the links, whether kernels are plain, and the files."""
    kernel_folder.use_folder(folder)
    with reading_kernels():
        page, _ = warm_up_reading()
        channel.send((page.links, runs_plain(), sorted(path.name for path in folder.rglob("*.nb?"))))


def read_in_process(folder: Path) -> tuple[list[str], bool, list[str]]:
    with closing(Child(report_reading, folder)) as child:
        report: tuple[list[str], bool, list[str]] = child.channel.recv()
    return report


def test_a_worker_process_compiles_nothing(tmp_path: Path) -> None:
    links, is_plain, files = read_in_process(tmp_path)
    assert is_plain
    assert files == []
    assert links == warm_up_reading()[0].links


def test_a_worker_process_loads_kernels_from_the_cache() -> None:
    warm_up_reading()
    folder = kernel_folder.folder()
    assert folder is not None
    assert not read_in_process(folder)[1]
