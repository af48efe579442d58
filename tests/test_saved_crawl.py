"""Crawls from Python: one object that crawls, searches and reports; interrupted, resumed and cancelled."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import pytest

import orienteer as ori
from orienteer.errors import CrawlFolderError, ExportError, SeedError
from orienteer.graph.synthetic import synthetic_web
from orienteer.inspect.crawl_status import crawl_status
from orienteer.notebook import ProgressLine
from orienteer.pages.stop_reason import StopReason
from tests.fake_web.graph_site import GraphSite
from tests.fake_web.server import FakeWeb
from tests.fake_web.site import MadeSite
from tests.live.live_crawls import hub

pytestmark = pytest.mark.long

_Result = TypeVar("_Result")
HOME = "http://a.test/"
PAGES = {
    HOME: "<title>Town hall</title><p>Opening hours. <a href=/x>x</a> <a href=/y>y</a> <a href=/no>no</a>",
    "http://a.test/x": "<title>The iron bridge</title><p>The bridge was built in 1871. <a href=/y>y</a>",
    "http://a.test/y": "<title>Library</title><p>Books and maps. <a href=/>home</a>",
}


def tables(web: FakeWeb, delay_s: float = 0.0) -> dict[str, dict[str, Any]]:
    return {
        "crawl": {"robots": False, "guess_sitemap": False, "processes": 1},
        "politeness": {"delay_s": delay_s},
        "fetch": {"connect_to": web.address},
        "render": {"mode": "never"},
        "retry": {"back_off_s": 0.01, "max_back_off_s": 0.05},
    }


@pytest.fixture(scope="module")
def town() -> Iterator[FakeWeb]:
    with FakeWeb(MadeSite(PAGES)) as web:
        yield web


@pytest.fixture
def crawl(town: FakeWeb, tmp_path: Path) -> ori.SavedCrawl:
    return ori.crawl(HOME, tmp_path / "town", until=None, settings=tables(town))


@pytest.fixture(scope="module")
def large() -> Iterator[tuple[FakeWeb, str]]:
    """A web that takes long to crawl with a delay, and its first page."""
    site = GraphSite(synthetic_web(300, rng=3))
    with FakeWeb(site) as web:
        yield web, hub(site)


def test_a_crawl_is_searched_read_reported_and_verified(crawl: ori.SavedCrawl, tmp_path: Path) -> None:
    assert crawl.last_run is not None
    assert crawl.last_run.figures.n_fetched == crawl.status().n_fetched == 3
    results = crawl.search("iron bridge")
    assert [hit.url for hit in results.hits] == ["http://a.test/x"]
    pages = {page.url: page for page in crawl.pages()}
    assert next(iter(pages)) == HOME
    assert set(pages) == set(PAGES)
    assert {page.status for page in pages.values()} == {200}
    assert pages["http://a.test/y"].title == "Library"
    assert "Books and maps." in pages["http://a.test/y"].text
    assert "Books and maps." in pages["http://a.test/y"].full_text
    ranks = [page.rank for page in pages.values()]
    assert sum(rank or 0 for rank in ranks) == pytest.approx(1)
    found = crawl.report(tmp_path / "report.json")
    assert found.counts["broken"] == 1
    assert json.loads((tmp_path / "report.json").read_text())["counts"] == found.counts
    assert crawl.verify().holds
    assert crawl.verify(quick=True).n_pages_read == 0
    written = crawl.export("jsonl", tmp_path / "pages.jsonl")
    assert written.n_pages == 3
    lines = (tmp_path / "pages.jsonl").read_text().splitlines()
    assert {json.loads(line)["url"] for line in lines} == set(PAGES)
    with pytest.raises(ExportError):
        crawl.export("jsonl", tmp_path / "pages.jsonl")
    assert crawl.export("jsonl", tmp_path / "pages.jsonl", force=True, hosts="a.test").n_pages == 3


def test_a_survey_and_an_estimate_are_those_of_the_commands(large: tuple[FakeWeb, str], tmp_path: Path) -> None:
    web, home = large
    crawl = ori.crawl(home, tmp_path / "c", until=None, budget=60, scope="web", settings=tables(web))
    assert crawl.last_run is not None
    assert crawl.last_run.stopped_because is StopReason.BUDGET
    survey = crawl.survey(0.1)
    assert survey.goal_reached
    assert survey.measured.lower <= crawl.last_run.figures.certificate.upper
    assert (tmp_path / "c" / "survey").is_dir()
    estimate = crawl.estimate(10, rounds=2)
    assert estimate.n_fetched + estimate.n_failed == 10
    crawl.index()
    assert crawl.search("cargo", rank="global").total >= 0
    assert any(page.global_rank for page in crawl.pages())


def test_a_second_call_resumes_and_so_does_the_object(large: tuple[FakeWeb, str], tmp_path: Path) -> None:
    web, home = large
    first = ori.crawl(home, tmp_path / "c", until=None, budget=20, scope="web", settings=tables(web))
    assert first.status().n_fetched == 20
    assert ori.crawl(home, tmp_path / "c", until=None, budget=40, scope="web", settings=tables(web)).folder.is_dir()
    opened = ori.open(tmp_path / "c")
    assert opened.last_run is None
    assert opened.resume(budget=60).figures.n_done == 60
    assert opened.last_run is not None
    assert opened.status().n_fetched == 60
    urls = [page.url for page in opened.pages()]
    assert len(urls) == len(set(urls)) == 60


def test_a_refresh_finds_what_has_changed_and_the_index_follows(tmp_path: Path) -> None:
    pages = dict(PAGES)
    with FakeWeb(MadeSite(pages)) as web:
        crawl = ori.crawl(HOME, tmp_path / "c", until=None, settings=tables(web))
        assert crawl.search("zeppelin").total == 0
    pages["http://a.test/x"] = "<title>The iron bridge</title><p>A zeppelin over the bridge. <a href=/y>y</a>"
    with FakeWeb(MadeSite(pages)) as web:
        report = crawl.refresh(settings=tables(web) | {"refresh": {"revisit_chance": 0.0}})
    assert report is crawl.last_run
    assert report.figures.epoch == 1
    assert report.figures.visits["changed"] == 1
    assert [hit.url for hit in crawl.search("zeppelin").hits] == ["http://a.test/x"]


def test_a_crawl_without_a_page_leaves_nothing(tmp_path: Path) -> None:
    with FakeWeb(MadeSite({})) as web, pytest.raises(SeedError, match="nothing was crawled"):
        ori.crawl(HOME, tmp_path / "c", settings=tables(web))
    assert not (tmp_path / "c").exists()
    with pytest.raises(CrawlFolderError):
        ori.open(tmp_path / "c")
    with pytest.raises(ori.InputError, match="only http and https"):
        ori.crawl("ftp://a.test/")


def test_the_default_folder_is_named_after_the_host(
    town: FakeWeb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert ori.crawl([HOME], settings=tables(town)).folder == Path("a.test-crawl")
    assert (tmp_path / "a.test-crawl" / "crawl.toml").is_file()


INTERRUPTED = """
import sys
import orienteer as ori

try:
    ori.crawl(sys.argv[1], sys.argv[2], until=None, scope="web",
              watch=lambda figures: print(figures.n_done, flush=True),
              settings={"crawl": {"robots": False, "guess_sitemap": False, "processes": 1},
                        "politeness": {"delay_s": 0.2}, "fetch": {"connect_to": sys.argv[3]}})
except KeyboardInterrupt:
    print("interrupted", ori.open(sys.argv[2]).status().report.stopped_because, flush=True)
"""


def test_an_interrupted_crawl_stops_cleanly_and_is_resumed(large: tuple[FakeWeb, str], tmp_path: Path) -> None:
    web, home = large
    command = [sys.executable, "-c", INTERRUPTED, home, str(tmp_path / "c"), web.address]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line.strip().isdigit() and int(line) >= 3:
                break
        process.send_signal(signal.SIGINT)
        rest = process.stdout.read().splitlines()
    assert process.returncode == 0
    assert rest[-1] == "interrupted interrupted"
    before = [page.url for page in ori.open(tmp_path / "c").pages()]
    resumed = ori.open(tmp_path / "c")
    report = resumed.resume(settings=tables(web))
    assert report.stopped_because is StopReason.FRONTIER_EMPTY
    assert [page.url for page in resumed.pages()][: len(before)] == before
    assert resumed.verify().holds


def test_the_handler_of_interrupts_is_as_before(town: FakeWeb, tmp_path: Path) -> None:
    before = signal.getsignal(signal.SIGINT)
    crawl = ori.crawl(HOME, tmp_path / "c", until=None, settings=tables(town))
    assert signal.getsignal(signal.SIGINT) is before
    asked = threading.Event()

    def interrupt(_: object) -> None:
        if not asked.is_set():
            asked.set()
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        crawl.refresh(settings=tables(town), watch=interrupt)
    assert signal.getsignal(signal.SIGINT) is before


def in_a_loop(program: Coroutine[Any, Any, _Result]) -> _Result:
    """Run it in a thread of its own: a browser of other tests may have a loop in this one."""
    with ThreadPoolExecutor(1) as threads:
        return threads.submit(asyncio.run, program).result()


def test_in_asyncio_the_loop_goes_on(large: tuple[FakeWeb, str], tmp_path: Path) -> None:
    web, home = large

    async def program() -> tuple[ori.SavedCrawl, ori.SavedCrawl, int]:
        n_turns = 0
        both = asyncio.gather(
            *(
                ori.crawl_async(home, tmp_path / name, until=None, budget=30, scope="web", settings=tables(web))
                for name in "ab"
            )
        )
        while not both.done():
            n_turns += 1
            await asyncio.sleep(0.001)
        first, second = await both
        return first, second, n_turns

    first, second, n_turns = in_a_loop(program())
    assert n_turns > 3
    assert first.folder != second.folder
    assert first.status().n_fetched == second.status().n_fetched == 30


def test_a_cancelled_task_stops_its_crawl_which_can_be_resumed(large: tuple[FakeWeb, str], tmp_path: Path) -> None:
    web, home = large
    has_begun = threading.Event()

    def watch(figures: Any) -> None:
        if figures.n_done >= 3:
            has_begun.set()

    async def program() -> None:
        task = asyncio.create_task(
            ori.crawl_async(
                home, tmp_path / "c", until=None, scope="web", settings=tables(web, delay_s=0.1), watch=watch
            )
        )
        await asyncio.to_thread(has_begun.wait, 600)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        found = crawl_status(tmp_path / "c")
        assert found.holder is None
        assert found.report is not None
        assert found.report.stopped_because == "interrupted"
        continued = ori.open(tmp_path / "c").resume(budget=30, settings=tables(web))  # without a thread
        assert continued.stopped_because is StopReason.BUDGET
        resumed = await ori.crawl_async(home, tmp_path / "c", until=None, scope="web", settings=tables(web))
        assert resumed.last_run is not None
        assert resumed.last_run.stopped_because is StopReason.FRONTIER_EMPTY

    in_a_loop(program())
    assert ori.open(tmp_path / "c").verify().holds


def test_an_error_in_the_thread_is_raised_where_it_is_awaited() -> None:
    with pytest.raises(ori.InputError, match="only http and https"):
        in_a_loop(ori.crawl_async("ftp://a.test/"))


def test_what_it_returns_is_shown_in_a_line_and_as_a_table(crawl: ori.SavedCrawl) -> None:
    results = (crawl, crawl.status(), crawl.verify(), crawl.report(), crawl.survey(0.2), crawl.estimate(1))
    for result in results:
        line = repr(result)
        assert line.startswith(f"<{type(result).__name__}")
        assert "\n" not in line
        assert len(line) < 400
    for result in (crawl, *results[2:]):
        html = result._repr_html_()  # type: ignore[attr-defined]
        assert html.startswith("<table>")
        assert html.endswith("</table>")
        assert "<script" not in html


class Kernel:
    """A notebook, as far as a line of progress needs one."""

    kernel = object()

    def __init__(self) -> None:
        self.lines: list[str] = []

    def get_ipython(self) -> Kernel:
        return self

    def display(self, data: dict[str, str], raw: bool, display_id: bool) -> Kernel:
        self.update(data, raw)
        return self

    def update(self, data: dict[str, str], raw: bool) -> None:
        self.lines.append(data["text/plain"])


def test_progress_is_a_line_that_is_replaced(
    town: FakeWeb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    notebook = Kernel()
    monkeypatch.setitem(sys.modules, "IPython", notebook)  # type: ignore[arg-type]
    monkeypatch.setitem(sys.modules, "IPython.display", notebook)  # type: ignore[arg-type]
    crawl = ori.crawl(HOME, tmp_path / "c", until=None, settings=tables(town))
    assert crawl.last_run is not None
    assert notebook.lines[-1] == crawl.last_run.headline
    assert "waiting" in notebook.lines[0]
    n_lines = len(notebook.lines)
    ori.crawl(HOME, tmp_path / "d", until=None, settings=tables(town), progress=False)
    assert len(notebook.lines) == n_lines
    monkeypatch.delitem(sys.modules, "IPython")
    line = ProgressLine()
    line.show("3 pages")
    line.end("done")
    assert capsys.readouterr().err == ""  # neither a notebook nor a terminal
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    line = ProgressLine()
    line.show("3 pages\x1b[2J")
    line.end("done")
    assert capsys.readouterr().err == "\r3 pages�[2J\x1b[K\r\x1b[K"
