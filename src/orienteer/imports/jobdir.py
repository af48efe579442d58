"""A Scrapy JOBDIR: what its requests still had to fetch.

    requests.queue/       the pending requests, pickled, in queues of queuelib: a LIFO queue is one file, a FIFO queue
                          a folder with info.json and chunks q00000, q00001, ...
    requests.seen         fingerprints of all requests: hashes, from which no URL can be had

A pickle can run anything when it is loaded, so these are not: only plain values are made of them (dictionaries, lists,
texts, bytes, numbers), by Python's own unpickler in Python, which lets no size that a pickle claims become memory. A
request that holds anything else, such as an object in its `meta`, is counted and left out; so is one that is no GET.
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
    """The canonical URLs of pending GET requests, in no particular order; how many others could not be used."""

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
    """Makes plain values, and nothing else."""

    def find_class(self, module: str, name: str) -> Any:
        raise pickle.UnpicklingError(f"{module}.{name} is no plain value")


def _url_of(packed: bytes) -> str | None:
    """The URL of a pickled request; None where it cannot be had safely, or is not for us to fetch."""
    try:
        request = _PlainUnpickler(io.BytesIO(packed)).load()
    except Exception:  # whatever a pickle that was made up leads to
        return None
    if not isinstance(request, dict) or request.get("method", "GET") not in ("GET", b"GET"):
        return None
    url = request.get("url")
    return canonical_url(url) if isinstance(url, str) else None


def _packed_requests(folder: Path) -> Iterator[bytes]:
    for place, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            path = Path(place, name)
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
    """A LIFO queue, from its end: each request has its length behind it. The number at the beginning may be old."""
    end = file.seek(0, os.SEEK_END)
    while end >= 2 * _SIZE_BYTES:
        file.seek(end - _SIZE_BYTES)
        size = int.from_bytes(file.read(_SIZE_BYTES))
        start = end - _SIZE_BYTES - size
        if not 0 < size <= _MAX_REQUEST_BYTES or start < _SIZE_BYTES:
            yield b""  # cut off: what is before cannot be found
            return
        file.seek(start)
        yield file.read(size)
        end = start


def _of_chunk(file: BinaryIO, start: int) -> Iterator[bytes]:
    """A part of a FIFO queue: each request has its length before it."""
    file.seek(start)
    while head := file.read(_SIZE_BYTES):
        size = int.from_bytes(head)
        packed = file.read(size) if 0 < size <= _MAX_REQUEST_BYTES else b""
        yield packed
        if len(packed) < size or not size:
            return


def _start_of(chunk: Path) -> int:
    """Where the pending requests of a chunk begin: what comes before has been taken out."""
    try:
        number, _, offset = json.loads((chunk.parent / "info.json").read_text())["tail"]
        return int(offset) if int(number) == int(chunk.name[1:]) and 0 <= int(offset) < 1 << 62 else 0
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return 0


def _n_seen(path: Path) -> int:
    """Fingerprints come one a line, as digits, or (in newer versions) as bytes, each with its length before it."""
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
