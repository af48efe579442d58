"""The progress history and the top of the frontier that a live crawl writes into its folder."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from orienteer.inspect.crawl_status import FolderWatcher, crawl_status
from orienteer.inspect.explain import page_facts
from orienteer.inspect.figures import record_of
from orienteer.inspect.frontier_top import FrontierTop, replayed_top, written_top
from orienteer.live.session import refresh
from orienteer.store.folder import CrawlFolder
from orienteer.store.progress_points import ProgressPoint, read_progress
from tests.fake_web.server import FakeWeb
from tests.faults.crawl_process import CrawlCommand
from tests.faults.kills import until
from tests.faults.webs import RoughWeb
from tests.live.live_crawls import crawled


@pytest.fixture(scope="module")
def web() -> Iterator[FakeWeb]:
    with FakeWeb(RoughWeb(n_pages=250)) as web:
        yield web


@pytest.fixture(scope="module")
def begun(web: FakeWeb, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A crawl that has spent its budget."""
    folder = tmp_path_factory.mktemp("begun") / "crawl"
    crawled(web, web.site.seeds, folder, settings={"crawl": {"robots": True}}, budget=60)
    return folder


def history_of(folder: Path) -> list[ProgressPoint]:
    points = read_progress(folder / "course.jsonl")
    for before, after in itertools.pairwise(points):
        assert (before.position, before.epoch) < (after.position, after.epoch)
        assert before.time <= after.time
        assert before.epoch < after.epoch or before.n_done <= after.n_done
    return points


def top_of_folder(folder: Path) -> FrontierTop:
    top = written_top(folder)
    assert top is not None
    return top


def test_a_history_covers_the_crawl_from_the_beginning_to_the_report(web: FakeWeb, begun: Path) -> None:
    points = history_of(begun)
    status = crawl_status(begun)
    proved = status.certificate
    assert proved is not None
    assert (points[0].position, points[0].n_done, points[0].lower) == (0, 0, 0.0)
    last = points[-1]
    assert (last.lower, last.upper, last.blocked) == (proved.lower, proved.upper, proved.blocked)
    assert (last.position, last.n_done) == (status.position, 60)


def test_a_resumed_crawl_has_one_history(web: FakeWeb, tmp_path: Path) -> None:
    folder = tmp_path / "crawl"
    for budget in (20, 50, 90):
        crawled(web, web.site.seeds, folder, budget=budget)
    n_done = [point.n_done for point in history_of(folder)]
    assert {0, 20, 50, 90} <= set(n_done)
    assert n_done[-1] == 90


def test_a_refresh_has_its_own_epoch_in_the_history(web: FakeWeb, tmp_path: Path) -> None:
    folder = tmp_path / "crawl"
    crawled(web, web.site.seeds, folder, budget=60)
    n_first = len(history_of(folder))
    refresh(folder, budget=40)
    points = history_of(folder)
    assert [point.epoch for point in points[:n_first]] == [0] * n_first
    assert {point.epoch for point in points[n_first:]} == {1}
    assert points[-1].n_done <= 40
    top = written_top(folder)
    assert top is not None
    assert top.epoch == 1


def test_the_history_is_consistent_after_kills(web: FakeWeb, tmp_path: Path) -> None:
    command = CrawlCommand(web.address, web.site.seeds, tmp_path / "crawl", "--until", "0.5")
    for n_requests in (30, 60, 90):
        before = len(web.requests)
        with command.started() as process:
            until(process, lambda n=before + n_requests: len(web.requests) > n)
        if (command.folder / "crawl.db").exists():
            history_of(command.folder)
    command.run()
    points = history_of(command.folder)
    status = crawl_status(command.folder)
    assert points[-1].position == status.position
    assert points[-1].lower >= 0.5
    top = written_top(command.folder)
    assert top is not None
    assert top.position == status.position


def test_the_top_of_the_frontier_agrees_with_explain(begun: Path) -> None:
    top = top_of_folder(begun)
    assert top.position == crawl_status(begun).position
    assert len(top.pages) == 25
    for k, page in enumerate(top.pages[:5]):
        facts = page_facts(begun, page.url)
        assert facts.waiting is not None
        assert facts.waiting.n_before == k
        assert facts.waiting.n_frontier == top.n_frontier
        assert facts.waiting.priority == page.priority
        assert (facts.depth, facts.n_sources, facts.is_seed) == (page.depth, page.n_sources, page.is_seed)
        assert page.strongest_source is None or facts.n_sources > 10 or page.strongest_source in [
            source.url for source in facts.sources
        ]  # fmt: skip
    assert all((page.strongest_source is None) == (page.n_sources == 0) for page in top.pages)


def test_the_history_is_read_from_the_folder_alone(begun: Path) -> None:
    assert replayed_top(begun) == top_of_folder(begun)


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "{}", '{"pages": [7]}', '{"pages": [{"url": 7}]}', "[" * 9999])
def test_a_damaged_top_is_none(begun: Path, tmp_path: Path, text: str) -> None:
    with CrawlFolder.create(tmp_path / "crawl", "") as folder:
        (folder.path / "frontier.json").write_text(text)
        assert record_of(FrontierTop, folder.read_frontier()) is None


def test_a_watcher_sees_changes(web: FakeWeb, tmp_path: Path) -> None:
    """A watcher agrees with a first look, also after pages have changed in a refresh."""
    folder = tmp_path / "crawl"
    onlooker = FolderWatcher(folder)
    for budget in (10, 40, 80):
        crawled(web, web.site.seeds, folder, budget=budget)
        assert onlooker.status() == crawl_status(folder)
    refresh(folder, budget=60)
    assert onlooker.status() == crawl_status(folder)


def test_a_watcher_notices_another_crawl_in_the_same_folder(web: FakeWeb, tmp_path: Path) -> None:
    folder = tmp_path / "crawl"
    crawled(web, web.site.seeds, folder, budget=50)
    onlooker = FolderWatcher(folder)
    onlooker.status()
    folder.rename(tmp_path / "old")
    crawled(web, web.site.seeds, folder, budget=20)
    assert onlooker.status() == crawl_status(folder)
