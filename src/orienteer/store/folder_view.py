"""The files of a crawl folder, opened read-only.

    crawl.toml        the settings of the crawl
    crawl.db          every known URL and page (see `schema`); created last, so a folder that has it is complete
    crawl.allowed     the user's signature for settings that widen network access (see `ledger/plan`)
    crawl.lock        held by the one process that may write
    refresh.lock      held by a scheduled refresh, until it has reported its changes
    archive/          the responses as received, in WARC files; stored.json lists those in an object store
    checkpoints/      speeds up opening; a cache
    delivered.json    which webhook was notified of which refresh (see `live/webhook_deliveries`)
    report.json       the certificate, and why the crawl stopped
    topic.toml        the topic of the crawl, if it has one; topic.npz is the model learned for it
    policy.npz        the model that its policy learned on other sites, if it uses one
    ranks.npz         the ranks of its pages, inside the crawl and in the whole web; derived
    estimate.json     the report of that estimate: its uncertainty, and the top referrers; derived
    index/            the search index (see `search/`); derived, with a lock of its own
    captures/         the positions of records in the archive, by URL (see `capture_table`); derived
    outside/          the pages of its neighborhood fetched for the estimate: a folder like this one, links only
    survey/           the pages fetched for random walks, and their measurement: a folder like this one
    jobs/             commands that were started from the web pages of the crawl (see `library/job_folder`)
    log.jsonl         events, one object a line (see `log`); a cache
    course.jsonl      the history of the progress, in points (see `progress_points`); a cache
    frontier.json     the next pages, written at intervals by a running crawl; a cache

Derived files can be rebuilt; caches can be deleted.

A checkpoint is signed, since kernels index without bounds checks: arrays of an untrusted file could corrupt memory. The
file is an .npz followed by the user's signature (see `files/signing`), which NumPy ignores; it is verified before the
file is parsed. Arrays of which a sample becomes much smaller are compressed; masses and the like would take longer and
hardly shrink.
"""

from __future__ import annotations

import json
import os
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, Self

import numpy as np
from numpy.typing import NDArray

from orienteer.errors import CrawlFolderError
from orienteer.files.plain import Closeable, expect_plain, expect_plain_folder, replaced_inside
from orienteer.files.signing import SIGNATURE_BYTES, is_signed, signature
from orienteer.store.archive import Archive, ArchiveEnd
from orienteer.store.database import Database, DatabaseView
from orienteer.store.failures import damaged, map_disk_errors
from orienteer.store.lock import INNER_FOLDERS

DATABASE, SETTINGS, ALLOWED = "crawl.db", "crawl.toml", "crawl.allowed"
ESTIMATE = "estimate.json"
_MAX_FILES = 10_000_000
ARCHIVE_END = "archive_end"  # a meta key: the end of the acknowledged part


_PURPOSE = "checkpoint"
_CHUNK_BYTES = 1 << 20
_SMALL_BYTES = 1 << 20  # arrays up to this size are compressed without a look
_N_SAMPLES, _SAMPLE_BYTES = 16, 1 << 12


class FolderFiles(Closeable):
    """The files of an open crawl folder: what readers and writers share."""

    def __init__(self, path: Path, database: Database, archive: Archive) -> None:
        self.path = path
        self.database = database
        self.archive = archive
        self.settings_path = path / SETTINGS
        self.report_path = path / "report.json"
        self.checkpoint_path = path / "checkpoints" / "latest.npz"
        self.topic_path = path / "topic.toml"
        self.log_path = path / "log.jsonl"
        self.progress_path = path / "course.jsonl"

    def close(self) -> None:
        self.archive.close()
        self.database.close()

    @property
    def settings_text(self) -> str:
        return text_of(self.settings_path)

    def read_checkpoint(self) -> dict[str, NDArray[Any]] | None:
        """Return the arrays of the last checkpoint; None if it is missing, damaged, or another user's."""
        return read_signed_arrays(self.checkpoint_path)

    def read_ranks(self) -> dict[str, NDArray[Any]] | None:
        """Return the arrays of the last `write_ranks`; None if there are none."""
        path = self.path / "ranks.npz"
        if not path.exists():
            return None
        try:
            with map_disk_errors(path), path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
                ranks = dict(arrays)
            if ranks["pages"].ndim != 1 or any(column.shape != ranks["pages"].shape for column in ranks.values()):
                raise ValueError("the arrays differ in length")
            return ranks
        except (ValueError, EOFError, KeyError, zipfile.BadZipFile, zlib.error) as error:
            raise damaged(path, f"{error}; run `orienteer estimate` again") from None

    def read_frontier(self) -> Any:
        """Return the data of the last `write_frontier`; None if it cannot be read."""
        try:
            return json.loads((self.path / "frontier.json").read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            return None


def size_on_disk(path: Path) -> int:
    """Return the bytes that a folder and everything in it take on this machine, counted as `du` does."""
    n_bytes, counted = 0, set()
    for folder, _, files in os.walk(path):
        for place in (folder, *(os.path.join(folder, name) for name in files)):
            with suppress(OSError):  # a crawl replaces files while it runs
                found = os.lstat(place)
                if (found.st_dev, found.st_ino) not in counted:
                    counted.add((found.st_dev, found.st_ino))
                    n_bytes += 512 * found.st_blocks
    return n_bytes


def settings_of_folder(path: Path) -> str | None:
    """Return the text of crawl.toml; None if there is no crawl."""
    return text_of(path / SETTINGS) if (path / DATABASE).exists() else None


def estimate_of_folder(path: Path) -> Any:
    """Return the data of the last `write_estimate`; None if there is no estimate."""
    if not (path / ESTIMATE).exists():
        return None
    try:
        return json.loads(text_of(path / ESTIMATE))
    except (ValueError, RecursionError) as error:
        raise damaged(path / ESTIMATE, f"{error}; run `orienteer estimate` again") from None


def policy_model_path(path: Path) -> Path:
    """Return the path of the model that the policy of a crawl learned on other sites."""
    return path / "policy.npz"


def expect_crawl(path: Path) -> None:
    with map_disk_errors(path):
        if not path.exists():
            raise CrawlFolderError(f"{path}: no such crawl folder")
        if not (path / DATABASE).exists():
            raise CrawlFolderError(f"{path}: not a crawl folder (no {DATABASE} in it)")
        expect_plain_folder(path, alone=False, inner=INNER_FOLDERS)


def archive_end(database: Database) -> ArchiveEnd:
    end = database.meta.get(ARCHIVE_END, (0, 0))
    try:
        file, size_bytes = map(int, end)
    except (TypeError, ValueError, OverflowError) as error:
        raise damaged(database.path, error) from None
    if not (0 <= file < _MAX_FILES and 0 <= size_bytes < 1 << 62):
        raise damaged(database.path, f"an archive that ends at {size_bytes:,} bytes of file {file:,}")
    return ArchiveEnd(file, size_bytes)


def text_of(path: Path) -> str:
    with map_disk_errors(path):
        expect_plain(path, alone=False)
        try:
            return path.read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            raise damaged(path, error) from None


class FolderView(FolderFiles):
    """A read-only crawl folder. Its database is a snapshot: later commits are not visible."""

    database: DatabaseView

    @classmethod
    def open(cls, path: Path) -> Self:
        """Open the crawl in a folder; CrawlFolderError if there is none."""
        expect_crawl(path)
        database = DatabaseView(path / DATABASE)
        try:
            archive = Archive(path / "archive", archive_end(database), read_only=True)
        except BaseException:
            database.close()
            raise
        return cls(path, database, archive)


def write_signed_arrays(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write or replace the file. If this user cannot sign, the file is removed: it would not be trusted."""
    if signature(_PURPOSE, ()) is None:
        path.unlink(missing_ok=True)
        return
    with replaced_inside(path) as new:
        _write_arrays(new, arrays)
        with new.open("r+b") as file:
            n_bytes = file.seek(0, os.SEEK_END)
            signed = signature(_PURPOSE, _content(file, n_bytes))
            file.seek(n_bytes)
            file.write(signed or bytes(SIGNATURE_BYTES))


def _write_arrays(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write the arrays as numpy.load reads them, those that are worth it compressed."""
    compressed = {name for name, array in arrays.items() if _is_worth_compressing(array)}
    for names, method in ((compressed, zipfile.ZIP_DEFLATED), (arrays.keys() - compressed, zipfile.ZIP_STORED)):
        with zipfile.ZipFile(path, "a", method, compresslevel=1) as members:
            for name in sorted(names):
                with members.open(f"{name}.npy", "w", force_zip64=True) as file:
                    np.lib.format.write_array(file, arrays[name], allow_pickle=False)


def _is_worth_compressing(array: NDArray[Any]) -> bool:
    """Return whether pieces from all over the array shrink to a third or less, or the array is small."""
    content = array.ravel().view(np.uint8)
    if len(content) <= _SMALL_BYTES:
        return True
    starts = np.linspace(0, len(content) - _SAMPLE_BYTES, _N_SAMPLES).astype(np.int64).tolist()
    sample = b"".join(content[start : start + _SAMPLE_BYTES].tobytes() for start in starts)
    return 3 * len(zlib.compress(sample, 1)) <= len(sample)


def read_signed_arrays(path: Path) -> dict[str, NDArray[Any]] | None:
    """Return the arrays; None if there are none, this user did not sign them, or they are damaged."""
    try:
        expect_plain(path, alone=False)
        with path.open("rb") as file:
            n_bytes = file.seek(0, os.SEEK_END) - SIGNATURE_BYTES
            if n_bytes <= 0:
                return None
            file.seek(n_bytes)
            if not is_signed(file.read(SIGNATURE_BYTES), _PURPOSE, _content(file, n_bytes)):
                return None
            file.seek(0)
            with np.load(file, allow_pickle=False) as arrays:
                return dict(arrays)
    except (OSError, ValueError, EOFError, KeyError, zipfile.BadZipFile, zlib.error):
        return None


def _content(file: BinaryIO, n_bytes: int) -> Iterator[bytes]:
    file.seek(0)
    while n_bytes > 0:
        chunk = file.read(min(n_bytes, _CHUNK_BYTES))
        if not chunk:
            return
        n_bytes -= len(chunk)
        yield chunk
