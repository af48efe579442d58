from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from datetime import datetime
from pathlib import Path

import pytest

import orienteer as ori
from orienteer.exports import xml_lists
from orienteer.exports.export import export
from orienteer.responses.sitemaps import sitemap_urls
from orienteer.url import canonical_url
from tests.exports.crawls import HIDDEN, NEWS, PAGES, RUDE_URLS, TWIN, hostile_crawl, plain_crawl, site_crawl

SPACE = "{http://www.sitemaps.org/schemas/sitemap/0.9}"


def named(path: Path) -> list[str]:
    """Return the URLs of a sitemap, after checking its elements against the schema."""
    root = ET.parse(path).getroot()
    assert root.tag == SPACE + "urlset"
    for entry in root:
        assert [element.tag for element in entry] == [SPACE + "loc", SPACE + "lastmod"]
        datetime.fromisoformat(entry[1].text or "")
    urls = [entry[0].text or "" for entry in root]
    found = sitemap_urls(path.read_bytes(), "http://a.test/sitemap.xml")
    assert found.pages == [canonical_url(url) for url in urls]
    return urls


def test_the_pages_are_named(tmp_path: Path) -> None:
    crawl = site_crawl(tmp_path / "crawl")
    export(crawl, "sitemap", tmp_path / "sitemap.xml")
    urls = set(named(tmp_path / "sitemap.xml"))
    assert len(urls & {NEWS, TWIN}) == 1
    assert urls | {NEWS, TWIN, HIDDEN} == PAGES
    assert HIDDEN not in urls


@pytest.mark.parametrize("base", [None, "http://b.org/maps/"])
@pytest.mark.parametrize("limit", ["urls", "bytes"])
def test_many_pages_are_split(base: str | None, limit: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if limit == "urls":
        monkeypatch.setattr(xml_lists, "MAX_URLS", 5)
    else:
        monkeypatch.setattr(xml_lists, "MAX_BYTES", 600)
    crawl = plain_crawl(tmp_path / "crawl", 12)
    report = export(crawl.path, "sitemap", tmp_path / "my map.xml", **({} if base is None else {"base": base}))
    index, *files = report.files
    assert index == tmp_path / "my map.xml"
    assert re.match(rb'<\?xml version="1.0" encoding="UTF-8"\?>\n<sitemapindex', index.read_bytes())
    urls = sitemap_urls(index.read_bytes(), "http://other.org/").sitemaps
    assert urls == [f"{base or 'http://a.org/'}my%20map-{k + 1}.xml" for k in range(len(files))]
    found = [named(tmp_path / place.rpartition("/")[2].replace("%20", " ")) for place in urls]
    assert [url for file in found for url in file] == [f"http://a.org/{k}" for k in range(12)]
    if limit == "urls":
        assert [len(file) for file in found] == [5, 5, 2]
    else:
        assert len(files) == 2
        assert all(file.stat().st_size <= 600 for file in files)


def test_hostile_urls(tmp_path: Path) -> None:
    crawl = hostile_crawl(tmp_path / "crawl")
    export(crawl.path, "sitemap", tmp_path / "sitemap.xml")
    assert named(tmp_path / "sitemap.xml") == RUDE_URLS


def test_a_base_that_is_no_url(tmp_path: Path) -> None:
    crawl = plain_crawl(tmp_path / "crawl", 1)
    with pytest.raises(ori.InputError, match="^base is 'nowhere'; it must be the URL of the sitemap"):
        export(crawl.path, "sitemap", tmp_path / "sitemap.xml", base="nowhere")
