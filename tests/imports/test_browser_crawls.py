"""Archives of browser crawls by Browsertrix and ArchiveWeb.page: rendered documents, texts and screenshots."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

import orienteer as ori
from orienteer.exports.export import export
from orienteer.responses.rendered import RenderedPage, archived_document
from orienteer.search.indexing import update_index
from orienteer.search.search_index import SearchIndex
from orienteer.store.folder_view import FolderView
from orienteer.store.rendering_tables import AssetRow, RenderedRow
from tests.imports.made_collections import record, response, write, write_wacz
from tests.live.live_crawls import StoredCrawl

A = "http://a.test"
# A page that scripts make: the same for every route, and nothing to read in it.
SHELL = "<title>Shop</title><div id=root></div>" + "<script src=/app.js></script>" * 3
PNG, JPEG = "image/png", "image/jpeg"
CSS, JS, JSON = (f"Content-Type: {kind}" for kind in ("text/css", "application/javascript", "application/json"))


def made(kind: str, url: str, body: str | bytes, content_type: str = "text/plain", type_: str = "resource") -> bytes:
    block = body.encode() if isinstance(body, str) else body
    return record(type_, f"urn:{kind}:{url}", block, Content_Type=content_type)


def pageinfo(url: str, *urls: tuple[str, str, str]) -> bytes:
    """Return the pageinfo of Browsertrix: the requests of a page, with status, media type, and resource type."""
    loaded = {one: {"status": 200, "mime": mime, "type": kind} for one, mime, kind in urls}
    about: dict[str, Any] = {"pageid": "0b1c", "urls": loaded, "url": url, "counts": {"jsErrors": 0}}
    return made("pageinfo", url, json.dumps(about | {"ts": "2024-05-01T00:00:00.000Z"}), "application/json")


# As `browsertrix-crawler crawl --text to-warc,final-to-warc --screenshot view,thumbnail` leaves a shop of two pages.
BROWSERTRIX = [
    response(f"{A}/", SHELL),
    response(f"{A}/item/1", SHELL),
    response(f"{A}/app.js", "go()", JS),
    response(f"{A}/api/items.json", "[]", JSON),
    response("http://cdn.test/logo.png", b"\x89PNG picture", f"Content-Type: {PNG}"),
    response("http://ads.test/frame", "<title>Buy</title><a href=http://ads.test/more>more"),
    response(f"{A}/moved.css", "", "Location: /main.css", status="302 Found"),
    response(f"{A}/main.css", "p {}", CSS),
    pageinfo(f"{A}/", (f"{A}/", "text/html", "Document"), (f"{A}/app.js", "application/javascript", "Script")),
    pageinfo(f"{A}/item/1", (f"{A}/item/1", "text/html", "Document"), ("http://ads.test/frame", "text/html", "Other")),
    made("text", f"{A}/", "loading"),
    made("textFinal", f"{A}/", "A lantern for every evening"),
    made("text", f"{A}/item/1", "A brass lantern, hand made"),
    made("view", f"{A}/", b"\x89PNG view", PNG),
    made("thumbnail", f"{A}/", b"jpeg", JPEG),
    made("thumbnail", f"{A}/item/1", b"jpeg", JPEG),
]  # fmt: skip
PAGES = '{"format": "json-pages-1.0", "id": "pages", "title": "Seed Pages", "hasText": true}\n' + "".join(
    json.dumps(page) + "\n"
    for page in [
        {"id": "1", "url": f"{A}/", "title": "Shop", "loadState": 4, "mime": "text/html", "status": 200, "seed": True,
         "depth": 0, "ts": "2024-05-01T00:00:00.000Z", "text": "not this one"},
        {"id": "2", "url": f"{A}/item/2", "title": "Item 2", "depth": 1, "ts": "2024-05-01T00:00:00Z"},
    ]
)  # fmt: skip


class RenderedContents:
    """The assets and renderings in a crawl folder."""

    def __init__(self, folder: Path) -> None:
        with FolderView.open(folder) as crawl:
            urls = b"\n".join(crawl.database.urls.blocks()).decode().split("\n")
            self.assets: dict[str, AssetRow] = {asset.url: asset for asset in crawl.database.assets.all()}
            self.rendered: dict[str, RenderedRow] = {urls[row.page]: row for row in crawl.database.rendered.all()}
            self.views = {
                url: crawl.archive.read_resource(row.view)[1].body for url, row in self.rendered.items() if row.view
            }
            self.bodies = {
                asset.url: crawl.archive.read(asset.archived).body for asset in self.assets.values() if asset.archived
            }


def found(folder: Path, words: str) -> set[str]:
    """Return the URLs of pages that a search finds."""
    update_index(folder, processes=1)
    with SearchIndex.open(folder) as index:
        return {hit.url for hit in index.search(words).hits}


def imported(tmp_path: Path, records: list[bytes], **options: Any) -> Path:
    ori.import_crawl(write(tmp_path / "x.warc.gz", records), tmp_path / "crawl", processes=1, **options)
    return tmp_path / "crawl"


def test_a_crawl_by_browsertrix(tmp_path: Path) -> None:
    files = {
        "archive/rec.warc.gz": write(tmp_path / "x.warc.gz", BROWSERTRIX).read_bytes(),
        "pages/pages.jsonl": PAGES.encode(),
        "pages/extraPages.jsonl": b'{"format": "json-pages-1.0", "id": "extra-pages", "title": "Other Pages"}\n',
    }
    report = ori.import_crawl(write_wacz(tmp_path / "x.wacz", files), tmp_path / "crawl", processes=1)
    assert (report.seeds, report.seeds_are_guessed) == ((f"{A}/",), False)
    assert (report.n_fetched, report.n_assets) == (2, 6)
    stored, contents = StoredCrawl(tmp_path / "crawl"), RenderedContents(tmp_path / "crawl")
    assert {url for url, row in stored.rows.items() if row is not None} == {f"{A}/", f"{A}/item/1"}
    assert contents.bodies["http://cdn.test/logo.png"] == b"\x89PNG picture"
    assert set(contents.assets) == {
        f"{A}/app.js", f"{A}/api/items.json", "http://cdn.test/logo.png", "http://ads.test/frame", f"{A}/moved.css",
        f"{A}/main.css",
    }  # fmt: skip
    assert {asset.with_credentials for asset in contents.assets.values()} == {None}  # their archives do not state it
    assert contents.views == {f"{A}/": b"\x89PNG view", f"{A}/item/1": b"jpeg"}
    assert found(tmp_path / "crawl", "lantern") == {f"{A}/", f"{A}/item/1"}  # no two of them are the same page
    assert found(tmp_path / "crawl", "loading") == set()
    export(tmp_path / "crawl", "jsonl", tmp_path / "out.jsonl", processes=1)
    texts = {page["url"]: page["text"] for page in map(json.loads, (tmp_path / "out.jsonl").read_text().splitlines())}
    assert texts == {f"{A}/": "A lantern for every evening", f"{A}/item/1": "A brass lantern, hand made"}


def test_a_text_has_no_links(tmp_path: Path) -> None:
    """The text after rendering is known, its links are not."""
    folder = imported(tmp_path, [response(f"{A}/", SHELL), made("text", f"{A}/", "Lanterns")])
    with FolderView.open(folder) as crawl:
        assert crawl.database.details.unknown(0)


def test_a_document_has_links_and_text(tmp_path: Path) -> None:
    rendered = RenderedPage(
        f"{A}/", b"<title>Shop</title><p>Lanterns <a href=/item/1>brass</a>", links=(f"{A}/item/2",)
    )
    records = [
        response(f"{A}/", SHELL + "<a href=/sent>"),
        made("dom", f"{A}/", archived_document(rendered), "text/html"),
    ]
    records += [made("text", f"{A}/", "Not this"), response(f"{A}/item/1", SHELL)]
    records.append(made("dom", f"{A}/item/1", "<title>One</title><p>By others <a href=/item/3>three</a>", "text/html"))
    folder = imported(tmp_path, records)
    stored = StoredCrawl(folder)
    row = stored.rows[f"{A}/"]
    assert row is not None
    assert {stored.urls[page] for page in row.links.tolist()} == {f"{A}/sent", f"{A}/item/1", f"{A}/item/2"}
    assert f"{A}/item/3" in stored.urls
    assert RenderedContents(folder).rendered[f"{A}/"].n_links == 3
    assert found(folder, "lanterns") == {f"{A}/"}
    assert found(folder, "others") == {f"{A}/item/1"}


def test_a_crawl_by_archiveweb_page(tmp_path: Path) -> None:
    """It has only a page list, and texts with a time in the URI; no page is marked as a seed."""
    pages = [{"url": f"{A}/", "ts": "2024-05-01T00:00:00Z", "text": "Lanterns and oil"}, {"url": f"{A}/b", "text": ""}]
    records = [
        response(f"{A}/", SHELL),
        response(f"{A}/b", SHELL + "b"),
        response("http://ads.test/", "<title>Buy</title>"),
        record("resource", f"urn:text:20240501000000123/{A}/b", b"Wicks", Content_Type='text/plain; charset="UTF-8"'),
    ]
    files = {"archive/data.warc.gz": write(tmp_path / "x.warc.gz", records).read_bytes()}
    files["pages/pages.jsonl"] = "\n".join(map(json.dumps, [{"format": "json-pages-1.0"}, *pages])).encode()
    report = ori.import_crawl(write_wacz(tmp_path / "x.wacz", files), tmp_path / "crawl", processes=1)
    assert (report.seeds, report.n_fetched, report.n_assets) == ((f"{A}/",), 2, 1)
    assert found(tmp_path / "crawl", "oil") == {f"{A}/"}
    assert found(tmp_path / "crawl", "wicks") == {f"{A}/b"}


@pytest.mark.parametrize("kind", ["metadata", "conversion"])
def test_texts_of_other_writers(tmp_path: Path, kind: str) -> None:
    records = [response(f"{A}/", SHELL), made("text", f"{A}/", "Lanterns", type_=kind)]
    assert found(imported(tmp_path, records), "lanterns") == {f"{A}/"}


def test_a_folder_of_browsertrix(tmp_path: Path) -> None:
    (tmp_path / "archive").mkdir()
    (tmp_path / "pages").mkdir()
    write(tmp_path / "archive" / "rec.warc.gz", [*BROWSERTRIX[:8], response(f"{A}/item/2", "<title>Two</title>")])
    (tmp_path / "pages" / "pages.jsonl").write_text(PAGES)
    report = ori.import_crawl(tmp_path, tmp_path / "crawl", processes=1)
    assert report.seeds == (f"{A}/",)
    assert found(tmp_path / "crawl", "not this one") == {f"{A}/"}


def test_malformed_records_are_ignored(tmp_path: Path) -> None:
    names = [
        f"urn:text:{A}/",
        "urn:text:",
        "urn:dom:mailto:x",
        "urn:view:http://[/",
        "urn:uuid:1",
        f"URN:pageinfo:{A}/x",
    ]
    bodies = [b"", b"\xff\xfe\x00", b"{" * 5000, b"<" * 5000]
    records = [response(f"{A}/", "<title>Home</title><p>Lanterns")]
    records += [record("resource", name, body, Content_Type="text/html") for name in names for body in bodies]
    records += [made("view", f"{A}/", "<script>", "text/html"), made("dom", f"{A}/gone", "<p>of nothing", "text/html")]
    folder = imported(tmp_path, records)
    assert RenderedContents(folder).views == {}
    assert update_index(folder, processes=1).n_pages == 1


def test_our_own_wacz_round_trips(tmp_path: Path) -> None:
    """Pages, assets and renderings; texts of pages that were not rendered are extracted again."""
    plain = response(f"{A}/plain", "<title>Plain</title><h1>Head</h1><p>Words to read")
    dom = archived_document(RenderedPage(f"{A}/", b"<title>Shop</title><p>Lanterns <a href=/plain>plain</a>"))
    records = [response(f"{A}/", SHELL), made("dom", f"{A}/", dom, "text/html"), plain, *BROWSERTRIX[2:5]]
    first = imported(tmp_path, [*records, made("view", f"{A}/", b"\x89PNG view", PNG)], seeds=f"{A}/")
    export(first, "wacz", tmp_path / "own.wacz", processes=1)
    with zipfile.ZipFile(tmp_path / "own.wacz") as package:
        lines = [json.loads(line) for line in package.read("pages/pages.jsonl").splitlines()]
    assert {line["url"]: (line["text"], line.get("seed")) for line in lines[1:]} == {
        f"{A}/": ("Lanterns plain", True),
        f"{A}/plain": ("Head\nWords to read", None),
    }
    report = ori.import_crawl(tmp_path / "own.wacz", tmp_path / "again", processes=1)
    assert (report.seeds, report.n_fetched, report.n_assets) == ((f"{A}/",), 2, 3)
    one, two = RenderedContents(first), RenderedContents(tmp_path / "again")
    assert (two.views, two.bodies) == (one.views, one.bodies)
    assert list(two.rendered) == [f"{A}/"]
