"""The files of a collection: WARC and WAT files, and those inside a WACZ.

A WACZ is a zip with WARC files in `archive/` and a list of pages. Nothing is unpacked to the disk, and only files
directly in `archive/` are read, so other contents are harmless. WARC files are compressed already: a zip that claims a
high ratio for them is a zip bomb.

Page lists are `pages/pages.jsonl` and `pages/extraPages.jsonl`, in a WACZ or in a folder. A line is a page, as JSON:
`url`, `ts`, and optionally `title`, `text`, `seed`, `depth`. The first line describes the list. Browsertrix writes both
files, seeds into the first; ArchiveWeb.page writes one. Invalid lines are left out.
https://specs.webrecorder.net/wacz/1.1.1/
"""

from __future__ import annotations

import json
import lzma
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, BinaryIO, NamedTuple, cast

from orienteer.errors import InputError
from orienteer.url import canonical_url

_WARC_NAME = re.compile(r".+\.warc(\.gz|\.zst)?", re.IGNORECASE)
_WAT_NAME = re.compile(r".+\.wat(\.gz|\.zst)?", re.IGNORECASE)
_WET_NAME = re.compile(r".+\.wet(\.gz|\.zst)?", re.IGNORECASE)
_IN_WACZ = re.compile(r"archive/[^/\\]+\.warc(\.gz|\.zst)?", re.IGNORECASE)
_MAX_RATIO = 200
ZIP_ERRORS = (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, zlib.error, lzma.LZMAError)
_PAGE_LISTS = ("pages/pages.jsonl", "pages/extraPages.jsonl")
_ABOUT = "datapackage.json"
_MAX_LINE_BYTES = 16 << 20
_MAX_LIST_BYTES = 1 << 30
_MAX_ABOUT_BYTES = 16 << 20


class ArchiveFile(NamedTuple):
    """A WARC or WAT file; with `member`, a file inside a WACZ."""

    path: Path
    member: str = ""

    @property
    def name(self) -> str:
        return f"{self.path}/{self.member}" if self.member else str(self.path)

    @property
    def is_wat(self) -> bool:
        return _WAT_NAME.fullmatch(self.path.name) is not None and not self.member

    @property
    def size_bytes(self) -> int:
        if not self.member:
            return self.path.stat().st_size
        with zip_at(self.path) as zipped:
            return zipped.getinfo(self.member).file_size

    @contextmanager
    def opened(self) -> Iterator[BinaryIO]:
        """Open the file, still compressed."""
        if not self.member:
            with _file_at(self.path) as file:
                yield file
            return
        with zip_at(self.path) as zipped:
            try:
                member = zipped.open(self.member)
            except ZIP_ERRORS as error:
                raise InputError(f"{self.name}: cannot be unpacked ({error})") from None
            with member:
                yield cast(BinaryIO, _Lenient(cast(BinaryIO, member)))


class _Lenient:
    """A member of a zip that ends where it is damaged, with a byte that makes the last record invalid."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._is_over = False

    def seek(self, offset: int) -> None:
        self._is_over = False
        try:
            self._file.seek(offset)
        except ZIP_ERRORS:
            self._is_over = True

    def read(self, size: int) -> bytes:
        try:
            return b"" if self._is_over else self._file.read(size)
        except ZIP_ERRORS:
            self._is_over = True
            return b"\xff"


def warc_files(path: Path) -> list[ArchiveFile]:
    """Return the WARC files at a path: the file itself, those inside a WACZ, or all in a folder, WACZ included."""
    return _files_at(path, is_warc, "WARC")


def archive_files(path: Path) -> list[ArchiveFile]:
    """Return the WARC and WAT files at a path; WAT files hold metadata of pages."""
    return _files_at(path, is_archive, "WARC, WACZ or WAT")


def archives_in(folder: Path) -> list[Path]:
    """Return the WARC, WACZ and WAT files of a folder, or of its subfolder `archive` if there is one."""
    return _in_folder(folder, is_archive, "WARC, WACZ or WAT")


def is_warc(path: Path) -> bool:
    """Return whether the name is that of a WARC file or a WACZ."""
    return is_wacz(path) or _WARC_NAME.fullmatch(path.name) is not None


def is_archive(path: Path) -> bool:
    """Return whether the name is that of a WARC file, a WAT file or a WACZ."""
    if _WET_NAME.fullmatch(path.name):
        raise InputError(
            f"{path.name}: a WET file holds texts without links; import the WARC or WAT file it was made from"
        )
    return is_warc(path) or _WAT_NAME.fullmatch(path.name) is not None


def is_wacz(path: Path) -> bool:
    return path.suffix.lower() == ".wacz"


def _files_at(path: Path, is_accepted: Callable[[Path], bool], kinds: str) -> list[ArchiveFile]:
    if not path.exists():
        raise InputError(f"{path}: no such file or folder")
    if path.is_dir():
        return [file for one in _in_folder(path, is_accepted, kinds) for file in _files_at(one, is_accepted, kinds)]
    return files_of_wacz(path) if is_wacz(path) else [ArchiveFile(path)]


def _in_folder(path: Path, is_accepted: Callable[[Path], bool], kinds: str) -> list[Path]:
    folder = path / "archive" if (path / "archive").is_dir() else path
    files = sorted(file for file in folder.iterdir() if file.is_file() and is_accepted(file))
    _expect_all_local(folder)
    if not files:
        raise InputError(f"{folder}: no {kinds} files in it")
    return files


def _expect_all_local(folder: Path) -> None:
    """Raise InputError if files of a crawl's archive are only in an object store (see `store/stored_files`)."""
    try:
        stored = json.loads((folder / "stored.json").read_bytes())["files"]
        n_remote = sum(not (folder / f"orienteer-{int(file):05}.warc.gz").exists() for file in stored)
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return
    if n_remote:
        raise InputError(
            f"{folder}: {n_remote:,} of its files are only in an object store; "
            "`orienteer export DIR --format warc` makes one file of them all"
        )


def files_of_wacz(path: Path) -> list[ArchiveFile]:
    with zip_at(path) as zipped:
        members = [entry for entry in zipped.infolist() if _IN_WACZ.fullmatch(entry.filename)]
        for entry in members:
            if entry.file_size > _MAX_RATIO * max(entry.compress_size, 1):
                raise InputError(f"{path}: {entry.filename} claims a compression ratio above {_MAX_RATIO}: a zip bomb")
    if not members:
        raise InputError(f"{path}: no WARC files in its folder archive/, so this is no WACZ")
    return [ArchiveFile(path, name) for name in dict.fromkeys(entry.filename for entry in members)]


def _file_at(path: Path) -> BinaryIO:
    try:
        return path.open("rb")
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None


def zip_at(path: Path) -> zipfile.ZipFile:
    """Open a zip; InputError if it is none."""
    try:
        return zipfile.ZipFile(path)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None
    except ZIP_ERRORS as error:
        raise InputError(f"{path}: not a zip, or a damaged one ({error})") from None


class ListedPage(NamedTuple):
    """A page of a list; `text` is its rendered text, "" if it is not stated; `date` is the time of the capture."""

    url: str
    date: str = ""
    is_seed: bool = False
    text: str = ""


def listed_pages(path: Path) -> Iterator[ListedPage]:
    """Yield the pages in the lists of the archive at this path; none without a list."""
    if path.is_dir():
        for name in _PAGE_LISTS:
            if (path / name).is_file():
                with (path / name).open("rb") as file:
                    yield from _pages_in(file, with_texts=True)
    elif is_wacz(path):
        with zip_at(path) as zipped:
            with_texts = not _is_ours(zipped)
            for name in _PAGE_LISTS:
                if name in zipped.namelist():
                    try:
                        with zipped.open(name) as file:
                            yield from _pages_in(file, with_texts)
                    except ZIP_ERRORS:
                        continue


def _pages_in(file: IO[bytes], with_texts: bool) -> Iterator[ListedPage]:
    n_bytes = 0
    while n_bytes < _MAX_LIST_BYTES and (line := file.readline(_MAX_LINE_BYTES)):
        n_bytes += len(line)
        try:
            page = json.loads(line)
        except (ValueError, RecursionError):
            continue
        url = page.get("url") if isinstance(page, dict) else None
        found = canonical_url(url) if isinstance(url, str) else None
        if found is not None:
            text = _text(page.get("text")) if with_texts else ""
            yield ListedPage(found, _text(page.get("ts")), page.get("seed") is True, text)


def _is_ours(zipped: zipfile.ZipFile) -> bool:
    """Return whether Orienteer wrote it: then the texts can be computed from the records."""
    try:
        with zipped.open(_ABOUT) as file:
            return _text(json.loads(file.read(_MAX_ABOUT_BYTES)).get("software")).startswith("Orienteer ")
    except (KeyError, AttributeError, ValueError, RecursionError, *ZIP_ERRORS):
        return False


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
