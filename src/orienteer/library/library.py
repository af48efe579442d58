"""A folder of crawl folders.

    NAME/              a crawl
    .jobs/             the commands that were started on them (see `job_folder`)
    .exports/ID/       what an export has written
    .schedules/        when which is refreshed
    .deleted/          what is being deleted

A name is one plain word or several, never a path. Links are no crawls, wherever they lead.
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
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from orienteer.errors import CrawlFolderError, InputError, LibraryError, NotInLibraryError, OrienteerError
from orienteer.files.durable import sync_folder
from orienteer.files.plain import expect_plain
from orienteer.files.user_folders import data_folder
from orienteer.inspect.folder_status import FolderStatus, FolderWatcher
from orienteer.library.card import Card, card_of, damaged_card, new_card
from orienteer.library.job import ALIVE, Job
from orienteer.library.job_folder import JobFolder, new_id
from orienteer.library.job_progress import shown
from orienteer.search.index_files import index_folder
from orienteer.store.failures import explained
from orienteer.store.folder_files import DATABASE, SETTINGS
from orienteer.store.lock import FolderLock, holder_of
from orienteer.url import canonical_url, host_of
from orienteer.wording import plain

MAX_NAME_CHARS = 80
_NAME = re.compile(r"\w[\w.-]*( [\w.-]+)*")
_NOT_IN_NAME = re.compile(r"[^\w.-]+")
_EVERY_S = 1.0  # a crawl that is running is looked at, ...
_SHARE = 0.1  # ... and so much of the time may go into that
_SIGNS = (DATABASE, DATABASE + "-wal", SETTINGS, "report.json")


def default_library() -> Path:
    """Where crawls are kept if nobody says where: in the data folder of the user."""
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


class _Seen(NamedTuple):
    """A crawl as it was looked at last. `watcher` goes on from there while the crawl is running."""

    signs: tuple[object, ...]
    status: FolderStatus
    watcher: FolderWatcher | None
    next_look: float


class Library:
    """A folder of crawl folders; it is made, for this user alone, when something is first written."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.job_folder = JobFolder(path / ".jobs")
        self._seen: dict[str, _Seen] = {}
        self._looking = threading.Lock()

    @property
    def exports_path(self) -> Path:
        return self.path / ".exports"

    def make(self) -> None:
        """The folder itself, if it is not there."""
        with explained(self.path):
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)

    def names(self) -> list[str]:
        """The crawls in it, sorted. Hidden names, links and files are none."""
        try:
            with os.scandir(self.path) as entries:
                folders = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            raise LibraryError(f"{self.path}: {error.strerror}") from None
        return sorted(name for name in folders if is_plain_name(name) and _is_crawl(self.path / name))

    def path_of(self, name: str) -> Path:
        """The folder of a crawl; InputError where the name is not plain, NotInLibraryError where there is none."""
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
        """Whether there is anything of this name."""
        return os.path.lexists(self.path / name)

    def name_for(self, url: str) -> str:
        """A free name for a crawl that begins at this URL: `example.org`, `example.org-2`."""
        host = host_of(canonical_url(url if "://" in url else f"https://{url}") or "")
        name = _NOT_IN_NAME.sub("-", host.removeprefix("www.")).strip("-.")[: MAX_NAME_CHARS - 10] or "crawl"
        taken = {record.crawl for record, state in self.job_folder.records() if state in ALIVE}
        number, free = 1, name
        while free in taken or self.is_taken(free):
            number += 1
            free = f"{name}-{number}"
        return free

    def look(self, name: str) -> FolderStatus:
        """How a crawl stands: as of now where it has changed, as of a second ago while it is running."""
        path = self.path_of(name)
        with self._looking:
            before, signs, holder = time.monotonic(), _signs(path), holder_of(path)
            seen = self._seen.get(name)
            # Large crawls that are running need not be looked at each time; one that has ended is.
            if seen is None or (seen.signs != signs and (holder is None or before >= seen.next_look)):
                watcher = FolderWatcher(path) if seen is None or seen.watcher is None else seen.watcher
                status = watcher.look(0)
                wait = 0.0 if holder is None else max(_EVERY_S, (time.monotonic() - before) / _SHARE)
                # What a watcher knows of each URL is not kept for crawls that nobody works on.
                seen = _Seen(signs, status, watcher if holder is not None else None, time.monotonic() + wait)
                self._seen[name] = seen
            return replace(seen.status, holder=holder)

    def cards(self) -> list[Card]:
        """What is shown of each crawl, damaged ones included, and of those that are about to begin."""
        jobs = self._newest_jobs()
        names = self.names()
        for name in set(self._seen) - set(names):
            self._seen.pop(name, None)
        begun = [name for name, job in jobs.items() if job.is_alive and name not in names]
        return [self._card(name, jobs.get(name)) for name in sorted({*names, *begun})]

    def card(self, name: str) -> Card:
        """The card of one crawl."""
        job = self._newest_jobs().get(name)
        if job is None or not job.is_alive:
            self.path_of(name)
        return self._card(name, job)

    def _newest_jobs(self) -> dict[str, Job]:
        """By crawl: the job that is alive, or else the last one."""
        found: dict[str, tuple[bool, Job]] = {}
        for record, state in reversed(self.job_folder.records()):
            is_alive = state in ALIVE
            if record.crawl not in found or is_alive >= found[record.crawl][0]:
                found[record.crawl] = (is_alive, shown(self, record, state))
        return {crawl: job for crawl, (_, job) in found.items()}

    def _card(self, name: str, job: Job | None) -> Card:
        path = self.path / name
        if not (path / DATABASE).exists() and job is not None and job.is_alive:
            return new_card(name, job)
        try:
            return card_of(name, self.look(name), (index_folder(path) / "pages.db").is_file(), job)
        except OrienteerError as error:
            return damaged_card(name, str(error), _size_of(path), job)

    def rename(self, name: str, new: str) -> None:
        """Give a crawl another name; refused while anything works on it."""
        expect_plain_name(new)
        self.path_of(name)
        with self._alone_with(name) as path:
            if self.is_taken(new):
                raise LibraryError(f"there is something named {new} in the library already; choose another name")
            with explained(path):
                os.rename(path, self.path / new)
                sync_folder(self.path)
            self.job_folder.renamed(name, new)
            self._seen.pop(name, None)

    def delete(self, name: str) -> None:
        """Delete a crawl; refused while anything works on it. A kill leaves no half crawl under its name."""
        self.path_of(name)
        gone = self.path / ".deleted"
        with self._alone_with(name) as path, explained(path):
            expect_plain(gone, alone=False)
            gone.mkdir(mode=0o700, exist_ok=True)
            os.rename(path, gone / new_id())
            sync_folder(self.path)
            for record, _ in self.job_folder.records():
                if record.crawl == name:
                    self.job_folder.remove(record.id)
                    shutil.rmtree(self.exports_path / record.id, ignore_errors=True)
            self._seen.pop(name, None)
        # Others of before too, where a kill came in between. Nothing outside is touched: no link is followed.
        shutil.rmtree(gone, ignore_errors=True)

    @contextmanager
    def _alone_with(self, name: str) -> Iterator[Path]:
        """The folder of a crawl, while no job can begin on it, and no other process writes to it."""
        with self.job_folder.guarded():
            path = self.path_of(name)
            for record, state in self.job_folder.records():
                if record.crawl == name and state in ALIVE:
                    raise LibraryError(f"{name}: a job is running ({record.kind}); stop it first")
            with _held(path, name), _held(index_folder(path), name):
                yield path


@contextmanager
def _held(folder: Path, name: str) -> Iterator[None]:
    """The lock of a crawl folder or an index. Where it has links in it, nobody could write there anyway."""
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


def _signs(path: Path) -> tuple[object, ...]:
    """What differs when a crawl has gone on."""
    found: list[object] = []
    for name in _SIGNS:
        try:
            file = (path / name).stat()
            found.append((file.st_ino, file.st_size, file.st_mtime_ns))
        except OSError:
            found.append(None)
    return tuple(found)


def _size_of(path: Path) -> int:
    n_bytes = 0
    for folder, _, files in os.walk(path):
        for name in files:
            with suppress(OSError):
                n_bytes += os.lstat(os.path.join(folder, name)).st_size
    return n_bytes
