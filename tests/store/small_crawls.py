"""Small crawls: page k is http://a.org/k, and links to the next N_LINKS pages."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from warcio.archiveiterator import ArchiveIterator

from orienteer.store.folder import CrawlFolder
from orienteer.store.page_row import PageRow
from orienteer.store.record import ArchivedResponse

FETCHED = 2
N_LINKS = 3


def url(page: int) -> str:
    return f"http://a.org/{page}"


def html(page: int) -> bytes:
    return b"".join(b"<a href=/%d>%d</a>\n" % (page + k, page + k) for k in range(1, N_LINKS + 1))


def response(page: int, body: bytes | None = None) -> ArchivedResponse:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"
    return ArchivedResponse(url(page), 1.7e9 + page / 8, head, html(page) if body is None else body, "10.0.0.1")


def add_page(folder: CrawlFolder, page: int, body: bytes | None = None) -> None:
    """Add a fetched page whose position is its number, with its URL and those of its links."""
    n_urls = folder.database.urls.count()
    folder.database.urls.add(n_urls, [url(k) for k in range(n_urls, page + N_LINKS + 1)])
    at = folder.archive.append(response(page, body))
    links = np.arange(page + 1, page + N_LINKS + 1, dtype=np.uint32)
    folder.database.pages.add(PageRow(page, page, FETCHED, "ok", 200, 1.7e9, *at, title=f"Page {page}", links=links))


def add_pages(folder: CrawlFolder, start: int, end: int) -> None:
    for page in range(start, end):
        add_page(folder, page)
    folder.acknowledge()


def archived_urls(folder: Path) -> list[str]:
    """Return the URL of every response in the archive, in order, read by warcio, which checks digests and framing."""
    return [url for path in sorted((folder / "archive").glob("*.warc.gz")) for url, _ in warcio_responses(path)]


def warcio_responses(path: Path) -> Iterator[tuple[str, bytes]]:
    """Yield URL and decoded body of every response in a file; the first record must be the warcinfo."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        with path.open("rb") as stream:
            records = ArchiveIterator(stream, check_digests="raise")
            assert next(records).rec_type == "warcinfo"
            for record in records:
                assert record.rec_type == "response"
                body = record.content_stream().read()
                assert record.digest_checker.passed
                yield record.rec_headers.get_header("WARC-Target-URI"), body
            assert records.err_count == 0


def check_pages(folder: CrawlFolder, n_pages: int) -> None:
    """Check that the folder holds exactly the pages 0 .. n_pages - 1, each once, as it was added."""
    pages = [page for done in folder.database.history.pages_after() for page in done.pages.tolist()]
    assert pages == list(range(n_pages))
    assert archived_urls(folder.path) == [url(page) for page in range(n_pages)]
    for page in range(n_pages):
        row = folder.database.pages.row(page)
        assert row is not None
        assert row.archived is not None
        assert row.title == f"Page {page}"
        assert folder.database.urls.of_all(row.links) == [url(page + k) for k in range(1, N_LINKS + 1)]
        assert folder.archive.read(row.archived).url == url(page)
