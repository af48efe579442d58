"""What stands where in a crawl folder, and how it is read. Nothing here writes.

    crawl.toml        the settings the crawl was made with
    crawl.db          every URL and page it knows (see `schema`); appears last, so a folder with it is complete
    crawl.allowed     a signature of the user: what the settings open is allowed (see `ledger/permission`)
    crawl.lock        held by the one process that may write
    archive/          the pages as they came, in WARC files; stored.json says which are in an object store
    checkpoints/      what makes a reopen quick; never the truth
    report.json       the certificate, and why the crawl stopped
    topic.toml        what the crawl looks for, if it has a topic; topic.npz is what was learned of it
    policy.npz        what its policy has learned on other sites, if it is one that does
    ranks.npz         what its pages are worth, inside and in the whole web; derived
    estimate.json     what came of that estimate: how sure it is, and who matters outside; derived
    index/            what a search looks things up in (see `search/`); derived, has a lock of its own
    captures/         where the records of the archive stand, by URL (see `capture_table`); derived
    outside/          the pages around it that were looked at for that: a folder like this one, links only
    survey/           the pages outside that a survey needed, and what it measured: a folder like this one
    jobs/             commands that were started on it from its own pages (see `library/job_folder`)
    log.jsonl         what happened, an object a line (see `log`); never the truth
    course.jsonl      how it went, in points (see `course`); never the truth
    frontier.json     the pages that come next, as a running crawl writes them now and then; never the truth

What is derived can be made anew; what is never the truth can be deleted.
"""

from __future__ import annotations

import json
import zipfile
import zlib
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from orienteer.errors import CrawlFolderError
from orienteer.files.plain import expect_plain, expect_plain_folder
from orienteer.store.archive import Archive, ArchiveEnd
from orienteer.store.database import Database
from orienteer.store.failures import damaged, explained
from orienteer.store.lock import INNER_FOLDERS
from orienteer.store.signed_arrays import read_signed_arrays

DATABASE, SETTINGS, ALLOWED = "crawl.db", "crawl.toml", "crawl.allowed"
ESTIMATE = "estimate.json"
ARCHIVE_END = "archive_end"  # in the database: the end of the acknowledged part


class FolderFiles:
    """The files of a crawl folder that is open, for reading or for more."""

    def __init__(self, path: Path, database: Database, archive: Archive) -> None:
        self.path = path
        self.database = database
        self.archive = archive

    def close(self) -> None:
        self.archive.close()
        self.database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def settings_path(self) -> Path:
        return self.path / SETTINGS

    @property
    def settings_text(self) -> str:
        return text_of(self.settings_path)

    @property
    def report_path(self) -> Path:
        return self.path / "report.json"

    @property
    def checkpoint_path(self) -> Path:
        return self.path / "checkpoints" / "latest.npz"

    def read_checkpoint(self) -> dict[str, NDArray[Any]] | None:
        """The arrays of the last one; None where there is none of this user, or a damaged one."""
        return read_signed_arrays(self.checkpoint_path)

    @property
    def topic_path(self) -> Path:
        return self.path / "topic.toml"

    def read_ranks(self) -> dict[str, NDArray[Any]] | None:
        """The arrays that `write_ranks` was given last; None where there are none."""
        path = self.path / "ranks.npz"
        if not path.exists():
            return None
        try:
            with explained(path), path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
                ranks = dict(arrays)
            if ranks["pages"].ndim != 1 or any(column.shape != ranks["pages"].shape for column in ranks.values()):
                raise ValueError("ranks of other pages")
            return ranks
        except (ValueError, EOFError, KeyError, zipfile.BadZipFile, zlib.error) as error:
            raise damaged(path, f"{error}; run `orienteer estimate` again") from None

    @property
    def log_path(self) -> Path:
        return self.path / "log.jsonl"

    @property
    def course_path(self) -> Path:
        return self.path / "course.jsonl"

    def read_frontier(self) -> Any:
        """What `write_frontier` was given last; None where there is nothing to be read."""
        try:
            return json.loads((self.path / "frontier.json").read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            return None


def settings_of_folder(path: Path) -> str | None:
    """The text of crawl.toml; None where no crawl is."""
    return text_of(path / SETTINGS) if (path / DATABASE).exists() else None


def estimate_of_folder(path: Path) -> Any:
    """What `write_estimate` was given last; None where no estimate was made."""
    if not (path / ESTIMATE).exists():
        return None
    try:
        return json.loads(text_of(path / ESTIMATE))
    except (ValueError, RecursionError) as error:
        raise damaged(path / ESTIMATE, f"{error}; run `orienteer estimate` again") from None


def policy_model_path(path: Path) -> Path:
    """Where the folder of a crawl has what its policy learned on other sites."""
    return path / "policy.npz"


def expect_crawl(path: Path) -> None:
    with explained(path):
        if not path.exists():
            raise CrawlFolderError(f"{path}: no such crawl folder")
        if not (path / DATABASE).exists():
            raise CrawlFolderError(f"{path}: not a crawl folder (no {DATABASE} in it)")
        expect_plain_folder(path, alone=False, inner=INNER_FOLDERS)


def archive_end(database: Database) -> ArchiveEnd:
    end = database.get(ARCHIVE_END, (0, 0))
    try:
        return ArchiveEnd(*map(int, end))
    except (TypeError, ValueError) as error:
        raise damaged(database.path, error) from None


def text_of(path: Path) -> str:
    with explained(path):
        expect_plain(path, alone=False)
        try:
            return path.read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            raise damaged(path, error) from None
