"""The archive: every response as it came, in archive/orienteer-NNNNN.warc.gz.

Records are only ever appended. The database keeps the end of what is acknowledged, and opening the archive cuts off
whatever stands behind it: the tail of a crawl that was killed.

    archive.append(response)     the record is written, but may be lost with the power
    archive.sync()               now it may not; its end goes into the database, in the transaction with the pages

Never is more cut off than a crawl leaves that was killed (see `archive_tail`), and never is a link followed.

Complete files may be in an object store (see `stored_files`), and in this folder or not: one that is here is read here.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import NamedTuple, TypeVar

from orienteer.errors import CrawlFolderError
from orienteer.files.durable import sync_folder
from orienteer.files.plain import expect_plain, make_plain_folder, open_plain
from orienteer.store.archive_tail import ACKNOWLEDGED, acknowledged_text, goes_far_on
from orienteer.store.failures import damaged, explained
from orienteer.store.record import (
    ArchivedPage,
    ArchivedResponse,
    Described,
    Resource,
    Revisited,
    description_of,
    page_of,
    page_or_revisit_of,
    resource_of,
    response_record,
    revisit_record,
    warcinfo_record,
)
from orienteer.store.remote_file import RemoteFiles
from orienteer.store.stored_files import StoredFile, StoredFiles

REPAIR = "`orienteer repair DIR`"
MAKES_THE_BEST = f"{REPAIR} makes the best of the rest"
_NO_MORE: Mapping[str, str] = {}
_Read = TypeVar("_Read")
_FILE_NAME = re.compile(r"orienteer-(\d{5,})\.warc\.gz")


class Position(NamedTuple):
    """Where a record stands: the number of its file, and its bytes there."""

    file: int
    offset: int
    size_bytes: int


class ArchiveEnd(NamedTuple):
    """The end of an archive: the number of its last file, and the length of that."""

    file: int = 0
    size_bytes: int = 0


class Archive:
    """The archive in `folder`, cut back to `end`; None: nothing of it is acknowledged.

    A file that has reached `max_file_bytes` is followed by a new one. `stored` are the files that are in an object
    store, `remote` reads them.
    """

    def __init__(
        self, folder: Path, end: ArchiveEnd | None = None, max_file_bytes: int = 1 << 30, read_only: bool = False
    ) -> None:
        self.folder = folder
        self.end = end or ArchiveEnd()
        self.acknowledged = self.end  # by the database
        self.stored = StoredFiles(folder)
        self.remote = RemoteFiles()
        self.max_file_bytes = max_file_bytes
        self._read_only = read_only
        self._out: int | None = None  # descriptor of the last file
        self._out_path = folder
        self._reading: tuple[int, int] | None = None  # number and descriptor of the file last read from
        self._is_synced = True
        self._failed: CrawlFolderError | None = None
        if not read_only:
            self._cut_back()

    def path(self, file: int) -> Path:
        return self.folder / f"orienteer-{file:05}.warc.gz"

    def address(self, file: int) -> str:
        """Where a file is: here, or in an object store."""
        stored = self.stored.files.get(file)
        path = self.path(file)
        return str(path) if stored is None or path.exists() else stored.place.address(path.name)

    def append(self, response: ArchivedResponse) -> Position:
        return self.append_member(response_record(response, self.record_headers()))

    def append_member(self, member: bytes) -> Position:
        """A record that was made elsewhere, a gzip member, with `record_headers` among its headers."""
        self._make_ready()
        position = Position(self.end.file, self.end.size_bytes, len(member))
        self._write(member)
        return position

    def append_revisit(
        self, response: ArchivedResponse, earlier: Revisited, not_modified: bool, more: Mapping[str, str] = _NO_MORE
    ) -> Position:
        """The page is as it was in the earlier record; `read` finds it there, and not at the position of this one.

        `more` are headers of the record.
        """
        return self.append_member(revisit_record(response, earlier, not_modified, {**self.record_headers(), **more}))

    def sync(self) -> ArchiveEnd:
        """Make everything appended durable; the end to be acknowledged."""
        if self._failed is not None:
            raise self._failed
        if self._out is not None and not self._is_synced:
            try:
                with explained(self.path(self.end.file)):
                    os.fsync(self._out)
            except CrawlFolderError as error:
                # The system may have thrown away what it could not write, and would say yes to a second try.
                self._failed = error
                raise
            self._is_synced = True
        return self.end

    def read(self, position: Position) -> ArchivedPage:
        return self.read_record(position)[1]

    def read_record(self, position: Position) -> tuple[bytes, ArchivedPage]:
        """The record as it stands in the file, a gzip member, and the page in it."""
        return self.read_as(position, page_of)

    def read_resource(self, position: Position) -> tuple[bytes, Resource]:
        """The same for what was made of a page."""
        return self.read_as(position, resource_of)

    def read_described(self, position: Position) -> tuple[bytes, Described]:
        """A record of any kind, and what an index says of it."""
        return self.read_as(position, description_of)

    def read_part(self, position: Position) -> tuple[bytes, tuple[ArchivedPage, bool]]:
        """The same for what a page is shown with, and whether it is a revisit: its body stands elsewhere then."""
        return self.read_as(position, page_or_revisit_of)

    def read_as(self, position: Position, reading: Callable[[bytes], _Read]) -> tuple[bytes, _Read]:
        """The record, and what `reading` makes of it; a ValueError of that says that it is damaged."""
        place = f"the {position.size_bytes:,} bytes at {position.offset:,}"
        with explained(self.path(position.file)):
            member = self._member_at(position)
        if member is None:
            raise damaged(self.address(position.file), f"{place} are not in it; {MAKES_THE_BEST}")
        try:
            return member, reading(member)
        except ValueError as error:
            raise damaged(self.address(position.file), f"no page in {place}: {error}; {MAKES_THE_BEST}") from None

    @contextmanager
    def local_copy(self, file: int) -> Iterator[Path]:
        """A file to be read from beginning to end; one that is elsewhere is copied for that time."""
        path = self.path(file)
        if path.exists():
            yield path
            return
        stored = self._stored_elsewhere(file)
        blocks = self.remote.store_of(stored.place).blocks(path.name)
        # What a killed process leaves by this name is removed when the folder is opened.
        with explained(path), NamedTemporaryFile(dir=self.folder.parent, prefix=".new-", suffix=path.name) as copy:
            copy.writelines(blocks)
            copy.flush()
            yield Path(copy.name)

    def close(self) -> None:
        """What is not synced by now may be lost."""
        self._close_out()
        if self._reading is not None:
            os.close(self._reading[1])
            self._reading = None

    def seal(self) -> None:
        """The last file is complete as it is, if all of it is acknowledged: the next record begins a new one."""
        if self.end.size_bytes and self.end == self.acknowledged:
            self.stored.seal(self.end.file)

    def complete_files(self) -> list[int]:
        """The numbers of the files that may go to an object store and have not: nothing is appended to them."""
        here, there, sealed = self._numbers_here(), self.stored.files, self.stored.sealed
        return [file for file in here if file not in there and (file < self.acknowledged.file or file in sealed)]

    def _cut_back(self) -> None:
        """Remove what stands behind the end; complain where the archive ends before it."""
        with explained(self.folder):
            expect_plain(self.folder, alone=False)
            numbers = self.numbers()
            n_files = self.end.file + (self.end.size_bytes > 0)
            missing = set(range(n_files)) - set(numbers)
            if missing:
                lost = "the file is missing; acknowledged pages are in it"
                raise CrawlFolderError(f"{self.path(min(missing))}: {lost}; {MAKES_THE_BEST}")
            self._expect_short_tail(numbers)
            for number in reversed(numbers[n_files:]):
                self.path(number).unlink(missing_ok=True)
            if len(numbers) > n_files:
                sync_folder(self.folder)
        if n_files:
            self._truncate_last()

    def _expect_short_tail(self, numbers: list[int]) -> None:
        """Complain where more stands behind the end than can be left by a crawl that was killed."""
        for number in numbers:
            start = self.end.size_bytes if number == self.end.file else 0
            if number >= self.end.file and self._goes_far_on(number, start):
                raise CrawlFolderError(
                    f"{self.path(number)}: it holds more pages than the database knows: crawl.db is older than the "
                    f"archive; {REPAIR} takes them in"
                )

    def _goes_far_on(self, number: int, start: int) -> bool:
        """Only what was acknowledged is stored elsewhere."""
        stored = self.stored.files.get(number)
        if stored is not None and stored.size_bytes > start:
            return True
        return self.path(number).exists() and goes_far_on(self.path(number), start, self.end)

    def record_headers(self) -> dict[str, str]:
        """What records say of the archive that they are made for (see `archive_tail`)."""
        return {ACKNOWLEDGED: acknowledged_text(self.acknowledged)}

    def _truncate_last(self) -> None:
        path, promised = self.path(self.end.file), self.end.size_bytes
        stored = self.stored.files.get(self.end.file)
        with explained(path):
            size_bytes = stored.size_bytes if stored is not None and not path.exists() else path.stat().st_size
            if size_bytes < promised:
                lost = f"{promised - size_bytes:,} bytes of acknowledged pages are missing"
                held = f"it holds {size_bytes:,}, it should hold {promised:,}"
                raise CrawlFolderError(f"{path}: {lost} ({held}); {MAKES_THE_BEST}")
            if size_bytes > promised:
                with os.fdopen(open_plain(path, os.O_RDWR), "r+b") as file:
                    file.truncate(promised)
                    os.fsync(file.fileno())

    def numbers(self) -> list[int]:
        """Of its files, here and elsewhere, in increasing order."""
        return sorted({*self._numbers_here(), *self.stored.files})

    def _numbers_here(self) -> list[int]:
        if not self.folder.is_dir():
            return []
        names = (_FILE_NAME.fullmatch(path.name) for path in self.folder.iterdir())
        return sorted(int(name[1]) for name in names if name)

    def _make_ready(self) -> None:
        """Open the last file, or begin a new one where that is full or there is none."""
        if self._failed is not None:
            raise self._failed
        if self._read_only:
            raise CrawlFolderError(f"{self.folder}: opened for reading only")
        if self.end.size_bytes and (self.end.size_bytes >= self.max_file_bytes or self.end.file in self.stored.sealed):
            self.sync()
            self._close_out()
            self.end = ArchiveEnd(self.end.file + 1, 0)
        if self._out is None:
            self._out_path = self.path(self.end.file)
            with explained(self._out_path):
                make_plain_folder(self.folder)
                self._out = open_plain(self._out_path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        if self.end.size_bytes == 0:
            self._write(warcinfo_record(self._out_path.name))
            with explained(self._out_path):
                sync_folder(self.folder)
                sync_folder(self.folder.parent)

    def _write(self, member: bytes) -> None:
        """Append all of it, or leave the file as it was."""
        assert self._out is not None
        self._is_synced = False
        rest = memoryview(member)
        with explained(self._out_path):
            try:
                while rest:
                    rest = rest[os.write(self._out, rest) :]
            except OSError:
                os.ftruncate(self._out, self.end.size_bytes)
                raise
        self.end = ArchiveEnd(self.end.file, self.end.size_bytes + len(member))

    def _member_at(self, position: Position) -> bytes | None:
        """The bytes at a position; None where they are not in the file."""
        file, offset, n_bytes = position
        descriptor = self._descriptor(file)
        if descriptor is not None:
            is_inside = 0 <= offset <= offset + n_bytes <= os.fstat(descriptor).st_size
            return os.pread(descriptor, n_bytes, offset) if is_inside else None
        stored = self._stored_elsewhere(file)
        is_inside = 0 <= offset < offset + n_bytes <= stored.size_bytes
        return self.remote.read(self.path(file).name, stored, offset, n_bytes) if is_inside else None

    def _stored_elsewhere(self, file: int) -> StoredFile:
        """Where a file is to be read that is not here; it may have been stored there a moment ago."""
        if file not in self.stored.files:
            self.stored.read()
        if file not in self.stored.files:
            lost = "the file is missing; acknowledged pages are in it"
            raise CrawlFolderError(f"{self.path(file)}: {lost}; {MAKES_THE_BEST}")
        self.stored.expect_allowed(file)
        return self.stored.files[file]

    def _descriptor(self, file: int) -> int | None:
        """For reading; the last one is kept open, since pages are mostly read in the order they were written.

        None where the file is not here.
        """
        if self._reading is None or self._reading[0] != file:
            try:
                descriptor = os.open(self.path(file), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            except FileNotFoundError:
                return None
            if self._reading is not None:
                os.close(self._reading[1])
            self._reading = file, descriptor
        return self._reading[1]

    def _close_out(self) -> None:
        if self._out is not None:
            os.close(self._out)
            self._out = None
