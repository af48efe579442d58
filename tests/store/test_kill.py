"""`kill -9` at any moment loses nothing that was acknowledged."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from orienteer.store.folder import CrawlFolder
from tests.ready_process import ReadyPopen
from tests.store.small_crawls import archived_urls, check_pages

N_KILLS = 6


def acknowledged_before_a_kill(folder: Path, after_s: float, seed: int) -> int:
    """Run the writer for a while, kill it, and return the pages that it reported as acknowledged."""
    command = [sys.executable, "-m", "tests.store.endless_writer", str(folder), str(seed)]
    with ReadyPopen(command, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "started\n"
        while writer.worked_s() < after_s:
            time.sleep(0.005)
        assert writer.poll() is None, "the writer ended by itself"
        writer.kill()
        said = writer.stdout.read().split("\n")[:-1]  # what follows the last line end may be half a number
    return int(said[-1]) if said else 0


def test_kill_at_any_moment(tmp_path: Path, fresh_rng: random.Random) -> None:
    path = tmp_path / "crawl"
    n_pages = 0
    for kill in range(N_KILLS):
        # Now and then at once, while the folder is being made or opened.
        after_s = fresh_rng.uniform(0, 0.01 if kill % 3 == 0 else 0.2)
        promised = acknowledged_before_a_kill(path, after_s, fresh_rng.randrange(10**6))
        if not (path / "crawl.db").exists():
            assert promised == 0
            continue
        with CrawlFolder.open(path) as folder:
            # A commit may have been made, and the writer killed before it could say so.
            n_acknowledged = folder.database.history.next_position()
            assert n_acknowledged >= max(promised, n_pages)
            n_pages = n_acknowledged
            check_pages(folder, n_pages)
            assert folder.database.pages.counts().n_pages == n_pages
    assert n_pages > 0


DIES_IN_A_COMMIT = """
import os, signal, sys
from pathlib import Path
from orienteer.store.connection import DatabaseConnection
from orienteer.store.folder import CrawlFolder
from tests.store.small_crawls import add_page, add_pages

def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)

with CrawlFolder.create(Path(sys.argv[1]), "") as folder:
    add_pages(folder, 0, 5)
    for page in range(5, 12):
        add_page(folder, page)
    if sys.argv[2] == "rows":
        DatabaseConnection.commit = die
    else:
        change = DatabaseConnection._change
        DatabaseConnection._change = lambda self, execute, sql, values: (die if sql == "COMMIT" else change)(
            self, execute, sql, values)
    folder.acknowledge()
"""


@pytest.mark.parametrize("before", ["rows", "transaction"])
def test_a_kill_when_the_archive_is_durable_and_its_rows_are_not(tmp_path: Path, before: str) -> None:
    """The archive is written first. Rows are buffered until the commit, which stores all of them or none."""
    path = tmp_path / "crawl"
    killed = subprocess.run([sys.executable, "-c", DIES_IN_A_COMMIT, str(path), before], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert len(archived_urls(path)) == 12
    with CrawlFolder.open(path) as folder:
        assert folder.database.history.next_position() == 5
        check_pages(folder, 5)
    assert len(archived_urls(path)) == 5
