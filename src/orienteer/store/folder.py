"""The crawl folder, opened for writing: the complete state of a crawl. `folder_view` lists the files in it.

The archive and the database are the source of truth. A page is acknowledged when both hold it: its record is made
durable first, then one transaction stores its row together with the new end of the archive. After a kill at any moment
the folder opens with exactly the acknowledged pages.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orienteer.errors import CrawlFolderError
from orienteer.files.plain import expect_plain, make_plain_folder, replaced_inside, sync_folder, write_durably
from orienteer.store.archive import Archive
from orienteer.store.database import Database
from orienteer.store.failures import map_disk_errors
from orienteer.store.folder_view import (
    ALLOWED,
    ARCHIVE_END,
    DATABASE,
    ESTIMATE,
    SETTINGS,
    FolderFiles,
    archive_end,
    expect_crawl,
    settings_of_folder,
    write_signed_arrays,
)
from orienteer.store.lock import LOCK, FolderLock
from orienteer.store.object_store import StoreSettings
from orienteer.store.schema import VERSION
from orienteer.store.uploads import Uploads


class CrawlFolder(FolderFiles):
    """A crawl folder and its lock, from `create`, `open` or `open_or_create`. Close it, or use a with-statement."""

    def __init__(self, path: Path, database: Database, archive: Archive, lock: FolderLock) -> None:
        super().__init__(path, database, archive)
        self._lock = lock
        self.uploads: Uploads | None = None  # of complete files of the archive, if there is an object store

    @classmethod
    def create(cls, path: Path, settings_text: str) -> CrawlFolder:
        """Create a crawl in a folder that is empty, partly created, or missing."""
        _expect_no_crawl(path)
        with map_disk_errors(path):
            path.mkdir(parents=True, exist_ok=True)
        lock = FolderLock(path)
        try:
            _expect_no_crawl(path)  # again: another process may have created it before we had the lock
            _remove_leftovers(path)
            with map_disk_errors(path):
                write_durably(path / SETTINGS, settings_text)
                Database.create(path / DATABASE).close()
                sync_folder(path)
                sync_folder(path.parent)
            return cls._opened(path, lock)
        except BaseException:
            lock.release()
            raise

    @classmethod
    def open(cls, path: Path) -> CrawlFolder:
        """Open the crawl in a folder: unacknowledged data is removed, and an older format is upgraded."""
        expect_crawl(path)
        lock = FolderLock(path)
        try:
            _remove_leftovers(path)
            return cls._opened(path, lock)
        except BaseException:
            lock.release()
            raise

    @classmethod
    def open_or_create(cls, path: Path, settings_text: str) -> CrawlFolder:
        """Open a crawl, or create it with these settings; an existing crawl keeps its own settings."""
        return cls.open(path) if (path / DATABASE).exists() else cls.create(path, settings_text)

    @classmethod
    def _opened(cls, path: Path, lock: FolderLock) -> CrawlFolder:
        database = Database.open(path / DATABASE)
        try:
            archive = Archive(path / "archive", archive_end(database))
            folder = cls(path, database, archive, lock)
            if folder.upgrade is not None:
                database.meta.add_event(time.time(), "upgraded", None, detail=folder.upgrade)
                database.commit()
        except BaseException:
            database.close()
            raise
        return folder

    @property
    def upgrade(self) -> str | None:
        """One line about the upgrade of the database when the folder was opened; None if there was none."""
        before = self.database.connection.upgraded_from
        return None if before is None else f"upgraded {DATABASE} from format {before} to {VERSION}"

    def acknowledge(self) -> None:
        """Make everything appended and added so far durable."""
        end = self.archive.sync()
        if end != archive_end(self.database):
            self.database.meta.set(ARCHIVE_END, end)
        self.database.commit()
        self.archive.acknowledged = end
        if self.uploads is not None:
            self.uploads.poll(time.monotonic())

    def configure_archive(self, settings: StoreSettings) -> None:
        """Apply the settings of the archive. The user must have allowed the object store in them."""
        self.archive.max_file_bytes = settings.max_file_bytes
        location = settings.location()
        self.uploads = None if location is None else Uploads(self.archive, location, settings.drop_local)

    def close(self) -> None:
        """Close the folder: unacknowledged pages are lost, files that are not uploaded remain local."""
        if self.uploads is not None:
            self.uploads.close()
        super().close()
        self._lock.release()

    def write_settings(self, text: str) -> None:
        _write(self.settings_path, text)

    def write_report(self, report: dict[str, Any]) -> None:
        _write(self.report_path, json.dumps(report, indent=1) + "\n")

    def write_checkpoint(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Replace the last checkpoint."""
        path = self.checkpoint_path
        with map_disk_errors(path):
            make_plain_folder(path.parent)
            write_signed_arrays(path, arrays)

    def write_topic(self, text: str) -> None:
        _write(self.topic_path, text)

    def write_ranks(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Replace the last ranks."""
        path = self.path / "ranks.npz"
        with map_disk_errors(path), replaced_inside(path) as new:
            np.savez(new, **arrays)  # type: ignore[arg-type]  # mypy: a key could be a parameter of savez

    def write_estimate(self, report: dict[str, Any]) -> None:
        _write(self.path / ESTIMATE, json.dumps(report, indent=1) + "\n")

    def write_frontier(self, top: dict[str, Any]) -> None:
        """Replace the copy of the best pages in the frontier. Errors are ignored: the crawl does not need this file."""
        path = self.path / "frontier.json"
        with suppress(OSError), replaced_inside(path) as new:
            new.write_text(json.dumps(top), encoding="utf-8")


def _write(path: Path, text: str) -> None:
    with map_disk_errors(path):
        write_durably(path, text)


def _remove_leftovers(path: Path) -> None:
    """Remove incomplete files of a killed writer. No other process is writing, since we hold the lock."""
    with map_disk_errors(path):
        for folder in (path, path / "archive", path / "checkpoints"):
            for leftover in folder.glob(".new-*"):
                leftover.unlink()


@contextmanager
def new_crawl_folder(path: Path) -> Iterator[Path]:
    """Yield a folder next to `path` in which to create a crawl; it is renamed to `path` on success, else removed.

    Leftovers of a killed process are removed first.
    """
    _expect_no_crawl(path)
    staging = path.with_name(f".{path.name}.importing")
    is_ours = False
    try:
        with map_disk_errors(staging):
            expect_plain(staging, alone=False)
            staging.mkdir(parents=True, exist_ok=True)
        FolderLock(staging).release()  # fails if another process is working there
        is_ours = True
        with map_disk_errors(staging):
            shutil.rmtree(staging)
        yield staging
        with map_disk_errors(path):
            if path.exists():
                shutil.rmtree(path)  # empty, or partly created
            staging.rename(path)
            sync_folder(path.parent)
    finally:
        if is_ours or _is_free(staging):  # Ctrl-C may arrive before `is_ours` is set
            shutil.rmtree(staging, ignore_errors=True)


def _is_free(staging: Path) -> bool:
    """Whether the folder exists and no process is working in it."""
    try:
        FolderLock(staging).release()
    except CrawlFolderError:
        return False
    return True


def remove_crawl(path: Path) -> None:
    """Remove a crawl folder, if it is one and no process is writing to it."""
    if settings_of_folder(path) is None:
        return
    lock = FolderLock(path)
    try:
        with map_disk_errors(path):
            (path / DATABASE).unlink()  # first: without it the folder is no crawl, even if rmtree fails
            shutil.rmtree(path)
    finally:
        lock.release()


def _expect_no_crawl(path: Path) -> None:
    """Raise an error unless the folder is missing, empty, or holds only leftovers of an interrupted creation."""
    with map_disk_errors(path):
        if not path.exists():
            return
        if not path.is_dir():
            raise CrawlFolderError(f"{path}: a file, not a crawl folder")
        names = {file.name for file in path.iterdir()}
    if DATABASE in names:
        raise CrawlFolderError(f"{path}: already holds a crawl")
    foreign = {name for name in names - {SETTINGS, LOCK, ALLOWED} if not name.startswith(".new-")}
    if foreign:
        why = f"{min(foreign)} is in it, {DATABASE} is not"
        raise CrawlFolderError(f"{path}: not empty and not a crawl folder ({why}); it is left as it is")
