"""The crawl folder, opened to be written: all that is left of a crawl when its process is gone.

`folder_files` says what stands in it.

The truth is the archive and the database. A page is acknowledged when both hold it: its record is made durable first,
then one transaction takes its row together with the new end of the archive. Killed at any moment, a folder opens again
with exactly the acknowledged pages.
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
from orienteer.files.durable import sync_folder, write_durably
from orienteer.files.plain import expect_plain, make_plain_folder, replaced_inside
from orienteer.store.archive import Archive
from orienteer.store.database import Database
from orienteer.store.failures import explained
from orienteer.store.folder_files import (
    ALLOWED,
    ARCHIVE_END,
    DATABASE,
    ESTIMATE,
    SETTINGS,
    FolderFiles,
    archive_end,
    expect_crawl,
    settings_of_folder,
)
from orienteer.store.lock import LOCK, FolderLock
from orienteer.store.signed_arrays import write_signed_arrays
from orienteer.store.store_settings import StoreSettings
from orienteer.store.uploads import Uploads


class CrawlFolder(FolderFiles):
    """`create`, `open` and `open_or_create` give one, with its lock; close it, or use it in a with-statement."""

    def __init__(self, path: Path, database: Database, archive: Archive, lock: FolderLock) -> None:
        super().__init__(path, database, archive)
        self._lock = lock
        self.uploads: Uploads | None = None  # of complete files of the archive, where these are kept elsewhere

    @classmethod
    def create(cls, path: Path, settings_text: str) -> CrawlFolder:
        """A new crawl in a folder that is empty, or was not made to the end, or is not there yet."""
        _expect_no_crawl(path)
        with explained(path):
            path.mkdir(parents=True, exist_ok=True)
        lock = FolderLock(path)
        try:
            _expect_no_crawl(path)  # it could have been made before we had the lock
            _remove_leftovers(path)
            with explained(path):
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
        """The crawl in a folder; what was not acknowledged is removed. One of an older version is upgraded."""
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
        """The settings of a crawl that is there already stay as they are."""
        return cls.open(path) if (path / DATABASE).exists() else cls.create(path, settings_text)

    @classmethod
    def _opened(cls, path: Path, lock: FolderLock) -> CrawlFolder:
        database = Database.open(path / DATABASE)
        try:
            archive = Archive(path / "archive", archive_end(database))
            folder = cls(path, database, archive, lock)
            if folder.upgrade is not None:
                database.add_event(time.time(), "upgraded", None, detail=folder.upgrade)
                database.commit()
        except BaseException:
            database.close()
            raise
        return folder

    @property
    def upgrade(self) -> str | None:
        """In one line what was done to the folder when it was opened, because an older version had written it."""
        before = self.database.upgraded_from
        return None if before is None else f"upgraded {DATABASE} from format {before} to {self.database.kind.version}"

    def acknowledge(self) -> None:
        """Everything appended and added so far is durable from now on."""
        end = self.archive.sync()
        if end != archive_end(self.database):
            self.database.set(ARCHIVE_END, end)
        self.database.commit()
        self.archive.acknowledged = end
        if self.uploads is not None:
            self.uploads.look(time.monotonic())

    def keep_archive(self, settings: StoreSettings) -> None:
        """The archive is kept as these settings say; the user has allowed what they open."""
        self.archive.max_file_bytes = settings.max_file_bytes
        place = settings.place()
        self.uploads = None if place is None else Uploads(self.archive, place, settings.drop_local)

    def close(self) -> None:
        """What is not acknowledged is lost; what is not uploaded stays here."""
        if self.uploads is not None:
            self.uploads.close()
        super().close()
        self._lock.release()

    def write_settings(self, text: str) -> None:
        with explained(self.settings_path):
            write_durably(self.settings_path, text)

    def write_report(self, report: dict[str, Any]) -> None:
        with explained(self.report_path):
            write_durably(self.report_path, json.dumps(report, indent=1) + "\n")

    def write_checkpoint(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take the place of the last one."""
        path = self.checkpoint_path
        with explained(path):
            make_plain_folder(path.parent)
            write_signed_arrays(path, arrays)

    def write_topic(self, text: str) -> None:
        with explained(self.topic_path):
            write_durably(self.topic_path, text)

    def write_ranks(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take the place of the last ones."""
        path = self.path / "ranks.npz"
        with explained(path), replaced_inside(path) as new:
            np.savez(new, **arrays)  # type: ignore[arg-type]  # a name could be one of its own arguments

    def write_estimate(self, report: dict[str, Any]) -> None:
        with explained(self.path / ESTIMATE):
            write_durably(self.path / ESTIMATE, json.dumps(report, indent=1) + "\n")

    def write_frontier(self, top: dict[str, Any]) -> None:
        """Take the place of the last one. No crawl ends because it cannot be written."""
        path = self.path / "frontier.json"
        with suppress(OSError), replaced_inside(path) as new:
            new.write_text(json.dumps(top), encoding="utf-8")


def _remove_leftovers(path: Path) -> None:
    """Remove files that were never completed: their writer was killed. Nobody else writes, since we have the lock."""
    with explained(path):
        for folder in (path, path / "checkpoints"):
            for leftover in folder.glob(".new-*"):
                leftover.unlink()


@contextmanager
def place_for_new_crawl(path: Path) -> Iterator[Path]:
    """A folder beside `path` to make a crawl in: it gets that name when all is done, and is removed otherwise.

    What a process left there that was killed is removed before.
    """
    _expect_no_crawl(path)
    place = path.with_name(f".{path.name}.importing")
    is_ours = False
    try:
        with explained(place):
            expect_plain(place, alone=False)
            place.mkdir(parents=True, exist_ok=True)
        FolderLock(place).release()  # whoever is at work there is left alone
        is_ours = True
        with explained(place):
            shutil.rmtree(place)
        yield place
        with explained(path):
            if path.exists():
                shutil.rmtree(path)  # it is empty, or a creation that did not come to its end
            place.rename(path)
            sync_folder(path.parent)
    finally:
        if is_ours or _is_free(place):  # Ctrl-C may come before we know
            shutil.rmtree(place, ignore_errors=True)


def _is_free(place: Path) -> bool:
    """Whether there is such a folder and nobody is at work in it."""
    try:
        FolderLock(place).release()
    except CrawlFolderError:
        return False
    return True


def remove_crawl(path: Path) -> None:
    """Remove a crawl folder and all that is in it, if it is one and nobody is writing to it."""
    if settings_of_folder(path) is None:
        return
    lock = FolderLock(path)
    try:
        with explained(path):
            (path / DATABASE).unlink()  # without it the rest is no crawl, however far we get
            shutil.rmtree(path)
    finally:
        lock.release()


def _expect_no_crawl(path: Path) -> None:
    """The folder is not there, or empty, or holds only what a creation left that did not come to its end."""
    with explained(path):
        if not path.exists():
            return
        if not path.is_dir():
            raise CrawlFolderError(f"{path}: a file, where a crawl folder should be")
        names = {file.name for file in path.iterdir()}
    if DATABASE in names:
        raise CrawlFolderError(f"{path}: there is a crawl in this folder already")
    foreign = {name for name in names - {SETTINGS, LOCK, ALLOWED} if not name.startswith(".new-")}
    if foreign:
        why = f"{min(foreign)} is in it, {DATABASE} is not"
        raise CrawlFolderError(f"{path}: not empty and not a crawl folder ({why}); it is left as it is")
