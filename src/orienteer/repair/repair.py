"""Repair a crawl folder: the way in.

    1. the archive is read from beginning to end, and a new database is made of what is whole (`rebuild`), beside the
       old one; where that comes to the same as before, nothing is changed
    2. what was derived from the old history, or is garbled, is moved to `before-repair-N`; what will change is copied
       there: the old database, the end of a file that is cut off
    3. files of the archive that are missing get an empty one in their place; what is broken at its end is cut off
    4. the new database takes the place of the old one
    5. pages that are in the archive alone are taken in (`retaking`)

Killed at any moment, the folder is the damaged one or the repaired one, and the same command goes on.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from orienteer.errors import CrawlFolderError
from orienteer.files.durable import sync_folder, write_durably
from orienteer.files.plain import expect_plain_folder, make_plain_folder, open_plain
from orienteer.ledger.plan import CrawlPlan
from orienteer.progress import Progress, silent
from orienteer.repair.archive_scan import ArchiveScan
from orienteer.repair.derived import OF_THE_HISTORY, OF_THE_NUMBERS, garbled
from orienteer.repair.rebuild import Rebuilt, rebuild
from orienteer.repair.retaking import retake
from orienteer.repair.salvage import Salvage
from orienteer.store.archive import Archive, ArchiveEnd
from orienteer.store.database import Database
from orienteer.store.failures import explained
from orienteer.store.folder import CrawlFolder
from orienteer.store.folder_files import ARCHIVE_END, DATABASE, SETTINGS, text_of
from orienteer.store.lock import INNER_FOLDERS, FolderLock
from orienteer.store.record import warcinfo_record

REPORT = "repair.json"
_NEW = ".new-repair.db"  # opening the folder removes it, should it be left
_COMPANIONS = ("-wal", "-shm", "-journal")


@dataclass(frozen=True)
class RepairReport:
    """What came of a repair. `lost` are the pages to be fetched again, by URL, with the reason; `damage` says what was
    wrong with the archive; `n_taken` pages were in the archive alone, and are taken in. `backup` is None where nothing
    had to be changed."""

    folder: Path
    was_damaged: bool
    n_pages: int
    n_taken: int
    n_urls_lost: int
    lost: dict[str, str]
    damage: tuple[str, ...]
    set_aside: tuple[str, ...]
    backup: Path | None

    def as_dict(self) -> dict[str, Any]:
        paths = {"folder": str(self.folder), "backup": None if self.backup is None else str(self.backup)}
        return asdict(self) | paths | {"n_lost": len(self.lost)}


def repair(path: str | Path, progress: Progress = silent) -> RepairReport:
    """Make the best of a damaged crawl folder; run on one that is whole, it changes nothing."""
    folder = Path(path)
    with explained(folder):
        expect_plain_folder(folder, alone=True, inner=INNER_FOLDERS)
    if not (folder / SETTINGS).is_file():
        raise CrawlFolderError(f"{folder}: no {SETTINGS} in it, which says what the crawl is; put it back first")
    plan = CrawlPlan.parse(text_of(folder / SETTINGS), str(folder / SETTINGS))
    lock = FolderLock(folder)
    try:
        return _Repair(folder, plan, lock, progress).run()
    finally:
        lock.release()


class _Repair:
    def __init__(self, folder: Path, plan: CrawlPlan, lock: FolderLock, progress: Progress) -> None:
        self._folder, self._plan, self._lock, self._progress = folder, plan, lock, progress
        self._archive = Archive(folder / "archive", read_only=True)
        self._backup: Path | None = None

    def run(self) -> RepairReport:
        with explained(self._folder / "archive"):
            scan = ArchiveScan(self._archive, self._progress)
        made, is_needed = self._made_anew(scan)
        aside = [*(OF_THE_HISTORY if is_needed else ()), *(OF_THE_NUMBERS if made.n_urls_lost else ())]
        moved = tuple(self._put_aside(dict.fromkeys((*aside, *garbled(self._folder)))))
        if is_needed:
            self._mend_archive(scan)
            self._swap()
        with explained(self._folder):
            (self._folder / _NEW).unlink(missing_ok=True)
        # The folder is opened by its own rules; they want the lock for themselves.
        self._lock.release()
        n_taken = self._take_in(made, scan)
        lock = FolderLock(self._folder)
        try:
            report = RepairReport(
                folder=self._folder,
                was_damaged=bool(is_needed or n_taken or moved),
                n_pages=made.n_pages + n_taken,
                n_taken=n_taken,
                n_urls_lost=made.n_urls_lost,
                lost=self._still_lost(made),
                damage=(*(f"{self._archive.path(number).name}: missing" for number in scan.missing), *scan.damage),
                set_aside=moved,
                backup=self._backup,
            )
            if report.was_damaged:
                with explained(self._folder / REPORT):
                    write_durably(self._folder / REPORT, json.dumps(report.as_dict(), indent=1) + "\n")
        finally:
            lock.release()
        return report

    def _made_anew(self, scan: ArchiveScan) -> tuple[Rebuilt, bool]:
        """The new database beside the old one; and whether it says anything else than that."""
        new_path = self._folder / _NEW
        with explained(new_path):
            for name in ("", *_COMPANIONS):
                new_path.with_name(new_path.name + name).unlink(missing_ok=True)
        with Salvage(self._folder / DATABASE) as old, Database.create(new_path) as new:
            made = rebuild(old, self._plan.crawl.seeds, scan, new)
            new.commit()
            is_whole = old.is_whole() and not old.n_lost and made.is_as_before
        return made, not (is_whole and not scan.missing and self._known_end() == scan.end)

    def _known_end(self) -> ArchiveEnd | None:
        """Where the archive ends by the database; None where it does not say."""
        try:
            with Database.open(self._folder / DATABASE, read_only=True) as database:
                return ArchiveEnd(*map(int, database.get(ARCHIVE_END, (0, 0))))
        except (CrawlFolderError, TypeError, ValueError):
            return None

    def _mend_archive(self, scan: ArchiveScan) -> None:
        """Every file up to the last is there, and that ends behind its last whole record."""
        for number in scan.missing:
            path = self._archive.path(number)
            with explained(path):
                descriptor = open_plain(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
                with os.fdopen(descriptor, "wb") as file:
                    file.write(warcinfo_record(path.name))
                    file.flush()
                    os.fsync(file.fileno())
        path = self._archive.path(scan.end.file)
        if scan.n_tail_bytes and path.exists():
            with explained(path), os.fdopen(open_plain(path, os.O_RDWR), "r+b") as file:
                file.seek(scan.end.size_bytes)
                self._keep(f"{path.name}.end", file.read())
                file.truncate(scan.end.size_bytes)
                os.fsync(file.fileno())

    def _swap(self) -> None:
        """The new database takes the place of the old one, which is kept with all that belongs to it."""
        path = self._folder / DATABASE
        with explained(path):
            for name in (DATABASE, *(DATABASE + companion for companion in _COMPANIONS)):
                if (self._folder / name).exists():
                    shutil.copyfile(self._folder / name, self._backup_folder() / name)
            sync_folder(self._backup_folder())
            # A log must not stay beside a database that it is not of.
            for companion in _COMPANIONS:
                path.with_name(DATABASE + companion).unlink(missing_ok=True)
            os.replace(self._folder / _NEW, path)
            sync_folder(self._folder)

    def _take_in(self, made: Rebuilt, scan: ArchiveScan) -> int:
        places = list(scan.responses_beside(made.used))
        if not places:
            return 0
        with CrawlFolder.open(self._folder) as folder:
            return retake(folder, self._plan, places, self._progress)

    def _still_lost(self, made: Rebuilt) -> dict[str, str]:
        """The pages that were not found elsewhere in the archive."""
        if not made.lost:
            return {}
        with Database.open(self._folder / DATABASE, read_only=True) as database:
            found = ((url, database.find_url(url)) for url in made.lost)
            return {url: made.lost[url] for url, page in found if page is None or database.page(page) is None}

    def _put_aside(self, names: Iterable[str]) -> Iterable[str]:
        for name in names:
            path = self._folder / name
            if path.exists():
                with explained(path):
                    path.rename(self._backup_folder() / path.name)
                yield name

    def _keep(self, name: str, content: bytes) -> None:
        with (self._backup_folder() / name).open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())

    def _backup_folder(self) -> Path:
        """Made when it is needed: the first of its name that is free."""
        if self._backup is None:
            number = 1
            while (self._folder / f"before-repair-{number}").exists():
                number += 1
            self._backup = self._folder / f"before-repair-{number}"
            make_plain_folder(self._backup)
        return self._backup
