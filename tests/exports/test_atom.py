"""Feeds of new, changed and gone pages."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from datetime import datetime
from pathlib import Path

import pytest

import orienteer as ori
from orienteer.exports.export import export
from tests.changing_crawl import EDITED, GONE, NEW, RUDE
from tests.exports.crawls import RUDE_URLS, hostile_crawl

SPACE = "{http://www.w3.org/2005/Atom}"
URN = re.compile(r"urn:uuid:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def entries(path: Path) -> list[ET.Element]:
    """Return the entries of a feed, after checking the requirements of RFC 4287."""
    root = ET.parse(path).getroot()
    assert root.tag == SPACE + "feed"
    for element in (root, *root.iter(SPACE + "entry")):
        for name in ("id", "title", "updated"):
            assert len(element.findall(SPACE + name)) == 1, name
        assert URN.fullmatch(text(element, "id"))
        assert datetime.fromisoformat(text(element, "updated")).tzinfo is not None
    assert text(root, "author/" + SPACE + "name")
    found = root.findall(SPACE + "entry")
    for entry in found:
        links = entry.findall(SPACE + "link")
        assert [link.get("rel") for link in links] == ["alternate"]
        assert text(entry, "summary")
    assert len({text(entry, "id") for entry in found}) == len(found)
    return found


def text(element: ET.Element, path: str) -> str:
    found = element.find(SPACE + path)
    assert found is not None
    return found.text or ""


def link(entry: ET.Element) -> str:
    found = entry.find(SPACE + "link")
    assert found is not None
    return found.get("href") or ""


def test_a_feed_lists_changes(changed: Path, tmp_path: Path) -> None:
    out = tmp_path / "feed.atom"
    report = export(changed, "atom", out, base="https://example.org/feed.atom")
    found = entries(out)
    assert report.n_pages == len(found) == 8
    assert (link(found[0]), text(found[0], "title")) == (GONE, f"Gone: {GONE}")
    assert text(found[0], "summary") == "The page is gone (http 404)."
    by_title = {text(entry, "title"): entry for entry in found}
    assert link(by_title["New: New"]) == NEW
    assert link(by_title[f"Missing: {GONE}"]) == GONE
    assert link(by_title["Changed: X2"]) == EDITED
    assert text(by_title["Changed: X2"], "summary").endswith(
        "1 line added, 1 removed. It says now: Another line & more. new"
    )
    (rude,) = [entry for entry in found if link(entry) == RUDE]
    assert text(rude, "title") == 'New: ]]><b> & "quoted" \ufffd'
    root = ET.parse(out).getroot()
    assert [one.attrib["href"] for one in root.findall(SPACE + "link")] == ["https://example.org/feed.atom"]


def test_ids_are_stable_and_the_newest_come_first(changed: Path, tmp_path: Path) -> None:
    export(changed, "atom", tmp_path / "all.atom")
    export(changed, "atom", tmp_path / "few.atom", limit=2)
    everything, few = ([text(entry, "id") for entry in entries(tmp_path / name)] for name in ("all.atom", "few.atom"))
    assert few == everything[:2]


def test_gone_pages_are_filtered_by_host(changed: Path, tmp_path: Path) -> None:
    report = export(changed, "atom", tmp_path / "a.atom", hosts="a.test")
    assert report.n_pages == 8
    with pytest.raises(ori.InputError, match="on other hosts"):
        export(changed, "atom", tmp_path / "b.atom", hosts="b.test")


def test_hostile_pages_make_a_valid_feed(tmp_path: Path) -> None:
    crawl = hostile_crawl(tmp_path / "crawl")
    export(crawl.path, "atom", tmp_path / "feed.xml")
    found = entries(tmp_path / "feed.xml")
    assert len(found) == len(RUDE_URLS)
    assert {link(entry) for entry in found} == set(RUDE_URLS)


def test_invalid_settings(changed: Path, tmp_path: Path) -> None:
    with pytest.raises(ori.InputError, match=r"^limit is 0; a feed has at least one entry$"):
        export(changed, "atom", tmp_path / "x.atom", limit=0)
    with pytest.raises(ori.InputError, match=r"^base is 'http://\['; it must be the URL of the feed"):
        export(changed, "atom", tmp_path / "x.atom", base="http://[")
