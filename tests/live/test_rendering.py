"""Live crawls of sites that scripts make, with a real browser."""

from __future__ import annotations

import random
import time
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from orienteer.extract.links import COMES_WITH_SCROLLING, NEEDS_CLICK, SCRIPTED
from orienteer.fake_web.server import FakeWeb
from orienteer.live.session import Report, live_crawl
from orienteer.search.indexing import update_index
from orienteer.search.search_index import SearchIndex
from orienteer.settings import merged
from orienteer.store.database import Database
from orienteer.store.folder_view import FolderView
from orienteer.store.shown_tables import RenderedRow
from tests.faults.crawl_process import CrawlCommand
from tests.live.apps import FRAMEWORKS, ITEMS, N_ITEMS, WORDS, Applications, SmallSite, application, needs_browser
from tests.live.live_crawls import Tables, Told
from tests.live.live_crawls import crawled as crawled_without

pytestmark = pytest.mark.slow

SETTINGS = {"crawl": {"robots": False}, "render": {"mode": "auto"}}
SEEDS = [f"http://{name}.test/" for name in FRAMEWORKS]
ALL_PAGES = {"/", *(f"/item/{k}" for k in range(1, N_ITEMS + 1))}


@pytest.fixture(scope="module", autouse=True)
def _with_browser() -> None:
    needs_browser()


def crawled(*arguments: Any, settings: Tables | None = None, **named: Any) -> Report:
    return crawled_without(*arguments, settings=merged({"render": {"mode": "auto"}}, settings or {}), **named)


def paths(folder: Path) -> set[str]:
    return {"/" + url.partition("://")[2].partition("/")[2] for url in Told(folder).fetched_urls()}


def rendered(folder: Path) -> dict[str, RenderedRow]:
    with Database.open(folder / "crawl.db", read_only=True) as database:
        return {database.url(row.page): row for row in database.rendered()}


def unknown(folder: Path, url: str) -> str:
    with Database.open(folder / "crawl.db", read_only=True) as database:
        page = database.find_url(url)
        assert page is not None
        return database.unknown(page).why


def said(folder: Path, name: str = "") -> dict[str, tuple[Any, ...]]:
    """What a crawl found out, whatever the order; of one application, where it is named."""
    told = Told(folder)
    return {
        url: (row.state, row.outcome, row.status, row.title, row.digest, sorted(told.urls[link] for link in row.links))
        for url, row in told.rows.items()
        if row is not None and url.startswith(f"http://{name}")
    }


# Applications of real frameworks, by default settings


class Crawled(NamedTuple):
    """All applications, crawled at once and indexed."""

    folder: Path
    site: Applications
    report: Report


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> Crawled:
    folder, site = tmp_path_factory.mktemp("applications") / "crawl", Applications()
    with FakeWeb(site) as web:
        report = crawled(web, SEEDS, folder)
    update_index(folder)
    return Crawled(folder, site, report)


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_all_pages_are_there_and_nothing_was_asked_for_twice(crawl: Crawled, name: str) -> None:
    home = f"http://{name}.test"
    pages = {f"{home}{path}" for path in ALL_PAGES}
    assert {url for url in Told(crawl.folder).fetched_urls() if url.startswith(f"{home}/")} == pages
    assert {url for url in rendered(crawl.folder) if url.startswith(f"{home}/")} == pages
    asked = {url: n for url, n in crawl.site.asked.items() if url.startswith(f"{home}/")}
    assert set(asked.values()) == {1}
    assert asked[f"{home}/api/items.json"] == 1


def test_all_is_shown_and_all_is_proved(crawl: Crawled) -> None:
    report = crawl.report
    assert report.rendered.n_pages == len(FRAMEWORKS) * len(ALL_PAGES)
    assert (report.n_suspect, report.rendered.n_in_trouble) == (0, 0)
    assert report.figures.certificate.lower > 0.999


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_texts_are_found_by_search(crawl: Crawled, name: str) -> None:
    with SearchIndex.open(crawl.folder) as index:
        for item, word in zip(ITEMS, WORDS, strict=True):
            best = index.search(f"{word} on shelf {item['id']} of the old hall site:{name}.test").hits[0]
            assert best.url == f"http://{name}.test/item/{item['id']}"
            assert best.title in (item["name"], "App")


def test_offline_it_is_the_same_crawl(crawl: Crawled, tmp_path: Path) -> None:
    settings = {"crawl": {"workers": 1}, "fetch": {"fetcher": f"archive:path={crawl.folder}"}}
    again = live_crawl(SEEDS, tmp_path / "again", scope="web", settings=settings)
    assert said(tmp_path / "again") == said(crawl.folder)
    for bound in ("lower", "upper"):
        expected = getattr(crawl.report.figures.certificate, bound)
        assert getattr(again.figures.certificate, bound) == pytest.approx(expected, abs=1e-8)


def test_without_a_browser_it_is_never_complete(tmp_path: Path) -> None:
    with FakeWeb(Applications()) as web:
        report = crawled(web, "http://vue.test/", tmp_path / "crawl", settings={"render": {"mode": "never"}})
    assert paths(tmp_path / "crawl") == {"/"}
    assert report.n_suspect == 1
    assert report.figures.certificate.lower < 0.5
    assert report.rendered.n_pages == 0


@pytest.mark.usefixtures("ready_child_processes")
def test_two_processes_find_the_same(crawl: Crawled, tmp_path: Path) -> None:
    with FakeWeb(Applications()) as web:
        crawled(web, "http://react.test/", tmp_path / "crawl", settings={"crawl": {"processes": 2}})
    assert said(tmp_path / "crawl") == said(crawl.folder, "react")


def test_killed_and_resumed_it_is_the_same(crawl: Crawled, tmp_path: Path) -> None:
    seed = random.randrange(1 << 30)
    print("seed", seed)
    rng, site, kills = random.Random(seed), Applications(), 0
    with FakeWeb(site) as web:
        command = CrawlCommand(web.address, ["http://svelte.test/"], tmp_path / "crawl", **SETTINGS)
        for n_more in (rng.randint(1, 6), rng.randint(1, 6)):
            enough = site.asked.total() + n_more
            with command.started() as process:
                while site.asked.total() < enough and process.poll() is None:
                    time.sleep(0.002)
                kills += process.poll() is None
                process.kill()
        command.run()
    assert kills
    assert said(tmp_path / "crawl") == said(crawl.folder, "svelte")


# What pages do


def one_page(tmp_path: Path, files: dict[str, str], robots: str | None = None, **render: Any) -> tuple[Path, Report]:
    site = SmallSite(files, None if robots is None else {"*": robots})
    settings = {"render": render, "crawl": {"robots": robots is not None, "workers": 1}}
    with FakeWeb(site) as web:
        report = crawled(web, "http://a.test/", tmp_path / "crawl", scope="host", settings=settings)
    return tmp_path / "crawl", report


SHOW_PATH = "document.getElementById('root').textContent = 'this is ' + location.pathname + location.hash;"


HASH_ROUTES = application(
    "function show() { const n = location.hash || '#/';"
    "document.getElementById('root').innerHTML = 'route ' + n + ' <a href=\"#/a\">a</a> <a href=\"#/b\">b</a>'; }"
    "addEventListener('hashchange', show); show();"
)


def test_routes_are_pages_and_a_redirect_by_script_is_a_redirect(tmp_path: Path) -> None:
    """By the history API, of an application of hash routes, and by a script that leads elsewhere."""
    links = "".join(f'<a href="/{place}">{place}</a>' for place in ("history", "hash", "moved"))
    files = {
        "/": links,
        "/history": application("history.pushState({}, '', '/second');" + SHOW_PATH),
        "/second": application(SHOW_PATH),
        "/hash": HASH_ROUTES,
        "/moved": application("location.href = '/there';"),
        "/there": "<p>here it is",
    }
    folder, report = one_page(tmp_path, files)
    assert paths(folder) == {*files, "/hash#/a", "/hash#/b"}
    assert report.rendered.n_pages == 6
    told = Told(folder)
    assert told.outcome("http://a.test/moved") == "redirect"
    assert told.outcome("http://a.test/there") == "ok"
    update_index(folder)
    with SearchIndex.open(folder) as index:
        found = {hit.url for hit in index.search("route").hits}
    assert found == {f"http://a.test/hash{end}" for end in ("", "#/a", "#/b")}


def test_an_api_that_robots_txt_forbids_is_not_asked(tmp_path: Path) -> None:
    app = application("fetch('/api/x.json').then(r => r.json()).then(x => document.body.append(x.text))")
    site = SmallSite({"/": app, "/api/x.json": '{"text": "secret"}'}, {"*": "User-agent: *\nDisallow: /api/"})
    with FakeWeb(site) as web:
        report = crawled(web, "http://a.test/", tmp_path / "crawl", settings={"crawl": {"robots": True}})
    assert "http://a.test/api/x.json" not in site.asked
    assert report.n_suspect == 1
    assert unknown(tmp_path / "crawl", "http://a.test/") == SCRIPTED
    assert report.figures.certificate.lower < 0.5


def test_what_needs_a_click_is_out_of_reach_and_said_so(tmp_path: Path) -> None:
    app = application(
        "document.getElementById('root').innerHTML = '<div role=link onclick=\"location=`/next`\">Next</div>'"
    )
    folder, report = one_page(tmp_path, {"/": app, "/next": "<p>never seen"})
    assert paths(folder) == {"/"}
    assert unknown(folder, "http://a.test/") == NEEDS_CLICK
    assert report.figures.certificate.lower < 0.5


ENDLESS = application(
    "let n = 0; function more() { for (let k = 0; k < 20; k++) { const a = document.createElement('a');"
    "a.href = '/item/' + (++n); a.textContent = 'item ' + n; a.style.display = 'block'; a.style.height = '100px';"
    "document.getElementById('root').append(a); } }"
    "addEventListener('scroll', () => { if (innerHeight + scrollY + 200 > document.body.scrollHeight) more(); });"
    "more();"
)


def test_scrolling_brings_more_and_an_end_is_not_claimed(tmp_path: Path) -> None:
    found = {}
    for scrolls in (0, 3):
        folder, _ = one_page(tmp_path / str(scrolls), {"/": ENDLESS}, scrolls=scrolls)
        row = Told(folder).rows["http://a.test/"]
        assert row is not None
        found[scrolls] = len(row.links)
        if scrolls:
            assert unknown(folder, "http://a.test/") == COMES_WITH_SCROLLING
    assert found[3] >= found[0] + 40


# Which pages


LINKS = "<a href=/1>1</a><a href=/2>2</a><a href=/3>3</a>"
PLAIN = "<title>Plain</title><p>" + "plain words that were sent " * 20 + LINKS


def test_a_page_without_scripts_is_not_shown(tmp_path: Path) -> None:
    _, report = one_page(tmp_path, {"/": PLAIN, "/1": "<p>1", "/2": "<p>2", "/3": "<p>3"})
    assert report.rendered.n_pages == 0


def test_pages_that_gain_are_learned_from_a_sample(tmp_path: Path) -> None:
    script = "document.body.innerHTML += '<p>' + 'made by a script '.repeat(60);//" + "x" * 300
    gains = f"{PLAIN}<script>{script}</script>"
    home = PLAIN + "".join(f"<a href=/item/{k}>item {k}</a>" for k in range(14))
    files = {"/": home} | {f"/item/{k}": gains for k in range(14)}
    folder, report = one_page(tmp_path, files)
    why = {url: row.why for url, row in rendered(folder).items()}
    assert report.rendered.n_pages == 14
    assert set(why.values()) == {"sample", "learned"}
    assert list(why.values()).count("learned") >= 7


def test_a_pattern_names_those_that_are_shown(tmp_path: Path) -> None:
    files = {"/": PLAIN, "/1": PLAIN, "/2": PLAIN, "/3": PLAIN}
    folder, report = one_page(tmp_path, files, mode="http://a.test/[12]")
    assert set(rendered(folder)) == {"http://a.test/1", "http://a.test/2"}
    assert report.rendered.n_pages == 2


def test_a_screenshot_is_kept(tmp_path: Path) -> None:
    folder, _ = one_page(tmp_path, {"/": application(SHOW_PATH)}, screenshots=True)
    row = rendered(folder)["http://a.test/"]
    assert row.view is not None
    with FolderView.open(folder) as view:
        picture = view.archive.read_resource(row.view)[1]
    assert picture.uri == "urn:view:http://a.test/"
    assert picture.body[:4] in (b"\x89PNG", b"\xff\xd8\xff\xe0")
