"""Bodies whose content coding is a bomb, a lie or broken."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable
from functools import cache

import brotli

from tests.fake_web.fake_response import FakeResponse
from tests.fake_web.hostile_case import HostileCase, outcomes

PAGE = b"<!DOCTYPE html><title>Coded</title><a href=/found>found</a>" + b"<p>text</p>" * 200

_GZIP_HEAD = b"\x1f\x8b\x08\0\0\0\0\0\0\xff"
_DEFLATE_END = b"\x03\0"
_BLOCK_BYTES = 16 << 20
_N_BLOCKS = 600  # 10 GB, in less than 10 MiB
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"


def _case(name: str, outcome: str, note: str, make: Callable[[], FakeResponse]) -> HostileCase:
    return HostileCase(name, make, outcomes(outcome), note)


def _coded(coding: str, body: bytes) -> FakeResponse:
    return FakeResponse(body, headers=(("Content-Encoding", coding),))


@cache
def repeatable_block(text: bytes, n_bytes: int = _BLOCK_BYTES) -> bytes:
    """Return a piece of a deflate stream that inflates to `text` repeated; pieces can be concatenated."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    return packer.compress(text * (n_bytes // len(text))) + packer.flush(zlib.Z_FULL_FLUSH)


def _gzip_bomb() -> FakeResponse:
    block = repeatable_block(b"\0")
    limit = len(block) * _N_BLOCKS
    return FakeResponse(_GZIP_HEAD, headers=(("Content-Encoding", "gzip"),), endless=block, endless_limit=limit)


@cache
def _gzip_bomb_in_gzip() -> bytes:
    bomb = _GZIP_HEAD + repeatable_block(b"\0") * _N_BLOCKS + _DEFLATE_END + bytes(8)
    return gzip.compress(bomb, 6, mtime=0)


@cache
def _brotli_bomb() -> bytes:
    packer = brotli.Compressor(quality=1)
    zeros = bytes(8 << 20)
    pieces = [packer.process(zeros) for _ in range(64)]  # 512 MB
    return b"".join([*pieces, packer.finish()])


def _zstd_bomb() -> bytes:
    """10 GB as blocks of one byte repeated 128 Ki times, four bytes each."""
    block_bytes = 128 << 10
    block = (block_bytes << 3 | 1 << 1).to_bytes(3, "little") + b"\0"
    last = (block_bytes << 3 | 1 << 1 | 1).to_bytes(3, "little") + b"\0"
    return _ZSTD_MAGIC + b"\0\x38" + block * (10**10 // block_bytes) + last


def _zstd_giant_window() -> bytes:
    """A frame that asks for a window of 3.75 TB, and holds ten bytes."""
    return _ZSTD_MAGIC + b"\0\xff" + (10 << 3 | 1 << 1 | 1).to_bytes(3, "little") + b"x"


def _gzip_times(n: int) -> bytes:
    body = PAGE
    for _ in range(n):
        body = gzip.compress(body, 6, mtime=0)
    return body


def _with_wrong_checksum() -> bytes:
    packed = gzip.compress(PAGE, 6, mtime=0)
    return packed[:-8] + b"\xde\xad\xbe\xef" + packed[-4:]


def _gzip_with_long_name() -> bytes:
    """A gzip header with a file name of 5 MB."""
    packed = gzip.compress(PAGE, 6, mtime=0)
    return packed[:3] + b"\x08" + packed[4:10] + b"n" * 5_000_000 + b"\0" + packed[10:]


def _raw_deflate() -> bytes:
    packer = zlib.compressobj(6, zlib.DEFLATED, -15)
    return packer.compress(PAGE) + packer.flush()


CODINGS = [
    _case("gzip-bomb", "too large", "10 GB must not be inflated, in memory or on disk", _gzip_bomb),
    _case(
        "gzip-bomb-in-gzip",
        "too large | broken answer",
        "a few kB that inflate to 10 GB must not be inflated",
        lambda: _coded("gzip, gzip", _gzip_bomb_in_gzip()),
    ),
    _case("brotli-bomb", "too large", "half a GB from a few kB", lambda: _coded("br", _brotli_bomb())),
    _case("zstd-bomb", "too large", "10 GB from 300 kB", lambda: _coded("zstd", _zstd_bomb())),
    _case(
        "zstd-giant-window",
        "broken answer | too large",
        "no terabytes may be reserved because a header asks for them",
        lambda: _coded("zstd", _zstd_giant_window()),
    ),
    _case(
        "gzip-twenty-times",
        "ok | broken answer | too large",
        "the number of codings is bounded; none of them may be archived as a page of rubbish",
        lambda: _coded(", ".join(["gzip"] * 20), _gzip_times(20)),
    ),
    _case(
        "gzip-thousand-claims",
        "ok | broken answer | too large",
        "a header with 1,000 codings must not make 1,000 decoders",
        lambda: _coded(", ".join(["gzip"] * 1000), PAGE),
    ),
    _case(
        "gzip-twice",
        "ok | broken answer",
        "two codings are undone in order",
        lambda: _coded("gzip, gzip", _gzip_times(2)),
    ),
    _case(
        "gzip-lie",
        "broken answer | ok",
        "plain text called gzip: an error or a page, but no exception",
        lambda: _coded("gzip", PAGE),
    ),
    _case("gzip-truncated", "broken answer", "half a page is not a page", lambda: _coded("gzip", _gzip_times(1)[:-40])),
    _case(
        "gzip-wrong-checksum",
        "broken answer | ok",
        "must not raise",
        lambda: _coded("gzip", _with_wrong_checksum()),
    ),
    _case(
        "gzip-and-rubbish",
        "ok | broken answer",
        "bytes after the end do not belong to the page",
        lambda: _coded("gzip", _gzip_times(1) + b"rubbish" * 100),
    ),
    _case(
        "gzip-many-members",
        "ok | broken answer",
        "100,000 empty members must not take quadratic time",
        lambda: _coded("gzip", gzip.compress(b"", 6, mtime=0) * 100_000 + _gzip_times(1)),
    ),
    _case(
        "gzip-long-name",
        "ok | broken answer",
        "a name of 5 MB in the gzip header must not be stored",
        lambda: _coded("gzip", _gzip_with_long_name()),
    ),
    _case("gzip-empty", "ok | broken answer", "nothing at all called gzip", lambda: _coded("gzip", b"")),
    _case("deflate-raw", "ok", "many servers mean this by deflate", lambda: _coded("deflate", _raw_deflate())),
    _case("deflate-zlib", "ok", "the standard means this by deflate", lambda: _coded("deflate", zlib.compress(PAGE))),
    _case("brotli-lie", "broken answer | ok", "rubbish called br must not raise", lambda: _coded("br", PAGE)),
    _case(
        "brotli-truncated",
        "broken answer",
        "half a page is not a page",
        lambda: _coded("br", brotli.compress(PAGE)[:-10]),
    ),
    _case("zstd-lie", "broken answer | ok", "rubbish called zstd must not raise", lambda: _coded("zstd", PAGE)),
    _case(
        "unknown-coding",
        "broken answer | ok | unwanted type",
        "an unknown coding must not raise",
        lambda: _coded("x-rot13", PAGE),
    ),
]
