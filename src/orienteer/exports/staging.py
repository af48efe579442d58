"""Where an export is written: beside its name, to take its place when it is complete.

Killed at any moment, interrupted, or out of room: what was there before is still there, whole, and nothing of the new
one is under its name. A process that is killed leaves a folder `.new-...` behind; one that is interrupted does not.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from orienteer.errors import ExportError

MARK = "orienteer-export.json"  # in a folder that is an export: tells ours from any other

_NO_ROOM = frozenset((errno.ENOSPC, errno.EDQUOT))


class Staging:
    """The folder in which an export is written. `name` is that of its main file, or of the folder that it is."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder = folder
        self.name = name

    @property
    def main(self) -> Path:
        return self.folder / self.name

    def beside(self, name: str) -> Path:
        """Another file, which is to lie beside the main one."""
        return self.folder / name


@contextmanager
def staged(out: Path, is_folder: bool, force: bool, side_files: Iterable[str] = ()) -> Iterator[Staging]:
    """A place to write to; what is there in the end is moved to `out`, and beside it, as a whole or not at all.

    What the disk refuses is one line.
    """
    expect_free(out, is_folder, force, side_files)
    real = out.resolve()
    new = real.with_name(f".new-{os.getpid()}-{real.name}")
    try:
        with _one_line(out):
            shutil.rmtree(new, ignore_errors=True)  # of a process that had the same number
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
    """Complain if the export cannot be put there."""
    with _one_line(out):
        if not out.resolve().parent.is_dir():
            raise ExportError(f"{out}: the folder {out.parent} does not exist")
        if is_folder and out.exists():
            _expect_replaceable_folder(out, force)
        elif not is_folder:
            for path in (out, *(out.with_name(name) for name in side_files)):
                _expect_replaceable_file(path, force)


def _expect_replaceable_file(path: Path, force: bool) -> None:
    if path.exists() and not path.is_file():
        raise ExportError(f"{path}: there is a folder of that name, or no ordinary file; choose another name")
    if path.exists() and not force:
        raise ExportError(f"{path} is there already; --force replaces it")


def _expect_replaceable_folder(out: Path, force: bool) -> None:
    """Whoever says --force means the export, and no folder of their own."""
    if not out.is_dir():
        raise ExportError(f"{out}: a file, where a folder is to be written; choose another name")
    is_empty = not any(out.iterdir())
    if not is_empty and not (out / MARK).is_file():
        raise ExportError(f"{out}: a folder that is no export (no {MARK} in it); it is left as it is")
    if not is_empty and not force:
        raise ExportError(f"{out} is there already; --force replaces it")


def _move_files(new: Path, out: Path, force: bool) -> None:
    """The main file last: where that is, all is."""
    paths = sorted((path for path in new.iterdir()), key=lambda path: path.name == out.name)
    for path in paths:
        _expect_replaceable_file(out.with_name(path.name), force)
        with path.open("rb") as file:
            os.fsync(file.fileno())  # some disks say only now that they are full
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
def _one_line(out: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno in _NO_ROOM:
            raise ExportError(f"the disk is full: {out} cannot be written; nothing of it is left behind") from None
        raise ExportError(f"{out}: {error.strerror or error}; nothing of it was written") from None
