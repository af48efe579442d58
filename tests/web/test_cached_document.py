"""Documents that are made in the background, and again when the crawl has changed."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from orienteer.errors import CrawlFolderError, InputError
from orienteer.progress import Progress
from orienteer.store.folder import CrawlFolder
from orienteer.web.cached_document import CachedDocument, DocumentState, NotReadyError
from tests.report.handmade import handmade_crawl


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return handmade_crawl(tmp_path / "crawl")


class Maker:
    """Makes a document, once it may."""

    def __init__(self) -> None:
        self.n_made = 0
        self.may_end = threading.Event()

    def __call__(self, folder: Path, progress: Progress) -> str:
        progress("reading", 1, 2)
        assert self.may_end.wait(60)
        self.n_made += 1
        return f"number {self.n_made}"


def grow(folder: Path) -> None:
    with CrawlFolder.open(folder) as crawl:
        urls, history = crawl.database.urls, crawl.database.history
        urls.add(urls.count(), ["https://a.test/new"])
        history.add_known(history.next_position(), [urls.count() - 1])
        crawl.acknowledge()


def wait_for(document: CachedDocument[str]) -> None:
    assert document._thread is not None
    document._thread.join(60)


def test_it_is_made_in_the_background(folder: Path) -> None:
    make = Maker()
    document = CachedDocument(folder, make, threading.Event())
    first = document.current(timeout_s=0.0)
    assert (first.value, first.problem) == (None, "")
    with pytest.raises(NotReadyError, match="This is being made"):
        first.expect()
    make.may_end.set()
    assert document.current(60) == DocumentState("number 1")
    assert document.current(60).expect() == "number 1"


@pytest.mark.parametrize("pause", [0.0, 1e-9])
def test_it_is_made_again_when_the_crawl_has_changed(folder: Path, pause: float) -> None:
    make = Maker()
    make.may_end.set()
    document = CachedDocument(folder, make, threading.Event(), pause)
    assert document.current(60).value == "number 1"
    make.may_end.clear()
    grow(folder)
    assert document.current(0.0).value == ("number 1" if pause else None), "without a pause it is never out of date"
    make.may_end.set()
    wait_for(document)
    assert document.current(60).value == "number 2"


def test_it_may_be_out_of_date_during_the_pause(folder: Path) -> None:
    make = Maker()
    make.may_end.set()
    document = CachedDocument(folder, make, threading.Event(), 10.0, least_pause_s=3600.0)
    document.current(60)
    grow(folder)
    assert document.current(60).value == "number 1"
    assert make.n_made == 1


def test_a_problem_is_returned_once(folder: Path) -> None:
    n_tried = 0

    def make(folder: Path, progress: Progress) -> str:
        nonlocal n_tried
        n_tried += 1
        raise InputError("there is no page")

    document = CachedDocument(folder, make, threading.Event())
    for n in (1, 2):
        with pytest.raises(CrawlFolderError, match="there is no page"):
            document.current(60).expect()
        assert n_tried == n
    problems = [document.current(0.0).problem]
    wait_for(document)
    problems.append(document.current(0.0).problem)
    assert "there is no page" in problems, "also if it took longer than a request waits"


def test_it_ends_with_the_server(folder: Path) -> None:
    ending, make = threading.Event(), Maker()
    ending.set()
    make.may_end.set()
    assert CachedDocument(folder, make, ending).current(60).value is None


def test_a_folder_without_a_crawl_is_a_problem(folder: Path) -> None:
    (folder / "crawl.db").unlink()
    problem = CachedDocument(folder, Maker(), threading.Event()).current(60).problem
    assert "crawl.db" in problem or "not a crawl folder" in problem
