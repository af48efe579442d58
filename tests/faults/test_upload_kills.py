"""A crawl whose archive goes to an object store, killed again and again: no record is lost, none is changed.

The kills come at every step of the way of a file (sent, noted, deleted), and at moments drawn at random.
"""

from __future__ import annotations

import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from orienteer.fake_web.server import FakeWeb
from orienteer.fake_web.site import MadeSite
from orienteer.store.archive import Archive
from orienteer.store.folder_view import FolderView
from orienteer.store.object_store import checked_place
from orienteer.store.uploads import Uploads
from tests.faults.crawl_process import CrawlCommand
from tests.store.object_stores import BUCKET, CREDENTIALS, S3Server, needs_store
from tests.store.small_crawls import response

pytestmark = [needs_store, pytest.mark.long]

A = "http://a.test/"
N_PAGES, N_KILLS = 400, 7


def site(rng: random.Random) -> MadeSite:
    pages = {}
    for page in range(N_PAGES):
        targets = [target for target in (3 * page + 1, 3 * page + 2, 3 * page + 3) if target < N_PAGES]
        links = " ".join(f"<a href=/{target}>{target}</a>" for target in targets)
        pages[f"{A}{page or ''}"] = f"<title>{page}</title><p>{rng.randbytes(600).hex()}</p>{links}"
    return MadeSite(pages)


def contents(folder: Path) -> dict[str, bytes]:
    """What stands in the archive for each page, wherever it is."""
    with FolderView.open(folder) as crawl:
        rows = ((crawl.database.url(page), crawl.database.page(page)) for page in range(crawl.database.n_urls()))
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


def test_kills_lose_nothing(tmp_path: Path, fresh_rng: random.Random, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = fresh_rng
    store_table = {"archive_to": f"s3://{BUCKET}/kills", "drop_local": True, "max_file_mb": 0.02}
    with FakeWeb(site(rng)) as web, S3Server() as store:
        for name, value in (CREDENTIALS | {"AWS_ENDPOINT_URL": store.endpoint}).items():
            monkeypatch.setenv(name, value)
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
        assert n_killed > 2
        assert contents(tmp_path / "crawl") == contents(tmp_path / "plain")
        assert not list((tmp_path / "crawl" / "archive").glob("*.warc.gz"))
        n_files = len(store.contents("kills"))
        assert n_files <= store.count("PUT") <= n_files + n_killed, "a kill repeats at most one upload"


STEPS = {
    "sent": "StoredFiles.add = lambda *_: os._exit(9)",
    "note written": "os.replace = lambda *_: os._exit(9)",
    "noted": "Uploads._drop = lambda *_: os._exit(9)",
    "deleted": "drop = Uploads._drop; Uploads._drop = lambda *args: (drop(*args), os._exit(9) if args[1:] else None)",
}
UPLOADING = """
import os, sys
from pathlib import Path
from orienteer.store.archive import Archive, ArchiveEnd
from orienteer.store.object_store import checked_place
from orienteer.store.stored_files import StoredFiles
from orienteer.store.uploads import Uploads
archive = Archive(Path(sys.argv[1]), ArchiveEnd(int(sys.argv[3]), int(sys.argv[4])))
uploads = Uploads(archive, checked_place(sys.argv[2]), drop_local=True)
{step}
uploads.finish()
"""


def test_a_kill_at_every_step_repeats_no_upload(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with S3Server() as store:
        for name, value in (CREDENTIALS | {"AWS_ENDPOINT_URL": store.endpoint}).items():
            monkeypatch.setenv(name, value)
        for number, (name, step) in enumerate(STEPS.items()):
            folder, place = tmp_path / str(number), f"s3://{BUCKET}/{number}"
            archive = Archive(folder, max_file_bytes=1000)
            places = [archive.append(response(page)) for page in range(12)]
            end = archive.sync()
            archive.close()
            command = [sys.executable, "-c", UPLOADING.format(step=step), str(folder), place, *map(str, end)]
            assert subprocess.run(command, check=False).returncode == 9, name
            again = Archive(folder, end)
            assert [again.read(place).url for place in places] == [response(page).url for page in range(12)], name
            uploads = Uploads(again, checked_place(place), drop_local=True)
            assert uploads.finish()
            uploads.close()
            assert [path.name for path in sorted(folder.glob("*.gz"))] == [again.path(end.file).name]
            assert [again.read(place).url for place in places] == [response(page).url for page in range(12)], name
            again.close()
            assert sum(f"/{BUCKET}/{number}/" in request for request in store.requests if "PUT" in request) == end.file
