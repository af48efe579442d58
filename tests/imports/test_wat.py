"""WAT files: the links of pages without their texts."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import orienteer as ori
from orienteer.imports.wat import page_of, wat_page
from orienteer.search.indexing import update_index
from tests.imports.made_collections import digest, record, response, wat, write
from tests.imports.test_import_archives import links_by_url
from tests.live.live_crawls import StoredCrawl

A = "http://a.test"


def block(one: bytes) -> bytes:
    return one.partition(b"\r\n\r\n")[2][:-4]


def test_links_title_and_rules_are_taken_from_a_record() -> None:
    links: list[str | dict[str, str]] = [
        "b#part",
        "http://b.test/",
        "b",
        {"path": "IMG@/src", "url": "picture"},
        {"path": "A@/href", "url": "sold", "rel": "nofollow"},
        {"path": "IFRAME@/src", "url": "/frame"},
        {"path": "A@/href"},
        {"path": "A@/href", "url": "mailto:me@a.test"},
    ]
    head = {
        "Base": "/base/",
        "Link": [{"path": "LINK@/href", "url": "style", "rel": "stylesheet"}, {"url": "/next", "rel": "next"}],
        "Metas": [{"name": "ROBOTS", "content": "noindex"}],
    }
    page = wat_page(block(wat(f"{A}/x", links, " A \n title ", head=head)))
    assert page is not None
    assert page.links == (f"{A}/next", f"{A}/base/b", "http://b.test/", f"{A}/frame")
    assert (page.title, page.status, page.noindex, page.nofollow) == ("A title", 200, True, False)
    headers, again = page_of(page.packed(), page.url)
    assert (again.links, again.title, again.noindex) == (list(page.links), "A title", True)
    assert headers == page.headers


def test_values_of_wrong_types_are_ignored() -> None:
    assert wat_page(b"{}") is None
    assert wat_page(b"[1, 2]") is None
    assert wat_page(b'{"Envelope": {"WARC-Header-Metadata": {"WARC-Type": "request"}}}') is None
    odd = json.loads(block(wat(f"{A}/", [])))
    http = odd["Envelope"]["Payload-Metadata"]["HTTP-Response-Metadata"]
    http["HTML-Metadata"] = {"Head": [], "Links": {"a": 1}}
    http["Response-Message"] = {"Status": 200}
    http["Headers"] = {"A": ["1", 2, "3"], "B": None}
    page = wat_page(json.dumps(odd).encode())
    assert page is not None
    assert (page.status, page.links) == (0, ())
    assert page.headers.items() == (("A", "1"), ("A", "3"))


@given(st.recursive(st.none() | st.integers() | st.text(max_size=5), lambda some: st.lists(some) | st.dictionaries(
    st.sampled_from(["Envelope", "WARC-Header-Metadata", "Payload-Metadata", "HTTP-Response-Metadata", "Headers",
                     "HTML-Metadata", "Links", "Head", "Metas", "url", "path", "rel", "WARC-Type", "WARC-Target-URI"]),
    some), max_leaves=20))  # fmt: skip
def test_any_json_is_accepted(value: object) -> None:
    wat_page(json.dumps(value).encode())


@pytest.mark.parametrize("bad", [b"", b"{", b"\xff\xfe", b"[" * 100_000])
def test_invalid_json_is_a_value_error(bad: bytes) -> None:
    with pytest.raises(ValueError, match="invalid JSON"):
        wat_page(bad)


def test_a_wat_file_becomes_a_crawl_without_texts(tmp_path: Path) -> None:
    records = [
        record("warcinfo", "", b"software: x"),
        wat(f"{A}/", ["/1", "/2", "/moved", "/gone", "/none"], "Home", digest=digest(b"home")),
        wat(f"{A}/1", ["/", "http://b.test/"], "One", digest=digest(b"one")),
        wat(f"{A}/2", ["/1"], "Two", digest=digest(b"one")),
        wat(f"{A}/moved", [], status="301", headers={"Location": "/1"}),
        wat(f"{A}/gone", [], status="404"),
        wat(f"{A}/ill", [], status="500"),
    ]
    report = ori.import_crawl(write(tmp_path / "CC-1.warc.wat.gz", records), tmp_path / "crawl")
    assert (report.n_fetched, report.n_failed, report.n_frontier, report.has_texts) == (4, 1, 1, False)
    assert report.seeds == (f"{A}/",)
    stored = StoredCrawl(tmp_path / "crawl")
    outcomes = {url.removeprefix(A): (row.outcome, row.title) for url, row in stored.rows.items() if row}
    assert outcomes == {
        "/": ("ok", "Home"),
        "/1": ("ok", "One"),
        "/2": ("ok", "Two"),
        "/moved": ("redirect", ""),
        "/gone": ("http 404", ""),
    }
    row = stored.rows[f"{A}/2"]
    assert row is not None
    assert (row.duplicate_of, row.archived) == (stored.urls.index(f"{A}/1"), None)
    assert links_by_url(tmp_path / "crawl")[f"{A}/"] == {f"{A}/{name}" for name in ("1", "2", "moved", "gone", "none")}
    assert update_index(tmp_path / "crawl").n_pages == 0


def test_broken_json_is_counted_and_skipped(tmp_path: Path) -> None:
    broken = record("metadata", f"{A}/x", b'{"Envelope": {"WARC-Header')
    records = [wat(f"{A}/", ["/1"]), broken, wat(f"{A}/1", []), broken]
    report = ori.import_crawl(write(tmp_path / "x.wat", records), tmp_path / "crawl")
    assert (report.n_fetched, report.n_damaged, report.first_damage) == (2, 2, "broken JSON")
    with pytest.raises(ori.InputError, match="no page could be read; 1 record had broken JSON"):
        ori.import_crawl(write(tmp_path / "y.wat", [broken]), tmp_path / "other")


def test_a_page_in_both_wat_and_warc_has_content(tmp_path: Path) -> None:
    write(tmp_path / "x.wat.gz", [wat(f"{A}/", ["/1"], "of the WAT"), wat(f"{A}/1", [])])
    newer = response(f"{A}/1", "<title>of the WARC</title>", date="2024-06-01T00:00:00Z")
    (tmp_path / "x.warc.gz").write_bytes(gzip.compress(newer))
    report = ori.import_crawl([tmp_path / "x.wat.gz", tmp_path / "x.warc.gz"], tmp_path / "crawl")
    assert (report.n_fetched, report.has_texts) == (2, True)
    assert update_index(tmp_path / "crawl").n_pages == 1
