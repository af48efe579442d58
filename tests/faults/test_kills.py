"""`kill -9` at any moment of a crawl, and the same command again: in the end nothing is missing, nothing is double."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from orienteer.store.folder import CrawlFolder
from orienteer.store.folder_view import FolderView
from tests.fake_web.server import FakeWeb
from tests.faults.crawl_process import CrawlCommand, check_archive, order, outcomes
from tests.faults.kills import AMONG_WORKERS, MOMENTS, Killer, KillReport
from tests.faults.webs import RoughWeb
from tests.live.live_crawls import crawled

pytestmark = pytest.mark.long


@dataclass(frozen=True)
class Whole:
    """An uninterrupted crawl, and its duration."""

    command: CrawlCommand
    duration_s: float


@pytest.fixture(scope="module")
def web() -> Iterator[FakeWeb]:
    with FakeWeb(RoughWeb(n_pages=150)) as web:
        yield web


@pytest.fixture(scope="module")
def whole(web: FakeWeb, tmp_path_factory: pytest.TempPathFactory) -> Whole:
    command = crawl_of(web, tmp_path_factory.mktemp("whole") / "crawl")
    started = time.monotonic()
    command.run()
    return Whole(command, time.monotonic() - started)


def crawl_of(web: FakeWeb, folder: Path, *options: object) -> CrawlCommand:
    assert isinstance(web.site, RoughWeb)
    return CrawlCommand(web.address, web.site.seeds, folder, *options)


def check_unharmed(damage: KillReport) -> None:
    assert damage.n_kills > 0
    assert damage.lost == []
    assert damage.changed == []
    assert damage.refetched == []


@pytest.mark.parametrize(("policy", "workers"), [("certified", 1), ("fractional", 16), ("breadth-first", 16)])
def test_a_crawl_that_is_killed_comes_to_the_same_end(
    policy: str, workers: int, web: FakeWeb, whole: Whole, tmp_path: Path, fresh_rng: random.Random
) -> None:
    command = crawl_of(web, tmp_path / "crawl", "--policy", policy, "--workers", workers)
    first, *others = MOMENTS  # it lives to see the first in any case
    damage = Killer(command, web, whole.duration_s, fresh_rng).run(2, [first, fresh_rng.choice(others)])
    check_unharmed(damage)
    assert outcomes(command.folder) == outcomes(whole.command.folder)
    check_archive(command.folder)
    proved, expected = (crawl.report()["figures"]["certificate"] for crawl in (command, whole.command))
    assert 0.5 < expected["lower"] < 0.999
    for name in ("lower", "upper", "blocked"):
        assert proved[name] == pytest.approx(expected[name], abs=1e-8)
    assert list(command.folder.rglob(".new-*")) == []


def test_killed_workers_change_nothing_and_leave_nothing_behind(
    web: FakeWeb, whole: Whole, tmp_path: Path, fresh_rng: random.Random
) -> None:
    """Nor does the crawl itself, killed with its workers at work."""
    command = crawl_of(web, tmp_path / "crawl", "--processes", 3)
    damage = Killer(command, web, whole.duration_s, fresh_rng).run(n_kills=3, moments=[AMONG_WORKERS])
    check_unharmed(damage)
    assert damage.kills["of a worker"] > 0
    assert outcomes(command.folder) == outcomes(whole.command.folder)
    check_archive(command.folder)
    proved, expected = (crawl.report()["figures"]["certificate"] for crawl in (command, whole.command))
    for name in ("lower", "upper", "blocked"):
        assert proved[name] == pytest.approx(expected[name], abs=1e-9)


def test_kills_do_not_change_the_order(tmp_path: Path, fresh_rng: random.Random) -> None:
    """With one worker, and no errors whose time decides when a page is tried again."""
    site = RoughWeb(n_pages=100, latency_s=(0.01, 0.03), errors=0.0)
    with FakeWeb(site) as web:
        settings = {"crawl": {"robots": True, "workers": 1}}
        crawled(web, site.seeds, tmp_path / "whole", settings=settings)
        command = crawl_of(web, tmp_path / "crawl", "--workers", 1)
        killer = Killer(command, web, duration_s=2.0, rng=fresh_rng)
        check_unharmed(killer.run(2, ["while pages are acknowledged", "while it comes to its end"]))
    assert order(command.folder) == order(tmp_path / "whole")


def test_what_a_killed_process_had_begun_to_write_is_removed(web: FakeWeb, tmp_path: Path) -> None:
    command = crawl_of(web, tmp_path / "crawl", "--budget", 5)
    command.run()
    leftovers = [command.folder / ".new-1-report.json", command.folder / "checkpoints" / ".new-1-latest.npz"]
    for leftover in leftovers:
        leftover.write_bytes(b"half a file")
    with FolderView.open(command.folder):
        assert all(leftover.exists() for leftover in leftovers)
    with CrawlFolder.open(command.folder):
        assert not any(leftover.exists() for leftover in leftovers)
