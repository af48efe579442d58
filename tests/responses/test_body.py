"""Content codings: standard, common deviations, and bombs."""

from __future__ import annotations

import contextlib
import gzip
import struct
import tracemalloc
import zlib

import brotli
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orienteer.responses.body import MAX_CODINGS, BodyError, BodyTooLargeError, unpacked, zstd

LIMIT = 1 << 20
PAGE = b"<html>" + b"".join(b"<p>paragraph %d</p>" % n for n in range(500))


def deflated(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(data) + packer.flush()


PACKERS = {
    "gzip": lambda data: gzip.compress(data, 1),
    "x-gzip": lambda data: gzip.compress(data, 1),
    "deflate": lambda data: zlib.compress(data, 1),
    "br": lambda data: brotli.compress(data, quality=3),
    "zstd": zstd.compress,
}
codings = pytest.mark.parametrize("coding", PACKERS)


@codings
def test_each_coding_is_decoded(coding):
    assert unpacked(PACKERS[coding](PAGE), [coding], LIMIT) == PAGE
    assert unpacked(PACKERS[coding](PAGE), [f" {coding.upper()} "], LIMIT) == PAGE
    assert unpacked(PACKERS[coding](b""), [coding], LIMIT) == b""


def test_deflate_may_come_without_its_header():
    assert unpacked(deflated(PAGE), ["deflate"], LIMIT) == PAGE


def test_a_body_without_coding_is_unchanged():
    assert unpacked(PAGE, [], 10) is PAGE
    assert unpacked(PAGE, ["identity", "", "none, "], 10) is PAGE


def test_an_empty_body_stays_empty():
    assert unpacked(b"", ["gzip"], LIMIT) == b""
    assert unpacked(b"", ["unheard-of"], LIMIT) == b""


def test_several_codings_are_decoded_from_the_last():
    twice = brotli.compress(gzip.compress(PAGE))
    assert unpacked(twice, ["gzip, br"], LIMIT) == PAGE
    assert unpacked(twice, ["gzip", "br"], LIMIT) == PAGE
    with pytest.raises(BodyError):
        unpacked(twice, ["br, gzip"], LIMIT)


def test_too_many_codings_are_refused():
    with pytest.raises(BodyError, match="5 times"):
        unpacked(PAGE, ["gzip"] * (MAX_CODINGS + 1), LIMIT)


@pytest.mark.parametrize("coding", ["compress", "utf-8", "gzip2", "x" * 1000])
def test_an_unknown_coding_is_an_error(coding):
    with pytest.raises(BodyError, match="unknown content encoding"):
        unpacked(PAGE, [coding], LIMIT)


@codings
def test_truncated_bodies_are_errors(coding):
    packed = PACKERS[coding](PAGE)
    for end in (1, 2, 5, len(packed) // 2, len(packed) - 12):
        with pytest.raises(BodyError):
            unpacked(packed[:end], [coding], LIMIT)


@codings
def test_other_data_are_errors(coding):
    with pytest.raises(BodyError):
        unpacked(PAGE, [coding], LIMIT)


@pytest.mark.parametrize("coding", ["gzip", "deflate"])
def test_a_missing_checksum_does_no_harm(coding):
    packed = PACKERS[coding](PAGE)
    for n_missing in range(1, 8 if coding == "gzip" else 4):
        assert unpacked(packed[:-n_missing], [coding], LIMIT) == PAGE


@pytest.mark.parametrize("coding", ["gzip", "deflate", "zstd"])
def test_trailing_bytes_are_ignored(coding):
    assert unpacked(PACKERS[coding](PAGE) + b"\r\n<!-- served by -->", [coding], LIMIT) == PAGE


def test_a_wrong_checksum_is_an_error():
    packed = bytearray(gzip.compress(PAGE))
    packed[-5] ^= 1
    with pytest.raises(BodyError, match="checksum"):
        unpacked(bytes(packed), ["gzip"], LIMIT)


@pytest.mark.parametrize("coding", ["gzip", "zstd"])
def test_a_body_may_have_several_members(coding):
    members = [PAGE[start : start + 1000] for start in range(0, len(PAGE), 1000)]
    assert unpacked(b"".join(map(PACKERS[coding], members)), [coding], LIMIT) == PAGE


@pytest.mark.parametrize("coding", ["gzip", "zstd"])
def test_the_limit_applies_to_all_members_together(coding):
    body = PACKERS[coding](PAGE) * 3
    assert unpacked(body, [coding], 3 * len(PAGE)) == PAGE * 3
    with pytest.raises(BodyTooLargeError):
        unpacked(body, [coding], 3 * len(PAGE) - 1)


def test_a_gzip_header_may_hold_all_that_the_format_knows():
    head = (
        b"\x1f\x8b\x08" + bytes([4 | 8 | 16 | 2]) + bytes(6) + b"\x03\x00abc" + b"name\0" + b"comment\0" + b"\xab\xcd"
    )
    tail = struct.pack("<II", zlib.crc32(PAGE), len(PAGE))
    whole = head + deflated(PAGE) + tail
    assert unpacked(whole, ["gzip"], LIMIT) == PAGE
    for end in range(1, len(head)):
        with pytest.raises(BodyError):
            unpacked(whole[:end], ["gzip"], LIMIT)


@codings
def test_the_limit_is_exact(coding):
    packed = PACKERS[coding](PAGE)
    assert unpacked(packed, [coding], len(PAGE)) == PAGE
    with pytest.raises(BodyTooLargeError, match="when unpacked"):
        unpacked(packed, [coding], len(PAGE) - 1)


@codings
def test_a_bomb_costs_little_memory(coding):
    bomb = PACKERS[coding](bytes(100 << 20))
    tracemalloc.start()
    try:
        with pytest.raises(BodyTooLargeError):
            unpacked(bomb, [coding], LIMIT)
        assert tracemalloc.get_traced_memory()[1] < 8 * LIMIT
    finally:
        tracemalloc.stop()


def test_nested_bombs_are_limited():
    bomb = gzip.compress(gzip.compress(bytes(100 << 20), 1))
    with pytest.raises(BodyTooLargeError):
        unpacked(bomb, ["gzip", "gzip"], LIMIT)


def test_zstd_windows_larger_than_http_allows_are_refused():
    wide = zstd.compress(PAGE * 2000, options={zstd.CompressionParameter.window_log: 27})
    with pytest.raises(BodyError):
        unpacked(wide, ["zstd"], 100 << 20)


def test_the_number_of_members_is_limited():
    assert unpacked(gzip.compress(b"") * 50_000 + gzip.compress(PAGE), ["gzip"], LIMIT) == b""


@given(st.binary(max_size=200), st.lists(st.sampled_from([*PACKERS, "identity", "?"]), max_size=3))
def test_arbitrary_bytes_decode_or_raise(body, names):
    with contextlib.suppress(BodyError):
        unpacked(body, names, 10_000)


@given(st.binary(max_size=500), st.lists(st.sampled_from([*PACKERS]), max_size=3), st.data())
def test_damage_is_an_error_or_harmless(page, names, data):
    body = page
    for name in names:
        body = PACKERS[name](body)
    assert unpacked(body, names, LIMIT) == page
    damaged = bytearray(body)
    if damaged:
        damaged[data.draw(st.integers(0, len(damaged) - 1))] ^= data.draw(st.integers(1, 255))
        with contextlib.suppress(BodyError):
            unpacked(bytes(damaged), names, LIMIT)
