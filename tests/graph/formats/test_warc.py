"""WARC files: regular ones from two writers, unusual ones, broken ones."""

from __future__ import annotations

import functools
import gzip
import io
import warnings
import zipfile
import zlib
from pathlib import Path

import brotli
import pytest
from hypothesis import given
from hypothesis import strategies as st
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from orienteer.errors import DamagedArchiveWarning, GraphFileError, OrienteerError
from orienteer.files.compressed import zstd
from orienteer.graph.link_graph import LinkGraph
from orienteer.warc import archived_responses, records

HTML = ("Content-Type", "text/html")


class Archive:
    """A WARC under construction; its pages are on http://a.org/."""

    def __init__(self, compressed: bool = False) -> None:
        self.file = io.BytesIO()
        self.writer = WARCWriter(self.file, gzip=compressed)

    def add(self, url, body=b"", *headers, status="200 OK", kind="response"):
        http = StatusAndHeaders(status, list(headers or [HTML]), protocol="HTTP/1.1")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)  # warcio leaves temporary files open
            new = self.writer.create_warc_record
            self.writer.write_record(new(full(url), kind, payload=io.BytesIO(body), http_headers=http))
        return self

    def add_about(self, fields):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)
            self.writer.write_record(self.writer.create_warcinfo_record("x.warc", fields))

    def add_raw(self, url, block, kind="response"):
        """A record with any block, and a header whose lines the test may spoil."""
        head = f"WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Target-URI: {full(url)}\r\nContent-Length: {len(block)}\r\n\r\n"
        self.file.write(head.encode() + block + b"\r\n\r\n")
        return self

    def bytes(self):
        return self.file.getvalue()


def full(url: str) -> str:
    return url if ":" in url else f"http://a.org/{url}"


def graph_of(folder: Path, content: bytes, name: str = "x.warc") -> LinkGraph:
    (folder / name).write_bytes(content)
    return LinkGraph.load(folder / name)


def links_of(graph: LinkGraph) -> dict[str, list[str]]:
    """Each page's links by name, short: without http://a.org/, in order of discovery."""
    assert graph.urls is not None
    names = [url.removeprefix("http://a.org/") for url in graph.urls]
    return {names[page]: [names[target] for target in graph.links(page)] for page in range(graph.n_pages)}


def small_archive(compressed: bool = False) -> bytes:
    archive = Archive(compressed)
    archive.add_about({"software": "test"})
    archive.add("1", b"<a href=2>2</a><a href=http://b.org/>b</a>")
    archive.add("2", b"8\r\n<a href=\r\n3\r\n3>3\r\n0\r\n\r\n", HTML, ("Transfer-Encoding", "chunked"))
    archive.add("picture", b"no html", ("Content-Type", "image/png"))
    archive.add(
        "3", gzip.compress(b"<a href=1>1"), ("Content-Type", "text/html; charset=utf-8"), ("Content-Encoding", "gzip")
    )
    archive.add("4", b"", ("Location", "/1"), status="302 Found")
    return archive.bytes()


SMALL = {"1": ["2", "http://b.org/"], "2": ["3"], "http://b.org/": [], "3": ["1"], "4": ["1"]}


@functools.cache  # the records hold random ids and the time, so two archives differ in length
def packed(kind: str) -> bytes:
    if kind == ".warc.gz":
        return small_archive(compressed=True)
    return zstd.compress(small_archive()) if kind == ".warc.zst" else small_archive()


@pytest.mark.parametrize("kind", [".warc", ".warc.gz", ".warc.zst"])
def test_pages_and_their_links_are_read_from_an_archive(tmp_path, kind):
    graph = graph_of(tmp_path, packed(kind), "x" + kind)
    assert links_of(graph) == SMALL
    assert list(graph.urls) == ["http://a.org/1", "http://a.org/2", "http://b.org/", "http://a.org/3", "http://a.org/4"]
    assert graph.hosts.tolist() == [0, 0, 1, 0, 0]


def test_an_archive_compressed_as_a_whole_is_read_too(tmp_path):
    assert links_of(graph_of(tmp_path, gzip.compress(small_archive()), "x.warc.gz")) == SMALL


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # at the first import of fastwarc
def test_an_archive_that_fastwarc_wrote_is_read_too(tmp_path):
    from fastwarc.warc import WarcRecord, WarcRecordType

    out = io.BytesIO()
    for url, body in (("http://a.org/1", b"<a href=2>"), ("http://a.org/2", b"<a href=1>")):
        record = WarcRecord()
        record.init_headers(WarcRecordType.response)
        record.headers["WARC-Target-URI"] = url
        record.headers["Content-Type"] = "application/http; msgtype=response"
        record.set_bytes_content(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n" + body)
        record.write(out, checksum_data=True)
    assert links_of(graph_of(tmp_path, out.getvalue())) == {"1": ["2"], "2": ["1"]}


def chunks(body: bytes) -> bytes:
    return b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)


BODY = b"<a href=2>" * 30


payloads = {
    "plain": (BODY, None, None),
    "identity": (BODY, None, "identity"),
    "chunked": (chunks(BODY), "chunked", None),
    "gzip": (gzip.compress(BODY), None, "gzip"),
    "gzip in capitals": (gzip.compress(BODY), None, "GZip"),
    "deflate": (zlib.compress(BODY), None, "deflate"),
    "brotli": (brotli.compress(BODY), None, "br"),
    "zstandard": (zstd.compress(BODY), None, "zstd"),
    "chunked and gzip": (chunks(gzip.compress(BODY)), "chunked", "gzip"),
    "gzip twice": (gzip.compress(gzip.compress(BODY)), None, "gzip, gzip"),
    "not chunked": (BODY, "chunked", None),
    "not gzip": (BODY, None, "gzip"),
    "neither chunked nor brotli": (BODY, "chunked", "br"),
    "a coding that is none": (BODY, None, "utf-8"),
    "chunked, cut off": (chunks(BODY)[:-40], "chunked", None),
    "gzip, cut off": (gzip.compress(BODY + bytes(range(256)))[:-9], None, "gzip"),
}


@pytest.mark.parametrize(("body", "transfer", "content"), payloads.values(), ids=payloads)
def test_a_payload_is_decoded_as_its_headers_say_or_used_as_it_is(tmp_path, body, transfer, content):
    headers = [HTML]
    headers += [("Transfer-Encoding", transfer)] if transfer else []
    headers += [("Content-Encoding", content)] if content else []
    assert links_of(graph_of(tmp_path, Archive().add("1", body, *headers).bytes())) == {"1": ["2"], "2": []}


@pytest.mark.parametrize("coding", ["gzip", "br", "zstd"])
def test_a_payload_that_explodes_is_no_page(tmp_path, monkeypatch, coding):
    monkeypatch.setattr(archived_responses, "MAX_PAGE_BYTES", 1 << 21)
    pack = {"gzip": gzip.compress, "br": brotli.compress, "zstd": zstd.compress}[coding]
    bomb = pack(b"<a href=bomb>" + b"\x00" * (1 << 23))
    archive = Archive().add("1", bomb, HTML, ("Content-Encoding", coding)).add("2", b"<a href=3>")
    assert links_of(graph_of(tmp_path, archive.bytes())) == {"2": ["3"], "3": []}


def test_a_record_that_is_too_long_is_no_page(tmp_path, monkeypatch):
    monkeypatch.setattr(records, "MAX_BLOCK_BYTES", 5000)
    archive = Archive().add("1", b"<a href=x>" * 600).add("2", b"<a href=3>")
    assert links_of(graph_of(tmp_path, archive.bytes())) == {"2": ["3"], "3": []}


def test_thousands_of_codings_are_not_undone(tmp_path):
    codings = ("Content-Encoding", ",".join(["gzip"] * 5000))
    archive = Archive().add("1", gzip.compress(BODY), HTML, codings).add("2", b"<a href=3>")
    assert links_of(graph_of(tmp_path, archive.bytes())) == {"1": [], "2": ["3"], "3": []}


@pytest.mark.parametrize("status", ["301 Moved", "302 Found", "303 See Other", "307 x", "308 y"])
def test_a_redirect_is_one_link(tmp_path, status):
    archive = Archive().add("dir/1", b"<a href=x>", HTML, ("Location", "../2#part"), status=status)
    assert links_of(graph_of(tmp_path, archive.bytes())) == {"dir/1": ["2"], "2": []}


def test_a_location_may_hold_any_character(tmp_path):
    block = "HTTP/1.1 302 Found\r\nLocation: /ä\r\n\r\n".encode()
    assert links_of(graph_of(tmp_path, Archive().add_raw("1", block).bytes())) == {"1": ["%C3%A4"], "%C3%A4": []}


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ([("Content-Type", "text/plain")], "200 OK"),
        ([("Content-Type", "application/pdf")], "200 OK"),
        ([HTML], "404 Not Found"),
        ([HTML], "500 Oops"),
        ([HTML], "100 Continue"),
        ([HTML], "302 Found"),
        ([("Location", "mailto:x")], "302 Found"),
        ([HTML], "strange"),
    ],
)
def test_responses_without_links_are_left_out(tmp_path, headers, status):
    archive = Archive().add("0", b"<a href=x>", *headers, status=status).add("1", b"<a href=2>")
    assert links_of(graph_of(tmp_path, archive.bytes())) == {"1": ["2"], "2": []}


def test_a_page_that_states_no_type_is_taken_for_html(tmp_path):
    """As in a crawl."""
    archive = Archive().add("1", b"<a href=2>", ("X", "no type"))
    assert links_of(graph_of(tmp_path, archive.bytes())) == {"1": ["2"], "2": []}


def test_records_of_other_kinds_and_of_no_web_page_are_left_out(tmp_path):
    http = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<a href=x>"
    archive = Archive()
    for kind in ("request", "metadata", "resource", "conversion", "continuation", "unheard-of"):
        archive.add_raw("0", http, kind)
    archive.add_raw("dns:a.org", http).add_raw("ftp://a.org/", http).add_raw("http://[", http)
    graph = graph_of(tmp_path, archive.bytes())
    assert (graph.n_pages, graph.n_links) == (0, 0)


@pytest.mark.parametrize(
    "block",
    [
        b"",
        b"\r\n",
        b"<html><a href=x>",
        b"HTTP/1.1",
        b"HTTP/1.1 200 OK",
        b"\x00" * 1000,
        b"HTTP/1.1 200 OK\r\nX: " + b"x" * (1 << 20) + b"\r\nContent-Type: text/html\r\n\r\n<a href=x>",
        b"HTTP/1.1 200 OK\r\n" + b"X: x\r\n" * 50_000,
    ],
)
def test_a_block_that_is_no_http_is_left_out(tmp_path, block):
    archive = Archive().add_raw("0", block).add("1", b"<a href=2>")
    assert links_of(graph_of(tmp_path, archive.bytes())) == {"1": ["2"], "2": []}


def test_headers_of_careless_writers_are_understood(tmp_path):
    http = b"HTTP/1.0 200\ncontent-type: TEXT/HTML ; Charset='Windows-1251'\n\n<a href=\xff>"
    lines = f"WARC/0.18\nWARC-Type: response\nWARC-Target-URI: <http://A.org:80/1#x>\nContent-Length: {len(http)}\n\n"
    graph = graph_of(tmp_path, lines.encode() + http + b"\n\n")
    assert links_of(graph) == {"1": ["%D1%8F"], "%D1%8F": []}


def test_the_last_record_of_a_url_counts(tmp_path):
    archive = Archive().add("1", b"<a href=2><a href=3>").add("2", b"<a href=1>").add("1", b"<a href=3><a href=4>")
    assert links_of(graph_of(tmp_path, archive.bytes())) == {"1": ["3", "4"], "2": ["1"], "3": [], "4": []}


def test_an_error_does_not_undo_the_page_recorded_before(tmp_path):
    archive = Archive().add("1", b"<a href=2>").add("1", b"gone", status="404 Not Found")
    assert links_of(graph_of(tmp_path, archive.bytes())) == {"1": ["2"], "2": []}


def test_a_revisit_counts_only_for_a_page_that_was_not_seen(tmp_path):
    archive = Archive().add("1", b"<a href=2>").add("1", b"", kind="revisit").add("3", b"", kind="revisit")
    archive.add("4", b"", ("Location", "/5"), status="301 Moved", kind="revisit")
    archive.add("6", b"", kind="revisit").add("6", b"<a href=1>")
    archive.add("picture", b"", ("Content-Type", "image/png"), kind="revisit")
    expected = {"1": ["2"], "2": [], "3": [], "4": ["5"], "5": [], "6": ["1"]}
    assert links_of(graph_of(tmp_path, archive.bytes())) == expected


@pytest.mark.parametrize("kind", [".warc", ".warc.gz", ".warc.zst"])
def test_progress_is_counted_in_bytes_of_the_file(tmp_path, kind):
    file = tmp_path / ("x" + kind)
    file.write_bytes(packed(kind))
    calls = []
    LinkGraph.load(file, progress=lambda *call: calls.append(call))
    assert {(stage, total) for stage, _, total in calls} == {("reading records", file.stat().st_size)}
    done = [done for _, done, _ in calls]
    assert done == sorted(done)
    assert done[-1] == file.stat().st_size


@pytest.mark.parametrize(
    "content", [b"", b"no archive", b"\n\n\n", b"WARC", b"\x00" * 100_000, b"HTTP/1.1 200 OK\r\n\r\n"]
)
def test_a_file_without_records_says_so(tmp_path, content):
    with pytest.raises(GraphFileError, match="no WARC records"):
        graph_of(tmp_path, content)
    with pytest.raises(GraphFileError, match="no WARC records"):
        graph_of(tmp_path, gzip.compress(content), "x.warc.gz")


def test_an_archive_without_pages_is_an_empty_graph(tmp_path):
    archive = Archive().add("picture", b"", ("Content-Type", "image/png"))
    assert graph_of(tmp_path, archive.bytes()).n_pages == 0


def read_with_damage(folder: Path, content: bytes, name: str = "x.warc") -> tuple[dict[str, list[str]], str]:
    """What is read of a damaged archive, and what the one warning says after the name of the file."""
    with pytest.warns(DamagedArchiveWarning) as reported:
        graph = graph_of(folder, content, name)
    (warning,) = reported
    assert str(warning.message).startswith(f"{folder / name}: ")
    return links_of(graph), str(warning.message).removeprefix(f"{folder / name}: ")


WITHOUT_THE_LAST = {page: links for page, links in SMALL.items() if page != "4"}


@pytest.mark.parametrize("kind", [".warc", ".warc.gz"])
def test_of_a_truncated_archive_whole_records_are_read_with_a_warning(tmp_path, kind):
    links, reported = read_with_damage(tmp_path, packed(kind)[:-20], "x" + kind)
    assert links == WITHOUT_THE_LAST
    assert reported == "after 5 records the archive is damaged; 1 gap was skipped"


def test_all_gaps_are_counted_in_one_warning(tmp_path):
    members = [Archive(compressed=True).add(str(k), b"<a href=x>").bytes() for k in range(6)]
    for k in (1, 4):
        members[k] = members[k][:50] + b"??" + members[k][52:]
    links, reported = read_with_damage(tmp_path, b"".join(members), "x.warc.gz")
    assert [page for page in links if page != "x"] == ["0", "2", "3", "5"]
    assert reported == "after 1 record the archive is damaged; 2 gaps were skipped"


@pytest.mark.parametrize("kind", [".warc.gz", ".warc.zst"])
def test_an_archive_of_which_nothing_can_be_read_is_an_error(tmp_path, kind):
    pack = gzip.compress if kind == ".warc.gz" else zstd.compress
    with pytest.raises(GraphFileError, match=rf"x{kind}: no WARC records in it that can be read$"):
        graph_of(tmp_path, pack(small_archive())[:-1], "x" + kind)


@pytest.mark.parametrize("length", ["", "x", "-1", "99999999999999999999", "9" * 9999, "1 2"])
def test_a_record_without_a_proper_length_is_skipped(tmp_path, length):
    record = f"WARC/1.0\r\nWARC-Type: response\r\nContent-Length: {length}\r\n\r\nabc\r\n\r\n".encode()
    links, reported = read_with_damage(tmp_path, small_archive() + record)
    assert links == SMALL
    assert reported.startswith("after 6 records")


def test_rubbish_between_records_is_skipped(tmp_path):
    more = Archive().add("5", b"<a href=6>").bytes()
    for rubbish, found in ((b"rubbish", {}), (b"rubbish\r\n\r\n" + more, {"5": ["6"], "6": []})):
        links, reported = read_with_damage(tmp_path, small_archive() + rubbish)
        assert links == SMALL | found
        assert reported == "after 6 records the archive is damaged; 1 gap was skipped"


@pytest.mark.parametrize("kind", [".warc", ".warc.gz", ".warc.zst"])
def test_a_truncated_archive_yields_only_its_pages_and_a_warning(tmp_path, kind, fresh_rng):
    content = packed(kind)
    n_silent = 0
    for length in [0, *range(fresh_rng.randrange(9), len(content), 9)]:
        with warnings.catch_warnings(record=True) as reported:
            warnings.simplefilter("always")
            try:
                graph = graph_of(tmp_path, content[:length], "x" + kind)
            except GraphFileError as error:
                assert str(error).startswith(str(tmp_path))
                assert "no WARC records in it" in str(error)
                continue
        assert [one.category for one in reported] in ([], [DamagedArchiveWarning])
        n_silent += not reported
        assert all(set(links) <= set(SMALL[page]) for page, links in links_of(graph).items())
    # In a plain archive nothing is lost with the empty lines after a record.
    assert n_silent <= {".warc": 6 * 4, ".warc.gz": 6, ".warc.zst": 0}[kind]


@given(st.data())
def test_a_damaged_archive_is_an_error_or_a_graph(tmp_path_factory, data):
    kind = data.draw(st.sampled_from([".warc", ".warc.gz", ".warc.zst"]))
    content = bytearray(packed(kind))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(content) - 1))
        content[at : at + data.draw(st.integers(0, 40))] = data.draw(st.binary(max_size=5))
        content = content or bytearray(b"x")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DamagedArchiveWarning)
        try:
            graph_of(tmp_path_factory.getbasetemp(), bytes(content), "damaged" + kind)
        except OrienteerError as error:
            assert "\n" not in str(error)


def test_the_files_inside_a_wacz_are_read_as_one_archive(tmp_path):
    with zipfile.ZipFile(tmp_path / "x.wacz", "w") as zipped:
        zipped.writestr("archive/1.warc.gz", Archive(compressed=True).add("1", b"<a href=2>").bytes())
        zipped.writestr("archive/2.warc", Archive().add("2", b"<a href=1>").bytes())
        zipped.writestr("pages/pages.jsonl", "")
    assert links_of(LinkGraph.load(tmp_path / "x.wacz")) == {"1": ["2"], "2": ["1"]}
    (tmp_path / "none.wacz").write_bytes(b"PK")
    with pytest.raises(GraphFileError, match=r"^[^:]*none\.wacz: not a zip"):
        LinkGraph.load(tmp_path / "none.wacz")


def test_links_that_a_header_says_not_to_follow_are_not_followed(tmp_path):
    """As in a crawl."""
    archive = Archive().add("1", b"<a href=x>", HTML, ("X-Robots-Tag", "nofollow")).add("2", b"<a href=1>")
    assert links_of(graph_of(tmp_path, archive.bytes())) == {"1": [], "2": ["1"]}
