"""The report on the town of the demo: all of its known faults are found, and no others.

The faults are known from two sources: the generator of the town (its pages, links and redirects), and a naive link
checker that requests every link.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator
from pathlib import Path

import pytest

from orienteer.extract.documents.kinds import HTML_TYPES
from orienteer.fake_web.page import Moved, TownPage
from orienteer.fake_web.server import TownServer
from orienteer.fake_web.site import HOME, TownSite, is_of_town
from orienteer.fake_web.town import host_name, url_of
from orienteer.report.finding import KINDS, SiteReport
from orienteer.report.site_report import site_report
from orienteer.url import host_of
from tests.live.live_crawls import crawled
from tests.report.naive_checker import check

CALENDAR = url_of("www/calendar/")
COURIER = host_name("courier")
FORBIDDEN = (url_of("www/internal/"), url_of("library/catalogue/"), url_of("school/marks/"))
ENDLESS = CALENDAR + "2"  # every page of the calendar
DEEP = 9


class Town:
    """The pages that the generator made for the town, without its calendar."""

    def __init__(self) -> None:
        self.site = TownSite()
        self.made = {url: made for url, made in self.site._pages.at.items() if is_of_town(url)}
        self.pages = {
            url: made
            for url, made in self.made.items()
            if isinstance(made, TownPage) and not url.startswith(FORBIDDEN)
        }  # fmt: skip

    def links(self, url: str) -> list[tuple[str, str]]:
        """Return the generated links of a page with their texts, in order."""
        page, host = self.pages[url], self.site._pages.hosts[host_of(url)]
        found = [(link.url, link.text) for _, links in page.lists for link in links]
        if not page.bare:
            found += [(link.url, link.text) for link in (*host.menu, *host.foot)]
        if page.picture:
            found.append((f"http://{host.name}{page.picture}", ""))
        return found

    def places(self, targets: set[str]) -> dict[str, dict[str, set[str]]]:
        """Return the texts of the links to these URLs, by URL and linking page."""
        places: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
        for url in self.pages:
            for target, words in self.links(url):
                if target in targets and target != url:
                    places[target][url].add(words)
        return {target: dict(found) for target, found in places.items()}

    def linked(self) -> set[str]:
        return {target for url in self.pages for target, _ in self.links(url) if is_of_town(target)}

    def depths(self) -> dict[str, int]:
        """Return the distances in links from the town hall; a redirect is no link."""
        found, todo = {HOME: 0}, deque([HOME])
        while todo:
            url = todo.popleft()
            for target, _ in self.links(url):
                made = self.made.get(target)
                target = made.url if isinstance(made, Moved) else target
                if target in self.pages and target not in found:
                    found[target] = found[url] + 1
                    todo.append(target)
        return found


@pytest.fixture(scope="module")
def town() -> Town:
    return Town()


@pytest.fixture(scope="module")
def folder(town: Town, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A crawl of all that robots.txt allows, without the calendar, which is infinite."""
    folder = tmp_path_factory.mktemp("town") / "town"
    settings = {
        "crawl": {"robots": True, "policy": "breadth-first"},
        "scope": {"deny": [r"/calendar/\d"]},
        "fetch": {"content_types": list(HTML_TYPES)},
    }
    with TownServer(town.site) as web:
        report = crawled(web, HOME, folder, scope="site", settings=settings)
    assert report.stopped_because == "frontier empty"
    return folder


@pytest.fixture(scope="module")
def report(folder: Path) -> SiteReport:
    return site_report(folder, max_places=None, deep=DEEP, processes=1)


def reported_places(report: SiteReport, *kinds: str) -> dict[str, dict[str, set[str]]]:
    """Return the places of the report in the form of `Town.places`."""
    return {
        one.url: {place.url: set((place.words or "").split(" / ")) for place in one.places}
        for kind in kinds
        for one in report.findings[kind]
    }


def urls(report: SiteReport, kind: str) -> list[str]:
    return [one.url for one in report.findings[kind]]


def test_broken_links_with_all_places_and_words(town: Town, report: SiteReport) -> None:
    missing = {url for url in town.linked() if url not in town.made and not url.startswith(CALENDAR)}
    assert len(missing) == 5
    assert reported_places(report, "broken") == town.places(missing)
    assert {one.why for one in report.findings["broken"]} == {"http 404"}


def test_links_to_old_addresses_with_all_places_and_words(town: Town, report: SiteReport) -> None:
    moved = {url: made for url, made in town.made.items() if isinstance(made, Moved)}
    assert reported_places(report, "redirects") == town.places(set(moved))
    for one in report.findings["redirects"]:
        made = moved[one.url]
        assert one.leads_to == (made.url,)
        assert str(made.status) in one.why
    assert url_of("courier/index.php") in urls(report, "redirects")


def test_links_to_pages_that_robots_txt_forbids(town: Town, report: SiteReport) -> None:
    blocked = {url for url in town.linked() if url.startswith(FORBIDDEN)}
    assert reported_places(report, "blocked") == town.places(blocked)


def test_shared_titles(town: Town, report: SiteReport) -> None:
    repeated = {place.url for one in report.findings["duplicates"] for place in one.places}
    by_title: dict[tuple[str, str], set[str]] = defaultdict(set)
    for url, page in town.pages.items():
        if url not in repeated:
            by_title[host_of(url), page.title].add(url)
    expected = {frozenset(pages) for pages in by_title.values() if len(pages) > 1}
    assert {frozenset((one.url, *(place.url for place in one.places))) for one in report.findings["titles"]} == expected
    assert len(expected) > 100


def test_duplicates_are_articles_and_their_print_versions(report: SiteReport) -> None:
    for one in report.findings["duplicates"]:
        pages = {one.url, *(place.url for place in one.places)}
        assert {url.removesuffix("?print=1") for url in pages} == {min(pages, key=len)}


def test_deep_pages(town: Town, report: SiteReport) -> None:
    deep = {url: depth for url, depth in town.depths().items() if depth > DEEP}
    assert {one.url: one.value for one in report.findings["deep"]} == deep
    assert len(deep) > 100


def test_pages_without_a_description_are_all_pages(town: Town, report: SiteReport) -> None:
    assert sorted(urls(report, "undescribed")) == sorted(town.pages)


def test_nothing_else_is_found(town: Town, report: SiteReport) -> None:
    found = {kind for kind in KINDS if report.findings[kind]}
    assert found == {"broken", "redirects", "blocked", "titles", "duplicates", "deep", "undescribed"}
    assert report.n_pages == len(town.pages)


def test_what_costs_most_comes_first_and_all_clicks_add_up(report: SiteReport) -> None:
    for kind in ("broken", "redirects", "blocked", "deep", "titles", "undescribed"):
        costs = [one.cost for one in report.findings[kind]]
        assert costs == sorted(costs, reverse=True)
        assert all(cost > 0 for cost in costs)
    assert report.clicks.broken == pytest.approx(sum(one.cost for one in report.findings["broken"]))
    assert report.clicks.redirected == pytest.approx(sum(one.cost for one in report.findings["redirects"]))
    for one in report.findings["broken"]:
        assert one.cost == pytest.approx(sum(place.cost for place in one.places))
        assert one.n_places == len(one.places)


def test_the_same_as_a_naive_checker_finds(town: Town, report: SiteReport) -> None:
    def is_allowed(url: str) -> bool:
        return is_of_town(url) and not url.startswith((*FORBIDDEN, ENDLESS))

    checked = check(town.site, HOME, is_allowed)
    assert checked.pages == set(town.pages)
    assert _reported(report, "broken") == {(link.source, link.target) for link in checked.broken}
    assert _reported(report, "redirects", "chains") == {(link.source, link.target) for link in checked.redirected}
    assert set(urls(report, "untitled")) == checked.untitled


def test_of_one_host(folder: Path, town: Town, report: SiteReport) -> None:
    """The report covers the pages of that host, and the clicks on them."""
    courier = site_report(folder, hosts=[COURIER], max_places=None, deep=DEEP, processes=1)
    there = {(page, url) for page, url in _reported(report, "broken") if host_of(page) == COURIER}
    assert _reported(courier, "broken") == there
    assert len(there) == 14
    assert urls(courier, "deep") == [url for url in urls(report, "deep") if host_of(url) == COURIER]
    assert courier.n_pages == sum(host_of(url) == COURIER for url in town.pages)


def _reported(report: SiteReport, *kinds: str) -> set[tuple[str, str]]:
    return set(_links(report, kinds))


def _links(report: SiteReport, kinds: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    for kind in kinds:
        for one in report.findings[kind]:
            yield from ((place.url, one.url) for place in one.places)
