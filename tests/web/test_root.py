"""The pages of a crawl under a path of their own, as where one server shows many crawls."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI

from orienteer.web.app import crawl_app, guard
from orienteer.web.archived.origin import ArchivedPages
from orienteer.web.served_crawl import ServedCrawl
from tests.web.live_server import client_of, served

ROOT = "/crawls/harbour"
PAGES = (
    "/",
    "/?q=harbour",
    "/?q=harbour&rank=local",
    "/crawl",
    "/crawl/now",
    "/map",
    "/neighborhood",
    "/report",
    "/nothing",
)
_ADDRESS = re.compile(r"""\b(?:href|src|action|hx-get|data-(?:events|now|map|region|bar))="(/[^"]*)""")


@pytest.fixture(scope="module")
def mounted(small_crawl: Path) -> Iterator[httpx.Client]:
    outer, inner = FastAPI(), crawl_app(ServedCrawl(small_crawl), ArchivedPages(True))
    outer.mount(ROOT, inner)
    outer.state.served, outer.state.archived = inner.state.served, inner.state.archived
    guard(outer, None, True)
    with served(small_crawl, outer) as address, client_of(address) as client:
        yield client


@pytest.mark.parametrize("path", PAGES)
def test_a_page_leads_nowhere_but_to_its_crawl(mounted: httpx.Client, path: str) -> None:
    found = _ADDRESS.findall(mounted.get(ROOT + path).text)
    own = [address for address in found if not address.startswith("/static/") and address != "/"]
    assert own or path == "/crawl/now"
    assert ("/" in found) == (path != "/crawl/now"), "to all crawls"
    assert [address for address in own if not address.startswith(ROOT + "/")] == []


def test_every_page_that_is_linked_from_a_page_is_there(mounted: httpx.Client) -> None:
    linked = {
        address.replace("&amp;", "&") for path in PAGES for address in _ADDRESS.findall(mounted.get(ROOT + path).text)
    }
    others = ("/crawl/stop", "/crawl/resume", "/events", "/map/host")
    asked = {address for address in linked - {"/"} if not address.endswith(others)}
    assert len(asked) > 20
    statuses = {address: mounted.get(address).status_code for address in asked}
    assert {address: status for address, status in statuses.items() if status not in (200,)} == {}


def test_the_page_in_the_navigation_is_marked(mounted: httpx.Client) -> None:
    assert f'href="{ROOT}/map" aria-current="page"' in mounted.get(ROOT + "/map").text


def test_the_api_speaks_json_there_too(mounted: httpx.Client) -> None:
    assert mounted.get(ROOT + "/api/crawl").json()["status"]["phase"] == "stopped"
    assert "error" in mounted.get(ROOT + "/api/nothing").json()
    foreign = {"Origin": "http://other.example", "Sec-Fetch-Dest": "empty"}
    assert mounted.get(ROOT + "/api/crawl", headers=foreign).status_code == 403
