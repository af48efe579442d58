"""A crawl whose archive goes to an object store, killed again and again: no record is lost, none is changed.

The kills come at every step of the way of a file (sent, noted, deleted), and at moments drawn at random.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from orienteer.store.archive import Archive
from orienteer.store.folder_view import FolderView
from orienteer.store.object_store import parse_location
from orienteer.store.uploads import Uploads
from tests.fake_web.server import FakeWeb
from tests.fake_web.site import MadeSite
from tests.faults.crawl_process import CrawlCommand
from tests.faults.uploading import CODE, STEPS
from tests.ready_process import ROOT, TEST_TIMEOUT_S, ReadyPopen
from tests.store.object_stores import BUCKET, CREDENTIALS, S3Server, needs_store
from tests.store.small_crawls import response

pytestmark = [needs_store, pytest.mark.slow]

A = "http://a.test/"
N_PAGES, N_KILLS = 150, 4


@pytest.fixture(scope="module")
def store() -> Iterator[S3Server]:
    with S3Server() as store:
        yield store


@pytest.fixture(autouse=True)
def its_address(store: S3Server, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (CREDENTIALS | {"AWS_ENDPOINT_URL": store.endpoint}).items():
        monkeypatch.setenv(name, value)


def n_sent(store: S3Server, prefix: str) -> int:
    return sum(request.startswith(f"PUT /{BUCKET}/{prefix}/") for request in store.requests)


def site(rng: random.Random) -> MadeSite:
    pages = {}
    for page in range(N_PAGES):
        targets = [target for target in (3 * page + 1, 3 * page + 2, 3 * page + 3) if target < N_PAGES]
        links = " ".join(f"<a href=/{target}>{target}</a>" for target in targets)
        pages[f"{A}{page or ''}"] = f"<title>{page}</title><p>{rng.randbytes(600).hex()}</p>{links}"
    return MadeSite(pages)


def contents(folder: Path) -> dict[str, bytes]:
    """Return the archived records of each page, local or remote."""
    with FolderView.open(folder) as crawl:
        rows = (
            (crawl.database.urls.of(page), crawl.database.pages.row(page))
            for page in range(crawl.database.urls.count())
        )
        return {url: crawl.archive.read(row.archived).body for url, row in rows if row is not None and row.archived}


class KilledCrawl:
    """A command that is killed when the store has had so many requests more."""

    def __init__(self, command: CrawlCommand, store: S3Server) -> None:
        self._command, self._store = command, store

    def run(self, n_requests: int, wait_s: float) -> bool:
        """Whether it came to its end before."""
        first = len(self._store.requests)
        with self._command.started() as process:
            while process.poll() is None and len(self._store.requests) < first + n_requests:
                time.sleep(0.001)
            time.sleep(wait_s)
            has_ended = process.poll() is not None
            process.kill()
        return has_ended


def test_kills_lose_nothing(store: S3Server, tmp_path: Path, fresh_rng: random.Random) -> None:
    rng = fresh_rng
    store_table = {"archive_to": f"s3://{BUCKET}/kills", "drop_local": True, "max_file_mb": 0.01}
    with FakeWeb(site(rng)) as web:
        CrawlCommand(web.address, [A], tmp_path / "plain").run()
        command = CrawlCommand(web.address, [A], tmp_path / "crawl", store=store_table)
        killed, known, n_killed = KilledCrawl(command, store), dict[str, bytes](), 0
        for _ in range(N_KILLS):
            n_killed += not killed.run(rng.randrange(1, 7), rng.choice((0.0, 0.001, 0.01, 0.05)))
            if (tmp_path / "crawl" / "crawl.db").exists():
                now = contents(tmp_path / "crawl")
                assert known.items() <= now.items(), "what was acknowledged is there, as it was"
                known = now
        command.run()
        assert n_killed > 1
        assert contents(tmp_path / "crawl") == contents(tmp_path / "plain")
        assert not list((tmp_path / "crawl" / "archive").glob("*.warc.gz"))
        n_files = len(store.contents("kills"))
        assert n_files <= n_sent(store, "kills") <= n_files + n_killed, "a kill repeats at most one upload"


def test_a_kill_at_every_step_repeats_no_upload(store: S3Server, tmp_path: Path) -> None:
    for number, name in enumerate(STEPS):
        folder, place = tmp_path / str(number), f"s3://{BUCKET}/{number}"
        archive = Archive(folder, max_file_bytes=1000)
        places = [archive.append(response(page)) for page in range(12)]
        end = archive.sync()
        archive.close()
        command = [sys.executable, "-m", "tests.faults.uploading", name, str(folder), place, *map(str, end)]
        with ReadyPopen(command, cwd=ROOT) as process:
            assert process.wait(TEST_TIMEOUT_S) == CODE, name
        again = Archive(folder, end)
        assert [again.read(place).url for place in places] == [response(page).url for page in range(12)], name
        uploads = Uploads(again, parse_location(place), drop_local=True)
        assert uploads.finish()
        uploads.close()
        assert [path.name for path in sorted(folder.glob("*.gz"))] == [again.path(end.file).name]
        assert [again.read(place).url for place in places] == [response(page).url for page in range(12)], name
        again.close()
        assert n_sent(store, str(number)) == end.file
