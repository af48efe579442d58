"""`orienteer crawl` as a process that can be killed, and what its folder says afterwards."""

from __future__ import annotations

import json
import subprocess
import sys
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import tomli_w
from warcio.archiveiterator import ArchiveIterator

from orienteer.settings import merged
from orienteer.store.folder import CrawlFolder
from orienteer.store.folder_view import FolderView
from orienteer.store.history import DonePages
from orienteer.store.page_row import PageRow
from tests.ready_process import PATIENCE_S, ReadyPopen

# Many acknowledgements in a short time, no waiting for politeness, no browser, and no host is given up for its errors.
HASTY: dict[str, dict[str, Any]] = {
    "crawl": {"commit_every_s": 0.05, "workers": 16, "processes": 1},
    "politeness": {"delay_s": 0.0, "connections": 4},
    "render": {"mode": "never"},
    "retry": {"back_off_s": 0.01, "max_back_off_s": 0.1, "give_up_after": 1000},
}


class CrawlProcess(ReadyPopen):
    """The command under way. Killed at the end of a with-statement, if it is still there."""

    def __init__(self, arguments: Sequence[object], prefix: Sequence[str] = ()) -> None:
        command = [*prefix, sys.executable, "-m", "orienteer", "crawl", *map(str, arguments)]
        super().__init__(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def kill(self) -> None:
        """Kill it, and wait until it is gone."""
        super().kill()
        self.wait()

    def __exit__(self, *raised: Any) -> None:
        self.kill()
        super().__exit__(*raised)

    def ended(self) -> tuple[int, str]:
        """Exit code and stderr, once it ends by itself."""
        _, said = self.communicate(timeout=PATIENCE_S)
        assert "Traceback" not in said, said
        assert "Exception ignored" not in said, said
        return self.returncode, said


class CrawlCommand:
    """Always the same command, for a crawl of the web at `address` into `folder`."""

    def __init__(
        self, address: str | None, seeds: Sequence[str], folder: Path, *options: object, **tables: dict[str, Any]
    ) -> None:
        self.folder = folder
        settings = folder.with_name(f"{folder.name}.toml")
        settings.write_text(tomli_w.dumps(merged(HASTY, tables)))
        there = [] if address is None else ["--connect-to", address]
        self.arguments = [*seeds, "-o", folder, "--scope", "web", "--quiet", *there, "--settings", settings, *options]

    def started(self, prefix: Sequence[str] = ()) -> CrawlProcess:
        """The `prefix` is a command that runs it."""
        return CrawlProcess(self.arguments, prefix)

    def run(self, code: int = 0) -> str:
        """Run it to its end; what it said to stderr."""
        with self.started() as process:
            ended_with, said = process.ended()
        assert ended_with == code, said
        return said

    def refused(self) -> str:
        """The one line with which it ends in exit code 2."""
        said = self.run(code=2)
        assert said.startswith("orienteer: "), said
        assert said.count("\n") == 1, said
        return said

    def report(self) -> dict[str, Any]:
        report: dict[str, Any] = json.loads((self.folder / "report.json").read_text())
        return report


def acknowledged(folder: Path) -> dict[str, tuple[Any, ...]]:
    """The rows of all pages that are done, by URL, as another process sees them. Each is read back from the archive."""
    if not (folder / "crawl.db").exists():
        return {}
    with FolderView.open(folder) as crawl:
        rows = {crawl.database.url(row.id): row for row in _rows(crawl)}
        for url, row in rows.items():
            assert row.archived is None or crawl.archive.read(row.archived).url == url
    return {url: row.stored() for url, row in rows.items()}


class Outcome(NamedTuple):
    outcome: str
    status: int
    links: tuple[str, ...]  # in whichever order


def outcomes(folder: Path) -> dict[str, Outcome]:
    """What came of each page, in words that do not depend on the order in which pages were found."""
    with FolderView.open(folder) as crawl:
        return {
            crawl.database.url(row.id): Outcome(row.outcome, row.status, tuple(sorted(crawl.database.urls(row.links))))
            for row in _rows(crawl)
        }


def order(folder: Path) -> list[str]:
    """The URLs of the pages in the order they were done."""
    with FolderView.open(folder) as crawl:
        return [crawl.database.url(row.id) for row in _rows(crawl)]


def log_of(folder: Path) -> list[dict[str, Any]]:
    """The events in the log. Of a run that was killed, the last ones may be missing."""
    log = folder / "log.jsonl"
    lines = log.read_text().split("\n")[:-1] if log.exists() else []
    return [json.loads(line) for line in lines if line.endswith("}")]


def check_archive(folder: Path) -> None:
    """warcio reads the archive to its end, no page stands in it twice, and each is where its row says."""
    in_archive = archived_urls(folder)
    assert in_archive
    assert len(set(in_archive)) == len(in_archive)
    with FolderView.open(folder) as crawl:
        rows = [row for row in _rows(crawl) if row.archived is not None]
        assert [crawl.archive.read(row.archived).url for row in rows if row.archived] == in_archive
        assert crawl.database.urls(row.id for row in rows) == in_archive


def archived_urls(folder: Path) -> list[str]:
    """The URL of every response in the archive, in order, as warcio reads them."""
    return [url for url, kind in archived_records(folder) if kind == "response"]


def archived_records(folder: Path) -> list[tuple[str, str]]:
    """URL and kind (response or revisit) of every record in the archive, in order, as warcio reads them."""
    return [pair for path in sorted((folder / "archive").glob("*.warc.gz")) for pair in _records(path)]


def _records(path: Path) -> Iterator[tuple[str, str]]:
    """All is read and the digests are checked, but nothing is unpacked: a hostile body may be one that warcio cannot
    unpack."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        with path.open("rb") as stream:
            records = ArchiveIterator(stream, check_digests="raise")
            assert next(records).rec_type == "warcinfo"
            for record in records:
                record.raw_stream.read()
                assert record.rec_type == "revisit" or (record.rec_type == "response" and record.digest_checker.passed)
                yield record.rec_headers.get_header("WARC-Target-URI"), record.rec_type
            assert records.err_count == 0


def _rows(crawl: CrawlFolder) -> list[PageRow]:
    """In the order in which pages were done."""
    done = [events.pages.tolist() for events in crawl.database.pages_after() if isinstance(events, DonePages)]
    rows = [crawl.database.page(page) for pages in done for page in pages]
    return [row for row in rows if row is not None]
