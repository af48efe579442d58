"""Archives and exports of crawls of every kind: `warcio check` and `wacz validate` find nothing wrong.

Each record that any test archives is checked, too, when it is appended (tests/conftest.py). Here the files are read as
they are, with the records that refer to one another.
"""

from __future__ import annotations

import io
import time
import zipfile
from pathlib import Path

import pytest

from orienteer.exports.export import export
from orienteer.imports.import_crawl import import_crawl
from orienteer.ledger.revisiting import DAY_S
from orienteer.live.session import refresh
from tests.exports.crawls import HOME, SITE, site_crawl
from tests.fake_web.changing import ChangingSite
from tests.fake_web.fake_response import FakeResponse
from tests.fake_web.server import FakeWeb
from tests.fake_web.site import MadeSite
from tests.live import test_documents
from tests.live.apps import needs_browser
from tests.live.live_crawls import crawled
from tests.valid_archives import folder_problems, records, unequal_revisits, validated, warc_problems

SCRIPT = "document.body.append('Written by a script.'); document.title += ' by a script'"
APP = {
    "http://app.test/": "<title>Home</title><link rel=stylesheet href=/a.css><script src=/a.js></script>"
    "<a href=/packed>packed</a> <a href=/plain>plain</a><img src=/a.png>",
    "http://app.test/packed": FakeResponse(
        f"<title>Packed</title><script>{SCRIPT}</script><a href=/>home</a>", gzip=True
    ),
    "http://app.test/plain": "<title>Plain</title><p>Nothing is made by a script here. <a href=/>home</a>",
    "http://app.test/a.js": FakeResponse(SCRIPT, content_type="text/javascript"),
    "http://app.test/a.css": FakeResponse("p { color: red }", content_type="text/css", gzip=True),
    "http://app.test/a.png": FakeResponse(b"\x89PNG\r\n\x1a\n", content_type="image/png"),
}


def plain(folder: Path) -> None:
    site_crawl(folder)


def documents_and_feeds(folder: Path) -> None:
    with FakeWeb(MadeSite(test_documents.SITE)) as web:
        crawled(web, test_documents.HOME, folder)


def refreshed(folder: Path) -> None:
    """A refreshed crawl with changed pages, identical pages, and pages with a 304 response."""
    site = ChangingSite(MadeSite(SITE))
    with FakeWeb(site) as web:
        crawled(web, HOME, folder)
        for days in (1, 2):
            site.begin_epoch()
            site.edit(HOME, f"<title>Day {days}</title><a href=/news/>news</a>")
            refresh(folder, now=time.time() + days * DAY_S, budget=50)


def rendered(folder: Path) -> None:
    """Pages that a browser has rendered, with assets and screenshots, and again in a refresh."""
    needs_browser()
    site = ChangingSite(MadeSite(APP))
    settings = {"render": {"mode": "always", "screenshots": True}}
    with FakeWeb(site) as web:
        crawled(web, "http://app.test/", folder, settings=settings, assets=True)
        site.begin_epoch()
        site.edit("http://app.test/plain", "<title>Plain</title><p>Edited. <a href=/>home</a>")
        refresh(folder, now=time.time() + DAY_S, budget=50)
    kinds = [kind for kind, *_ in records(folder / "archive" / "orienteer-00000.warc.gz")]
    assert kinds.count("resource") >= 6, "documents and pictures of three pages"


def imported(folder: Path) -> None:
    rendered(folder.with_name("source"))
    export(folder.with_name("source"), "warc", folder.with_name("source.warc.gz"))
    import_crawl([folder.with_name("source.warc.gz")], folder)


CRAWLS = {
    "plain": plain,
    "documents": documents_and_feeds,
    "refreshed": refreshed,
    "rendered": rendered,
    "imported": imported,
}


@pytest.mark.parametrize("kind", CRAWLS)
def test_archives_and_exports_are_valid(kind: str, tmp_path: Path) -> None:
    folder = tmp_path / "crawl"
    CRAWLS[kind](folder)
    assert folder_problems(folder) == []
    check_exports(folder, tmp_path)


def check_exports(folder: Path, place: Path) -> None:
    """Export a crawl as WARC and WACZ, and check both."""
    export(folder, "warc", place / "all.warc.gz")
    export(folder, "wacz", place / "all.wacz")
    assert validated(place / "all.wacz") == "0 Validation succeeded, the passed WACZ is valid"
    with zipfile.ZipFile(place / "all.wacz") as package:
        packed = package.read("archive/data.warc.gz")
    for content in (packed, (place / "all.warc.gz").read_bytes()):
        assert warc_problems(io.BytesIO(content)) == []
        assert unequal_revisits(io.BytesIO(content)) == []
