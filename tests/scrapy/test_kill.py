"""Spiders that are killed and resumed."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from orienteer.graph.synthetic import synthetic_web
from tests.fake_web.fake_response import FakeResponse
from tests.fake_web.graph_site import GraphSite
from tests.fake_web.server import FakeWeb
from tests.fake_web.site import RequestHeaders, Site
from tests.scrapy.projects import Project

pytestmark = pytest.mark.slow

pytest.importorskip("scrapy", reason="Scrapy is not installed: pip install 'orienteer[scrapy]'")

GRAPH = GraphSite(synthetic_web(150))
STARTS = [f"http://{host}/" for host in GRAPH.hosts]


class Unhurried(Site):
    """So that a spider lives long enough to have something acknowledged."""

    def response(self, host: str, target: str, headers: RequestHeaders) -> FakeResponse:
        return replace(GRAPH.response(host, target, headers), delay_s=0.08)


def acknowledged(folder: Path) -> set[str]:
    """The URLs of which everything that was asked for is done."""
    with closing(sqlite3.connect(folder / "requests.db", isolation_level=None)) as database:
        sql = (
            "SELECT url FROM page LEFT JOIN done ON page.id = done.page GROUP BY url HAVING count(*) = count(done.page)"
        )
        return {url for (url,) in database.execute(sql)}


def test_killed_again_and_again_it_ends_with_the_same_items(tmp_path: Path) -> None:
    requests = tmp_path / "requests"
    with FakeWeb(Unhurried()) as web:
        whole = Project(web, tmp_path / "whole", "follow", STARTS)
        whole.run()
        n_whole = len(web.requests)
        feed = tmp_path / "feed.jsonl"
        settings = {"ORIENTEER_DIR": str(requests), "FEEDS": {str(feed): {"format": "jsonlines"}}}
        project = Project(web, tmp_path / "killed", "follow", STARTS, CONCURRENT_REQUESTS=4, **settings)
        for _ in range(2):
            done = acknowledged(requests) if requests.exists() else set()
            n_before = len(web.requests)
            assert project.run_and_kill(n_requests=60), project.log()
            assert not done & {f"http://{host}{target}" for _, host, target in web.requests[n_before:]}
        assert len(acknowledged(requests)) > 20
        n_before = len(web.requests)
        stats = project.run()
        n_last = len(web.requests) - n_before
    assert stats["orienteer/resumed"] > 0
    assert n_last < 0.8 * n_whole
    assert project.item_urls() == whole.item_urls()
    assert {json.loads(line)["url"] for line in feed.read_text().splitlines()} == whole.item_urls()
    assert stats["orienteer/pages/fetched"] == stats["orienteer/pages/known"]
    assert stats["orienteer/coverage_lower"] > 1 - 1e-6


def test_a_finished_spider_has_nothing_to_do_and_says_so(tmp_path: Path) -> None:
    with FakeWeb(GRAPH) as web:
        project = Project(web, tmp_path, "follow", STARTS, ORIENTEER_DIR=str(tmp_path / "requests"))
        first = project.run()
        n_requests = len(web.requests)
        second = project.run()
        assert len(web.requests) == n_requests, "not even the start pages"
    assert second["reason"] == "finished"
    assert second["orienteer/resumed"] == first["orienteer/pages/known"]
    assert second["orienteer/coverage_lower"] == pytest.approx(first["orienteer/coverage_lower"])


def test_a_full_disk_ends_it_with_one_line_and_it_can_be_resumed(tmp_path: Path) -> None:
    with FakeWeb(Unhurried()) as web:
        settings = {"ORIENTEER_DIR": str(tmp_path / "requests"), "LOG_LEVEL": "ERROR", "CONCURRENT_REQUESTS": 6}
        project = Project(web, tmp_path, "follow", STARTS, **settings)
        stats = project.run(max_file_bytes=60_000)
        n_items = len(project.item_urls())
        assert stats["reason"] == "orienteer_error"
        (line,) = project.log().splitlines()
        assert "requests.db" in line
        assert project.run()["reason"] == "finished"
    assert n_items < len(project.item_urls())
    assert len(project.item_urls()) > 140
