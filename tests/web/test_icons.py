"""Icons of hosts come from the archive alone, and nothing but a small picture is ever sent."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from orienteer.extract.assets import icon_urls
from orienteer.web.icons import Icons, picture_type, tile
from orienteer.web.served_crawl import ServedCrawl
from tests.cli.live_process import wait_until
from tests.inspect.captured import CapturedCrawl, T, png
from tests.tables import over_rows
from tests.web.live_server import client_of, served

ICON, OTHER = png(16, 16, (200, 30, 30)), png(16, 16, (30, 30, 200))
ICO = b"\x00\x00\x01\x00\x01\x00" + b"\x10" * 30
DRAWN = b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("icons") / "crawl"
    with CapturedCrawl(path) as crawl:
        named = "<title>A</title><base href=/static/><link rel='Shortcut ICON' href=my.png><link rel=icon href=b.svg>"
        crawl.put("http://named.test/", T, named)
        crawl.put("http://named.test/static/my.png", T, ICON, "image/png")
        crawl.put("http://named.test/favicon.ico", T, ICO, "image/x-icon")
        crawl.put("https://usual.test/", T, "<p>No link")
        crawl.put("https://usual.test/favicon.ico", T, ICO, "text/plain")  # whatever it is called
        crawl.put("http://homeless.test/favicon.ico", T, OTHER, "image/png")
        crawl.put("http://drawn.test/", T, "<link rel=icon href=/i.svg>")
        crawl.put("http://drawn.test/i.svg", T, DRAWN, "image/svg+xml")
        crawl.put("http://false.test/favicon.ico", T, "<script>alert(1)</script>", "image/png")
        crawl.put("http://large.test/favicon.ico", T, ICON + b"x" * 300_000, "image/png")
        crawl.put("http://gone.test/favicon.ico", T, ICON, "image/png", status="404 Not Found")
    return path


def test_the_icon_that_a_host_names_or_the_usual_one_or_a_letter(folder: Path) -> None:
    with served(folder) as address, client_of(address) as client:
        wait_until(lambda: client.get("/icon?host=named.test").headers["cache-control"] != "no-store")
        kinds = {}
        for name in ("named", "usual", "homeless", "drawn", "false", "large", "gone", "unknown", "x/../../etc"):
            response = client.get("/icon", params={"host": f"{name}.test"})
            assert response.status_code == 200
            assert response.headers["x-content-type-options"] == "nosniff"
            assert b"script" not in response.content
            kinds[name] = response.headers["content-type"]
        assert kinds == {
            "named": "image/png", "usual": "image/x-icon", "homeless": "image/png",
            **dict.fromkeys(("drawn", "false", "large", "gone", "unknown", "x/../../etc"), "image/svg+xml"),
        }  # fmt: skip
        assert client.get("/icon?host=named.test").content == ICON
        assert client.get("/icon?host=homeless.test").content == OTHER
        assert client.get("/icon", params={"host": "x" * 301}).status_code == 422


def test_the_cache_is_bounded(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("orienteer.web.icons._N_CACHED", 2)
    crawl = ServedCrawl(folder)
    icons = Icons(crawl.archive)
    wait_until(lambda: icons.of("named.test").is_final)
    for host in ("a.test", "b.test", "named.test", "c.test"):
        icons.of(host)
    assert len(icons._icons) == 2
    crawl.close()


@over_rows("host", ["www.example.org", "<&\"'", "東京.jp", "", "[::1]:80", "\x00"])
def test_a_tile_is_a_drawing_of_one_letter(host: str) -> None:
    drawn = ElementTree.fromstring(tile(host))
    assert len(drawn.findtext("{*}text") or "") == 1
    assert tile(host) == tile(host)


def test_pictures_are_recognized_by_their_first_bytes() -> None:
    assert picture_type(b"RIFF\x00\x00\x00\x00WEBPVP8 ") == "image/webp"
    assert picture_type(b"GIF89a") == "image/gif"
    assert picture_type(b"\xff\xd8\xff\xe0") == "image/jpeg"
    assert picture_type(DRAWN) is picture_type(b"") is picture_type(b"RIFF....WAVE") is None


def test_icons_of_strange_pages() -> None:
    many = b"<link rel=icon href=%d>" * 100
    assert len(icon_urls(many % tuple(range(100)), "http://a.test/")) == 21
    assert icon_urls(b"<link rel=icon href='javascript:x'><link rel=icon><base>", "http://a.test/b") == [
        "http://a.test/favicon.ico"
    ]
    assert icon_urls(b"\xff\xfe<\x00", "http://a.test/") == ["http://a.test/favicon.ico"]
