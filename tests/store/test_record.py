"""A response becomes a WARC record, and comes back."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orienteer.graph.link_graph import LinkGraph
from orienteer.store.archive import Archive
from orienteer.store.record import ArchivedResponse, page_of, response_record, warcinfo_record
from tests.store.small_crawls import warcio_responses

GZIPPED = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: gzip\r\n\r\n"
OK = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"


def lines_of(response: ArchivedResponse) -> list[str]:
    """All lines of a record, those of WARC first."""
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


def test_what_is_not_known_is_not_said() -> None:
    names = {line.partition(":")[0] for line in lines_of(ArchivedResponse("http://a.org/", 0.0, OK, b""))}
    assert not names & {"WARC-IP-Address", "WARC-Protocol", "WARC-Truncated"}


@pytest.mark.parametrize(
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


def test_a_response_without_a_status_line_is_none() -> None:
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
def test_what_is_written_is_read(
    path: str, time: float, status: int, headers: list[tuple[str, str]], body: bytes
) -> None:
    lines = [f"HTTP/1.1 {status} Whatever", *(f"{name}: {value}" for name, value in headers), "", ""]
    raw = "\r\n".join(lines).encode("latin-1")
    page = page_of(response_record(ArchivedResponse(f"http://a.org/{path}", time, raw, body)))
    assert page.url == f"http://a.org/{path}"
    assert page.time == pytest.approx(time, abs=1e-6)
    assert page.status == status
    assert page.headers == headers
    assert page.body == body


@pytest.mark.parametrize(
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
def test_what_is_no_record_is_a_value_error(spoil) -> None:
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
