"""The archive: every response as received, in archive/orienteer-NNNNN.warc.gz.

Records are only appended. The database stores the acknowledged end, and opening the archive truncates everything after
it, such as the tail that a killed crawl has left.

    archive.append(response)     returns the position of the record; it is written with others, a mebibyte at a time
    archive.sync()               makes all of them durable; the end goes into the database, in the transaction with the
                                 pages

A tail longer than a killed crawl can leave is an error and is not truncated (see `archive_members`). Symbolic links are
never followed.

Complete files may be in an object store (see `stored_files`); a file that is also in this folder is read from here.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import NamedTuple, TypeVar

from orienteer.errors import CrawlFolderError
from orienteer.files.plain import append_whole, expect_plain, make_plain_folder, open_plain, sync_folder
from orienteer.store.archive_members import ACKNOWLEDGED, acknowledged_text, exceeds_crash_tail
from orienteer.store.failures import damaged, map_disk_errors
from orienteer.store.record import (
    ArchivedPage,
    ArchivedResponse,
    EarlierRecord,
    RecordDescription,
    Resource,
    describe_record,
    page_of,
    page_or_revisit_of,
    resource_of,
    response_record,
    revisit_record,
    warcinfo_record,
)
from orienteer.store.stored_files import RemoteFiles, StoredFile, StoredFiles

REPAIR = "`orienteer repair DIR`"
REPAIR_HINT = f"{REPAIR} recovers what is left"
_NO_MORE: Mapping[str, str] = {}
_WRITTEN_BYTES = 1 << 20  # records are written together once there are so many
_Read = TypeVar("_Read")
_FILE_NAME = re.compile(r"orienteer-(\d{5,})\.warc\.gz")


class Position(NamedTuple):
    """The position of a record: the number of its file, and its offset and size there."""

    file: int
    offset: int
    size_bytes: int


class ArchiveEnd(NamedTuple):
    """The end of an archive: the number and the size of its last file."""

    file: int = 0
    size_bytes: int = 0


class Archive:
    """The archive in `folder`, truncated to `end`; None: nothing is acknowledged.

    A new file begins when the last one has reached `max_file_bytes`. `stored` lists the files that are in an object
    store; `remote` reads them.
    """

    def __init__(
        self, folder: Path, end: ArchiveEnd | None = None, max_file_bytes: int = 1 << 30, read_only: bool = False
    ) -> None:
        self.folder = folder
        self.end = end or ArchiveEnd()
        self.acknowledged = self.end  # the end in the database
        self.stored = StoredFiles(folder)
        self.remote = RemoteFiles()
        self.max_file_bytes = max_file_bytes
        self._read_only = read_only
        self._out: int | None = None  # descriptor of the last file
        self._out_path = folder
        self._reading: tuple[int, int] | None = None  # number and descriptor of the file last read from
        self._unwritten: list[bytes] = []  # the last records
        self._n_unwritten = 0  # their bytes
        self._is_synced = True
        self._failed: CrawlFolderError | None = None
        if not read_only:
            self._truncate_tail()

    def path(self, file: int) -> Path:
        return self.folder / f"orienteer-{file:05}.warc.gz"

    def address(self, file: int) -> str:
        """Return the path of a local file, or the URL of one in an object store."""
        stored = self.stored.files.get(file)
        path = self.path(file)
        return str(path) if stored is None or path.exists() else stored.location.address(path.name)

    def append(self, response: ArchivedResponse) -> Position:
        return self.append_member(response_record(response, self.record_headers()))

    def append_member(self, member: bytes) -> Position:
        """Append a record made by another process: a gzip member with `record_headers` among its headers."""
        self._open_output()
        position = Position(self.end.file, self.end.size_bytes, len(member))
        self._write(member)
        return position

    def append_revisit(
        self, response: ArchivedResponse, earlier: EarlierRecord, not_modified: bool, more: Mapping[str, str] = _NO_MORE
    ) -> Position:
        """Append a record for a page that is unchanged since the `earlier` record, which has the body.

        `more` are additional headers of the record.
        """
        return self.append_member(revisit_record(response, earlier, not_modified, {**self.record_headers(), **more}))

    def sync(self) -> ArchiveEnd:
        """Make everything appended durable, and return the end to acknowledge."""
        if self._failed is not None:
            raise self._failed
        self._flush()
        if self._out is not None and not self._is_synced:
            try:
                with map_disk_errors(self.path(self.end.file)):
                    os.fsync(self._out)
            except CrawlFolderError as error:
                # After a failed fsync the kernel may have dropped the data: a second fsync would succeed without it.
                self._failed = error
                raise
            self._is_synced = True
        return self.end

    def read(self, position: Position) -> ArchivedPage:
        return self.read_record(position)[1]

    def read_record(self, position: Position) -> tuple[bytes, ArchivedPage]:
        """Return the record as stored, a gzip member, and the page in it."""
        return self.read_as(position, page_of)

    def read_resource(self, position: Position) -> tuple[bytes, Resource]:
        """Return a record made from a page (a rendered document or screenshot), and its content."""
        return self.read_as(position, resource_of)

    def read_description(self, position: Position) -> tuple[bytes, RecordDescription]:
        """Return a record of any kind, and its description for an index."""
        return self.read_as(position, describe_record)

    def read_asset(self, position: Position) -> tuple[bytes, tuple[ArchivedPage, bool]]:
        """Return the record of an asset, its content, and whether it is a revisit: then another record has the body."""
        return self.read_as(position, page_or_revisit_of)

    def read_as(self, position: Position, parse: Callable[[bytes], _Read]) -> tuple[bytes, _Read]:
        """Return the record and the result of `parse`, which raises ValueError for a damaged record."""
        place = f"the {position.size_bytes:,} bytes at {position.offset:,}"
        with map_disk_errors(self.path(position.file)):
            member = self._member_at(position)
        if member is None:
            raise damaged(self.address(position.file), f"{place} are not in it; {REPAIR_HINT}")
        try:
            return member, parse(member)
        except ValueError as error:
            raise damaged(self.address(position.file), f"no page in {place}: {error}; {REPAIR_HINT}") from None

    @contextmanager
    def local_copy(self, file: int) -> Iterator[Path]:
        """Yield the path of a file, to read it from beginning to end; a remote file is copied for that time."""
        path = self.path(file)
        self._flush()
        if path.exists():
            yield path
            return
        stored = self._remote_file(file)
        blocks = self.remote.store_of(stored.location).blocks(path.name)
        # A killed process leaves a file with this prefix, which is removed when the folder is opened.
        with (
            map_disk_errors(path),
            NamedTemporaryFile(dir=self.folder.parent, prefix=".new-", suffix=path.name) as copy,
        ):
            copy.writelines(blocks)
            copy.flush()
            yield Path(copy.name)

    def close(self) -> None:
        """Close the files; records that are not synced may be lost."""
        self._close_out()
        if self._reading is not None:
            os.close(self._reading[1])
            self._reading = None

    def seal(self) -> None:
        """Mark the last file as complete if all of it is acknowledged: the next record begins a new file."""
        if self.end.size_bytes and self.end == self.acknowledged:
            self.stored.seal(self.end.file)

    def complete_files(self) -> list[int]:
        """Return the numbers of the files that can be uploaded and are not: nothing is appended to them."""
        local, stored, sealed = self._local_numbers(), self.stored.files, self.stored.sealed
        return [file for file in local if file not in stored and (file < self.acknowledged.file or file in sealed)]

    def _truncate_tail(self) -> None:
        """Remove everything after the acknowledged end; raise an error if the archive is shorter than that."""
        with map_disk_errors(self.folder):
            expect_plain(self.folder, alone=False)
            numbers = self.numbers()
            n_files = self.end.file + (self.end.size_bytes > 0)
            missing = set(range(n_files)) - set(numbers)
            if missing:
                lost = "the file is missing; acknowledged pages are in it"
                raise CrawlFolderError(f"{self.path(min(missing))}: {lost}; {REPAIR_HINT}")
            self.expect_short_tail()
            for number in reversed(numbers[n_files:]):
                self.path(number).unlink(missing_ok=True)
            if len(numbers) > n_files:
                sync_folder(self.folder)
        if n_files:
            self._truncate_last()

    def expect_short_tail(self) -> None:
        """Raise an error if more data follows the acknowledged end than a killed crawl can leave."""
        for number in self.numbers():
            start = self.end.size_bytes if number == self.end.file else 0
            if number >= self.end.file and self._exceeds_crash_tail(number, start):
                raise CrawlFolderError(
                    f"{self.path(number)}: it holds pages that are missing from the database: crawl.db is older than "
                    f"the archive; {REPAIR} adds them"
                )

    def _exceeds_crash_tail(self, number: int, start: int) -> bool:
        stored = self.stored.files.get(number)  # only acknowledged data is uploaded
        if stored is not None and stored.size_bytes > start:
            return True
        return self.path(number).exists() and exceeds_crash_tail(self.path(number), start, self.end)

    def record_headers(self) -> dict[str, str]:
        """Return the headers that name the acknowledged end in each new record (see `archive_members`)."""
        return {ACKNOWLEDGED: acknowledged_text(self.acknowledged)}

    def _truncate_last(self) -> None:
        path, acknowledged_bytes = self.path(self.end.file), self.end.size_bytes
        stored = self.stored.files.get(self.end.file)
        with map_disk_errors(path):
            size_bytes = stored.size_bytes if stored is not None and not path.exists() else path.stat().st_size
            if size_bytes < acknowledged_bytes:
                lost = f"{acknowledged_bytes - size_bytes:,} bytes of acknowledged pages are missing"
                held = f"its size is {size_bytes:,}, expected {acknowledged_bytes:,}"
                raise CrawlFolderError(f"{path}: {lost} ({held}); {REPAIR_HINT}")
            if size_bytes > acknowledged_bytes:
                with os.fdopen(open_plain(path, os.O_RDWR), "r+b") as file:
                    file.truncate(acknowledged_bytes)
                    os.fsync(file.fileno())

    def numbers(self) -> list[int]:
        """Return the numbers of all files, local and remote, in increasing order."""
        return sorted({*self._local_numbers(), *self.stored.files})

    def _local_numbers(self) -> list[int]:
        if not self.folder.is_dir():
            return []
        names = (_FILE_NAME.fullmatch(path.name) for path in self.folder.iterdir())
        return sorted(int(name[1]) for name in names if name)

    def _open_output(self) -> None:
        """Open the last file, or begin a new one if it is full or there is none."""
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
            with map_disk_errors(self._out_path):
                make_plain_folder(self.folder)
                self._out = open_plain(self._out_path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        if self.end.size_bytes == 0:
            self._write(warcinfo_record(self._out_path.name))
            with map_disk_errors(self._out_path):
                sync_folder(self.folder)
                sync_folder(self.folder.parent)

    def _write(self, member: bytes) -> None:
        """Append a member, now or with the next ones."""
        self._is_synced = False
        self._unwritten.append(member)
        self._n_unwritten += len(member)
        self.end = ArchiveEnd(self.end.file, self.end.size_bytes + len(member))
        if self._n_unwritten >= _WRITTEN_BYTES:
            self._flush()

    def _flush(self) -> None:
        """Write all records that are not written. If that fails, none of them is, and nothing can be appended."""
        if not self._unwritten:
            return
        assert self._out is not None
        n_written = self.end.size_bytes - self._n_unwritten
        records = self._unwritten[0] if len(self._unwritten) == 1 else b"".join(self._unwritten)
        self._unwritten, self._n_unwritten = [], 0
        try:
            with map_disk_errors(self._out_path):
                append_whole(self._out, records, n_written)
        except CrawlFolderError as error:
            self._failed = error
            raise

    def _member_at(self, position: Position) -> bytes | None:
        """Return the bytes at a position; None if they are not in the file."""
        file, offset, n_bytes = position
        if file == self.end.file:
            self._flush()
        descriptor = self._descriptor(file)
        if descriptor is not None:
            is_inside = 0 <= offset <= offset + n_bytes <= os.fstat(descriptor).st_size
            return os.pread(descriptor, n_bytes, offset) if is_inside else None
        stored = self._remote_file(file)
        is_inside = 0 <= offset < offset + n_bytes <= stored.size_bytes
        return self.remote.read(self.path(file).name, stored, offset, n_bytes) if is_inside else None

    def _remote_file(self, file: int) -> StoredFile:
        """Return the entry of a file that is not local; another process may have uploaded it a moment ago."""
        if file not in self.stored.files:
            self.stored.read()
        if file not in self.stored.files:
            lost = "the file is missing; acknowledged pages are in it"
            raise CrawlFolderError(f"{self.path(file)}: {lost}; {REPAIR_HINT}")
        self.stored.expect_allowed(file)
        return self.stored.files[file]

    def _descriptor(self, file: int) -> int | None:
        """Return a descriptor for reading; None if the file is not local.

        The last file stays open, since pages are mostly read in the order they were written.
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
            with suppress(CrawlFolderError):  # what has no room is not acknowledged
                self._flush()
            os.close(self._out)
            self._out = None
