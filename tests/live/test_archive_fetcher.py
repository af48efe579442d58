"""A crawl from the archive of another crawl: the same pages, without any request."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from orienteer.inspect.run_report import Report
from orienteer.live.session import live_crawl
from tests.conftest import random_web
from tests.fake_web.fake_response import FakeResponse, redirect_to
from tests.fake_web.graph_site import GraphSite
from tests.fake_web.server import FakeWeb
from tests.fake_web.site import MadeSite
from tests.live.live_crawls import StoredCrawl, crawled

SEED = "http://a.test/"


def again(seeds: str | list[str], old: Path, new: Path, **crawl: object) -> Report:
    """One worker and default politeness, which must cause no waits without requests."""
    settings = {"crawl": {"workers": 1, **crawl}, "fetch": {"fetcher": f"archive:path={old}"}}
    return live_crawl(seeds, new, scope="web", settings=settings)


@pytest.mark.parametrize("policy", ["breadth-first", "certified", "fractional"])
def test_the_same_pages_in_the_same_order(policy: str, tmp_path: Path, rng: np.random.Generator) -> None:
    site = GraphSite(random_web(rng, 120, 4.0, with_hosts=True))
    seeds = [site.url_of(page) for page in (3, 50)]
    with FakeWeb(site) as web:
        first = crawled(web, seeds, tmp_path / "old", policy=policy, settings={"crawl": {"workers": 1}})
    second = again(seeds, tmp_path / "old", tmp_path / "new", policy=policy)
    old, new = StoredCrawl(tmp_path / "old"), StoredCrawl(tmp_path / "new")
    assert [new.urls[page] for page in new.order] == [old.urls[page] for page in old.order]
    for name in ("lower", "upper", "blocked"):  # its accuracy depends on how often it was computed
        expected = getattr(first.figures.certificate, name)
        assert getattr(second.figures.certificate, name) == pytest.approx(expected, abs=1e-8)
    assert second.figures.n_fetched == first.figures.n_fetched > 20


def test_every_outcome_is_repeated(tmp_path: Path) -> None:
    site = MadeSite({
        SEED: "<a href=moved>1</a><a href=gone>2</a><a href=picture>3</a><a href=private>4</a><a href=zipped>5</a>",
        SEED + "moved": redirect_to("/here"),
        SEED + "here": "<title>Here</title>",
        SEED + "picture": FakeResponse(b"\x89PNG", content_type="image/png"),
        SEED + "private": FakeResponse(b"no", 403),
        SEED + "zipped": FakeResponse("<a href=deep>6</a>", gzip=True),
        SEED + "deep": "the end",
    })  # fmt: skip
    with FakeWeb(site) as web:
        crawled(web, SEED, tmp_path / "old")
    again(SEED, tmp_path / "old", tmp_path / "new")
    old, new = StoredCrawl(tmp_path / "old"), StoredCrawl(tmp_path / "new")
    outcomes = {url: (row.outcome, row.state, row.title) for url, row in old.rows.items() if row is not None}
    assert len(outcomes) == 8
    assert {url: (row.outcome, row.state, row.title) for url, row in new.rows.items() if row is not None} == outcomes


def test_a_page_missing_in_the_archive_is_blocked_and_not_a_dead_end(tmp_path: Path) -> None:
    pages = {SEED: "<a href=1>1</a>", SEED + "1": "<a href=2>2</a>", SEED + "2": "the end"}
    with FakeWeb(MadeSite(pages)) as web:
        crawled(web, SEED, tmp_path / "old", budget=2)
    report = again(SEED, tmp_path / "old", tmp_path / "new")
    assert (report.figures.n_fetched, report.figures.n_blocked) == (2, 1)
    assert StoredCrawl(tmp_path / "new").outcome(SEED + "2") == "no answer"
    assert report.figures.certificate.lower < 1.0


def test_a_failed_fetch_is_not_retried(tmp_path: Path) -> None:
    pages = {
        SEED: "<a href=1>1</a><a href=2>2</a>",
        SEED + "1": FakeResponse(b"no", 503),
        SEED + "2": FakeResponse(b"", reset=True),
    }
    with FakeWeb(MadeSite(pages)) as web:
        crawled(web, SEED, tmp_path / "old", settings={"retry": {"max_attempts": 1}})
    report = again(SEED, tmp_path / "old", tmp_path / "new")
    assert (report.figures.n_fetched, report.figures.outcomes) == (1, {"no answer": 2, "ok": 1})


def test_a_folder_without_an_archive_is_refused(tmp_path: Path) -> None:
    with FakeWeb(MadeSite({SEED: "<a href=1>1</a>"})) as web:
        crawled(web, SEED, tmp_path / "old", settings={"crawl": {"archive": False}})
    report = again(SEED, tmp_path / "old", tmp_path / "new")
    assert (report.figures.n_fetched, report.figures.outcomes) == (0, {"no answer": 1})
    assert not report.goal_reached
