"""A folder of crawl folders.

    NAME/              a crawl
    .jobs/             the commands that were started on them (see `job_folder`)
    .exports/ID/       the output of an export
    .schedules/        refresh schedules
    .deleted/          crawls that are being deleted

A name is one or more plain words, never a path. A symbolic link is never a crawl, whatever its target.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import threading
import time
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from orienteer.errors import CrawlFolderError, InputError, LibraryError, NotInLibraryError, OrienteerError
from orienteer.files.plain import data_folder, expect_plain, sync_folder
from orienteer.inspect.crawl_status import CrawlStatus, FolderWatcher
from orienteer.inspect.status_text import describe_coverage, describe_goal, describe_stopped
from orienteer.library.job import ALIVE, Job, current_job, progress_line
from orienteer.library.job_folder import JobFolder, new_id
from orienteer.store.failures import map_disk_errors
from orienteer.store.folder_view import DATABASE, SETTINGS, size_on_disk
from orienteer.store.lock import FolderLock, holder_of
from orienteer.store.page_texts import index_folder
from orienteer.url import canonical_url, host_of
from orienteer.wording import plain


@dataclass(frozen=True)
class Card:
    """A crawl of the library: its status, and the job that works on it now, or else its last one.

    `status` is None if the crawl is about to start, and if its folder is damaged: then `problem` says in one line what
    is wrong with it, and `n_bytes` is its size.
    """

    name: str
    job: Job | None
    status: CrawlStatus | None = None
    is_indexed: bool = False
    problem: str | None = None
    n_bytes: int = 0

    @property
    def phase(self) -> str:
        """That of the status, or "damaged"."""
        if self.problem is not None:
            return "damaged"
        return "new" if self.status is None else self.status.phase

    @property
    def seeds(self) -> tuple[str, ...]:
        if self.status is not None:
            return self.status.plan.crawl.seeds
        url = None if self.job is None or self.problem is not None else self.job.options.get("url")
        return (url,) if isinstance(url, str) else ()

    @property
    def sentence(self) -> str:
        """The phase as text."""
        if self.problem is not None:
            return "it cannot be read"
        if self.status is None:
            return (self.job.line if self.job is not None else "") or "it is about to start"
        if self.status.is_running:
            return progress_line(self.status) or "it is about to start"
        if self.status.first_time is None:
            return f"nothing has been fetched yet; the goal is {describe_goal(self.status.plan.crawl)}"
        return describe_stopped(self.status) or describe_coverage(self.status)


MAX_NAME_CHARS = 80
SCHEDULE_SUFFIXES = (".toml", ".secret", ".json")
_NAME = re.compile(r"\w[\w.-]*( [\w.-]+)*")
_NOT_IN_NAME = re.compile(r"[^\w.-]+")
_STATUS_INTERVAL_S = 1.0  # shortest time between two reads of a running crawl
_MAX_STATUS_SHARE = 0.1  # of the time may be spent on reading it
_CHANGING_FILES = (DATABASE, DATABASE + "-wal", SETTINGS, "report.json")


def default_library() -> Path:
    """The default folder of crawls, in the data folder of the user."""
    return data_folder() / "crawls"


def is_plain_name(name: str) -> bool:
    """Whether a crawl may have this name: letters, digits, `_`, `.`, `-` and single spaces, not hidden, no path.

    >>> [is_plain_name(name) for name in ("example.org-2", "Zoë's", "..", "a/b", ".jobs")]
    [True, False, False, False, False]
    """
    is_short = len(name) <= MAX_NAME_CHARS and len(name.encode(errors="replace")) <= 2 * MAX_NAME_CHARS
    return is_short and _NAME.fullmatch(name) is not None and unicodedata.normalize("NFC", name) == name


def expect_plain_name(name: str) -> None:
    if not is_plain_name(name):
        raise InputError(
            f"{plain(name, 100)!r} cannot be the name of a crawl; letters, digits, dots, hyphens and spaces between "
            f"them, at most {MAX_NAME_CHARS}"
        )


class _CachedStatus(NamedTuple):
    """The status of a crawl when it was last read. While the crawl is running, `watcher` reads on from there."""

    fingerprint: tuple[object, ...]
    status: CrawlStatus
    watcher: FolderWatcher | None
    next_read: float


class Library:
    """A folder of crawl folders, created with mode 0700 at the first write."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.job_folder = JobFolder(path / ".jobs")
        self._statuses: dict[str, _CachedStatus] = {}
        self._status_lock = threading.Lock()

    @property
    def exports_path(self) -> Path:
        return self.path / ".exports"

    def schedule_path(self, name: str, suffix: str) -> Path:
        """Return a file of a crawl's schedule (see `schedules`)."""
        return self.path / ".schedules" / (name + suffix)

    def make(self) -> None:
        """Create the folder if it does not exist."""
        with map_disk_errors(self.path):
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)

    def names(self) -> list[str]:
        """Return the names of the crawls, sorted, without hidden names, links and files."""
        try:
            with os.scandir(self.path) as entries:
                folders = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            raise LibraryError(f"{self.path}: {error.strerror}") from None
        return sorted(name for name in folders if is_plain_name(name) and _is_crawl(self.path / name))

    def path_of(self, name: str) -> Path:
        """Return the folder of a crawl. InputError: the name is not plain; NotInLibraryError: there is none."""
        expect_plain_name(name)
        path = self.path / name
        try:
            found = path.lstat()
        except OSError:
            raise NotInLibraryError(f"there is no crawl named {name} in the library") from None
        if stat.S_ISLNK(found.st_mode):
            raise InputError(f"{name}: a link; only folders of the library itself are crawls")
        if not stat.S_ISDIR(found.st_mode) or not _is_crawl(path):
            raise NotInLibraryError(f"there is no crawl named {name} in the library")
        return path

    def is_taken(self, name: str) -> bool:
        """Whether any file, folder or link has this name."""
        return os.path.lexists(self.path / name)

    def name_for(self, url: str) -> str:
        """Return an unused name for a crawl of this URL: `example.org`, `example.org-2`."""
        host = host_of(canonical_url(url if "://" in url else f"https://{url}") or "")
        name = _NOT_IN_NAME.sub("-", host.removeprefix("www.")).strip("-.")[: MAX_NAME_CHARS - 10] or "crawl"
        taken = {record.crawl for record, state in self.job_folder.records() if state in ALIVE}
        number, free = 1, name
        while free in taken or self.is_taken(free):
            number += 1
            free = f"{name}-{number}"
        return free

    def status(self, name: str) -> CrawlStatus:
        """Return the status of a crawl; for a running crawl it may be a second old, or older if reading is slow."""
        path = self.path_of(name)
        with self._status_lock:
            before, fingerprint, holder = time.monotonic(), _fingerprint(path), holder_of(path)
            cached = self._statuses.get(name)
            # A running crawl is read only at intervals, since large ones are slow to read; others are read at once.
            if cached is None or (cached.fingerprint != fingerprint and (holder is None or before >= cached.next_read)):
                watcher = FolderWatcher(path) if cached is None or cached.watcher is None else cached.watcher
                status = watcher.status(0)
                wait_s = max(_STATUS_INTERVAL_S, (time.monotonic() - before) / _MAX_STATUS_SHARE)
                # A watcher holds data of every URL, so it is dropped for crawls that are not running.
                next_read = time.monotonic() + (0.0 if holder is None else wait_s)
                cached = _CachedStatus(fingerprint, status, None if holder is None else watcher, next_read)
                self._statuses[name] = cached
            return replace(cached.status, holder=holder)

    def cards(self) -> list[Card]:
        """Return a card for each crawl, including damaged ones and those that are about to start."""
        jobs = self._newest_jobs()
        names = self.names()
        for name in set(self._statuses) - set(names):
            self._statuses.pop(name, None)
        begun = [name for name, job in jobs.items() if job.is_alive and name not in names]
        return [self._card(name, jobs.get(name)) for name in sorted({*names, *begun})]

    def card(self, name: str) -> Card:
        """Return the card of a crawl."""
        job = self._newest_jobs().get(name)
        if job is None or not job.is_alive:
            self.path_of(name)
        return self._card(name, job)

    def _newest_jobs(self) -> dict[str, Job]:
        """Return by crawl the job that is alive, or else the last one."""
        newest: dict[str, tuple[bool, Job]] = {}
        for record, state in reversed(self.job_folder.records()):
            is_alive = state in ALIVE
            if record.crawl not in newest or is_alive >= newest[record.crawl][0]:
                newest[record.crawl] = (is_alive, current_job(self, record, state))
        return {crawl: job for crawl, (_, job) in newest.items()}

    def _card(self, name: str, job: Job | None) -> Card:
        path = self.path / name
        if not (path / DATABASE).exists() and job is not None and job.is_alive:
            return Card(name, job)
        try:
            status = self.status(name)
        except OrienteerError as error:
            return Card(name, job, problem=plain(str(error), 500), n_bytes=size_on_disk(path))
        is_indexed = (index_folder(path) / "pages.db").is_file()
        return Card(name, job, status, is_indexed, n_bytes=size_on_disk(path))

    def rename(self, name: str, new: str) -> None:
        """Rename a crawl; LibraryError while a job or another process works on it."""
        expect_plain_name(new)
        self.path_of(name)
        with self._exclusive(name) as path:
            if self.is_taken(new):
                raise LibraryError(f"the library already contains {new}; choose another name")
            with map_disk_errors(path):
                os.rename(path, self.path / new)
                sync_folder(self.path)
            self.job_folder.rename_crawl(name, new)
            for suffix in SCHEDULE_SUFFIXES:
                with map_disk_errors(self.path), suppress(FileNotFoundError):
                    os.replace(self.schedule_path(name, suffix), self.schedule_path(new, suffix))
            self._statuses.pop(name, None)

    def delete(self, name: str) -> None:
        """Delete a crawl; LibraryError while it is in use. A kill never leaves a partial crawl under its name."""
        self.path_of(name)
        trash = self.path / ".deleted"
        with self._exclusive(name) as path, map_disk_errors(path):
            expect_plain(trash, alone=False)
            trash.mkdir(mode=0o700, exist_ok=True)
            os.rename(path, trash / new_id())
            sync_folder(self.path)
            for suffix in SCHEDULE_SUFFIXES:  # a new crawl of that name must not inherit them
                self.schedule_path(name, suffix).unlink(missing_ok=True)
            for record, _ in self.job_folder.records():
                if record.crawl == name:
                    self.job_folder.remove(record.id)
                    shutil.rmtree(self.exports_path / record.id, ignore_errors=True)
            self._statuses.pop(name, None)
        # This also removes what an earlier, killed deletion left. rmtree does not follow links.
        shutil.rmtree(trash, ignore_errors=True)

    @contextmanager
    def _exclusive(self, name: str) -> Iterator[Path]:
        """Yield the folder of a crawl while no job can start on it and no other process writes to it."""
        with self.job_folder.locked():
            path = self.path_of(name)
            for record, state in self.job_folder.records():
                if record.crawl == name and state in ALIVE:
                    raise LibraryError(f"{name}: a job is running ({record.kind}); stop it first")
            with _locked(path, name), _locked(index_folder(path), name):
                yield path


@contextmanager
def _locked(folder: Path, name: str) -> Iterator[None]:
    """Hold the lock of a crawl folder or an index. A folder with links in it has no lock: no crawl writes there."""
    lock = None
    with suppress(CrawlFolderError):
        if folder.is_dir() and not folder.is_symlink():
            lock = FolderLock(folder)
    try:
        process = holder_of(folder) if lock is None else None
        if process is not None:
            raise LibraryError(f"{name}: a crawl is running there (process {process or 'unknown'}); stop it first")
        yield
    finally:
        if lock is not None:
            lock.release()


def _is_crawl(path: Path) -> bool:
    return any(os.path.lexists(path / file) for file in (DATABASE, SETTINGS))


def _fingerprint(path: Path) -> tuple[object, ...]:
    """Return a value that changes whenever the crawl has written something."""
    found: list[object] = []
    for name in _CHANGING_FILES:
        try:
            file = (path / name).stat()
            found.append((file.st_ino, file.st_size, file.st_mtime_ns))
        except OSError:
            found.append(None)
    return tuple(found)
