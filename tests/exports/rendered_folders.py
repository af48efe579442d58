"""Adds assets and renderings to crawl folders."""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from pathlib import Path

from orienteer.store.folder import CrawlFolder
from orienteer.store.record import ArchivedResponse, EarlierRecord, resource_record
from orienteer.store.rendering_tables import AssetRow, RenderedRow
from tests.fake_web.fake_response import FakeResponse
from tests.replay_tools.sites import png

_TIME = 1.79e9


def add_assets(folder: Path, responses: Mapping[str, FakeResponse]) -> None:
    """Archive assets as a crawl does: bytes that are already archived become a revisit."""
    first: dict[bytes, EarlierRecord] = {}
    with CrawlFolder.open(folder) as crawl:
        before = crawl.database.assets.figures().n_assets
        for k, (url, fake) in enumerate(responses.items(), before):
            body = fake.body.encode() if isinstance(fake.body, str) else fake.body
            coding = "Content-Encoding: gzip\r\n" if fake.gzip else ""
            head = f"HTTP/1.1 200 OK\r\nContent-Type: {fake.content_type}\r\n{coding}\r\n".encode()
            response = ArchivedResponse(url, _TIME + k, head, gzip.compress(body) if fake.gzip else body)
            earlier = first.setdefault(response.payload_sha1, EarlierRecord(url, _TIME + k, response.payload_sha1))
            if earlier.url == url:
                position = crawl.archive.append(response)
            else:
                position = crawl.archive.append_revisit(response, earlier, not_modified=False)
            number = crawl.database.assets.add(url, 0)
            row = AssetRow(
                number, url, 0, "ok", 200, _TIME + k, fake.content_type or "", response.payload_sha1, position
            )
            crawl.database.assets.finish(row)
        crawl.acknowledge()


def add_rendering(folder: Path, url: str) -> None:
    """Archive a rendered document and a screenshot of a page."""
    with CrawlFolder.open(folder) as crawl:
        page = crawl.database.urls.find(url)
        assert page is not None
        dom = resource_record(f"urn:dom:{url}", _TIME, "text/html; charset=utf-8", b"<p>bulrush and sedge", url)
        view = resource_record(f"urn:view:{url}", _TIME, "image/png", png(50), url)
        dom_at, view_at = map(crawl.archive.append_member, (dom, view))
        crawl.database.rendered.set(RenderedRow(page, "asked", _TIME, url, dom_at, view_at))
        crawl.acknowledge()
