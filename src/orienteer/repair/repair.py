"""The repair of a crawl folder.

    1. The whole archive is read, and a new database is built from the intact data (`rebuild`), next to the old one. If
       both are equal, nothing is changed.
    2. Files derived from the old history, and damaged derived files, are moved to `before-repair-N`; files that will
       change are copied there: the old database, the truncated end of a file.
    3. Missing files of the archive are replaced by empty ones; a damaged end of the archive is truncated.
    4. The new database replaces the old one.
    5. Pages that are only in the archive are added as if they had just been fetched.
    6. Response records that state the digest of a rendered document get that of their own payload (`wrong_digests`),
       except in files that are in an object store.

After a kill at any moment the folder is either damaged or repaired, and the same command continues.
"""

from __future__ import annotations

import json
import os
import shutil
import zipfile
import zlib
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from orienteer.errors import CrawlFolderError
from orienteer.fetch.archive import archived_response
from orienteer.files.plain import expect_plain_folder, make_plain_folder, open_plain, sync_folder, write_durably
from orienteer.ledger.intake import Intake
from orienteer.ledger.ledger import Ledger
from orienteer.ledger.plan import CrawlPlan
from orienteer.progress import Progress, silent
from orienteer.repair.rebuild import Rebuilt, rebuild
from orienteer.repair.salvage import ArchiveScan, Salvage
from orienteer.responses.response import PageRequest
from orienteer.responses.verdict import VerdictKind
from orienteer.store.archive import Archive, ArchiveEnd, Position
from orienteer.store.capture_table import FOLDER as CAPTURES
from orienteer.store.database import Database
from orienteer.store.failures import map_disk_errors
from orienteer.store.folder import CrawlFolder
from orienteer.store.folder_view import ARCHIVE_END, DATABASE, SETTINGS, text_of
from orienteer.store.lock import INNER_FOLDERS, FolderLock
from orienteer.store.record import warcinfo_record
from orienteer.store.wrong_digests import correct_file

REPORT = "repair.json"
_NEW = ".new-repair.db"  # opening the folder removes a leftover
_COMPANIONS = ("-wal", "-shm", "-journal")
# Files that refer to positions in the history, and files that refer to page ids.
FILES_WITH_POSITIONS = ("checkpoints/latest.npz", "course.jsonl", "frontier.json", "report.json", "outside")
FILES_WITH_PAGE_IDS = ("ranks.npz", "estimate.json", "index")
_PAGES_PER_COMMIT = 500
_NOW = 0.0  # no requests are sent, so politeness needs no clock
_NOT_FINAL = frozenset((VerdictKind.TRY_AGAIN, VerdictKind.NOT_MODIFIED))


@dataclass(frozen=True)
class RepairReport:
    """The result of a repair. `lost` are the pages to be fetched again, by URL, with the reason; `damage` lists the
    damaged ranges of the archive; `n_added` pages were only in the archive. `moved` are derived files moved to
    `backup`, which is None if nothing was changed. `n_digests` wrong digests in records were corrected, and
    `n_digests_left` were not, since the records are in an object store, or larger when corrected."""

    folder: Path
    was_damaged: bool
    n_pages: int
    n_added: int
    n_urls_lost: int
    lost: dict[str, str]
    damage: tuple[str, ...]
    moved: tuple[str, ...]
    backup: Path | None
    n_digests: int = 0
    n_digests_left: int = 0

    def as_dict(self) -> dict[str, Any]:
        paths = {"folder": str(self.folder), "backup": None if self.backup is None else str(self.backup)}
        return asdict(self) | paths | {"n_lost": len(self.lost)}


def repair(path: str | Path, progress: Progress = silent) -> RepairReport:
    """Repair a damaged crawl folder; an intact folder stays unchanged."""
    folder = Path(path)
    with map_disk_errors(folder):
        expect_plain_folder(folder, alone=True, inner=INNER_FOLDERS)
    if not (folder / SETTINGS).is_file():
        raise CrawlFolderError(f"{folder}: {SETTINGS}, the settings of the crawl, is missing; restore it first")
    plan = CrawlPlan.parse(text_of(folder / SETTINGS), str(folder / SETTINGS))
    lock = FolderLock(folder)
    try:
        return _Repair(folder, plan, lock, progress).run()
    finally:
        lock.release()


class _Repair:
    """One run of `repair`."""

    def __init__(self, folder: Path, plan: CrawlPlan, lock: FolderLock, progress: Progress) -> None:
        self._folder, self._plan, self._lock, self._progress = folder, plan, lock, progress
        self._archive = Archive(folder / "archive", read_only=True)
        self._backup: Path | None = None

    def run(self) -> RepairReport:
        with map_disk_errors(self._folder / "archive"):
            scan = ArchiveScan(self._archive, self._progress)
        rebuilt, is_needed = self._rebuild_database(scan)
        stale = [*(FILES_WITH_POSITIONS if is_needed else ()), *(FILES_WITH_PAGE_IDS if rebuilt.n_urls_lost else ())]
        moved = tuple(self._move_to_backup(dict.fromkeys((*stale, *unreadable(self._folder)))))
        if is_needed:
            self._repair_archive(scan)
            self._swap()
        with map_disk_errors(self._folder):
            (self._folder / _NEW).unlink(missing_ok=True)
        # CrawlFolder.open takes the lock itself.
        self._lock.release()
        n_added = self._add_archived(rebuilt, scan)
        lock = FolderLock(self._folder)
        try:
            n_digests, n_digests_left = self._correct_digests(scan)
            report = RepairReport(
                folder=self._folder,
                was_damaged=bool(is_needed or n_added or moved),
                n_pages=rebuilt.n_pages + n_added,
                n_added=n_added,
                n_urls_lost=rebuilt.n_urls_lost,
                lost=self._still_lost(rebuilt),
                damage=(*(f"{self._archive.path(number).name}: missing" for number in scan.missing), *scan.damage),
                moved=moved,
                backup=self._backup,
                n_digests=n_digests,
                n_digests_left=n_digests_left,
            )
            if report.was_damaged or n_digests:
                with map_disk_errors(self._folder / REPORT):
                    write_durably(self._folder / REPORT, json.dumps(report.as_dict(), indent=1) + "\n")
        finally:
            lock.release()
        return report

    def _rebuild_database(self, scan: ArchiveScan) -> tuple[Rebuilt, bool]:
        """Build the new database next to the old one; return whether they differ, or the archive is damaged."""
        new_path = self._folder / _NEW
        with map_disk_errors(new_path):
            for name in ("", *_COMPANIONS):
                new_path.with_name(new_path.name + name).unlink(missing_ok=True)
        with Salvage(self._folder / DATABASE) as old, Database.create(new_path) as new:
            rebuilt = rebuild(old, self._plan.crawl.seeds, scan, new)
            new.commit()
            is_intact = old.is_sound() and not old.n_lost and rebuilt.is_unchanged
        return rebuilt, not (is_intact and not scan.missing and self._known_end() == scan.end)

    def _known_end(self) -> ArchiveEnd | None:
        """Return the acknowledged end of the archive from the old database; None if it cannot be read."""
        try:
            with Database.open(self._folder / DATABASE, read_only=True) as database:
                return ArchiveEnd(*map(int, database.meta.get(ARCHIVE_END, (0, 0))))
        except (CrawlFolderError, TypeError, ValueError):
            return None

    def _repair_archive(self, scan: ArchiveScan) -> None:
        """Create missing files, and truncate the last file after its last intact record."""
        for number in scan.missing:
            path = self._archive.path(number)
            with map_disk_errors(path):
                descriptor = open_plain(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
                with os.fdopen(descriptor, "wb") as file:
                    file.write(warcinfo_record(path.name))
                    file.flush()
                    os.fsync(file.fileno())
        path = self._archive.path(scan.end.file)
        if scan.n_tail_bytes and path.exists():
            with map_disk_errors(path), os.fdopen(open_plain(path, os.O_RDWR), "r+b") as file:
                file.seek(scan.end.size_bytes)
                self._back_up(f"{path.name}.end", file.read())
                file.truncate(scan.end.size_bytes)
                os.fsync(file.fileno())

    def _swap(self) -> None:
        """Replace the old database by the new one; the old one is copied to the backup with its companion files."""
        path = self._folder / DATABASE
        with map_disk_errors(path):
            for name in (DATABASE, *(DATABASE + companion for companion in _COMPANIONS)):
                if (self._folder / name).exists():
                    shutil.copyfile(self._folder / name, self._backup_folder() / name)
            sync_folder(self._backup_folder())
            # SQLite would apply the log of the old database to the new one.
            for companion in _COMPANIONS:
                path.with_name(DATABASE + companion).unlink(missing_ok=True)
            os.replace(self._folder / _NEW, path)
            sync_folder(self._folder)

    def _add_archived(self, rebuilt: Rebuilt, scan: ArchiveScan) -> int:
        positions = list(scan.unused_responses(rebuilt.used))
        if not positions:
            return 0
        with CrawlFolder.open(self._folder) as folder:
            return add_archived_pages(folder, self._plan, positions, self._progress)

    def _correct_digests(self, scan: ArchiveScan) -> tuple[int, int]:
        """Correct digests in records of rendered pages; return how many were corrected, and how many were not."""
        offsets: dict[int, list[int]] = {}
        for number, offset in scan.wrong_digests.positions():
            offsets.setdefault(number, []).append(offset)
        if offsets:  # the table holds the old digests
            shutil.rmtree(self._folder / CAPTURES, ignore_errors=True)
        n_corrected = 0
        for number, in_file in offsets.items():
            path = self._archive.path(number)
            if number not in self._archive.stored.files and path.exists():
                with map_disk_errors(path):
                    n_corrected += correct_file(path, in_file)
        return n_corrected, sum(map(len, offsets.values())) - n_corrected

    def _still_lost(self, rebuilt: Rebuilt) -> dict[str, str]:
        """Return the lost pages that were not added from another record of the archive."""
        if not rebuilt.lost:
            return {}
        with Database.open(self._folder / DATABASE, read_only=True) as database:
            pages = ((url, database.urls.find(url)) for url in rebuilt.lost)
            return {url: rebuilt.lost[url] for url, page in pages if page is None or database.pages.row(page) is None}

    def _move_to_backup(self, names: Iterable[str]) -> Iterable[str]:
        for name in names:
            path = self._folder / name
            if path.exists():
                with map_disk_errors(path):
                    path.rename(self._backup_folder() / path.name)
                yield name

    def _back_up(self, name: str, content: bytes) -> None:
        with (self._backup_folder() / name).open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())

    def _backup_folder(self) -> Path:
        """Create the backup folder on first use, under the first free number."""
        if self._backup is None:
            number = 1
            while (self._folder / f"before-repair-{number}").exists():
                number += 1
            self._backup = self._folder / f"before-repair-{number}"
            make_plain_folder(self._backup)
        return self._backup


def unreadable(folder: Path) -> list[str]:
    """Return the names of derived files, or folders, that cannot be read."""
    checks: dict[str, Callable[[Path], None]] = {
        "report.json": _read_json,
        "frontier.json": _read_json,
        "estimate.json": _read_json,
        "ranks.npz": _read_arrays,
        "index": _read_index,
    }
    names = []
    for name, check in checks.items():
        try:
            if (folder / name).exists():
                check(folder / name)
        except (ValueError, OSError, EOFError, KeyError, RecursionError, zipfile.BadZipFile, zlib.error):
            names.append(name)
        except CrawlFolderError:
            names.append(name)
    return names


def _read_json(path: Path) -> None:
    json.loads(path.read_text(encoding="utf-8"))


def _read_arrays(path: Path) -> None:
    with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
        dict(arrays)


def _read_index(path: Path) -> None:
    if (path / "meta.json").exists():
        _read_json(path / "meta.json")
    if (path / "columns.npz").exists():
        _read_arrays(path / "columns.npz")
    if (path / "pages.db").exists():
        with Salvage(path / "pages.db") as texts:
            if not texts.is_sound():
                raise ValueError("pages.db is damaged")


def add_archived_pages(
    folder: CrawlFolder, plan: CrawlPlan, positions: list[Position], progress: Progress = silent
) -> int:
    """Add pages that are in the archive and not in the database, as far as possible; return their number.

    They were archived after the database was last written (it was restored from a backup, or its log was lost), or
    their rows were lost. Only pages in the frontier are added, in the order of the archive, and in several passes,
    since their links add pages to the frontier. During a refresh only responses received since its beginning are added.
    """
    if not positions:
        return 0
    adder = _Adder(Ledger(folder, plan))
    n_added, n_before = 0, -1
    while positions and n_added > n_before:
        n_before, remaining = n_added, []
        for position in positions:
            if not adder.add(position):
                remaining.append(position)
                continue
            n_added += 1
            progress("adding pages", n_added, len(positions))
            if n_added % _PAGES_PER_COMMIT == 0:
                adder.ledger.acknowledge()
        positions = remaining
    if n_added:
        adder.ledger.acknowledge()
    return n_added


class _Adder:
    """Adds archived pages to the ledger; `add` returns whether the page was in the frontier, and was added."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self._intake = Intake(ledger)
        self._began = 0.0 if ledger.epoch is None else ledger.epoch.began

    def add(self, position: Position) -> bool:
        ledger = self.ledger
        try:
            archived = ledger.folder.archive.read(position)
        except CrawlFolderError:
            return False
        page = ledger.seen.find(archived.url)
        if page is None or page not in ledger.crawl.frontier or archived.time < self._began:
            return False
        response = archived_response(PageRequest(archived.url, page), archived, ledger.plan.fetch)
        (read,) = self._intake.read([response])
        if read.verdict.kind in _NOT_FINAL:
            return False
        ledger.crawl.take(page)
        ledger.page_store.locations[page] = position
        self._intake.record_response(page, read, _NOW)
        return True
