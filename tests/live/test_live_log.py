"""The log of a live crawl."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from orienteer.errors import CrawlFolderError
from orienteer.ledger.ledger import Ledger
from tests.fake_web.fake_response import FakeResponse, redirect_to
from tests.fake_web.faults import Faulty
from tests.fake_web.server import FakeWeb
from tests.fake_web.site import MadeSite
from tests.live.live_crawls import crawled

SEED = "http://a.test/"
ONE_WORKER = {"workers": 1}


def log_of(folder: Path, *events: str) -> list[dict[str, Any]]:
    """Return the lines of the log, or those of some events."""
    lines = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    assert lines == sorted(lines, key=lambda line: line["time"])
    return [line for line in lines if not events or line["event"] in events]


def test_every_fetch_is_logged(tmp_path: Path) -> None:
    responses = iter([FakeResponse("wait", status=500), FakeResponse("<p>now")])
    pages = {
        SEED: "<a href=/ill><a href=/gone><a href=/moved><a href=/secret>",
        "http://a.test/ill": lambda *_: next(responses),
        "http://a.test/moved": redirect_to("/"),
        "http://a.test/map.xml": FakeResponse("<urlset></urlset>", content_type="text/xml"),
    }
    robots = {"a.test": "User-agent: *\nDisallow: /secret\nSitemap: http://a.test/map.xml"}
    with FakeWeb(MadeSite(pages, robots=robots)) as web:
        settings = {"crawl": {"robots": True, **ONE_WORKER}}
        report = crawled(web, SEED, tmp_path, scope="host", budget=50, settings=settings)
        targets = [f"http://{host}{target}" for _, host, target in web.requests]
    fetches = log_of(tmp_path, "fetch", "robots", "sitemap")
    assert [line["url"] for line in fetches] == targets
    assert [line["event"] for line in fetches[:3]] == ["robots", "sitemap", "fetch"]
    of_page = [
        (line["url"].removeprefix(SEED), line["outcome"], line["status"], line["retry"])
        for line in log_of(tmp_path, "fetch")
    ]
    assert sorted(of_page) == [
        ("", "ok", 200, 0),
        ("gone", "http 404", 404, 0),
        ("ill", "http 500", 500, 0),
        ("ill", "ok", 200, 1),
        ("moved", "redirect", 301, 0),
    ]
    assert sum(line["bytes"] for line in fetches) == report.figures.n_bytes
    assert all(0 <= line["duration_s"] < 60 for line in fetches)
    (wait,) = log_of(tmp_path, "page waits")
    assert (wait["url"], wait["why"]) == ("http://a.test/ill", "http 500")
    assert wait["wait_s"] == pytest.approx(0.01, abs=0.001)


def test_every_run_has_a_beginning_and_an_end(tmp_path: Path) -> None:
    with FakeWeb(MadeSite({SEED: "<a href=/b>"})) as web:
        crawled(web, SEED, tmp_path, budget=1, settings={"crawl": ONE_WORKER})
        crawled(web, SEED, tmp_path, until=0.99)
    first, first_end, second, second_end = log_of(tmp_path, "start", "end")
    assert (first["seeds"], first["n_seeds"], first["policy"], first["scope"]) == ([SEED], 1, "certified", "web")
    assert (first["budget"], first["until"], first["workers"], first["n_done"]) == (1, None, 1, 0)
    assert (first_end["why"], first_end["n_done"], first_end["n_known"]) == ("budget", 1, 2)
    assert first_end["n_bytes"] > 0
    assert (second["until"], second["workers"], second["n_done"]) == (0.99, 8, 1)
    assert (second_end["why"], second_end["n_done"]) == ("coverage", 2)


@pytest.mark.parametrize("scope", ["host", "prefix"])
def test_known_pages_are_those_in_the_scope(scope: str, tmp_path: Path) -> None:
    with FakeWeb(MadeSite({SEED: "<a href=/b><a href=http://b.test/><a href=http://c.test/>"})) as web:
        report = crawled(web, SEED, tmp_path, scope=scope)
        crawled(web, SEED, tmp_path, scope=scope)
    assert [line["n_known"] for line in log_of(tmp_path, "start", "end")] == [1, 2, 2, 2]
    assert report.figures.n_known == 2


def test_an_abandoned_host_is_logged_once(tmp_path: Path) -> None:
    pages = {f"http://dies.test/{k}": f"<a href=/{k + 1}><a href=/{k + 2}><a href=/{k + 3}>" for k in range(30)}
    with FakeWeb(Faulty(MadeSite(pages), dies_after={"dies.test": 5})) as web:
        crawled(web, "http://dies.test/0", tmp_path, settings={"retry": {"give_up_after": 3}})
    (abandoned,) = log_of(tmp_path, "host abandoned")
    assert abandoned["host"] == "dies.test"
    assert "abandoned after" in abandoned["why"]
    assert any(line["outcome"] != "ok" and line["detail"] for line in log_of(tmp_path, "fetch"))


def test_an_error_ends_the_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise CrawlFolderError("the disk is full")

    with FakeWeb(MadeSite({SEED: ""})) as web, monkeypatch.context() as patch:
        patch.setattr(Ledger, "record_response", full)
        with pytest.raises(CrawlFolderError, match="the disk is full"):
            crawled(web, SEED, tmp_path)
    assert log_of(tmp_path, "end")[0]["why"] == "error: the disk is full"


def test_a_log_that_cannot_be_written_does_not_stop_the_crawl(tmp_path: Path) -> None:
    with FakeWeb(MadeSite({SEED: "<a href=/b>"})) as web:
        crawled(web, SEED, tmp_path, budget=1)
        (tmp_path / "log.jsonl").unlink()
        (tmp_path / "log.jsonl").mkdir()
        report = crawled(web, SEED, tmp_path)
    assert report.stopped_because == "frontier empty"


def test_the_log_can_be_switched_off(tmp_path: Path) -> None:
    with FakeWeb(MadeSite({SEED: ""})) as web:
        crawled(web, SEED, tmp_path, settings={"crawl": {"log": False}})
    assert not (tmp_path / "log.jsonl").exists()
