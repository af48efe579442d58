"""A crawl of a site with documents: links, search, exports; documents that may hide links are not covered."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

import pytest

from orienteer.exports.export import export
from orienteer.inspect.run_report import Report
from orienteer.inspect.verify import verify
from orienteer.pages.states import PageState
from orienteer.search.indexing import update_index
from orienteer.search.search_index import Hit, SearchIndex
from orienteer.store.database import Database
from tests.documents.makers import DOCX, PDF, RSS, docx, odt, pdf, zipped
from tests.fake_web.fake_response import FakeResponse
from tests.fake_web.server import FakeWeb
from tests.fake_web.site import MadeSite
from tests.live.live_crawls import StoredCrawl, crawled

HOME = "http://a.test/"
MANUAL = pdf(
    [["The Otter Manual"], ["Otters are fond of rivers", "and of mussels."], ["Keep them away from the piano."]],
    {1: ["http://a.test/only-in-pdf"], 2: ["http://a.test/"]},
)
LETTER = docx('<w:p><w:hyperlink r:id="r1"><w:r><w:t>Badgers prefer tunnels</w:t></w:r></w:hyperlink></w:p>',
              {"r1": "/only-in-letter"}, "A letter")  # fmt: skip
FEED = b"<?xml version='1.0'?><rss><channel><title>Weasel news</title><item><title>Snow</title>"
FEED += b"<link>/only-in-feed</link></item></channel></rss>"
SITE = {
    HOME: "<title>Home</title>" + "".join(
        f"<a href={name}>{name}</a> "
        for name in ("manual.pdf", "letter", "feed", "notes.odt", "text.txt", "cut.pdf", "broken.pdf", "data.bin",
                     "data.xml", "picture.png", "quiet.pdf")
    ),
    "http://a.test/manual.pdf": FakeResponse(MANUAL, content_type=PDF),
    "http://a.test/letter": FakeResponse(LETTER, content_type="application/octet-stream"),
    "http://a.test/feed": FakeResponse(FEED, content_type="text/xml"),
    "http://a.test/notes.odt": FakeResponse(odt("<text:p>Stoats</text:p>"), content_type=None),
    "http://a.test/text.txt": FakeResponse("Ferrets\n\fand\nferrets.".encode("utf-16"), content_type="text/plain"),
    "http://a.test/cut.pdf": FakeResponse(MANUAL[: MANUAL.rindex(b"startxref")], content_type=PDF),
    "http://a.test/broken.pdf": FakeResponse(b"%PDF-1.4 oh", content_type=PDF),
    "http://a.test/data.bin": FakeResponse(zipped({"a.txt": b"x"}) * 50, content_type="application/octet-stream"),
    "http://a.test/data.xml": FakeResponse("<data/>", content_type="application/xml"),
    "http://a.test/picture.png": FakeResponse(b"\x89PNG\r\n\x1a\n", content_type="image/png"),
    "http://a.test/quiet.pdf": FakeResponse(MANUAL, content_type=PDF, headers=(("X-Robots-Tag", "nofollow"),)),
    **{f"http://a.test/{name}": f"<title>{name}</title>" for name in ("only-in-pdf", "only-in-letter", "only-in-feed")},
}  # fmt: skip


class Documented(NamedTuple):
    folder: Path
    report: Report
    stored: StoredCrawl


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> Documented:
    folder = tmp_path_factory.mktemp("documents") / "crawl"
    with FakeWeb(MadeSite(SITE)) as web:
        report = crawled(web, HOME, folder)
    update_index(folder)
    return Documented(folder, report, StoredCrawl(folder))


@pytest.mark.parametrize(
    ("name", "state", "outcome", "content_type"),
    [
        ("manual.pdf", PageState.FETCHED, "ok", PDF),
        ("letter", PageState.FETCHED, "ok", DOCX),
        ("feed", PageState.FETCHED, "ok", RSS),
        ("notes.odt", PageState.FETCHED, "ok", "application/vnd.oasis.opendocument.text"),
        ("text.txt", PageState.FETCHED, "ok", "text/plain"),
        ("cut.pdf", PageState.FETCHED, "ok", PDF),
        ("broken.pdf", PageState.BLOCKED, "unreadable", PDF),
        ("data.bin", PageState.SKIPPED, "unwanted type", "application/octet-stream"),
        ("data.xml", PageState.FETCHED, "ok", "application/xml"),
        ("picture.png", PageState.SKIPPED, "unwanted type", "image/png"),
        ("only-in-pdf", PageState.FETCHED, "ok", "text/html"),
        ("only-in-letter", PageState.FETCHED, "ok", "text/html"),
        ("only-in-feed", PageState.FETCHED, "ok", "text/html"),
    ],
)
def test_the_state_of_each_document(
    crawl: Documented, name: str, state: PageState, outcome: str, content_type: str
) -> None:
    row = crawl.stored.rows[HOME + name]
    assert row is not None
    assert (row.state, row.outcome, row.content_type) == (state, outcome, content_type)


def test_links_that_may_be_hidden_are_not_covered(crawl: Documented) -> None:
    with Database.open(crawl.folder / "crawl.db", read_only=True) as database:
        unknown = {
            url.removeprefix(HOME): database.details.unknown(page).why
            for page, url in enumerate(crawl.stored.urls)
            if database.details.unknown(page).n
        }
    assert unknown == {"cut.pdf": "unreadable", "data.xml": "links in application/xml", "quiet.pdf": "nofollow"}
    certificate = crawl.report.figures.certificate
    assert certificate is not None
    assert certificate.blocked > 0
    assert certificate.unknown > 0
    assert verify(crawl.folder).problems == ()


def test_one_line_in_the_log(crawl: Documented) -> None:
    lines = [json.loads(line) for line in (crawl.folder / "log.jsonl").read_text().splitlines()]
    (line,) = [line for line in lines if line.get("outcome") == "unreadable"]
    assert line["url"] == HOME + "broken.pdf"
    assert line["detail"].startswith("damaged: ")


def found(crawl: Documented, words: str, name: str) -> Hit:
    with SearchIndex.open(crawl.folder) as index:
        return next(hit for hit in index.search(words).hits if hit.url == HOME + name)


def test_a_sentence_is_found_with_its_page(crawl: Documented) -> None:
    hit = found(crawl, "fond of rivers and of mussels", "manual.pdf")
    assert hit.title == "The Otter Manual"
    assert hit.page_number == 2
    assert hit.link == f"{hit.url}#page=2"
    assert hit.snippet == "Otters are fond of rivers and of mussels."
    assert found(crawl, "piano", "manual.pdf").page_number == 3


@pytest.mark.parametrize(("words", "name"), [("badgers", "letter"), ("snow", "feed"), ("stoats", "notes.odt"),
                                             ("ferrets", "text.txt")])  # fmt: skip
def test_other_documents_have_no_page_numbers(crawl: Documented, words: str, name: str) -> None:
    hit = found(crawl, words, name)
    assert (hit.page_number, hit.link) == (None, HOME + name)
    assert "\f" not in hit.snippet


def test_words_of_links_in_documents_lead_to_their_targets(crawl: Documented) -> None:
    with SearchIndex.open(crawl.folder) as index:
        assert HOME + "only-in-letter" in [hit.url for hit in index.search("badgers tunnels").hits]


def test_exports(crawl: Documented, tmp_path: Path) -> None:
    export(crawl.folder, "jsonl", tmp_path / "pages.jsonl")
    pages = {page["url"]: page for page in map(json.loads, (tmp_path / "pages.jsonl").read_text().splitlines())}
    manual = pages[HOME + "manual.pdf"]
    assert manual["content_type"] == PDF
    assert manual["text"].split("\f")[2].startswith("Otters are fond of rivers")
    assert pages[HOME + "letter"]["text"] == "Badgers prefer tunnels"
    export(crawl.folder, "markdown", tmp_path / "texts-markdown")
    (file,) = (tmp_path / "texts-markdown").rglob("manual.pdf-*.md")
    text = file.read_text()
    assert f'content_type: "{PDF}"' in text
    assert "Otters are fond of rivers" in text
    assert "\f" not in text
    assert "\ufffd" not in text
