"""The Report page, and the report as files."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from orienteer.report.site_report import site_report
from orienteer.store.folder import CrawlFolder
from tests.cli.live_process import wait_until
from tests.report.handmade import SETTINGS
from tests.web.live_server import client_of, served
from tests.web.small_crawl import CHARTS, DEAD, FORBIDDEN, MOVED


def test_the_page_shows_what_is_wrong(client: httpx.Client) -> None:
    page = client.get("/report").text
    assert "of a surfer&#39;s clicks end at a broken link" in page
    for url in (DEAD, FORBIDDEN, MOVED):
        assert f"/page?{httpx.QueryParams(url=url)}" in page
    assert 'href="/static/report.css"' in page
    assert '<a href="/report" aria-current="page">Report</a>' in page


def test_what_the_world_values(client: httpx.Client, small_crawl: Path) -> None:
    data = client.get("/api/report").json()
    assert CHARTS in [one["url"] for one in data["findings"]["valued"][:3]]
    assert data == site_report(small_crawl).as_dict()


@pytest.mark.parametrize(("name", "kind"), [("html", "text/html"), ("csv", "text/csv"), ("json", "application/json")])
def test_files_to_keep(client: httpx.Client, name: str, kind: str) -> None:
    response = client.get(f"/report/report.{name}")
    assert response.headers["Content-Type"].startswith(kind)
    assert response.headers["Content-Disposition"] == f'attachment; filename="site-report.{name}"'
    assert DEAD in response.text


@pytest.mark.parametrize("name", ["report.exe", "other.csv", "report", "..%2Freport.csv"])
def test_files_that_are_not_there(client: httpx.Client, name: str) -> None:
    assert client.get(f"/report/{name}").status_code == 404


def test_a_crawl_without_pages(tmp_path: Path) -> None:
    CrawlFolder.create(tmp_path / "empty", SETTINGS).close()
    with served(tmp_path / "empty") as address, client_of(address) as client:
        wait_until(lambda: "has fetched no page yet" in client.get("/report").text)  # it is made in the background
        assert client.get("/report/report.csv").status_code == 409
