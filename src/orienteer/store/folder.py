"""The crawl folder: all that is left of a crawl when its process is gone.

    crawl.toml        the settings the crawl was made with
    crawl.db          every URL and page it knows (see `schema`); appears last, so a folder with it is complete
    crawl.lock        held by the one process that may write
    archive/          the pages as they came, in WARC files
    checkpoints/      what makes a reopen quick; never the truth
    report.json       the certificate, and why the crawl stopped
    topic.toml        what the crawl looks for, if it has a topic; topic.npz is what was learned of it
    policy.npz        what its policy has learned on other sites, if it is one that does
    ranks.npz         what its pages are worth, inside and in the whole web; derived
    estimate.json     what came of that estimate: how sure it is, and who matters outside; derived
    index/            what a search looks things up in (see `search/`); derived, has a lock of its own
    outside/          the pages around it that were looked at for that: a folder like this one, links only
    log.jsonl         what happened, an object a line (see `log`); never the truth
    course.jsonl      how it went, in points (see `course`); never the truth
    frontier.json     the pages that come next, as a running crawl writes them now and then; never the truth

The truth is the archive and the database. A page is acknowledged when both hold it: its record is made durable first,
then one transaction takes its row together with the new end of the archive. Killed at any moment, a folder opens again
with exactly the acknowledged pages.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import time
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from orienteer.errors import CrawlFolderError
from orienteer.files.atomic import replaced
from orienteer.files.durable import sync_folder, write_durably
from orienteer.store.archive import Archive, ArchiveEnd
from orienteer.store.database import Database
from orienteer.store.failures import damaged, explained

_DATABASE, _SETTINGS = "crawl.db", "crawl.toml"
LOCK = "crawl.lock"
_ESTIMATE = "estimate.json"
_ARCHIVE_END = "archive_end"  # in the database: the end of the acknowledged part


class CrawlFolder:
    """An open crawl folder. `create`, `open` and `open_or_create` give one; close it, or use it in a with-statement."""

    def __init__(self, path: Path, database: Database, archive: Archive, lock: FolderLock | None) -> None:
        self.path = path
        self.database = database
        self.archive = archive
        self._lock = lock

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
                write_durably(path / _SETTINGS, settings_text)
                Database.create(path / _DATABASE).close()
                sync_folder(path)
                sync_folder(path.parent)
            return cls._opened(path, lock)
        except BaseException:
            lock.release()
            raise

    @classmethod
    def open(cls, path: Path, read_only: bool = False) -> CrawlFolder:
        """The crawl in a folder; what was not acknowledged is removed. One of an older version is upgraded.

        Read-only, the folder is left as it is, and another process may be writing to it.
        """
        _expect_crawl(path)
        if read_only:
            return cls._opened(path, None)
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
        return cls.open(path) if (path / _DATABASE).exists() else cls.create(path, settings_text)

    @classmethod
    def _opened(cls, path: Path, lock: FolderLock | None) -> CrawlFolder:
        database = Database.open(path / _DATABASE, read_only=lock is None)
        try:
            archive = Archive(path / "archive", _archive_end(database), read_only=lock is None)
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
        return None if before is None else f"upgraded {_DATABASE} from format {before} to {self.database.kind.version}"

    def acknowledge(self) -> None:
        """Everything appended and added so far is durable from now on."""
        end = self.archive.sync()
        if end != _archive_end(self.database):
            self.database.set(_ARCHIVE_END, end)
        self.database.commit()

    def close(self) -> None:
        """What is not acknowledged is lost."""
        self.archive.close()
        self.database.close()
        if self._lock is not None:
            self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self.close()

    @property
    def settings_path(self) -> Path:
        return self.path / _SETTINGS

    @property
    def settings_text(self) -> str:
        return _text_of(self.settings_path)

    def write_settings(self, text: str) -> None:
        with explained(self.settings_path):
            write_durably(self.settings_path, text)

    @property
    def report_path(self) -> Path:
        return self.path / "report.json"

    def write_report(self, report: dict[str, Any]) -> None:
        with explained(self.report_path):
            write_durably(self.report_path, json.dumps(report, indent=1) + "\n")

    @property
    def checkpoint_path(self) -> Path:
        return self.path / "checkpoints" / "latest.npz"

    def write_checkpoint(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take the place of the last one."""
        path = self.checkpoint_path
        with explained(path):
            path.parent.mkdir(exist_ok=True)
            with replaced(path) as new:
                np.savez(new, **arrays)  # type: ignore[arg-type]  # a name could be one of its own arguments

    def read_checkpoint(self) -> dict[str, NDArray[Any]] | None:
        """The arrays of the last one; None where there is none, or a damaged one: it is never the truth."""
        try:
            with self.checkpoint_path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
                return dict(arrays)
        except (OSError, ValueError, EOFError, KeyError, zipfile.BadZipFile, zlib.error):
            return None

    @property
    def topic_path(self) -> Path:
        return self.path / "topic.toml"

    @property
    def topic_text(self) -> str:
        return _text_of(self.topic_path)

    def write_topic(self, text: str) -> None:
        with explained(self.topic_path):
            write_durably(self.topic_path, text)

    def write_ranks(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take the place of the last ones."""
        path = self.path / "ranks.npz"
        with explained(path), replaced(path) as new:
            np.savez(new, **arrays)  # type: ignore[arg-type]  # a name could be one of its own arguments

    def read_ranks(self) -> dict[str, NDArray[Any]] | None:
        """The arrays that `write_ranks` was given last; None where there are none."""
        path = self.path / "ranks.npz"
        if not path.exists():
            return None
        try:
            with explained(path), path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
                return dict(arrays)
        except (ValueError, EOFError, KeyError, zipfile.BadZipFile, zlib.error) as error:
            raise damaged(path, f"{error}; run `orienteer estimate` again") from None

    def write_estimate(self, report: dict[str, Any]) -> None:
        with explained(self.path / _ESTIMATE):
            write_durably(self.path / _ESTIMATE, json.dumps(report, indent=1) + "\n")

    @property
    def log_path(self) -> Path:
        return self.path / "log.jsonl"

    @property
    def course_path(self) -> Path:
        return self.path / "course.jsonl"

    def write_frontier(self, top: dict[str, Any]) -> None:
        """Take the place of the last one. No crawl ends because it cannot be written."""
        path = self.path / "frontier.json"
        with suppress(OSError), replaced(path) as new:
            new.write_text(json.dumps(top), encoding="utf-8")

    def read_frontier(self) -> Any:
        """What `write_frontier` was given last; None where there is nothing to be read."""
        try:
            return json.loads((self.path / "frontier.json").read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            return None


class FolderLock:
    """The right to write to a folder; it ends with the process, however that ends."""

    def __init__(self, folder: Path) -> None:
        path = folder / LOCK
        with explained(path):
            self._descriptor: int | None = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            with explained(path):
                self._take(folder, self._descriptor)
        except BaseException:
            self.release()
            raise

    def _take(self, folder: Path, descriptor: int) -> None:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(descriptor, 20, 0).decode("ascii", "replace").strip()
            raise CrawlFolderError(f"{folder} is in use by process {holder or '(unknown)'}") from None
        with suppress(OSError):  # only for the message to others: a full disk is no reason not to open
            os.ftruncate(descriptor, 0)
            os.write(descriptor, f"{os.getpid()}\n".encode())

    def release(self) -> None:
        """A second time does nothing: the number may be another file's by then."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)


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
            (path / _DATABASE).unlink()  # without it the rest is no crawl, however far we get
            shutil.rmtree(path)
    finally:
        lock.release()


def settings_of_folder(path: Path) -> str | None:
    """The text of crawl.toml; None where no crawl is."""
    return _text_of(path / _SETTINGS) if (path / _DATABASE).exists() else None


def estimate_of_folder(path: Path) -> Any:
    """What `write_estimate` was given last; None where no estimate was made."""
    if not (path / _ESTIMATE).exists():
        return None
    try:
        return json.loads(_text_of(path / _ESTIMATE))
    except (ValueError, RecursionError) as error:
        raise damaged(path / _ESTIMATE, f"{error}; run `orienteer estimate` again") from None


def policy_model_path(path: Path) -> Path:
    """Where the folder of a crawl has what its policy learned on other sites."""
    return path / "policy.npz"


def _text_of(path: Path) -> str:
    with explained(path):
        try:
            return path.read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            raise damaged(path, error) from None


def _archive_end(database: Database) -> ArchiveEnd:
    end = database.get(_ARCHIVE_END, (0, 0))
    try:
        return ArchiveEnd(*map(int, end))
    except (TypeError, ValueError) as error:
        raise damaged(database.path, error) from None


def _expect_crawl(path: Path) -> None:
    with explained(path):
        if not path.exists():
            raise CrawlFolderError(f"{path}: no such crawl folder")
        if not (path / _DATABASE).exists():
            raise CrawlFolderError(f"{path}: not a crawl folder (no {_DATABASE} in it)")


def _expect_no_crawl(path: Path) -> None:
    """The folder is not there, or empty, or holds only what a creation left that did not come to its end."""
    with explained(path):
        if not path.exists():
            return
        if not path.is_dir():
            raise CrawlFolderError(f"{path}: a file, where a crawl folder should be")
        names = {file.name for file in path.iterdir()}
    if _DATABASE in names:
        raise CrawlFolderError(f"{path}: there is a crawl in this folder already")
    foreign = {name for name in names - {_SETTINGS, LOCK} if not name.startswith(".new-")}
    if foreign:
        why = f"{min(foreign)} is in it, {_DATABASE} is not"
        raise CrawlFolderError(f"{path}: not empty and not a crawl folder ({why}); it is left as it is")
