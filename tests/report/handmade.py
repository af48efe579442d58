"""A handmade crawl folder with what a small crawl lacks: https, slow servers, dead hosts, hostile texts."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from orienteer.pages.outcome import Outcome
from orienteer.pages.states import PageState
from orienteer.store.folder import CrawlFolder
from orienteer.store.page_row import PageRow
from orienteer.store.record import ArchivedResponse

SETTINGS = '[crawl]\nseeds = ["https://a.test/"]\n'
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n"

HOME, SLOW, GONE, DEAD_1, DEAD_2, EVIL, LOST = URLS = (
    "https://a.test/",
    "https://a.test/slow",
    "https://a.test/=cmd|calc!A1",
    "https://dead.test/1",
    "https://dead.test/2",
    "https://a.test/%3Cscript%3Ealert(1)%3C/script%3E",
    "https://a.test/lost",
)
ASSETS = ("http://assets.test/a.png", "http://assets.test/s.css")
HOSTILE_TEXT = '=HYPERLINK("http://evil.test/") "><script>alert(2)</script>'
PAGES = {
    HOME: f"""<title>=1+1</title><img src={ASSETS[0]}><img src=//assets.test/b.png><link rel=stylesheet
        href={ASSETS[1]}>
        <a href="{GONE}">{HOSTILE_TEXT.replace('"', "&quot;").replace("<", "&lt;")}</a> <a href=/slow>slow</a>
        <a href={DEAD_1}>dead</a> <a href={DEAD_2}>dead</a> <a href="{EVIL}">evil</a> <a href=/lost>lost</a>""",
    SLOW: "<title>Slow</title><a href=http://other.test/>no asset of the page</a>",
    EVIL: "<title>@SUM(A1)</title><a href=/>home</a>",
}
LINKS = {HOME: (SLOW, GONE, DEAD_1, DEAD_2, EVIL, LOST), EVIL: (HOME,), LOST: (GONE, HOME)}
SECONDS = {HOME: 0.25, SLOW: 7.5}


def handmade_crawl(path: Path) -> Path:
    """Make the crawl folder. LOST is not in the archive, and the response time of EVIL is unknown."""
    CrawlFolder.create(path, SETTINGS).close()
    ids = {url: page for page, url in enumerate(URLS)}
    with CrawlFolder.open(path) as folder:
        folder.database.urls.add(0, URLS)
        for position, url in enumerate(URLS):
            state, outcome, status = PageState.FETCHED, Outcome.OK.value, 200
            if url == GONE:
                state, outcome, status = PageState.FAILED, "http 404", 404
            elif url in (DEAD_1, DEAD_2):
                state, outcome, status = PageState.BLOCKED, Outcome.HOST_ABANDONED.value, 0
            row = PageRow(
                ids[url], position, state, outcome, status, 1.7e9 + position,
                content_type="text/html" if state == PageState.FETCHED else "",
                title=PAGES[url].partition("</title>")[0][7:] if url in PAGES else "",
                links=np.array([ids[target] for target in LINKS.get(url, ())], np.uint32),
            )  # fmt: skip
            if url in PAGES:
                duration_s = SECONDS.get(url, 0.0)
                response = ArchivedResponse(url, row.time, HEAD, PAGES[url].encode(), duration_s=duration_s)
                place = folder.archive.append(response)
                row = row._replace(archive_file=place.file, archive_offset=place.offset, archive_bytes=place.size_bytes)
            folder.database.pages.add(row)
        folder.database.meta.add_event(1.7e9, Outcome.HOST_ABANDONED, 1, detail="no answer, 5 times")
        folder.acknowledge()
    return path
