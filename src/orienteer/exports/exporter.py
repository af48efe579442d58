"""The base class of export formats, and the staging folder that they write into.

An exporter writes the pages of a crawl, or their links, into files of a staging folder. It streams: its memory is
bounded by the numbers of pages and links, not by their contents.

The files are moved to their names when they are complete. After a kill, an interrupt or a full disk the previous export
is intact, and no incomplete file has the final name. A killed process leaves a folder `.new-...` behind; an interrupted
one does not.
"""

from __future__ import annotations

import errno
import os
import shutil
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar, NamedTuple

from orienteer.errors import ExportError
from orienteer.exports.exported_crawl import ExportedCrawl
from orienteer.progress import Progress
from orienteer.registry import ClassRegistry

MARKER = "orienteer-export.json"  # marks a folder as an export that --force may replace
_NO_ROOM = frozenset((errno.ENOSPC, errno.EDQUOT))


class Written(NamedTuple):
    """The size of an export; `n_links` is None for a format without links."""

    n_pages: int
    n_links: int | None = None


class Exporter(ABC):
    """Base of all formats; keyword arguments of `__init__` are the settings.

    `suffixes` are the suffixes of its files, the default first. With `is_folder` an export is a folder, and the first
    suffix is that of its default name.
    """

    name: ClassVar[str]
    about: ClassVar[str]
    suffixes: ClassVar[tuple[str, ...]]
    is_folder: ClassVar[bool] = False

    @abstractmethod
    def write(self, crawl: ExportedCrawl, staging: Staging, progress: Progress) -> Written:
        """Write all files. An OSError may be raised; the caller maps it."""

    def side_files(self, name: str) -> tuple[str, ...]:
        """Return the names of additional files, as far as they are known beforehand."""
        return ()


EXPORTERS: ClassRegistry[Exporter] = ClassRegistry(
    "export format", Exporter, package="orienteer.exports", group="orienteer.exports"
)
exporter = EXPORTERS.register  # the decorator that registers a format under its name


def packed(*suffixes: str) -> tuple[str, ...]:
    """Return these suffixes, and those of the compressed files."""
    return tuple(suffix + ending for suffix in suffixes for ending in ("", ".gz", ".zst"))


class Staging:
    """The folder in which an export is written. `name` is that of its main file, or of the exported folder."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder = folder
        self.name = name

    @property
    def main(self) -> Path:
        return self.folder / self.name

    def sibling(self, name: str) -> Path:
        """Return the path of an additional file in the folder of the main one."""
        return self.folder / name


@contextmanager
def staged(out: Path, is_folder: bool, force: bool, side_files: Iterable[str] = ()) -> Iterator[Staging]:
    """A staging folder whose files are moved to `out`, and to its folder, when the context ends without an error.

    Errors of the disk become a one-line ExportError.
    """
    expect_free(out, is_folder, force, side_files)
    real = out.resolve()
    new = real.with_name(f".new-{os.getpid()}-{real.name}")
    try:
        with _map_errors(out):
            shutil.rmtree(new, ignore_errors=True)  # a leftover of a process with the same id
            new.mkdir()
            if is_folder:
                (new / real.name).mkdir()
            yield Staging(new, real.name)
            if is_folder:
                _move_folder(new, real)
            else:
                _move_files(new, real, force)
    finally:
        shutil.rmtree(new, ignore_errors=True)


def expect_free(out: Path, is_folder: bool, force: bool, side_files: Iterable[str] = ()) -> None:
    """Raise ExportError if the export cannot be written to `out`."""
    with _map_errors(out):
        if not out.resolve().parent.is_dir():
            raise ExportError(f"{out}: the folder {out.parent} does not exist")
        if is_folder and out.exists():
            _expect_replaceable_folder(out, force)
        elif not is_folder:
            for path in (out, *(out.with_name(name) for name in side_files)):
                _expect_replaceable_file(path, force)


def _expect_replaceable_file(path: Path, force: bool) -> None:
    if path.exists() and not path.is_file():
        raise ExportError(f"{path}: exists and is no regular file; choose another name")
    if path.exists() and not force:
        raise ExportError(f"{path} exists already; --force replaces it")


def _expect_replaceable_folder(out: Path, force: bool) -> None:
    """Raise ExportError unless the folder can be replaced: --force must never delete a folder that is no export."""
    if not out.is_dir():
        raise ExportError(f"{out}: a file, not a folder; choose another name")
    is_empty = not any(out.iterdir())
    if not is_empty and not (out / MARKER).is_file():
        raise ExportError(f"{out}: a folder that is no export (no {MARKER} in it); it is not replaced")
    if not is_empty and not force:
        raise ExportError(f"{out} exists already; --force replaces it")


def _move_files(new: Path, out: Path, force: bool) -> None:
    """Move the main file last, so that it exists only if all files do."""
    paths = sorted((path for path in new.iterdir()), key=lambda path: path.name == out.name)
    for path in paths:
        _expect_replaceable_file(out.with_name(path.name), force)
        with path.open("rb") as file:
            os.fsync(file.fileno())  # some file systems report a full disk only here
    for path in paths:
        os.replace(path, out.with_name(path.name))


def _move_folder(new: Path, out: Path) -> None:
    if out.exists():
        os.rename(out, new / "old")
    try:
        os.rename(new / out.name, out)
    except OSError:
        if (new / "old").exists():
            os.rename(new / "old", out)
        raise


@contextmanager
def _map_errors(out: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno in _NO_ROOM:
            raise ExportError(f"the disk is full: {out} cannot be written; no partial files are left") from None
        raise ExportError(f"{out}: {error.strerror or error}; nothing of it was written") from None
