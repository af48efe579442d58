"""Records of intact and of damaged files."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orienteer.errors import InputError
from orienteer.files.compressed import zstd
from orienteer.warc import records as warc_records
from orienteer.warc.records import Record, RecordCounts, blocks, records
from tests.imports.made_collections import response
from tests.tables import over_rows

N = 12
RECORDS = [response(f"http://a.test/{k}", f"<p>{k} " * (20 + k)) for k in range(N)]
PLAIN = b"".join(RECORDS)
BY_RECORD = b"".join(gzip.compress(one) for one in RECORDS)
FILES = {
    "x.warc": PLAIN,
    "x.warc.gz": BY_RECORD,
    "whole.warc.gz": gzip.compress(PLAIN),
    "x.warc.zst": b"".join(zstd.compress(one) for one in RECORDS),
    "whole.warc.zst": zstd.compress(PLAIN),
}


def read(content: bytes, name: str, kinds: tuple[str, ...] = ("response",)) -> tuple[list[Record], RecordCounts]:
    reading = RecordCounts()
    found = list(records(blocks(io.BytesIO(content), name, lambda n: None), kinds, reading, name))
    return found, reading


def numbers(found: list[Record]) -> list[int]:
    return [int(one.headers["warc-target-uri"].rpartition("/")[2]) for one in found]


@over_rows("name", FILES)
def test_all_records_of_an_intact_file_are_read(name: str) -> None:
    found, reading = read(FILES[name], name)
    assert numbers(found) == list(range(N))
    assert found[3].block == RECORDS[3].partition(b"\r\n\r\n")[2][:-4]
    assert (reading.n_records, reading.n_gaps) == (N, 0)


@pytest.mark.parametrize("name", ["x.warc", "x.warc.gz", "x.warc.zst"])
def test_damaged_records_are_skipped_and_counted(name: str) -> None:
    pack = {"x.warc": bytes, "x.warc.gz": gzip.compress, "x.warc.zst": zstd.compress}[name]
    packed = [pack(one) for one in RECORDS]
    at = 0 if name == "x.warc" else len(packed[6]) // 2  # a page may hold anything; a header may not
    packed[6] = packed[6][:at] + b"\xff" * 6 + packed[6][at + 6 :]
    found, reading = read(b"".join(packed), name)
    assert numbers(found) == [k for k in range(N) if k != 6]
    assert (reading.n_gaps, reading.first_gap) == (1, f"{name}: after 6 records")


@over_rows("name", FILES)
def test_a_truncated_file_is_read_up_to_the_end(name: str) -> None:
    found, reading = read(FILES[name][:-40], name)
    assert numbers(found) == ([] if "whole" in name else list(range(N - 1)))
    assert reading.n_gaps == 1


def test_a_wrong_checksum_is_damage() -> None:
    member = bytearray(gzip.compress(RECORDS[1]))
    member[-6] ^= 1
    found, reading = read(gzip.compress(RECORDS[0]) + bytes(member) + gzip.compress(RECORDS[2]), "x.warc.gz")
    assert numbers(found) == [0, 2]
    assert reading.n_gaps == 1


def test_padding_is_no_damage_and_rubbish_is() -> None:
    padded = BY_RECORD + bytes(1000)
    assert read(padded, "x.warc.gz")[1].n_gaps == 0
    found, reading = read(BY_RECORD + b"rubbish" * 100, "x.warc.gz")
    assert (len(found), reading.n_gaps) == (N, 1)
    found, reading = read(b"rubbish\n" + PLAIN, "x.warc")
    assert (len(found), reading.n_gaps) == (N, 1)


def test_bare_line_feeds_and_kinds_of_records() -> None:
    bare = PLAIN.replace(b"\r\n", b"\n")
    lengths_right = b"".join(
        b"WARC/0.18\nWARC-Type: %s\nContent-Length: 3\n\nabc\n\n" % kind for kind in (b"warcinfo", b"Response")
    )
    found, reading = read(lengths_right, "x.warc")
    assert [(one.kind, one.block) for one in found] == [("response", b"abc")]
    assert reading.n_records == 2
    assert read(bare, "x.warc")[1].n_gaps > 0  # these lengths are wrong


def test_an_invalid_length_costs_one_record() -> None:
    spoiled = RECORDS[0] + RECORDS[1].replace(b"Content-Length: ", b"Content-Length: -") + RECORDS[2]
    found, reading = read(spoiled, "x.warc")
    assert (numbers(found), reading.n_gaps) == ([0, 2], 1)


def test_a_too_large_record_is_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warc_records, "MAX_BLOCK_BYTES", 1000)
    large = response("http://a.test/99", "x" * 2000)
    found, reading = read(RECORDS[0] + large + RECORDS[1], "x.warc")
    assert (numbers(found), reading.n_too_large, reading.n_gaps) == ([0, 1], 1, 0)


def test_a_file_without_records_is_refused_early(monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as zeros compressed by a factor of a thousand."""
    monkeypatch.setattr(warc_records, "_MAX_RUBBISH_BYTES", 10 << 20)

    def endless() -> Iterator[bytes]:
        while True:
            yield bytes(1 << 20)

    with pytest.raises(InputError, match="10 MiB without a WARC record"):
        list(records(endless(), ("response",), RecordCounts(), "x.warc"))


def test_an_endless_header_costs_no_memory() -> None:
    found, reading = read(b"WARC/1.1\r\n" + b"X: y\r\n" * 100_000 + RECORDS[0], "x.warc")
    assert (numbers(found), reading.n_gaps) == ([0], 1)


@pytest.mark.parametrize("name", ["x.warc", "x.warc.gz"])
def test_unterminated_heads_are_skipped_in_linear_time(name: str) -> None:
    """Each byte is searched at most twice: with quadratic time 2 MB would take a quarter of an hour."""
    repeated = b"WARC/1.1\r\n" * 200_000
    pieces = [repeated[start : start + 10] for start in range(0, 100_000, 10)]
    packed = b"".join(map(gzip.compress, [*pieces, RECORDS[0]])) if name.endswith(".gz") else repeated + RECORDS[0]
    found, reading = read(packed, name)
    assert (numbers(found), reading.n_gaps) == ([0], 1)


@given(st.data())
def test_only_records_are_read_from_a_damaged_file(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(FILES)))
    content = bytearray(FILES[name])
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, max(len(content) - 1, 0)))
        kind = data.draw(st.sampled_from(["flip", "cut", "hole", "insert"]))
        if kind == "flip" and content:
            content[at] ^= data.draw(st.integers(1, 255))
        elif kind == "cut":
            del content[at:]
        elif kind == "hole":
            del content[at : at + data.draw(st.integers(1, 300))]
        else:
            content[at:at] = data.draw(st.binary(max_size=50))
    found, reading = read(bytes(content), name)
    assert reading.n_records <= N + 1
    if name.endswith(".gz"):  # with checksums nothing but the truth comes out, or nothing
        assert {one.block for one in found} <= {one.partition(b"\r\n\r\n")[2][:-4] for one in RECORDS}


def test_magic_bytes_inside_a_member() -> None:
    """The three magic bytes may occur inside a member."""
    noise = b"\x1f\x8b\x08" * 50
    stored = zlib.compressobj(0, zlib.DEFLATED, 31)
    member = stored.compress(response("http://a.test/1", noise)) + stored.flush()
    broken = bytearray(member)
    broken[len(member) // 2] ^= 255
    found, reading = read(gzip.compress(RECORDS[0]) + bytes(broken) + gzip.compress(RECORDS[2]), "x.warc.gz")
    assert (numbers(found), reading.n_gaps) == ([0, 2], 1)
