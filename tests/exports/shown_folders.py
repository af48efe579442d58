"""Crawl folders with what pages are shown with, put there by hand."""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from pathlib import Path

from orienteer.fake_web.answers import Answer
from orienteer.store.folder import CrawlFolder
from orienteer.store.record import ArchivedResponse, Revisited, resource_record
from orienteer.store.shown_tables import PartRow, RenderedRow
from tests.replay_tools.sites import png

_TIME = 1.79e9


def keep_parts(folder: Path, answers: Mapping[str, Answer]) -> None:
    """What pages are shown with, as a crawl that keeps it does: bytes that are there already become a revisit."""
    first: dict[bytes, Revisited] = {}
    with CrawlFolder.open(folder) as crawl:
        before = crawl.database.part_figures().n_parts
        for k, (url, answer) in enumerate(answers.items(), before):
            body = answer.body.encode() if isinstance(answer.body, str) else answer.body
            coding = "Content-Encoding: gzip\r\n" if answer.gzip else ""
            head = f"HTTP/1.1 200 OK\r\nContent-Type: {answer.content_type}\r\n{coding}\r\n".encode()
            response = ArchivedResponse(url, _TIME + k, head, gzip.compress(body) if answer.gzip else body)
            earlier = first.setdefault(response.payload_sha1, Revisited(url, _TIME + k, response.payload_sha1))
            if earlier.url == url:
                place = crawl.archive.append(response)
            else:
                place = crawl.archive.append_revisit(response, earlier, not_modified=False)
            number = crawl.database.add_part(url, 0)
            row = PartRow(number, url, 0, "ok", 200, _TIME + k, answer.content_type or "", response.payload_sha1, place)
            crawl.database.end_part(row)
        crawl.acknowledge()


def keep_shown(folder: Path, url: str) -> None:
    """What a browser made of a page."""
    with CrawlFolder.open(folder) as crawl:
        page = crawl.database.find_url(url)
        assert page is not None
        dom = resource_record(f"urn:dom:{url}", _TIME, "text/html; charset=utf-8", b"<p>bulrush and sedge", url)
        view = resource_record(f"urn:view:{url}", _TIME, "image/png", png(50), url)
        dom_at, view_at = map(crawl.archive.append_member, (dom, view))
        crawl.database.set_rendered(RenderedRow(page, "asked", _TIME, url, dom_at, view_at))
        crawl.acknowledge()
