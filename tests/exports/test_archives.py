"""Exported archives, read by other tools."""

from __future__ import annotations

import gzip
import io
import json
import subprocess
import sys
import time
import warnings
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from warcio.archiveiterator import ArchiveIterator

import orienteer as ori
from orienteer.exports import wacz
from orienteer.exports.archived_records import SortedLines, searchable_url
from orienteer.exports.export import export
from orienteer.inspect.replay import replay
from orienteer.ledger.revisiting import DAY_S
from orienteer.live.session import refresh
from tests.exports.crawls import (
    HOME,
    MISSING,
    NEWS,
    OLD,
    PAGES,
    PLAIN,
    SITE,
    VISIT,
    hostile_crawl,
    plain_crawl,
    site_crawl,
)
from tests.exports.rendered_folders import add_assets, add_rendering
from tests.fake_web.changing import ChangingSite
from tests.fake_web.fake_response import FakeResponse
from tests.fake_web.server import FakeWeb
from tests.fake_web.site import MadeSite
from tests.live.live_crawls import crawled
from tests.store.small_crawls import warcio_responses
from tests.tables import over_rows
from tests.valid_archives import validated


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return site_crawl(tmp_path_factory.mktemp("site") / "crawl")


def test_a_warc_holds_the_pages_and_the_redirects_to_them(crawl: Path, tmp_path: Path) -> None:
    report = export(crawl, "warc", tmp_path / "all.warc.gz")
    found = dict(warcio_responses(tmp_path / "all.warc.gz"))
    assert set(found) == PAGES | {OLD}
    assert report.n_pages == len(PAGES)
    assert found[VISIT].decode() == SITE[VISIT]


def test_a_warc_need_not_be_compressed(crawl: Path, tmp_path: Path) -> None:
    export(crawl, "warc", tmp_path / "all.warc.gz")
    export(crawl, "warc", tmp_path / "all.warc")
    assert (tmp_path / "all.warc").read_bytes().startswith(b"WARC/1.")
    assert dict(warcio_responses(tmp_path / "all.warc")) == dict(warcio_responses(tmp_path / "all.warc.gz"))


def test_a_warc_round_trips(crawl: Path, tmp_path: Path) -> None:
    """Its graph equals that of the crawl, except for failures."""
    export(crawl, "warc", tmp_path / "all.warc.gz")
    web = ori.LinkGraph.load(tmp_path / "all.warc.gz")
    assert web.urls is not None
    news = web.urls.find(NEWS)
    assert [web.urls[int(page)] for page in web.links(web.urls.find(OLD) or 0)] == [NEWS]
    assert news is not None
    again = replay(tmp_path / "all.warc.gz", "breadth-first", seeds=[HOME])
    before = replay(crawl, "breadth-first")
    fetched = {again.urls[int(page)] for page in again.order}
    assert fetched == {before.urls[int(page)] for page in before.order} - {MISSING, PLAIN}


def test_after_a_refresh_the_newest_version_counts(tmp_path: Path) -> None:
    site, folder = ChangingSite(MadeSite(SITE)), tmp_path / "crawl"
    with FakeWeb(site) as web:
        crawled(web, HOME, folder)
        site.edit(VISIT, "<title>Visit</title><p>Closed for good.")
        refresh(folder, now=time.time() + DAY_S)
    export(folder, "warc", tmp_path / "new.warc.gz")
    records = list(warcio_responses(tmp_path / "new.warc.gz"))  # none is a revisit
    assert len(records) == len(PAGES) + 2  # and the plain text, and what redirects
    assert b"Closed for good" in dict(records)[VISIT]
    export(folder, "jsonl", tmp_path / "new.jsonl")
    pages = {page["url"]: page for page in map(json.loads, (tmp_path / "new.jsonl").read_text().splitlines())}
    assert pages[VISIT]["text"] == "Closed for good."


def cdxj_of(*archives: Path) -> set[str]:
    """Return the lines that another indexer makes from these archives."""
    command = [sys.executable, "-W", "ignore", "-m", "cdxj_indexer.main", *archives]
    return set(subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines())


def test_cdxj_equals_that_of_another_indexer(crawl: Path, tmp_path: Path) -> None:
    export(crawl, "cdxj", tmp_path / "index.cdxj")
    text = (tmp_path / "index.cdxj").read_bytes()
    lines = text.decode().splitlines()
    theirs = cdxj_of(*sorted((crawl / "archive").iterdir()))
    assert set(lines) <= theirs
    assert {json.loads(line.split(" ", 2)[2])["url"] for line in lines} == PAGES | {OLD}
    assert text == b"".join(sorted(text.splitlines(keepends=True)))


@over_rows(
    "url",
    [
        HOME,
        NEWS,
        VISIT,
        "https://www.Example.co.uk/A/B?z=1&a=2&a=1&c",
        "http://www2.a.org:8080/x",
        "http://127.0.0.1:99/",
        "http://a.org/%C3%84",
        "http://awww.org/",
        "urn:view:http://www.A.org/",
        "urn:dom:https://a.org/x/?z=1&a=2&B",
        "urn:dom:http://a.org/%C3%84?",
        "http://a.org/x/?a=1#/route",
    ],
)
def test_keys_are_those_of_pywb(url: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from surt import surt
    assert searchable_url(url, keep_slash=False) == surt(url)


def test_a_wacz_has_the_pages_and_names_the_first_one(crawl: Path, tmp_path: Path) -> None:
    export(crawl, "wacz", tmp_path / "all.wacz")  # test_valid_archives validates it
    with zipfile.ZipFile(tmp_path / "all.wacz") as package:
        assert package.testzip() is None
        stored = {info.filename for info in package.infolist() if info.compress_type == zipfile.ZIP_STORED}
        assert stored == {"archive/data.warc.gz", "indexes/index.cdx.gz"}
        pages = [json.loads(line) for line in package.read("pages/pages.jsonl").splitlines()]
        about = json.loads(package.read("datapackage.json"))
    assert pages[0] == {"format": "json-pages-1.0", "id": "pages", "title": "Pages", "hasText": True}
    by_url = {page["url"]: page for page in pages[1:]}
    assert (by_url[VISIT]["title"], by_url[VISIT]["text"]) == ("Visit", "Open every day. home old")
    assert [page["url"] for page in pages[1:] if page.get("seed")] == [HOME]
    assert {page["url"] for page in pages[1:]} == PAGES
    assert about["mainPageUrl"] == HOME


def indexed(package: zipfile.ZipFile) -> list[dict[str, Any]]:
    """Return the entries of the index in a WACZ, read through the secondary index, as a reader does."""
    head, *members = package.read("indexes/index.idx").decode().splitlines()
    assert json.loads(head.split(" ", 2)[2]) == {"format": "cdxj-gzip-1.0", "filename": "index.cdx.gz"}
    packed = package.read("indexes/index.cdx.gz")
    entries = []
    for line in members:
        *key, place = line.split(" ", 2)
        where = json.loads(place)
        text = gzip.decompress(packed[where["offset"] : where["offset"] + where["length"]]).decode()
        assert text.startswith(" ".join(key) + " {")
        entries += [json.loads(entry.split(" ", 2)[2]) for entry in text.splitlines()]
    assert gzip.decompress(packed).decode().splitlines() == sorted(gzip.decompress(packed).decode().splitlines())
    return entries


@pytest.mark.parametrize("lines", [1, 3, 1024])
def test_the_index_of_a_wacz_leads_to_the_records(
    crawl: Path, tmp_path: Path, lines: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wacz, "_LINES_PER_MEMBER", lines)
    export(crawl, "wacz", tmp_path / "all.wacz")
    with zipfile.ZipFile(tmp_path / "all.wacz") as package:
        archive = package.read("archive/data.warc.gz")
        entries = indexed(package)
    for entry in entries:
        start, length = int(entry["offset"]), int(entry["length"])
        (record,) = ArchiveIterator(io.BytesIO(archive[start : start + length]))
        assert record.rec_headers.get_header("WARC-Target-URI") == entry["url"]
        assert record.http_headers.get_statuscode() == entry["status"]
    assert {entry["url"] for entry in entries} == PAGES | {OLD}
    assert len(entries) == len(PAGES) + 2  # and the one whose URL ends in a slash, as pywb looks for it
    assert validated(tmp_path / "all.wacz").startswith("0 ")


@pytest.fixture(scope="module")
def rendered_crawl(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A crawl with assets, and one rendered page; `copy.png` equals `a.png`."""
    folder = plain_crawl(tmp_path_factory.mktemp("shown") / "crawl", n_pages=2).path
    images = {"http://xyz.zz/a.png": b"a", "http://xyz.zz/copy.png": b"a", "http://xyz.zz/b/": b"b"}
    add_assets(folder, {url: FakeResponse(body, content_type="image/png") for url, body in images.items()})
    add_assets(folder, {"http://xyz.zz/b/": FakeResponse(b"newer", content_type="image/png")})
    add_rendering(folder, "http://a.org/0")
    return folder


RENDERINGS = {"urn:dom:http://a.org/0", "urn:view:http://a.org/0"}
ASSETS = {"http://xyz.zz/a.png", "http://xyz.zz/copy.png", "http://xyz.zz/b/"}


def targets(path: Path) -> list[tuple[str, str]]:
    """Return kind and URI of the records in a file, read by warcio."""
    with path.open("rb") as stream:
        found = [(record.rec_type, record.rec_headers) for record in ArchiveIterator(stream)]
    return [(kind, headers.get_header("WARC-Target-URI")) for kind, headers in found if kind != "warcinfo"]


def test_assets_are_exported_once(rendered_crawl: Path, tmp_path: Path) -> None:
    export(rendered_crawl, "warc", tmp_path / "all.warc.gz")
    found = targets(tmp_path / "all.warc.gz")
    assert sorted(uri for _, uri in found) == sorted({"http://a.org/0", "http://a.org/1"} | RENDERINGS | ASSETS)
    assert {uri for kind, uri in found if kind == "revisit"} == {"http://xyz.zz/copy.png"}
    assert gzip.decompress((tmp_path / "all.warc.gz").read_bytes()).count(b"\r\n\r\nnewer\r\n") == 1
    export(rendered_crawl, "warc", tmp_path / "pages.warc.gz", assets=False)
    assert {uri for _, uri in targets(tmp_path / "pages.warc.gz")} == {"http://a.org/0", "http://a.org/1"} | RENDERINGS


def test_the_original_of_a_revisited_asset_is_exported(tmp_path: Path) -> None:
    """The latest record of each asset is exported; the record that it revisits may be an older one."""
    folder = plain_crawl(tmp_path / "crawl", n_pages=1).path
    a, b = "http://xyz.zz/a.png", "http://xyz.zz/b.png"
    add_assets(folder, {a: FakeResponse(b"same"), b: FakeResponse(b"same")})
    add_assets(folder, {a: FakeResponse(b"other")})
    export(folder, "warc", tmp_path / "all.warc.gz")
    assert sorted(targets(tmp_path / "all.warc.gz"))[1:] == [("response", a), ("response", a), ("revisit", b)]


def test_assets_are_indexed(rendered_crawl: Path, tmp_path: Path) -> None:
    export(rendered_crawl, "cdxj", tmp_path / "index.cdxj")
    lines = (tmp_path / "index.cdxj").read_text().splitlines()
    assert set(lines) <= cdxj_of(*sorted((rendered_crawl / "archive").iterdir()))
    assert {json.loads(line.split(" ", 2)[2])["url"] for line in lines} >= RENDERINGS | ASSETS
    export(rendered_crawl, "wacz", tmp_path / "all.wacz", hosts="a.org")
    with zipfile.ZipFile(tmp_path / "all.wacz") as package:
        entries = indexed(package)
        heads = package.read("indexes/index.idx").decode().splitlines()[1:]
    assert {entry["url"] for entry in entries} >= RENDERINGS | ASSETS
    assert [head.split(":")[0] == "urn" for head in heads] == [False, True, False]
    assert validated(tmp_path / "all.wacz").startswith("0 ")


def test_hostile_pages_in_a_wacz(tmp_path: Path) -> None:
    crawl = hostile_crawl(tmp_path / "crawl")
    export(crawl.path, "wacz", tmp_path / "rude.wacz")
    assert validated(tmp_path / "rude.wacz").startswith("0 ")


def test_a_damaged_record_is_not_exported(tmp_path: Path) -> None:
    crawl = plain_crawl(tmp_path / "crawl")
    (archive,) = (crawl.path / "archive").iterdir()
    content = bytearray(archive.read_bytes())
    content[len(content) // 2] ^= 0xFF
    archive.write_bytes(content)
    for format in ("warc", "wacz", "cdxj", "jsonl"):
        with pytest.raises(ori.OrienteerError, match=r"^[^\n]*the file is damaged[^\n]*$"):
            export(crawl.path, format, tmp_path / f"out.{'warc.gz' if format == 'warc' else format}")
    assert [path.name for path in tmp_path.iterdir()] == ["crawl"]


@given(lines=st.lists(st.binary(max_size=20)), max_bytes=st.integers(0, 100))
def test_sorted_lines(tmp_path_factory: pytest.TempPathFactory, lines: list[bytes], max_bytes: int) -> None:
    whole = [line.replace(b"\n", b"") + b"\n" for line in lines]
    with SortedLines(tmp_path_factory.getbasetemp(), max_bytes) as in_order:
        for line in whole:
            in_order.add(line)
        assert list(in_order) == sorted(whole)
