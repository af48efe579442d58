"""Live crawls of applications with fragment routes: each page is rendered once, anchors on it never."""

from __future__ import annotations

import shutil
import sqlite3
import time
from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from orienteer.certificates.certificate_text import headline
from orienteer.certificates.checking import check_certificate
from orienteer.certificates.gathering import facts_of_folder
from orienteer.certificates.page import certificate_page
from orienteer.inspect.crawl_status import crawl_status
from orienteer.inspect.run_report import Report
from orienteer.inspect.verify import verify
from orienteer.ledger.revisiting import DAY_S
from orienteer.live.session import live_crawl, refresh
from tests.fake_web.server import FakeWeb
from tests.live.apps import SmallSite, needs_browser
from tests.live.hash_apps import anchored_application, catalogue, documentation, named_application, table_of_contents
from tests.live.live_crawls import StoredCrawl
from tests.live.live_crawls import crawled as crawled_without

pytestmark = pytest.mark.slow

HOME = "http://app.test/"
CHAPTER_NAMES = ["", *(f"chapter{k}" for k in range(4))]
CHAPTERS = documentation(CHAPTER_NAMES, 8)


@pytest.fixture(scope="module", autouse=True)
def _with_browser() -> None:
    needs_browser()


class Crawled(NamedTuple):
    folder: Path
    report: Report
    site: SmallSite

    @property
    def pages(self) -> set[str]:
        """The pages without the URL of the application."""
        return {url.removeprefix(HOME) for url in StoredCrawl(self.folder).fetched_urls()}

    @property
    def n_renders(self) -> int:
        return self.report.rendered.n_pages


def crawled(folder: Path, files: str | Mapping[str, str]) -> Crawled:
    site = SmallSite(dict(files) if isinstance(files, Mapping) else {"/": files})
    with FakeWeb(site) as web:
        report = crawled_without(web, HOME, folder, settings={"render": {"mode": "auto"}})
    return Crawled(folder, report, site)


def routes(*pages: str) -> set[str]:
    return {"", *(f"#/{page}" for page in pages)}


@pytest.fixture(scope="module")
def anchored(tmp_path_factory: pytest.TempPathFactory) -> Crawled:
    folder = tmp_path_factory.mktemp("anchored") / "crawl"
    return crawled(folder, anchored_application(["one", "two", "three"], 10, "?id="))


@pytest.mark.parametrize("mark", ["#", "?id="])
def test_anchors_are_not_pages(tmp_path: Path, mark: str, anchored: Crawled) -> None:
    if mark == "#":
        crawl = crawled(tmp_path / "crawl", anchored_application(["one", "two", "three"], 10, mark))
    else:
        crawl = anchored._replace(folder=Path(shutil.copytree(anchored.folder, tmp_path / "crawl")))
    assert crawl.pages == routes("one", "two", "three")
    assert crawl.n_renders == 4
    stored = StoredCrawl(crawl.folder)
    links = {url: {stored.urls[link].removeprefix(HOME) for link in row.links} for url, row in stored.rows.items()}
    assert links == {url: routes("one", "two", "three") - {"", url.removeprefix(HOME)} for url in stored.urls}
    assert crawl.report.figures.certificate.lower > 0.999
    assert crawl.report.rendered.anchors == (f"app.test: {mark.removesuffix('=')}",)
    assert crawl.report.rendered == crawl_status(crawl.folder).rendered
    verified = verify(crawl.folder)
    assert verified.holds
    assumption = f"routes that differ only in these fields are one page: {crawl.report.rendered.anchors[0]}"
    assert assumption in str(verified)
    facts = facts_of_folder(crawl.folder)
    assert assumption in headline(facts)
    (tmp_path / "c.html").write_text(certificate_page(facts))
    assert check_certificate(tmp_path / "c.html", crawl.folder).holds
    with closing(sqlite3.connect(crawl.folder / "crawl.db")) as database, database:  # the crawl goes on
        database.execute("INSERT INTO known SELECT max(position) + 1, x'00000000' FROM page")
    assert check_certificate(tmp_path / "c.html", crawl.folder).holds
    without = replace(facts, pages=replace(facts.pages, anchors=()))
    (tmp_path / "without.html").write_text(certificate_page(without))
    (line,) = check_certificate(tmp_path / "without.html", crawl.folder).problems
    assert line.startswith("the certificate omits an assumption of the archive: routes with other values of app.test")
    with closing(sqlite3.connect(crawl.folder / "crawl.db")) as database, database:
        database.execute("DELETE FROM event WHERE kind = 'anchors'")
    assert "its record assumes that routes " in verify(crawl.folder).problems[0]


def test_a_documentation_is_rendered_page_by_page(tmp_path: Path) -> None:
    pages = ["", *(f"chapter{k}" for k in range(5))]
    crawl = crawled(tmp_path / "crawl", documentation(pages, 8))
    assert crawl.pages == routes(*pages)
    assert crawl.n_renders == 7
    assert {n for url, n in crawl.site.requests.items() if "/files/" in url} == {1}
    assert verify(crawl.folder).holds


def test_anchors_on_the_only_page_of_an_application(tmp_path: Path) -> None:
    crawl = crawled(tmp_path / "crawl", documentation([""], 40))
    assert crawl.pages == routes("")
    assert crawl.n_renders == 2
    assert {target for target in crawl.site.requests if "files" in target} == {HOME + "files/home.json"}


@pytest.mark.parametrize("follows", ["always", "path", "load"])
def test_parameters_that_choose_the_content_are_pages(tmp_path: Path, follows: str) -> None:
    crawl = crawled(tmp_path / "crawl", catalogue(5, follows))
    assert crawl.pages == routes("", "about", *(f"item?id={k}" for k in range(5)))
    assert crawl.report.rendered.anchors == ()


def test_names_that_choose_the_content_are_routes(tmp_path: Path) -> None:
    names = ["home", "about", "prices", "contact"]
    crawl = crawled(tmp_path / "crawl", named_application(names))
    assert crawl.pages == {"", *(f"#{name}" for name in names)}
    assert crawl.n_renders == 5


@pytest.mark.parametrize("n_broken", [0, 30])
def test_sections_of_a_document_are_never_rendered(tmp_path: Path, n_broken: int) -> None:
    crawl = crawled(tmp_path / "crawl", table_of_contents(40, n_broken))
    assert crawl.pages == {""}
    assert crawl.n_renders == 1


def test_offline_it_is_the_same_crawl(tmp_path: Path, anchored: Crawled) -> None:
    settings = {"fetch": {"fetcher": f"archive:path={anchored.folder}"}}
    live_crawl([HOME], tmp_path / "again", scope="web", settings=settings)
    before, after = StoredCrawl(anchored.folder), StoredCrawl(tmp_path / "again")
    for url in before.fetched_urls() | after.fetched_urls():
        links = [sorted(stored.urls[link] for link in stored.rows[url].links) for stored in (before, after)]
        assert links[0] == links[1], url


def covered(fetched: frozenset[str], whole: StoredCrawl) -> float:
    """Return the share of a surfer's time on these pages, by the links of the whole application."""
    names = list(whole.urls)
    steps = np.zeros((len(names), len(names)))
    for name, row in whole.rows.items():
        targets = [whole.urls[link] for link in row.links] or [HOME]
        for target in targets:
            steps[names.index(target), names.index(name)] += 1 / len(targets)
    start = np.array([name == HOME for name in names], float)
    time_there = np.linalg.solve(np.eye(len(names)) - 0.85 * steps, 0.15 * start)
    return float(sum(share for name, share in zip(names, time_there, strict=True) if name in fetched))


def test_resumed_it_is_the_same_crawl_and_no_more_is_proved_than_is_true(tmp_path: Path) -> None:
    site, folder, proved = SmallSite(dict(CHAPTERS)), tmp_path / "crawl", {}
    with FakeWeb(site) as web:
        for budget in (1, 4, None):
            settings = {"render": {"mode": "auto"}, "crawl": {"budget": budget, "workers": 1}}
            report = crawled_without(web, HOME, folder, settings=settings)
            proved[frozenset(StoredCrawl(folder).fetched_urls())] = report.figures.certificate
    assert Crawled(folder, report, site).pages == routes(*CHAPTER_NAMES)
    assert report.rendered.n_pages == 6
    assert report.rendered.anchors == ("app.test: ?id",)
    for fetched, bounds in list(proved.items())[:2]:
        assert bounds.lower - 1e-9 <= covered(fetched, StoredCrawl(folder)) <= bounds.upper + 1e-9
        assert bounds.lower < 0.999


def test_a_refresh_finds_no_new_pages(tmp_path: Path) -> None:
    folder = tmp_path / "crawl"
    with FakeWeb(SmallSite({"/": anchored_application(["one", "two", "three"], 10, "?id=")})) as web:
        crawled_without(web, HOME, folder, settings={"render": {"mode": "auto"}})
        urls = set(StoredCrawl(folder).urls)
        refresh(folder, now=time.time() + 100 * DAY_S)
    stored = StoredCrawl(folder)
    assert set(stored.urls) == urls
    assert stored.fetched_urls() == urls
