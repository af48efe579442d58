"""Small crawls with an archive in an object store, and readers of their contents."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from orienteer.inspect.run_report import Report
from orienteer.store.archive import Archive, Position
from orienteer.store.folder_view import FolderView
from orienteer.store.uploads import Uploads
from tests.fake_web.server import FakeWeb
from tests.fake_web.site import MadeSite
from tests.live.live_crawls import crawled
from tests.store.small_crawls import response

A = "http://a.test/"
N_PAGES = 30
WORDS = "lantern harbour bridge violet granite meadow compass"


def small_site() -> MadeSite:
    """Return a site whose pages have different, incompressible words."""
    pages = {}
    for page in range(N_PAGES):
        targets = [target for target in (2 * page + 1, 2 * page + 2) if target < N_PAGES]
        links = " ".join(f"<a href=/{target}>to {target}</a>" for target in targets)
        noise = "".join(hashlib.sha512(f"{page} {k}".encode()).hexdigest() for k in range(10))
        pages[f"{A}{page or ''}"] = f"<title>Page {page}</title><p>{WORDS.split()[page % 7]} {noise}</p>{links}"
    return MadeSite(pages)


def stored_crawl(web: FakeWeb, folder: Path, to: str | None, **store: Any) -> Report:
    table = {"max_file_mb": 0.005} | ({} if to is None else {"archive_to": to}) | store
    return crawled(web, A, folder, settings={"store": table, "crawl": {"commit_every_s": 0.01}})


def warcs(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted((folder / "archive").glob("*.warc.gz"))}


def records(folder: Path) -> dict[str, tuple[Position, bytes]]:
    """Return every archived page with its record."""
    with FolderView.open(folder) as crawl:
        found = {}
        for number in range(crawl.database.urls.count()):
            row = crawl.database.pages.row(number)
            if row is not None and row.archived is not None:
                found[crawl.database.urls.of(number)] = row.archived, crawl.archive.read_record(row.archived)[0]
        return found


def waiting_archive(folder: Path, n_pages: int = 12) -> Archive:
    """Return an archive of several files, all acknowledged."""
    archive = Archive(folder, max_file_bytes=1000)
    for page in range(n_pages):
        archive.append(response(page))
    archive.acknowledged = archive.sync()
    return archive


def sent(uploads: Uploads, now: float) -> None:
    """Begin an upload if one is due at this time, and wait until it has succeeded or failed."""
    uploads.poll(now)
    while uploads._in_flight is not None:
        assert uploads._child is not None
        uploads._child.channel.poll(None)
        uploads._receive(now)
