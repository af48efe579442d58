"""A disk that is full, files that may not grow, a folder that may not be written: the crawl ends with one line, nothing
acknowledged is lost, and the same command goes on when there is room."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from orienteer.errors import CrawlFolderError
from orienteer.fake_web.server import FakeWeb
from orienteer.fake_web.site import place_of
from tests.crawl.live_crawls import crawled
from tests.faults.crawl_process import CrawlCommand, acknowledged, check_archive, outcomes
from tests.faults.kills import until
from tests.faults.webs import RoughWeb

FULL = "orienteer: the disk is full: "
COME_AGAIN = "nothing acknowledged is lost, run the same command again when there is room\n"


@pytest.fixture(scope="module")
def web() -> Iterator[FakeWeb]:
    with FakeWeb(RoughWeb()) as web:
        yield web


@pytest.fixture(scope="module")
def whole(web: FakeWeb, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a crawl that had room enough."""
    folder = tmp_path_factory.mktemp("whole") / "crawl"
    crawled(web, web.site.seeds, folder, settings={"crawl": {"robots": True}})
    return folder


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of a megabyte in memory, or a skip that says what is missing."""
    if os.geteuid() != 0:
        pytest.skip("only root may mount a small disk")
    disk = tmp_path / "disk"
    disk.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", disk]
    mounted = subprocess.run(command, capture_output=True, text=True)
    if mounted.returncode != 0:
        pytest.skip(f"a small disk cannot be mounted here: {mounted.stderr.strip()}")
    try:
        yield disk
    finally:
        subprocess.run(["umount", disk], check=True)


def remount(disk: Path, options: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{options}", disk], check=True)


def crawl_of(web: FakeWeb, folder: Path) -> CrawlCommand:
    return CrawlCommand(web.address, web.site.seeds, folder)


class Safe:
    """What is acknowledged now, and must be for ever."""

    def __init__(self, command: CrawlCommand, web: FakeWeb) -> None:
        self._command, self._web = command, web
        self._rows = acknowledged(command.folder)
        self._n_requests = len(web.requests)

    def __len__(self) -> int:
        return len(self._rows)

    def check(self) -> None:
        now = acknowledged(self._command.folder)
        assert {url: now.get(url) for url in self._rows} == self._rows
        asked = {(host, target) for _, host, target in self._web.requests[self._n_requests :]}
        assert asked.isdisjoint(map(place_of, self._rows))


def check_whole(command: CrawlCommand, whole: Path) -> None:
    assert outcomes(command.folder) == outcomes(whole)
    check_archive(command.folder)


def test_a_disk_that_fills_up(small_disk: Path, web: FakeWeb, whole: Path) -> None:
    command = crawl_of(web, small_disk / "crawl")
    for n_before in (0, 20):
        said = command.refused()
        assert said.startswith(FULL)
        assert said.endswith(COME_AGAIN)
        safe = Safe(command, web)
        assert len(safe) > n_before
    remount(small_disk, "size=100m")
    command.run()
    safe.check()
    check_whole(command, whole)
