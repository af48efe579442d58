"""Decode bodies by their Content-Encoding, within a size limit.

A few kilobytes can decompress to gigabytes, so every decoder has an output limit. Like browsers we accept trailing
bytes after a compressed body, and a gzip body without its checksum; corrupt and truncated data are errors.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import brotli
from isal import isal_zlib

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

MAX_CODINGS = 4  # of one body
_MAX_MEMBERS = 64  # gzip members or zstd frames; more is an attack
_ZSTD_WINDOW_LOG = 23  # 8 MiB, the most that HTTP allows (RFC 9659)


_DECODER_ERRORS: tuple[type[Exception], ...] = (isal_zlib.error, brotli.error, zstd.ZstdError, IndexError)  # type: ignore[assignment]


class BodyError(Exception):
    """The body is not encoded as its Content-Encoding states."""


class BodyTooLargeError(BodyError):
    """The decoded body is larger than allowed."""


class TruncatedBodyError(BodyError):
    """A gzip or zstd body is truncated; `partial` is the decoded beginning.

    Other codings have no magic number: their output may come from text that was never compressed.
    """

    def __init__(self, partial: bytes) -> None:
        super().__init__("cut off")
        self.partial = partial


def unpacked(body: bytes, codings: list[str], max_bytes: int) -> bytes:
    """Return the body without its content codings, which are listed in the order they were applied."""
    names = [name.strip().lower() for coding in codings for name in coding.split(",")]
    names = [name for name in names if name not in ("", "identity", "none")]
    if not names or not body:
        return body
    if len(names) > MAX_CODINGS:
        raise BodyError(f"packed {len(names)} times over")
    for n_left, name in reversed(list(enumerate(names))):
        decoder = _DECODERS.get(name)
        if decoder is None:
            raise BodyError(f"unknown content encoding {name[:40]!r}")
        try:
            body = decoder(body, max_bytes)
        except TruncatedBodyError:
            if n_left:
                raise BodyError("cut off") from None  # the partial body is still compressed
            raise
        except _DECODER_ERRORS as error:
            raise BodyError(f"not valid {name}: {error}") from None
    return body


def _gunzipped(data: bytes, max_bytes: int) -> bytes:
    plain = b""
    for _ in range(_MAX_MEMBERS):
        try:
            member, data, checksum = _gunzipped_member(data, max_bytes - len(plain))
        except TruncatedBodyError as error:
            raise TruncatedBodyError(plain + error.partial) from None
        if len(checksum) == 4 and int.from_bytes(checksum, "little") != isal_zlib.crc32(member):
            raise BodyError("not valid gzip: wrong checksum")
        plain = plain + member if plain else member
        if not data.startswith(b"\x1f\x8b\x08"):
            break
    return plain


def _gunzipped_member(data: bytes, max_bytes: int) -> tuple[bytes, bytes, bytes]:
    """Return the first member's data, the bytes after it, and its checksum."""
    if not data.startswith(b"\x1f\x8b\x08"):
        raise BodyError("not valid gzip")
    flags, start = data[3], 10
    if flags & 4:  # an extra field
        start += 2 + data[start] + (data[start + 1] << 8)
    for bit in (8, 16):  # a file name, a comment
        if flags & bit:
            start = _after_zero(data, start)
    if flags & 2:  # a checksum of the header
        start += 2
    plain, rest = _inflated(data[start:], max_bytes)
    return plain, rest[8:], rest[:4]


def _after_zero(data: bytes, start: int) -> int:
    end = data.find(0, start)
    if end < 0:
        raise BodyError("not valid gzip: cut off in the header")
    return end + 1


def _undeflated(data: bytes, max_bytes: int) -> bytes:
    """Decode `deflate`: it should have zlib's header, but many servers send raw deflate."""
    has_header = len(data) >= 2 and data[0] & 15 == 8 and (data[0] << 8 | data[1]) % 31 == 0
    try:
        return _inflated(data[2:] if has_header else data, max_bytes)[0]
    except TruncatedBodyError:
        raise BodyError("cut off") from None


def _inflated(data: bytes, max_bytes: int) -> tuple[bytes, bytes]:
    """Inflate raw deflate; returns the data and the bytes after it."""
    decoder = isal_zlib.decompressobj(-15)
    plain = _limited(decoder.decompress(data, max_bytes + 1), max_bytes)
    if not decoder.eof:
        raise TruncatedBodyError(plain)
    return plain, decoder.unused_data


def _unbrotlied(data: bytes, max_bytes: int) -> bytes:
    decoder = brotli.Decompressor()
    plain = _limited(decoder.process(data, output_buffer_limit=max_bytes + 1), max_bytes)
    if not decoder.is_finished():
        raise BodyError("cut off")
    return plain


def _unzstd(data: bytes, max_bytes: int) -> bytes:
    if len(data) < 4:
        raise BodyError("not valid zstd")
    plain = b""
    for _ in range(_MAX_MEMBERS):
        decoder = zstd.ZstdDecompressor(options={zstd.DecompressionParameter.window_log_max: _ZSTD_WINDOW_LOG})
        member = decoder.decompress(data, max_bytes + 1 - len(plain))
        plain = _limited(plain + member if plain else member, max_bytes)
        if not decoder.eof:
            raise TruncatedBodyError(plain)
        data = decoder.unused_data
        if not data.startswith(b"\x28\xb5\x2f\xfd"):
            break
    return plain


def _limited(plain: bytes, max_bytes: int) -> bytes:
    if len(plain) > max_bytes:
        raise BodyTooLargeError(f"more than {max_bytes:,} bytes when unpacked")
    return plain


_DECODERS: dict[str, Callable[[bytes, int], bytes]] = {
    "gzip": _gunzipped,
    "x-gzip": _gunzipped,
    "deflate": _undeflated,
    "br": _unbrotlied,
    "zstd": _unzstd,
}
