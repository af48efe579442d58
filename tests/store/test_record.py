"""WARC records: writing and reading."""

from __future__ import annotations

import gzip
import hashlib
import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from warcio.archiveiterator import ArchiveIterator
from warcio.recordloader import ArcWarcRecord

from orienteer.graph.link_graph import LinkGraph
from orienteer.store.archive import Archive
from orienteer.store.record import (
    ArchivedResponse,
    EarlierRecord,
    page_of,
    response_record,
    revisit_record,
    warcinfo_record,
)
from tests.store.small_crawls import warcio_responses
from tests.tables import over_rows

GZIPPED = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: gzip\r\n\r\n"
OK = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"


def lines_of(response: ArchivedResponse) -> list[str]:
    """Return all lines of a record, the WARC headers first."""
    return gzip.decompress(response_record(response)).decode("latin-1").split("\r\n")


def test_a_record_says_where_and_when_its_response_came_from() -> None:
    response = ArchivedResponse("http://a.org/é", 1_700_000_000.25, OK, b"body", "2001:db8::1", "http/1.1", "length")
    lines = lines_of(response)
    assert lines[0] == "WARC/1.1"
    assert (
        {
            "WARC-Type: response",
            "WARC-Date: 2023-11-14T22:13:20.250000Z",
            "WARC-Target-URI: http://a.org/Ã©",  # UTF-8, here read as Latin-1
            "WARC-IP-Address: 2001:db8::1",
            "WARC-Protocol: http/1.1",
            "WARC-Truncated: length",
            "Content-Type: application/http; msgtype=response",
            "WARC-Payload-Digest: sha1:AIED6RLZ4CFGCJBFYDA2C7XEPLOXQO4U",  # sha1sum | base32
            f"Content-Length: {len(OK) + 4}",
        }
        <= set(lines[: lines.index("")])
    )


def test_how_long_an_answer_took() -> None:
    response = ArchivedResponse("http://a.org/", 0.0, OK, b"", duration_s=12.3456)
    assert "Orienteer-Duration: 12.3456" in lines_of(response)
    assert page_of(response_record(response)).duration_s == 12.3456
    assert page_of(response_record(response._replace(duration_s=0.0))).duration_s is None
    assert page_of(response_record(response._replace(duration_s=0.0), {"Orienteer-Duration": "1e9"})).duration_s is None


@pytest.mark.parametrize("value", ["b\r\nWARC-Truncated: time", "b\nc", "b\rc", "b\r\n\r\nHTTP/1.1 200 OK"])
def test_a_header_is_one_line(value: str) -> None:
    record = response_record(ArchivedResponse("http://a.org/", 0.0, OK, b"body"), {"X-A": value})
    lines = gzip.decompress(record).partition(b"\r\n\r\n")[0].split(b"\r\n")
    assert [line for line in lines if line.startswith(b"X-A: b ")]
    assert not any(line.startswith(b"WARC-Truncated") for line in lines)
    assert page_of(record).body == b"body"


def test_unknown_values_are_left_out() -> None:
    names = {line.partition(":")[0] for line in lines_of(ArchivedResponse("http://a.org/", 0.0, OK, b""))}
    assert not names & {"WARC-IP-Address", "WARC-Protocol", "WARC-Truncated"}


@over_rows(
    ("raw", "stored"),
    [
        (b"HTTP/1.1 200 OK\r\nA: b\r\n\r\n", b"HTTP/1.1 200 OK\r\nA: b\r\n\r\n"),
        (b"HTTP/1.0 404 Gone away\r\n\r\n", b"HTTP/1.0 404 Gone away\r\n\r\n"),
        (b"HTTP/2 200 \r\nA: b\r\n\r\n", b"HTTP/1.1 200 \r\nA: b\r\n\r\n"),
        (b"HTTP/2 200\r\n\r\n", b"HTTP/1.1 200\r\n\r\n"),
        (b"HTTP/3 301\r\nLocation: /HTTP/2 \r\n\r\n", b"HTTP/1.1 301\r\nLocation: /HTTP/2 \r\n\r\n"),
        (
            b"HTTP/1.1 200 OK\r\ntransfer-encoding : chunked\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nX-Crawler-Transfer-Encoding : chunked\r\n\r\n",
        ),
        (
            b"HTTP/1.1 200 OK\r\nNo-Transfer-Encoding: x\r\nA: Transfer-Encoding: x\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nNo-Transfer-Encoding: x\r\nA: Transfer-Encoding: x\r\n\r\n",
        ),
        (b"HTTP/1.1 200 OK\nA: b\n\n", b"HTTP/1.1 200 OK\r\nA: b\r\n\r\n"),
        (b"HTTP/1.1 200 OK\r\nA: b\r\n folded\r\n", b"HTTP/1.1 200 OK\r\nA: b\r\n folded\r\n\r\n"),
        (b"HTTP/1.1 200 OK", b"HTTP/1.1 200 OK\r\n\r\n"),
        (b"HTTP/1.1 200 OK\r\nX: \xff\x00\r\nno colon\r\n\r\n", b"HTTP/1.1 200 OK\r\nX: \xff\x00\r\nno colon\r\n\r\n"),
    ],
)
def test_headers_stay_as_received_but_for_what_would_mislead_a_reader(raw: bytes, stored: bytes) -> None:
    content = gzip.decompress(response_record(ArchivedResponse("http://a.org/", 0.0, raw, b"\r\n\r\nbody")))
    assert content.partition(b"\r\n\r\n")[2] == stored + b"\r\n\r\nbody" + b"\r\n\r\n"


def test_a_response_needs_a_status_line() -> None:
    with pytest.raises(ValueError, match="status line"):
        response_record(ArchivedResponse("http://a.org/", 0.0, b"\r\n", b"body"))


def test_a_line_end_in_a_url_makes_no_header() -> None:
    lines = lines_of(ArchivedResponse("http://a.org/\r\nWARC-Truncated: time", 0.0, OK, b""))
    assert not any(line.startswith("WARC-Truncated") for line in lines)


def test_long_headers_and_a_large_body_come_back() -> None:
    raw = b"HTTP/1.1 200 OK\r\n" + b"".join(b"X-%d: %s\r\n" % (k, b"x" * 1000) for k in range(64)) + b"\r\n"
    body = bytes(range(256)) * (40 << 10)
    page = page_of(response_record(ArchivedResponse("http://a.org/", 0.0, raw, body)))
    assert len(page.headers) == 64
    assert page.body == body


NAMES = st.from_regex(r"[A-Za-z][A-Za-z0-9-]{0,20}", fullmatch=True).filter(
    lambda name: name.lower() != "transfer-encoding"
)
VALUES = st.text(st.characters(min_codepoint=33, max_codepoint=255, exclude_categories=["Cc"]), max_size=40)


@given(
    path=st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=50),
    time=st.floats(0, 4e9),
    status=st.integers(100, 599),
    headers=st.lists(st.tuples(NAMES, VALUES), max_size=8),
    body=st.binary(max_size=2000),
)
def test_round_trips(path: str, time: float, status: int, headers: list[tuple[str, str]], body: bytes) -> None:
    lines = [f"HTTP/1.1 {status} Whatever", *(f"{name}: {value}" for name, value in headers), "", ""]
    raw = "\r\n".join(lines).encode("latin-1")
    page = page_of(response_record(ArchivedResponse(f"http://a.org/{path}", time, raw, body)))
    assert page.url == f"http://a.org/{path}"
    assert page.time == pytest.approx(time, abs=1e-6)
    assert page.status == status
    assert list(page.headers.items()) == headers
    assert page.body == body


@over_rows(
    "spoil",
    [
        lambda member: b"",
        lambda member: member[:-1],
        lambda member: member[:20],
        lambda member: member[1:],
        lambda member: member[:40] + bytes([member[40] ^ 1]) + member[41:],
        lambda member: gzip.compress(b""),
        lambda member: gzip.compress(b"no WARC"),
        lambda member: warcinfo_record("a.warc.gz"),
    ],
)
def test_invalid_records_are_value_errors(spoil) -> None:
    member = response_record(ArchivedResponse("http://a.org/", 0.0, OK, b"body" * 20))
    with pytest.raises(ValueError, match="."):
        page_of(spoil(member))


def test_warcio_and_our_own_reader_decode_what_was_chunked_compressed_or_http2(tmp_path: Path) -> None:
    html = b"<a href=/next>next</a>"
    kinds = {
        "chunked": (b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n", html),
        "gzip": (GZIPPED.replace(b"\r\n\r\n", b"\r\nTransfer-Encoding: chunked\r\n\r\n"), gzip.compress(html)),
        "h2": (GZIPPED.replace(b"HTTP/1.1 200 OK", b"HTTP/2 200 "), gzip.compress(html)),
        "redirect": (b"HTTP/1.1 301 Moved\r\nLocation: /next\r\n\r\n", b""),
    }
    archive = Archive(tmp_path)
    for name, (raw, body) in kinds.items():
        archive.append(ArchivedResponse(f"http://a.org/{name}", 1.7e9, raw, body, "10.0.0.1", name))
    archive.close()
    (path,) = tmp_path.iterdir()
    bodies = dict(warcio_responses(path))
    assert [bodies[f"http://a.org/{name}"] for name in kinds] == [html, html, html, b""]
    web = LinkGraph.load(path)
    assert web.urls is not None
    target = web.urls.find("http://a.org/next")
    assert all(web.links(web.urls.find(f"http://a.org/{name}")).tolist() == [target] for name in kinds)


# -- revisits ---------------------------------------------------------------------------------------------------

PROFILES = "http://netpreserve.org/warc/1.1/revisit/"
UNCHANGED = b'HTTP/1.1 304 Not Modified\r\nETag: "7"\r\n\r\n'
EARLIER = EarlierRecord("http://a.org/", 1_600_000_000.000001, hashlib.sha1(b"body").digest())


def warcio_record(member: bytes) -> ArcWarcRecord:
    (record,) = ArchiveIterator(io.BytesIO(member), check_digests="raise")
    return record


def names_in(member: bytes) -> list[str]:
    """Return the names of the WARC headers."""
    head = gzip.decompress(member).partition(b"\r\n\r\n")[0].decode()
    return [line.partition(":")[0] for line in head.split("\r\n")[1:]]


def fields_of(member: bytes) -> dict[str, str]:
    """Return the WARC headers as read by warcio, without the id and those common to all responses."""
    alike = {"WARC-Record-ID", "Content-Type", "Content-Length"}
    return {name: value for name, value in warcio_record(member).rec_headers.headers if name not in alike}


def test_a_page_that_the_server_calls_unchanged() -> None:
    response = ArchivedResponse("http://a.org/", 1_700_000_000.25, UNCHANGED, b"", "10.0.0.1", "h2", "length")
    member = revisit_record(response, EARLIER, not_modified=True)
    assert fields_of(member) == {
        "WARC-Type": "revisit",
        "WARC-Date": "2023-11-14T22:13:20.250000Z",
        "WARC-Target-URI": "http://a.org/",
        "WARC-Payload-Digest": "sha1:AIED6RLZ4CFGCJBFYDA2C7XEPLOXQO4U",  # of the payload that did not change
        "WARC-IP-Address": "10.0.0.1",
        "WARC-Protocol": "h2",
        "WARC-Profile": PROFILES + "server-not-modified",
        "WARC-Refers-To-Target-URI": "http://a.org/",
        "WARC-Refers-To-Date": "2020-09-13T12:26:40.000001Z",
    }
    assert gzip.decompress(member).partition(b"\r\n\r\n")[2] == UNCHANGED + b"\r\n\r\n"
    record = warcio_record(member)
    assert record.http_headers.get_statuscode() == "304"
    assert record.http_headers.get_header("ETag") == '"7"'
    assert record.rec_headers.get_header("Content-Type") == "application/http; msgtype=response"
    assert record.content_stream().read() == b""


def test_where_the_digest_is_not_known_an_unchanged_page_has_none() -> None:
    response = ArchivedResponse("http://a.org/", 0.0, UNCHANGED, b"")
    member = revisit_record(response, EARLIER._replace(payload_sha1=None), not_modified=True)
    assert not set(names_in(member)) & {"WARC-Payload-Digest", "WARC-IP-Address", "WARC-Protocol", "WARC-Truncated"}


@pytest.mark.parametrize("known", [EARLIER.payload_sha1, None])
@pytest.mark.parametrize("body_sha1", [EARLIER.payload_sha1, None])
def test_a_repeated_payload_is_left_out(known: bytes | None, body_sha1: bytes | None) -> None:
    response = ArchivedResponse("http://a.org/2", 1.7e9, b"HTTP/2 200 \r\nA: b\r\n\r\n", b"body", body_sha1=body_sha1)
    member = revisit_record(response, EARLIER._replace(payload_sha1=known), not_modified=False)
    assert fields_of(member) == {
        "WARC-Type": "revisit",
        "WARC-Date": "2023-11-14T22:13:20Z",
        "WARC-Target-URI": "http://a.org/2",
        "WARC-Payload-Digest": "sha1:AIED6RLZ4CFGCJBFYDA2C7XEPLOXQO4U",
        "WARC-Profile": PROFILES + "identical-payload-digest",
        "WARC-Refers-To-Target-URI": "http://a.org/",
        "WARC-Refers-To-Date": "2020-09-13T12:26:40.000001Z",
        "WARC-Truncated": "length",
    }
    head = b"HTTP/1.1 200 \r\nA: b\r\n\r\n"
    assert gzip.decompress(member).partition(b"\r\n\r\n")[2] == head + b"\r\n\r\n"


def test_another_payload_is_no_revisit() -> None:
    response = ArchivedResponse("http://a.org/", 1.7e9, OK, b"another body")
    with pytest.raises(ValueError, match=r"http://a.org/: its payload is not that of 2020-09-13T12:26:40.000001Z"):
        revisit_record(response, EARLIER, not_modified=False)


@given(time=st.floats(0, 4e9), later=st.floats(0, 4e9), not_modified=st.booleans())
def test_a_revisit_names_the_date_of_its_page_exactly(time: float, later: float, not_modified: bool) -> None:
    first = ArchivedResponse("http://a.org/", time, OK, b"body")
    again = first._replace(time=later)
    date = fields_of(response_record(first))["WARC-Date"]
    read_back = page_of(response_record(first)).time
    for earlier in (EarlierRecord(first.url, time), EarlierRecord(first.url, read_back)):
        member = revisit_record(again, earlier, not_modified)
        assert fields_of(member)["WARC-Refers-To-Date"] == date
        assert len(names_in(member)) == len(set(names_in(member)))


@pytest.mark.parametrize("not_modified", [True, False])
def test_a_revisit_holds_no_page(not_modified: bool) -> None:
    member = revisit_record(ArchivedResponse("http://a.org/", 1.7e9, OK, b"body"), EARLIER, not_modified)
    with pytest.raises(ValueError, match="no response"):
        page_of(member)
