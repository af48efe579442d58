"""`orienteer crawl` as a process that can be killed, and the state of its folder afterwards."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import tomli_w
from warcio.archiveiterator import ArchiveIterator

from orienteer.settings import merged
from orienteer.store.folder import CrawlFolder
from orienteer.store.folder_view import FolderView
from orienteer.store.history import DonePages
from orienteer.store.page_row import PageRow
from tests.ready_process import TEST_TIMEOUT_S, ReadyPopen

# Frequent commits, no politeness delay, no browser, and no host is abandoned for its errors.
HASTY: dict[str, dict[str, Any]] = {
    "crawl": {"commit_every_s": 0.05, "workers": 16, "processes": 1},
    "politeness": {"delay_s": 0.0, "connections": 4},
    "render": {"mode": "never"},
    "retry": {"back_off_s": 0.01, "max_back_off_s": 0.1, "give_up_after": 1000},
}


class CrawlProcess(ReadyPopen):
    """The running command, killed at the end of the `with` block."""

    def __init__(
        self,
        arguments: Sequence[object],
        prefix: Sequence[str] = (),
        environment: Mapping[str, str] | None = None,
        command: str = "crawl",
    ) -> None:
        words = [*prefix, sys.executable, "-m", "orienteer", command, *map(str, arguments)]
        super().__init__(
            words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env=os.environ | dict(environment or {}),
        )  # fmt: skip

    def kill(self) -> None:
        """Kill it, and wait for its end."""
        super().kill()
        self.wait()

    def __exit__(self, *raised: Any) -> None:
        self.kill()
        super().__exit__(*raised)

    def ended(self) -> tuple[int, str]:
        """Wait until it ends by itself; return exit code and stderr."""
        _, stderr = self.communicate(timeout=TEST_TIMEOUT_S)
        assert "Traceback" not in stderr, stderr
        assert "Exception ignored" not in stderr, stderr
        return self.returncode, stderr


class CrawlCommand:
    """A repeatable command that crawls the web at `address` into `folder`."""

    def __init__(
        self, address: str | None, seeds: Sequence[str], folder: Path, *options: object, **tables: dict[str, Any]
    ) -> None:
        self.folder = folder
        settings = folder.with_name(f"{folder.name}.toml")
        settings.write_text(tomli_w.dumps(merged(HASTY, tables)))
        there = [] if address is None else ["--connect-to", address]
        self.arguments = [*seeds, "-o", folder, "--scope", "web", "--quiet", *there, "--settings", settings, *options]

    def started(self, prefix: Sequence[str] = (), environment: Mapping[str, str] | None = None) -> CrawlProcess:
        """Start it; `prefix` is a command that runs it, `environment` is added to that of this process."""
        return CrawlProcess(self.arguments, prefix, environment)

    def run(self, code: int = 0) -> str:
        """Run it to its end; return its stderr."""
        with self.started() as process:
            ended_with, stderr = process.ended()
        assert ended_with == code, stderr
        return stderr

    def refused(self) -> str:
        """Run it; return the line with which it ends with exit code 2."""
        stderr = self.run(code=2)
        assert stderr.startswith("orienteer: "), stderr
        assert stderr.count("\n") == 1, stderr
        return stderr

    def report(self) -> dict[str, Any]:
        report: dict[str, Any] = json.loads((self.folder / "report.json").read_text())
        return report


def acknowledged(folder: Path) -> dict[str, tuple[Any, ...]]:
    """Return the rows of all committed pages by URL, as another process reads them; check each in the archive."""
    if not (folder / "crawl.db").exists():
        return {}
    with FolderView.open(folder) as crawl:
        rows = {crawl.database.urls.of(row.id): row for row in _rows(crawl)}
        for url, row in rows.items():
            assert row.archived is None or crawl.archive.read(row.archived).url == url
    return {url: row.stored() for url, row in rows.items()}


class Outcome(NamedTuple):
    outcome: str
    status: int
    links: tuple[str, ...]  # sorted


def outcomes(folder: Path) -> dict[str, Outcome]:
    """Return the outcome of each page, independent of page ids."""
    with FolderView.open(folder) as crawl:
        return {
            crawl.database.urls.of(row.id): Outcome(
                row.outcome, row.status, tuple(sorted(crawl.database.urls.of_all(row.links)))
            )
            for row in _rows(crawl)
        }


def order(folder: Path) -> list[str]:
    """Return the URLs of pages in crawl order."""
    with FolderView.open(folder) as crawl:
        return [crawl.database.urls.of(row.id) for row in _rows(crawl)]


def log_of(folder: Path) -> list[dict[str, Any]]:
    """Return the events in the log. After a kill, the last ones may be missing."""
    log = folder / "log.jsonl"
    lines = log.read_text().split("\n")[:-1] if log.exists() else []
    return [json.loads(line) for line in lines if line.endswith("}")]


def check_archive(folder: Path) -> None:
    """Check that warcio reads the whole archive, no page is in it twice, and each is at the position in its row."""
    in_archive = archived_urls(folder)
    assert in_archive
    assert len(set(in_archive)) == len(in_archive)
    with FolderView.open(folder) as crawl:
        rows = [row for row in _rows(crawl) if row.archived is not None]
        assert [crawl.archive.read(row.archived).url for row in rows if row.archived] == in_archive
        assert crawl.database.urls.of_all(row.id for row in rows) == in_archive


def archived_urls(folder: Path) -> list[str]:
    """Return the URL of every response in the archive, in order, as read by warcio."""
    return [url for url, kind in archived_records(folder) if kind == "response"]


def archived_records(folder: Path) -> list[tuple[str, str]]:
    """Return URL and type (response or revisit) of every record, in order, as read by warcio."""
    return [pair for path in sorted((folder / "archive").glob("*.warc.gz")) for pair in _records(path)]


def _records(path: Path) -> Iterator[tuple[str, str]]:
    """Read all records and check their digests without decompression, since warcio cannot decompress some hostile
    bodies."""
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
    """Return the page rows in crawl order."""
    done = [events.pages.tolist() for events in crawl.database.history.pages_after() if isinstance(events, DonePages)]
    rows = [crawl.database.pages.row(page) for pages in done for page in pages]
    return [row for row in rows if row is not None]
