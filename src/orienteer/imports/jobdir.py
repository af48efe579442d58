"""A Scrapy JOBDIR: its pending requests.

    requests.queue/       the pending requests, pickled, in queues of queuelib: a LIFO queue is one file, a FIFO queue
                          a folder with info.json and chunks q00000, q00001, ...
    requests.seen         fingerprints of all requests: hashes without URLs

Loading a pickle can run any code, so an unpickler without classes is used: it makes only plain values (dictionaries,
lists, texts, bytes, numbers). It is Python's unpickler in Python, which does not allocate the sizes that a pickle
claims. Requests with other values, such as an object in `meta`, are counted and left out; so are methods except GET.
"""

from __future__ import annotations

import io
import json
import os
import pickle
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from orienteer.errors import InputError
from orienteer.url import canonical_url

_QUEUE, _SEEN = "requests.queue", "requests.seen"
_CHUNK = re.compile(r"q\d{5,}")
_HEX_LINE = re.compile(rb"[0-9a-f]{16,80}\r?\n")
_ABOUT_QUEUES = ("active.json", "info.json")
_SIZE_BYTES = 4
_MAX_REQUEST_BYTES = 16 << 20


class Pending(NamedTuple):
    """The canonical URLs of pending GET requests, unordered, and the number of unusable ones."""

    urls: list[str]
    n_left_out: int
    n_seen: int  # fingerprints of requests, pending or done


def is_jobdir(path: Path) -> bool:
    return path.is_dir() and ((path / _QUEUE).is_dir() or (path / _SEEN).is_file())


def pending_requests(path: Path) -> Pending:
    urls: dict[str, None] = {}
    n_left_out = 0
    for packed in _packed_requests(path / _QUEUE):
        url = _url_of(packed)
        if url is None:
            n_left_out += 1
        else:
            urls[url] = None
    return Pending(list(urls), n_left_out, _n_seen(path / _SEEN))


class _PlainUnpickler(pickle._Unpickler):
    """An unpickler that only makes plain values."""

    def find_class(self, module: str, name: str) -> Any:
        raise pickle.UnpicklingError(f"{module}.{name} is no plain value")


def _url_of(packed: bytes) -> str | None:
    """Return the URL of a pickled request; None if it cannot be read safely, or is no GET request."""
    try:
        request = _PlainUnpickler(io.BytesIO(packed)).load()
    except Exception:  # a crafted pickle can raise anything
        return None
    if not isinstance(request, dict) or request.get("method", "GET") not in ("GET", b"GET"):
        return None
    url = request.get("url")
    return canonical_url(url) if isinstance(url, str) else None


def _packed_requests(folder: Path) -> Iterator[bytes]:
    for root, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            path = Path(root, name)
            if name in _ABOUT_QUEUES or path.is_symlink():
                continue
            try:
                with path.open("rb") as file:
                    if _CHUNK.fullmatch(name):
                        yield from _of_chunk(file, _start_of(path))
                    else:
                        yield from _of_stack(file)
            except OSError as error:
                raise InputError(f"{path}: {error.strerror or error}") from None


def _of_stack(file: BinaryIO) -> Iterator[bytes]:
    """Read a LIFO queue backwards: each request is followed by its length. The count at the beginning may be stale."""
    end = file.seek(0, os.SEEK_END)
    while end >= 2 * _SIZE_BYTES:
        file.seek(end - _SIZE_BYTES)
        size = int.from_bytes(file.read(_SIZE_BYTES))
        start = end - _SIZE_BYTES - size
        if not 0 < size <= _MAX_REQUEST_BYTES or start < _SIZE_BYTES:
            yield b""  # truncated: earlier requests cannot be located
            return
        file.seek(start)
        yield file.read(size)
        end = start


def _of_chunk(file: BinaryIO, start: int) -> Iterator[bytes]:
    """Read a chunk of a FIFO queue: each request is preceded by its length."""
    file.seek(start)
    while head := file.read(_SIZE_BYTES):
        size = int.from_bytes(head)
        packed = file.read(size) if 0 < size <= _MAX_REQUEST_BYTES else b""
        yield packed
        if len(packed) < size or not size:
            return


def _start_of(chunk: Path) -> int:
    """Return the offset of the first pending request of a chunk: the earlier ones were consumed."""
    try:
        number, _, offset = json.loads((chunk.parent / "info.json").read_text())["tail"]
        return int(offset) if int(number) == int(chunk.name[1:]) and 0 <= int(offset) < 1 << 62 else 0
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return 0


def _n_seen(path: Path) -> int:
    """Count fingerprints: hexadecimal lines, or (in newer versions) bytes, each preceded by its length."""
    try:
        with path.open("rb") as file:
            if _HEX_LINE.match(file.read(100)):
                file.seek(0)
                return sum(block.count(b"\n") for block in iter(lambda: file.read(1 << 20), b""))
            file.seek(0)
            n_seen = 0
            while len(head := file.read(2)) == 2 and len(file.read(int.from_bytes(head))) == int.from_bytes(head):
                n_seen += 1
            return n_seen
    except OSError:
        return 0
