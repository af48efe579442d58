"""Pages discovered without links, pages that forbid archiving, and pages that scripts may generate."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from orienteer.inspect.crawl_status import crawl_status
from orienteer.inspect.replay import replay
from orienteer.inspect.run_report import Report
from orienteer.inspect.status_text import describe_suspect, describe_unarchived
from orienteer.inspect.verify import verify
from orienteer.pages.states import PageState
from tests.fake_web.fake_response import FakeResponse, redirect_to
from tests.fake_web.server import FakeWeb
from tests.fake_web.site import MadeSite
from tests.live.live_crawls import StoredCrawl, Tables, crawled

HOST = "http://a.test"
SHELL = (
    "<!doctype html><title>App</title><div id=root></div><noscript>You need to enable JavaScript to run this app."
    "</noscript><script type=module src=/app.js></script>"
)
SITEMAP = "<urlset><url><loc>{}</loc></url></urlset>"


def crawl(made: MadeSite, folder: Path, settings: Tables | None = None, **named: object) -> Report:
    with FakeWeb(made) as web:
        tables: Tables = {"crawl": {"robots": True, "guess_sitemap": True}}
        for name, table in (settings or {}).items():
            tables.setdefault(name, {}).update(table)
        return crawled(web, f"{HOST}/", folder, scope="host", settings=tables, **named)


def paths(folder: Path) -> set[str]:
    return {url.removeprefix(HOST) for url in StoredCrawl(folder).fetched_urls()}


# -- discovery --------------------------------------------------------------------------------------------------


def named_site(**more: str | FakeResponse) -> MadeSite:
    """A page that names a feed and a translation, and a sitemap at the default URL."""
    return MadeSite(
        {
            f"{HOST}/": "<link rel=alternate type=application/rss+xml href=/feed>"
            "<link rel=alternate hreflang=de href=/de><link rel=alternate hreflang=fr href=http://other.test/fr>"
            "<a href=/a>a</a>",
            f"{HOST}/a": "<a href=/>home</a>",
            f"{HOST}/de": "<a href=/de/b>b</a>",
            f"{HOST}/de/b": "leaf",
            f"{HOST}/feed": FakeResponse("<rss/>", content_type="application/rss+xml"),
            f"{HOST}/mapped": "leaf",
            f"{HOST}/sitemap.xml": SITEMAP.format(f"{HOST}/mapped"),
        }
        | {f"{HOST}/{name}": page for name, page in more.items()}
    )


def test_sitemap_feeds_and_other_languages_are_found(tmp_path: Path) -> None:
    report = crawl(named_site(), tmp_path / "c")
    assert paths(tmp_path / "c") >= {"/", "/a", "/de", "/de/b", "/mapped"}
    stored = StoredCrawl(tmp_path / "c")
    assert stored.outcome(f"{HOST}/feed") is not None
    assert "http://other.test/fr" not in stored.urls or stored.outcome("http://other.test/fr") is None
    home = stored.rows[f"{HOST}/"]
    assert home is not None
    assert [stored.urls[page] for page in home.links] == [f"{HOST}/a"], "what cannot be clicked is no link"
    assert report.figures.certificate.lower == pytest.approx(1.0), "pages without mass do not lower the bounds"
    assert verify(tmp_path / "c").holds


def test_each_source_can_be_turned_off(tmp_path: Path) -> None:
    off = {"crawl": {"guess_sitemap": False, "feeds": False, "languages": False}}
    crawl(named_site(), tmp_path / "c", off)
    assert StoredCrawl(tmp_path / "c").urls == [f"{HOST}/", f"{HOST}/a"]


def test_discovered_pages_are_known_after_a_resume(tmp_path: Path) -> None:
    for budget in (1, 2, 10):
        crawl(named_site(), tmp_path / "c", budget=budget)
    crawl(named_site(), tmp_path / "once")
    assert paths(tmp_path / "c") == paths(tmp_path / "once")
    assert set(replay(tmp_path / "c").urls) == set(StoredCrawl(tmp_path / "c").urls)


@pytest.mark.parametrize(
    "sitemap", [FakeResponse(status=404), FakeResponse(status=500), "<html>soft"], ids=["404", "500", "soft"]
)
def test_a_missing_sitemap_costs_one_request(sitemap: FakeResponse | str, tmp_path: Path) -> None:
    targets = []

    def response(host: str, target: str, headers: object) -> FakeResponse:
        targets.append(target)
        return FakeResponse(sitemap) if isinstance(sitemap, str) else sitemap

    report = crawl(
        MadeSite({f"{HOST}/": "<a href=/a>a</a>", f"{HOST}/a": "leaf", f"{HOST}/sitemap.xml": response}), tmp_path
    )
    assert targets == ["/sitemap.xml"]
    assert report.figures.n_fetched == 2
    assert report.figures.n_hosts_abandoned == 0


def test_a_sitemap_may_redirect_and_is_not_guessed_if_one_is_named(tmp_path: Path) -> None:
    pages = {
        f"{HOST}/": "leaf",
        f"{HOST}/sitemap.xml": redirect_to("/maps/1.xml"),
        f"{HOST}/maps/1.xml": SITEMAP.format(f"{HOST}/mapped"),
        f"{HOST}/maps/2.xml": SITEMAP.format(f"{HOST}/other"),
        f"{HOST}/mapped": "leaf",
        f"{HOST}/other": "leaf",
    }
    crawl(MadeSite(pages), tmp_path / "moved")
    assert paths(tmp_path / "moved") == {"/", "/mapped"}
    crawl(MadeSite(pages, robots={"*": f"Sitemap: {HOST}/maps/2.xml"}), tmp_path / "named")
    assert paths(tmp_path / "named") == {"/", "/other"}


# -- robots directives ------------------------------------------------------------------------------------------


def test_a_page_may_ask_not_to_be_archived(tmp_path: Path) -> None:
    pages = {
        f"{HOST}/": "<meta name=robots content=noarchive><a href=/a>a</a> a secret word",
        f"{HOST}/a": FakeResponse("<a href=/b>b</a>", headers=(("X-Robots-Tag", "noarchive"),)),
        f"{HOST}/b": FakeResponse("archived", headers=(("X-Robots-Tag", "otherbot: noarchive"),)),
    }
    report = crawl(MadeSite(pages), tmp_path / "c")
    stored = StoredCrawl(tmp_path / "c")
    assert paths(tmp_path / "c") == {"/", "/a", "/b"}
    assert [stored.rows[f"{HOST}/{name}"].archived is None for name in ("", "a", "b")] == [True, True, False]  # type: ignore[union-attr]
    archives = b"".join(gzip.decompress(file.read_bytes()) for file in (tmp_path / "c" / "archive").glob("*.warc.gz"))
    assert b"archived" in archives
    assert b"secret" not in archives
    status = crawl_status(tmp_path / "c")
    assert (report.n_unarchived, status.n_unarchived) == (2, 2)
    assert "2 pages not in the archive" in describe_unarchived(status.n_unarchived)


@pytest.mark.parametrize(("agent", "is_ours"), [("My-Bot/2.0 (+http://me.test)", True), ("Other/1.0", False)])
def test_rules_are_for_the_robot_that_the_user_agent_names(agent: str, is_ours: bool, tmp_path: Path) -> None:
    pages = {
        f"{HOST}/": "<meta name=my-bot content=noindex><a href=/a>a</a>",
        f"{HOST}/a": FakeResponse("leaf", headers=(("X-Robots-Tag", "my-bot: noindex"),)),
    }
    crawl(MadeSite(pages), tmp_path / "c", {"fetch": {"user_agent": agent}})
    rows = StoredCrawl(tmp_path / "c").rows
    assert [row is not None and row.noindex for row in rows.values()] == [is_ours, is_ours]


# -- pages that scripts may generate ----------------------------------------------------------------------------


def test_an_application_is_never_proved_complete(tmp_path: Path) -> None:
    report = crawl(MadeSite({}, default=FakeResponse(SHELL)), tmp_path / "c", until=0.9)
    bounds = report.figures.certificate
    assert (report.n_suspect, report.figures.n_fetched) == (1, 1)
    assert bounds.lower == pytest.approx(0.15)
    assert bounds.unknown == pytest.approx(0.85)
    assert report.figures.goal_is_impossible
    status = crawl_status(tmp_path / "c")
    assert status.n_suspect == 1
    assert describe_suspect(1).startswith("1 page perhaps made by scripts")
    assert verify(tmp_path / "c").holds
    assert replay(tmp_path / "c").certificate.lower == pytest.approx(0.15)


def test_links_of_a_suspect_page_are_followed(tmp_path: Path) -> None:
    crawl(MadeSite({f"{HOST}/": SHELL + "<a href=/a>a</a>", f"{HOST}/a": "leaf"}), tmp_path / "c")
    stored = StoredCrawl(tmp_path / "c")
    assert stored.fetched_urls() == {f"{HOST}/", f"{HOST}/a"}
    assert crawl_status(tmp_path / "c").n_suspect == 1
    assert crawl_status(tmp_path / "c").n_pages(PageState.FETCHED) == 2
