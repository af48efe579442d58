"""WARC and WACZ collections become crawl folders."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

import orienteer as ori
from orienteer.imports.import_crawl import ImportReport
from orienteer.inspect.replay import replay
from orienteer.inspect.snapshot import graph_of_crawl
from orienteer.live.session import live_crawl, refresh
from orienteer.search.indexing import update_index
from orienteer.search.search_index import SearchIndex
from orienteer.store.folder_view import FolderView
from tests.conftest import random_web
from tests.fake_web.fake_response import FakeResponse, redirect_to
from tests.fake_web.faults import Faulty
from tests.fake_web.graph_site import GraphSite
from tests.fake_web.server import FakeWeb
from tests.fake_web.site import MadeSite
from tests.imports.made_collections import digest, record, response, write, write_wacz
from tests.live.live_crawls import StoredCrawl, crawled, hub

A = "http://a.test"


def imported(folder: Path, records: list[bytes], name: str = "x.warc.gz", **options: object) -> ImportReport:
    return ori.import_crawl(write(folder / name, records), folder / "crawl", **options)  # type: ignore[arg-type]


def links_by_url(folder: Path) -> dict[str, set[str]]:
    graph = graph_of_crawl(folder)
    assert graph.urls is not None
    return {graph.urls[page]: {graph.urls[k] for k in graph.links(page)} for page in range(graph.n_pages)}


# -- what others have crawled is what we would have -------------------------------------------------------------


def test_a_crawl_imported_from_its_archive_is_the_same_crawl(tmp_path: Path, rng: np.random.Generator) -> None:
    site = GraphSite(random_web(rng, 120, 4.0, with_hosts=True))
    with FakeWeb(Faulty(site, not_found=0.1, redirects=0.1)) as web:
        report = crawled(web, [hub(site), site.url_of(3)], tmp_path / "own")
    again = ori.import_crawl(tmp_path / "own", tmp_path / "again", scope="web")
    assert (again.seeds_are_guessed, again.n_frontier, again.n_unlinked, again.n_damaged) == (False, 0, 0, 0)
    own, other = StoredCrawl(tmp_path / "own"), StoredCrawl(tmp_path / "again")
    assert other.fetched_urls() == own.fetched_urls()
    assert {url: row.outcome for url, row in other.rows.items() if row} == {
        url: row.outcome for url, row in own.rows.items() if row
    }
    assert links_by_url(tmp_path / "again") == links_by_url(tmp_path / "own")
    assert again.certificate is not None
    assert again.certificate.lower == pytest.approx(report.figures.certificate.lower, abs=1e-8)
    for url, row in own.rows.items():
        found = other.rows[url]
        if row is None or found is None:
            assert row is found
            continue
        assert (found.digest, found.status, found.title, found.content_type) == (
            row.digest, row.status, row.title, row.content_type
        )  # fmt: skip
        assert found.time == pytest.approx(row.time, abs=1e-5)


def test_commands_work_and_the_crawl_continues(tmp_path: Path) -> None:
    places = {
        f"{A}/{k}": f"<title>Page {k}</title><p>word{k} <a href=/{2 * k}>l</a> <a href=/{2 * k + 1}>r</a>"
        for k in range(1, 40)
    }
    records = [response(f"{A}/{k}", places[f"{A}/{k}"]) for k in range(1, 16)]
    report = imported(tmp_path, records, seeds=f"{A}/1")
    folder = tmp_path / "crawl"
    assert (report.n_fetched, report.n_frontier, report.n_unlinked) == (15, 16, 0)
    assert update_index(folder).n_pages == 15
    with SearchIndex.open(folder) as index:
        assert [hit.url for hit in index.search("word7").hits] == [f"{A}/7"]
    assert len(replay(folder).order) == 15
    before = StoredCrawl(folder).order
    settings = {"crawl": {"robots": False}, "politeness": {"delay_s": 0.0}}
    with FakeWeb(MadeSite(places)) as web:
        gone_on = live_crawl(f"{A}/1", folder, settings={**settings, "fetch": {"connect_to": web.address}})
        asked = {target for _, _, target in web.requests}
    assert asked == {f"/{k}" for k in range(16, 80)}  # nothing that was imported is asked for again
    assert gone_on.figures.n_fetched == 39
    assert StoredCrawl(folder).order[:15] == before


def test_pages_are_added_in_the_order_of_discovery(tmp_path: Path) -> None:
    records = [
        response(f"{A}/alone", "<a href=/under>", date="2024-05-02T00:00:00Z"),
        response(f"{A}/under", "x"),
        response(f"{A}/2", "<a href=/3>"),
        response(f"{A}/3", "x"),
        response(f"{A}/1", "<a href=/2><a href=/image><a href=/none>"),
        response(f"{A}/image", b"GIF89a", "Content-Type: image/gif"),
        response(f"{A}/other-image", b"GIF89a", "Content-Type: image/gif"),
        response(f"{A}/none", "no", status="404 Not Found"),
        response(f"{A}/other-none", "no", status="404 Not Found"),
        response("http://b.test/", "other host"),
    ]
    report = imported(tmp_path, records, seeds=f"{A}/1")
    stored = StoredCrawl(tmp_path / "crawl")
    paths = [stored.urls[page].removeprefix(A) for page in stored.order]
    assert paths == ["/1", "/2", "/image", "/none", "/3", "/alone", "/under"]
    assert stored.outcome(f"{A}/image") == "unwanted type"
    assert stored.outcome(f"{A}/none") == "http 404"
    assert f"{A}/other-image" not in stored.urls  # no page links to it
    assert f"{A}/other-none" not in stored.urls
    assert (report.n_fetched, report.n_failed, report.n_skipped) == (5, 1, 1)
    assert (report.n_unlinked, report.n_outside) == (2, 1)
    # When it was fetched is what the collection says.
    with FolderView.open(tmp_path / "crawl") as folder:
        assert folder.database.meta.get("imported_times") == [1714521600.0, 1714608000.0]


# -- what counts ------------------------------------------------------------------------------------------------


def test_the_newest_record_counts(tmp_path: Path) -> None:
    records = [
        response(f"{A}/", "<title>new</title><a href=/stored><a href=/gone><a href=/ill>", date="2024-06-01T00:00:00Z"),
        response(f"{A}/", "<title>old</title>", date="2020-06-01T00:00:00Z"),
        response(f"{A}/stored", "<title>old</title>", date="20200101000000"),
        response(f"{A}/stored", "<title>new</title>", date="2024-01-01T00:00:00.5Z"),
        response(f"{A}/gone", "there", date="2020-01-01T00:00:00Z"),
        response(f"{A}/gone", "no", status="410 Gone", date="2021-01-01T00:00:00Z"),
        response(f"{A}/ill", "<title>well</title>", date="2020-01-01T00:00:00Z"),
        response(f"{A}/ill", "later", status="503 Busy", date="2021-01-01T00:00:00Z"),
        response(f"{A}/never", "later", status="500 Broken"),
    ]
    report = imported(tmp_path, records)
    stored = StoredCrawl(tmp_path / "crawl")
    titles = {url.removeprefix(A): row.title for url, row in stored.rows.items() if row}
    assert titles == {"/": "new", "/stored": "new", "/gone": "", "/ill": "well"}
    assert stored.outcome(f"{A}/gone") == "http 410"
    assert report.n_temporary == 2


def test_revisits_are_resolved(tmp_path: Path) -> None:
    page, other = b"<title>same</title><a href=/x>", b"<title>other</title>"
    same_payload = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
    not_modified = "http://netpreserve.org/warc/1.1/revisit/server-not-modified"
    ok, old = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n", b"HTTP/1.1 304 Not Modified\r\n\r\n"

    def revisit(path: str, block: bytes, profile: str, payload: bytes | None = None, **more: str) -> bytes:
        stated = {} if payload is None else {"WARC_Payload_Digest": digest(payload)}
        return record("revisit", A + path, block, "2024-07-01T00:00:00Z", WARC_Profile=profile, **stated, **more)

    records = [
        response(f"{A}/", "".join(f"<a href=/{k}>" for k in "abcdef")),
        revisit("/early", ok, same_payload, page, WARC_Refers_To_Target_URI=f"{A}/a"),  # before what it refers to
        response(f"{A}/a", page),
        revisit("/a", old, not_modified),
        revisit("/b", ok, same_payload, page, WARC_Refers_To_Target_URI=f"{A}/a"),
        revisit("/c", ok, same_payload, page),  # found by its digest
        revisit("/d", ok, same_payload, b"never seen"),
        revisit("/e", old, not_modified),  # of nothing
        response(f"{A}/f", other, date="2020-01-01T00:00:00Z"),
        revisit("/f", ok, same_payload, page, WARC_Refers_To_Target_URI=f"{A}/a"),  # it has become what /a is
        revisit("/picture", ok.replace(b"html", b"css"), same_payload, b"never seen"),
    ]
    report = imported(tmp_path, records)
    stored = StoredCrawl(tmp_path / "crawl")
    titles = {url.removeprefix(A): row.title for url, row in stored.rows.items() if row and url != f"{A}/"}
    assert titles == dict.fromkeys(("/a", "/b", "/c", "/f", "/early"), "same")
    assert report.n_unresolved == 2
    assert links_by_url(tmp_path / "crawl")[f"{A}/c"] == {f"{A}/x"}
    waiting = {url for url, row in stored.rows.items() if row is None}
    assert waiting == {f"{A}/d", f"{A}/e", f"{A}/x"}
    assert update_index(tmp_path / "crawl").n_pages == 6  # each can be read where its row says


def test_redirects_refusals_and_codings(tmp_path: Path) -> None:
    chunks = b"6\r\n<title\r\n10\r\n>chunked</title>\r\n0\r\n\r\n"
    html = "Content-Type: text/html"
    links = ["moved", "away", "plain", "coded", "chunked", "claimed", "closed", "noindex", "resource"]
    records = [
        response(f"{A}/", "".join(f"<a href=/{name}>" for name in links)),
        response(f"{A}/moved", "", "Location: /coded", status="301 Moved"),
        response(f"{A}/away", "", "Location: http://other.test/", status="302 Found"),
        response(f"{A}/plain", b"text", "Content-Type: text/css"),
        response(f"{A}/coded", gzip.compress(b"<title>coded</title>"), html, "Content-Encoding: gzip"),
        response(f"{A}/chunked", chunks, html, "Transfer-Encoding: chunked"),
        response(f"{A}/claimed", "<title>claimed</title>", html, "Content-Encoding: br", "Transfer-Encoding: chunked"),
        response(f"{A}/closed", "no", status="403 Forbidden"),
        response(f"{A}/noindex", "<title>hidden</title>", html, "X-Robots-Tag: noindex"),
        record("resource", f"<{A}/resource>", b"<title>a file</title>", Content_Type="text/html; charset=utf-8"),
        record("resource", "urn:text:http://a.test/", b"not a page", Content_Type="text/html"),
        record("request", f"{A}/", b"GET / HTTP/1.1\r\n\r\n"),
        response("mailto:me@a.test", "x"),
        record("response", f"{A}/odd", b"not HTTP at all"),
    ]  # fmt: skip
    report = imported(tmp_path, records, "x.warc", seeds=f"{A}/")
    stored = StoredCrawl(tmp_path / "crawl")
    outcomes = {url.removeprefix(A): (row.outcome, row.title) for url, row in stored.rows.items() if row}
    assert outcomes == {
        "/": ("ok", ""),
        "/moved": ("redirect", ""),
        "/away": ("redirect leaves the scope", ""),
        "/plain": ("unwanted type", ""),
        "/coded": ("ok", "coded"),
        "/chunked": ("ok", "chunked"),
        "/claimed": ("ok", "claimed"),
        "/closed": ("http 403", ""),
        "/noindex": ("ok", "hidden"),
        "/resource": ("ok", "a file"),
    }
    assert (report.n_records, report.n_blocked) == (14, 2)
    assert update_index(tmp_path / "crawl").n_pages == 5
    with SearchIndex.open(tmp_path / "crawl") as index:
        assert {hit.title for hit in index.search("coded chunked claimed file").hits} <= {
            "coded",
            "chunked",
            "claimed",
            "a file",
        }
        assert index.search("claimed").total == 1


# -- seeds and scope --------------------------------------------------------------------------------------------


def test_guessed_seeds_cover_all_hosts(tmp_path: Path) -> None:
    records = [
        response("http://b.test/deep/down.html", "x"),
        response("http://b.test/deep/", "x"),
        response(f"{A}/page", "x"),
        response(f"{A}/", "x"),
        response("https://old.test/", "", "Location: http://b.test/deep/", status="301 Moved"),
        response("http://pictures.test/1.gif", b"GIF89a", "Content-Type: image/gif"),
    ]
    report = imported(tmp_path, records)
    assert report.seeds_are_guessed
    assert set(report.seeds) == {"http://b.test/deep/", f"{A}/", "https://old.test/"}
    assert (report.n_fetched, report.n_outside) == (5, 0)


def test_pages_outside_the_scope_are_counted(tmp_path: Path) -> None:
    records = [
        response("https://www.a.test/", "<a href=/1><a href=https://blog.a.test/>"),
        response("https://www.a.test/1", "x"),
        response("https://blog.a.test/", "x"),
        response("https://c.test/", "x"),
    ]
    write(tmp_path / "x.warc.gz", records)
    for scope, n_fetched in (("host", 2), ("site", 3), ("web", 4)):
        folder = tmp_path / scope
        report = ori.import_crawl(tmp_path / "x.warc.gz", folder, seeds="https://www.a.test/", scope=scope)
        assert (report.n_fetched, report.n_outside) == (n_fetched, 4 - n_fetched), scope
    denied = ori.import_crawl(
        tmp_path / "x.warc.gz", tmp_path / "denied", scope="web", settings={"scope": {"deny": ["blog"]}}
    )
    assert (denied.n_fetched, denied.n_outside) == (3, 1)


def test_a_redirected_seed_moves_the_scope(tmp_path: Path) -> None:
    records = [
        response("http://a.test/", "", "Location: https://www.a.test/", status="301 Moved"),
        response("https://www.a.test/", "<a href=/1>"),
        response("https://www.a.test/1", "x"),
    ]
    report = imported(tmp_path, records, seeds="http://a.test/")
    assert (report.n_fetched, report.n_outside) == (3, 0)


# -- files ------------------------------------------------------------------------------------------------------


def test_a_wacz_with_stated_seeds(tmp_path: Path) -> None:
    first = b"".join(gzip.compress(one) for one in [response(f"{A}/x/", "<a href=/x/1>"), response(f"{A}/", "x")])
    files = {
        "datapackage.json": b"{}",
        "archive/one.warc.gz": first,
        "archive/two.warc": response(f"{A}/x/1", "x"),
        "indexes/index.cdx.gz": b"none of ours",
        "pages/pages.jsonl": b'{"url": "http://a.test/x/", "seed": true}\n{"url": 7, "seed": true}\nnot json\n',
        "pages/extraPages.jsonl": json.dumps({"url": f"{A}/"}).encode(),
    }
    report = ori.import_crawl(write_wacz(tmp_path / "c.wacz", files), tmp_path / "crawl")
    assert (report.seeds, report.seeds_are_guessed) == ((f"{A}/x/",), False)
    assert (report.n_fetched, report.n_unlinked) == (3, 1)


def test_a_folder_of_archives_with_a_page_list(tmp_path: Path) -> None:
    folder = tmp_path / "collection"
    folder.mkdir()
    write(folder / "1.warc.gz", [response(f"{A}/", "<a href=/1>")])
    write(folder / "2.warc", [response(f"{A}/1", "x")])
    write_wacz(folder / "3.wacz", {"archive/3.warc": response(f"{A}/3", "x")}, stored=False)
    (folder / "notes.txt").write_text("nothing")
    (tmp_path / "list.txt").write_text(f"# mine\n{A}/1\n{A}/9\nhttp://b.test/\n")
    report = ori.import_crawl([folder, tmp_path / "list.txt"], tmp_path / "crawl", seeds=f"{A}/")
    assert (report.n_fetched, report.n_listed, report.n_frontier, report.n_outside) == (3, 1, 1, 1)


def test_an_existing_folder_is_not_changed(tmp_path: Path) -> None:
    write(tmp_path / "x.warc.gz", [response(f"{A}/", "x")])
    (tmp_path / "crawl").mkdir()
    ori.import_crawl(tmp_path / "x.warc.gz", tmp_path / "crawl")  # an empty folder is as good as none
    with pytest.raises(ori.OrienteerError, match="already holds a crawl"):
        ori.import_crawl(tmp_path / "x.warc.gz", tmp_path / "crawl")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("dear")
    with pytest.raises(ori.OrienteerError, match="letter.txt is in it"):
        ori.import_crawl(tmp_path / "x.warc.gz", tmp_path / "mine")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["crawl", "mine", "x.warc.gz"]


def test_only_damaged_records_are_lost(tmp_path: Path) -> None:
    records = [response(f"{A}/", "".join(f"<a href=/{k}>" for k in range(20)))]
    records += [response(f"{A}/{k}", f"<p>{k}" * 50) for k in range(20)]
    packed = [gzip.compress(one) for one in records]
    packed[7] = packed[7][:60] + b"\0\0\0\0" + packed[7][64:]
    packed[-1] = packed[-1][:-30]
    (tmp_path / "x.warc.gz").write_bytes(b"".join(packed))
    report = ori.import_crawl(tmp_path / "x.warc.gz", tmp_path / "crawl")
    assert (report.n_fetched, report.n_damaged, report.n_frontier) == (19, 2, 2)
    assert report.first_damage == f"{tmp_path / 'x.warc.gz'}: after 7 records"


def test_bad_records_are_skipped(tmp_path: Path) -> None:
    whole = [response(f"{A}/", "<a href=/1><a href=/2><a href=/3><a href=/4>one"), response(f"{A}/1", "words")]
    bad = [
        response(f"{A}/2", "words", date="9999-12-31T23:59:59-14:00"),
        response(f"{A}/3", "words", "X: " + "y" * (1 << 20)),
        response(f"{A}/4", "words", "Transfer-Encoding: identity", "X: " + "y" * ((1 << 19) - 200)),
        response(f"{A}/5", "words", date="0000-00-00T00:00:00Z"),
        record("response", f"{A}/6", b"SSH-2.0-OpenSSH"),
        record("response", "http://[/", b"HTTP/1.1 200 OK\r\n\r\n"),
    ]
    for name, records in {"first": [*bad, *whole], "last": [*whole, *bad]}.items():
        (tmp_path / name).mkdir()
        report = imported(tmp_path / name, records)
        assert report.n_damaged == 2, "the one with too long a header, and the one that is no HTTP"
        rows = StoredCrawl(tmp_path / name / "crawl").rows
        assert {url for url, row in rows.items() if row is not None} == {f"{A}/", *(f"{A}/{k}" for k in (1, 2, 4, 5))}
        with FolderView.open(tmp_path / name / "crawl") as crawl:
            for row in rows.values():
                if row is not None and row.archived is not None:
                    crawl.archive.read(row.archived)


def test_a_refresh_of_imported_pages_is_conditional(tmp_path: Path) -> None:
    body = "<title>x</title>"
    records = [response(f"{A}/", body, "Content-Type: text/html", 'ETag: "v1"', date="2020-01-01T00:00:00Z")]
    imported(tmp_path, records, settings={"crawl": {"robots": False}})

    def answer(host: str, target: str, headers: object) -> FakeResponse:
        asked.append(headers.get("if-none-match"))  # type: ignore[attr-defined]
        return FakeResponse(b"", status=304)

    asked: list[str | None] = []
    with FakeWeb(MadeSite({f"{A}/": answer})) as web:
        report = refresh(tmp_path / "crawl", settings={"fetch": {"connect_to": web.address}})
    assert asked == ['"v1"']
    assert report.figures.visits == {"not modified": 1}


@pytest.mark.parametrize("name", ["moved", "loop"])
def test_redirects_are_followed_as_in_a_crawl(name: str, tmp_path: Path) -> None:
    places = {
        f"{A}/": "<a href=/moved><a href=/loop>",
        f"{A}/moved": redirect_to("/2"),
        f"{A}/2": "two",
        f"{A}/loop": redirect_to("/pool"),
        f"{A}/pool": redirect_to("/loop"),
    }
    with FakeWeb(MadeSite(places)) as web:
        crawled(web, f"{A}/", tmp_path / "own")
    ori.import_crawl(tmp_path / "own", tmp_path / "again")
    own, again = StoredCrawl(tmp_path / "own"), StoredCrawl(tmp_path / "again")
    assert again.outcome(f"{A}/{name}") == own.outcome(f"{A}/{name}")
