"""A small town's page, archived three times with its assets; a rendered page; files; an old charset."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from orienteer.search.indexing import update_index
from orienteer.store.archive_members import whole_members
from orienteer.store.page_row import PageRow
from orienteer.store.record import page_of
from tests.inspect.captured import DAY, CapturedCrawl, T, png

A = "http://a.org"
HOME, NEXT, APP, PAPER, OLD, MOVED = f"{A}/", f"{A}/next", f"{A}/app", f"{A}/paper.zip", f"{A}/old", f"{A}/moved"
FIRST, SECOND, THIRD = T, T + 30 * DAY, T + 31 * DAY
BOAT, SCREEN = png(120, 80, (20, 90, 160)), png(320, 200, (200, 220, 255))
FETCHED = 2

_HOME = """<!doctype html><title>Harbour</title><link rel=stylesheet href=/s.css><h1>Harbour news</h1>
<img src=/boat.png alt="a boat"><img src=/gone.png alt="gone"><p>The ferry leaves at nine.</p><p>A line that stays.</p>
<p><a href=/next>next</a> <a href=/nowhere>nowhere</a> <a href="http://outside.org/" target=_blank>outside</a></p>"""


def make_archived_crawl(path: Path) -> Path:
    later = _HOME.replace("at nine", "at ten").replace("<p>A line", "<p>The café is open.</p><p>A line")
    with CapturedCrawl(path) as crawl:
        crawl.put(HOME, FIRST, _HOME)
        crawl.put(NEXT, FIRST, "<title>Next</title><p>The next page of the harbour. <a href=/>back</a>")
        crawl.put(f"{A}/s.css", FIRST, "@import 'more.css'; h1{color:navy;background:url(bg.png)}", "text/css")
        crawl.put(f"{A}/more.css", FIRST, "p{font-family:serif}", "text/css")
        crawl.put(f"{A}/boat.png", FIRST, BOAT, "image/png")
        crawl.put(f"{A}/bg.png", FIRST, png(8, 8, (230, 240, 250)), "image/png")
        crawl.put(HOME, SECOND, later)
        crawl.unchanged(HOME, THIRD, SECOND)
        crawl.put(
            APP,
            SECOND,
            "<title>App</title><div id=root></div><noscript><p>No scripts</p></noscript><script src=/a.js></script>",
        )
        crawl.dom(
            APP,
            SECOND + 0.5,
            "<title>App</title><div id=root><p>Made by scripts in the harbour</div><noscript>No</noscript>",
        )
        crawl.view(APP, SECOND + 0.5, SCREEN)
        crawl.put(PAPER, FIRST, b"PK\x03\x04 a file", "application/zip")
        crawl.put(OLD, FIRST, "<p>Käse und Brot".encode("latin-1"), "text/html; charset=iso-8859-1")
        crawl.put(MOVED, FIRST, "", status="301 Moved", more="Location: /next\r\nSet-Cookie: a=1\r\n")
        _rows(crawl)
    update_index(path)
    return path


def _rows(crawl: CapturedCrawl) -> None:
    """What the database says of the pages: only the newest record of each."""
    places = {}
    crawl.folder.archive.sync()
    for member in whole_members(crawl.folder.archive.path(0)):
        try:
            places[page_of(member.packed).url] = (0, member.offset, len(member.packed))
        except ValueError:
            continue
    for number, url in enumerate((HOME, NEXT, APP)):
        crawl.folder.database.urls.add(number, [url])
        crawl.folder.database.pages.add(
            PageRow(
                number, number, FETCHED, "ok", 200, FIRST, *places[url], title=url, language="en",
                content_type="text/html", links=np.array([], np.uint32),
            )
        )  # fmt: skip
