"""Compressed archives: no data of a member with a wrong checksum is read, of any size and truncated anywhere."""

from __future__ import annotations

import gzip
import io
import tracemalloc
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orienteer.files.compressed import zstd
from orienteer.warc import records as warc_records
from orienteer.warc.files import ArchiveFile
from orienteer.warc.records import MISSING, RecordCounts, blocks, records
from tests.imports.made_collections import response

RECORDS = [response(f"http://a.test/{k}", f"<p>{k} " * (20 + k)) for k in range(12)]


def zstd_with_checksum(data: bytes) -> bytes:
    return zstd.compress(data, options={zstd.CompressionParameter.checksum_flag: 1})


PACKED: dict[str, Callable[[bytes], bytes]] = {".warc.gz": gzip.compress, ".warc.zst": zstd_with_checksum}


def block_of(record: bytes) -> bytes:
    return record.partition(b"\r\n\r\n")[2][:-4]


def read(content: bytes, name: str) -> tuple[list[bytes], RecordCounts]:
    """Return the blocks of the accepted records."""
    reading = RecordCounts()
    found = records(blocks(io.BytesIO(content), name, lambda n: None), ("response",), reading, name)
    return [one.block for one in found], reading


def test_a_member_without_its_checksum_is_not_read() -> None:
    """The decompressed record is complete, but has wrong bytes."""
    content = bytearray(b"".join(map(gzip.compress, RECORDS)))
    content[91] ^= 124
    assert read(bytes(content[:195]), "x.warc.gz") == ([], RecordCounts(0, 1, 0, "x.warc.gz: after 0 records"))


archives = st.lists(st.binary(max_size=400) | st.text("<ahref=1>\r\nWARC/.0 ", max_size=400), min_size=1, max_size=8)


@given(
    bodies=archives,
    kind=st.sampled_from([".warc", *PACKED]),
    is_complete=st.booleans(),
    flips=st.lists(st.tuples(st.integers(0, 1 << 16), st.integers(1, 255)), max_size=4),
    cut=st.none() | st.integers(0, 1 << 16),
    chunk_bytes=st.sampled_from([1, 7, 100, 1 << 16]),
    max_held_bytes=st.sampled_from([0, 300, 40 << 20]),
)
def test_only_original_records_are_read_from_a_damaged_archive(
    bodies: list[str | bytes],
    kind: str,
    is_complete: bool,
    flips: list[tuple[int, int]],
    cut: int | None,
    chunk_bytes: int,
    max_held_bytes: int,
) -> None:
    """Records are unchanged and in order, and missing ones are counted as gaps; plain files raise no errors."""
    made = [response(f"http://a.test/{k}", body) for k, body in enumerate(bodies)]
    pack = PACKED.get(kind, bytes)
    members = [pack(b"".join(made))] if is_complete else [pack(one) for one in made]
    content = bytearray(b"".join(members))
    for at, bits in flips:
        content[at % len(content)] ^= bits
    length = len(content) if cut is None else cut % (len(content) + 1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(warc_records, "_CHUNK_BYTES", chunk_bytes)
        patch.setattr(warc_records, "_MAX_HELD_BYTES", max_held_bytes)
        found, reading = read(bytes(content[:length]), "x" + kind)
    if kind == ".warc":
        return
    originals = iter([block_of(one) for one in made])
    assert all(block in originals for block in found)
    assert reading.n_records == len(found)
    ends = [sum(map(len, members[: n + 1])) for n in range(len(members))]
    n_there = (len(made) if ends[0] <= length else 0) if is_complete else sum(end <= length for end in ends)
    is_cut_inside = length not in (0, *ends) and content[
        max((end for end in ends if end <= length), default=0) : length
    ].strip(b"\0")
    if len(found) < n_there or is_cut_inside:
        assert reading.n_gaps > 0
    if not flips:
        assert (len(found), reading.n_gaps) == (n_there, int(bool(is_cut_inside)))


WHOLE = b"".join(RECORDS)
WHOLE_FILES = {".warc.gz": gzip.compress(WHOLE), ".warc.zst": zstd_with_checksum(WHOLE)}


@pytest.fixture
def little_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """Members are larger than the memory limit, and decompressed in many steps."""
    monkeypatch.setattr(warc_records, "_MAX_HELD_BYTES", 1000)
    monkeypatch.setattr(warc_records, "_STEP_BYTES", 300)
    monkeypatch.setattr(warc_records, "_CHUNK_BYTES", 64)


@pytest.mark.usefixtures("little_room")
@pytest.mark.parametrize("kind", PACKED)
def test_a_file_compressed_as_a_whole_is_read(kind: str) -> None:
    content = WHOLE_FILES[kind] + PACKED[kind](RECORDS[3])  # and what follows it, too
    reported: list[int] = []
    pieces = list(blocks(io.BytesIO(content), "x" + kind, reported.append))
    assert b"".join(piece for piece in pieces if piece is not MISSING) == WHOLE + RECORDS[3]
    assert MISSING not in pieces
    assert max(len(piece or b"") for piece in pieces) <= 1000
    assert reported == sorted(reported)
    assert reported[-1] == len(content)


@pytest.mark.usefixtures("little_room")
@pytest.mark.parametrize("kind", PACKED)
@pytest.mark.parametrize("where", ["in the middle", "in its checksum", "its last byte is missing", "half is missing"])
def test_a_large_damaged_member_is_skipped(kind: str, where: str) -> None:
    content = bytearray(WHOLE_FILES[kind])
    if "missing" in where:
        del content[-1 if where.startswith("its last") else len(content) // 2 :]
    else:
        content[len(content) // 2 if where == "in the middle" else -7 if kind == ".warc.gz" else -2] ^= 1
    found, reading = read(bytes(content), "x" + kind)
    assert (found, reading.n_gaps) == ([], 1)
    found, reading = read(PACKED[kind](RECORDS[0]) + bytes(content) + PACKED[kind](RECORDS[3]), "x" + kind)
    assert block_of(RECORDS[0]) in found
    assert set(found) <= {block_of(RECORDS[0]), block_of(RECORDS[3])}
    assert len(found) == 2 or "missing" in where  # the member takes the beginning of the next one for its own
    assert reading.n_gaps == 1


def test_a_large_member_takes_little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warc_records, "_MAX_HELD_BYTES", 2 << 20)
    n_records = 300
    page = response("http://a.test/large", b"x" * 200_000)
    packer = zlib.compressobj(1, zlib.DEFLATED, 31)
    content = b"".join(packer.compress(page) for _ in range(n_records)) + packer.flush()
    tracemalloc.start()
    try:
        for one, n_expected in ((content, n_records), (content[:-1], 0)):
            tracemalloc.reset_peak()
            reading = RecordCounts()
            found = records(blocks(io.BytesIO(one), "x.warc.gz", lambda n: None), ("response",), reading, "x.warc.gz")
            assert sum(1 for _ in found) == n_expected
            assert tracemalloc.get_traced_memory()[1] < 16 << 20 < len(page) * n_records
    finally:
        tracemalloc.stop()


@pytest.mark.usefixtures("little_room")
@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_a_large_member_inside_a_wacz(tmp_path: Path, compression: int) -> None:
    with zipfile.ZipFile(tmp_path / "x.wacz", "w", compression) as zipped:
        zipped.writestr("archive/x.warc.gz", gzip.compress(RECORDS[0]) + WHOLE_FILES[".warc.gz"])
    file = ArchiveFile(tmp_path / "x.wacz", "archive/x.warc.gz")
    reading = RecordCounts()
    with file.opened() as stream:
        found = list(records(blocks(stream, file.name, lambda n: None), ("response",), reading, file.name))
    assert [one.block for one in found] == [block_of(one) for one in (RECORDS[0], *RECORDS)]
    assert reading.n_gaps == 0


def test_skippable_frames_are_no_damage() -> None:
    skippable = b"\x5a\x2a\x4d\x18" + (7).to_bytes(4, "little") + b"whatever"[:7]
    content = b"".join(skippable + zstd.compress(one) for one in RECORDS) + skippable
    assert read(content, "x.warc.zst") == ([block_of(one) for one in RECORDS], RecordCounts(len(RECORDS)))
