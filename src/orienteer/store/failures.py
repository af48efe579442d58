"""One-line messages for errors of the disk and of SQLite: full, read-only, damaged, in use."""

from __future__ import annotations

import errno
import shutil
import sqlite3
from pathlib import Path
from types import TracebackType

from orienteer.errors import CrawlFolderError

_NO_ROOM = frozenset((errno.ENOSPC, errno.EDQUOT))
_READ_ONLY = frozenset((errno.EROFS, errno.EACCES, errno.EPERM))
_CLOSE_TO_FULL_BYTES = 1 << 20
_RUN_AGAIN = "nothing acknowledged is lost, run the same command again"


class DiskErrorMapper:
    """Return type of `map_disk_errors`; entered several times a page, and four times as fast as a generator."""

    __slots__ = ("_path",)

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        if error is not None and (mapped := _mapped(self._path, error)) is not None:
            raise mapped from None


def map_disk_errors(path: Path) -> DiskErrorMapper:
    """Map errors of the disk and of SQLite to a CrawlFolderError about `path`. Programming errors pass unchanged."""
    return DiskErrorMapper(path)


def _mapped(path: Path, error: BaseException) -> CrawlFolderError | None:
    """Return the error in one line; None if the disk is not the cause."""
    if isinstance(error, OSError):
        return CrawlFolderError(_os_error(path, error))
    if isinstance(error, (sqlite3.ProgrammingError, sqlite3.InterfaceError)):
        return None
    if isinstance(error, sqlite3.IntegrityError):  # a duplicate row, which no crawl writes
        return damaged(path, error)
    if isinstance(error, sqlite3.Error):
        return CrawlFolderError(_sqlite_error(path, error))
    if isinstance(error, UnicodeDecodeError):  # SQLite quotes the damaged bytes, and Python decodes the message
        return damaged(path, error)
    return None


def damaged(path: Path | str, why: object) -> CrawlFolderError:
    """Return the error of a damaged file. `why` may quote the file, so unprintable characters are replaced."""
    printable = "".join(character if character.isprintable() else "?" for character in str(why))
    return CrawlFolderError(f"{path}: the file is damaged ({printable})")


def _os_error(path: Path, error: OSError) -> str:
    if error.errno in _NO_ROOM:
        return _full(path)
    if error.errno in _READ_ONLY:
        return f"{path}: may not be written ({error.strerror}); write access to the crawl folder is needed"
    return f"{path}: {error.strerror or error}; {_RUN_AGAIN} once that is fixed"


def _sqlite_error(path: Path, error: sqlite3.Error) -> str:
    # The low byte is the kind of error. Text that is no UTF-8 is reported by Python, without a code.
    kind = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF
    if kind == sqlite3.SQLITE_FULL or (kind == sqlite3.SQLITE_IOERR and _is_close_to_full(path)):
        return _full(path)
    if kind in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR):
        return str(damaged(path, error))
    if kind in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return f"{path}: another program is writing to it"
    if kind in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM):
        return f"{path}: may not be written ({error}); write access to the crawl folder is needed"
    return f"{path}: {error} ({error.sqlite_errorname}); {_RUN_AGAIN} once that is fixed"


def _full(path: Path) -> str:
    return f"the disk is full: {path} cannot grow; {_RUN_AGAIN} when there is room"


def _is_close_to_full(path: Path) -> bool:
    """Return whether the disk is nearly full: SQLite reports SQLITE_FULL only if a write failed."""
    try:
        return shutil.disk_usage(path.parent).free < _CLOSE_TO_FULL_BYTES
    except OSError:
        return False
