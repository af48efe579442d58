"""Files that are written safely: atomically, durably, privately, and never through a link.

Inside an untrusted folder only plain files are opened for writing. A link would redirect the write, to a start file of
the shell, say. So no link is followed inside such a folder, neither symbolic nor hard ones (files with another name);
pipes and devices are not written to, either. The path of the folder itself may contain links, as the user has typed it.

The folders of the user's own files, outside of crawls, follow the XDG specification.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Self

from orienteer.errors import CrawlFolderError, InputError

_ADVICE = "nothing is written through links in a crawl folder"
_MAX_BYTES = 4 << 20


class Closeable:
    """Base of what a with-statement closes."""

    def close(self) -> None:
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@contextmanager
def replaced(path: Path) -> Iterator[Path]:
    """Yield a path to write to, which replaces `path` on success, and is deleted on an error.

    It ends like `path`, for libraries that check the extension. A pipe or a device is written directly.
    """
    real = path.resolve()  # a symbolic link stays one
    if real.exists() and not real.is_file():
        yield path
        return
    new = real.with_name(f".new-{os.getpid()}-{real.name}")
    try:
        yield new
        os.replace(new, real)
    finally:
        new.unlink(missing_ok=True)


def write_durably(path: Path, text: str) -> None:
    """Replace a file so that it has either the old or the new text, even after a crash."""
    with replaced_inside(path) as new, new.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable: a file's own sync does not cover its name."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def open_plain(path: Path, flags: int, mode: int = 0o666) -> int:
    """Open a plain file that has no other name and return its descriptor; `flags` as for os.open."""
    expect_plain(path, alone=True)
    try:
        descriptor = os.open(path, flags & ~os.O_TRUNC | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, mode)
    except OSError:
        expect_plain(path, alone=True)  # it became a link meanwhile
        raise
    try:
        _expect(path, os.fstat(descriptor), alone=True)
        if flags & os.O_TRUNC:
            os.ftruncate(descriptor, 0)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def expect_plain(path: Path, alone: bool) -> None:
    """Refuse links and special files; with `alone` also a file with another name (a hard link)."""
    with suppress(FileNotFoundError):
        _expect(path, path.lstat(), alone)


def expect_plain_folder(folder: Path, alone: bool, inner: frozenset[str] = frozenset()) -> None:
    """Refuse a folder with anything in it that is not plain, or in one of its `inner` folders."""
    try:
        with os.scandir(folder) as entries:
            status = sorted(entries, key=lambda entry: entry.name)
    except (FileNotFoundError, NotADirectoryError):
        return
    for entry in status:
        path = folder / entry.name
        expect_plain(path, alone)
        if entry.name in inner and entry.is_dir(follow_symlinks=False):
            expect_plain_tree(path, alone)


def expect_plain_tree(folder: Path, alone: bool) -> None:
    """Refuse a folder with anything in it, however deep, that is not plain."""
    with os.scandir(folder) as entries:
        names = sorted(entry.name for entry in entries)
    for name in names:
        path = folder / name
        expect_plain(path, alone)
        if path.is_dir():
            expect_plain_tree(path, alone)


def append_whole(descriptor: int, data: bytes, n_bytes_before: int) -> None:
    """Append to a file of this size; if that fails, nothing of the data is appended."""
    rest = memoryview(data)
    try:
        while rest:
            rest = rest[os.write(descriptor, rest) :]
    except OSError:
        with suppress(OSError):
            os.ftruncate(descriptor, n_bytes_before)
        raise


def make_plain_folder(path: Path) -> None:
    """Make a folder inside another, if it is not there; a link to one is refused."""
    expect_plain(path, alone=False)
    path.mkdir(exist_ok=True)


@contextmanager
def replaced_inside(path: Path, mode: int = 0o666) -> Iterator[Path]:
    """Yield a path to write to, which replaces `path` on success, and is deleted on an error.

    As `replaced`, for a file inside an untrusted folder: the old file at `path` is never written to.
    """
    new = path.with_name(f".new-{os.getpid()}-{path.name}")
    new.unlink(missing_ok=True)
    os.close(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode))
    try:
        yield new
        os.replace(new, path)
    finally:
        new.unlink(missing_ok=True)


def _expect(path: Path, status: os.stat_result, alone: bool) -> None:
    if stat.S_ISLNK(status.st_mode):
        raise CrawlFolderError(f"{path}: a symbolic link; {_ADVICE}")
    if not stat.S_ISREG(status.st_mode) and not stat.S_ISDIR(status.st_mode):
        raise CrawlFolderError(f"{path}: neither a file nor a folder; {_ADVICE}")
    if alone and stat.S_ISREG(status.st_mode) and status.st_nlink > 1:
        raise CrawlFolderError(f"{path}: the file has another name (a hard link); {_ADVICE}")


def read_private(path: Path) -> bytes:
    """Read a private file; an InputError if others can read it (as ssh refuses such a key), or it is unreadable."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(file.fileno())
        if stat.S_ISDIR(status.st_mode):
            raise InputError(f"{path}: it is a folder")
        if status.st_uid not in (os.geteuid(), 0):
            raise InputError(f"{path}: it belongs to another user; secrets are read from files of your own only")
        if status.st_mode & 0o077:
            raise InputError(f"{path}: others can read it, or write it; `chmod 600 {path}` keeps its secrets")
        data = file.read(_MAX_BYTES + 1)
    if len(data) > _MAX_BYTES:
        raise InputError(f"{path}: it is larger than {_MAX_BYTES >> 20} MiB")
    return data


def write_private(path: Path, data: bytes) -> None:
    """Write a file that only this user can read, replacing the old one."""
    with replaced_inside(path, 0o600) as new, new.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def state_folder() -> Path:
    """Return the folder of state between runs, such as a key: in $XDG_STATE_HOME, or ~/.local/state."""
    return _named("XDG_STATE_HOME", "~/.local/state")


def data_folder() -> Path:
    """Return the folder of the user's data: in $XDG_DATA_HOME, or ~/.local/share."""
    return _named("XDG_DATA_HOME", "~/.local/share")


def _named(variable: str, otherwise: str) -> Path:
    named = os.environ.get(variable, "")
    # The XDG specification says to ignore a relative path.
    return (Path(named) if named.startswith("/") else Path(otherwise).expanduser()) / "orienteer"
