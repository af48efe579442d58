"""The town of the demo: believable to a reader, and as awkward to a crawler as a real one."""

from __future__ import annotations

from pathlib import Path

import pytest

from orienteer.extract import near_duplicates
from orienteer.extract.page import Page, extract_page
from orienteer.fake_web.page import SiteResponse
from orienteer.fake_web.server import TownServer
from orienteer.fake_web.site import HOME, TownSite, is_of_town, url_at_port
from orienteer.fake_web.town import TOWN, host_name, url_of
from tests.fake_web.client import fetch
from tests.fake_web.site import host_and_target
from tests.live.live_crawls import StoredCrawl, crawled

NOT_FOR_ROBOTS = (url_of("www/internal/"), url_of("library/catalogue/"), url_of("school/marks/"))
HALL = host_name("www")
CALENDAR = url_of("www/calendar/")
CAR_PARK = url_of("www/parking/bridge-street")
IRON_BRIDGE, DOME = url_of("museum/iron-bridge"), url_of("stars/opening-hours")
LANTERNS = url_of("visit/en/lantern-festival")


@pytest.fixture(scope="module")
def site() -> TownSite:
    return TownSite()


@pytest.fixture(scope="module")
def pages(site: TownSite) -> dict[str, Page]:
    """Every page, as a crawler reads it."""
    return {url: read(site, url) for url in site.urls()}


@pytest.fixture(scope="module")
def links(pages: dict[str, Page]) -> dict[str, list[str]]:
    return {url: page.links for url, page in pages.items()}


def response(site: TownSite, url: str) -> SiteResponse:
    return site.response(*host_and_target(url))


def read(site: TownSite, url: str) -> Page:
    answered = response(site, url)
    assert answered.status == 200, url
    return extract_page(answered.body, url)


def depths(site: TownSite, links: dict[str, list[str]]) -> dict[str, int]:
    """How many links lead from the town hall to each page of the town, the calendar left out."""
    found, depth, todo = {HOME: 0}, 0, [HOME]
    while todo:
        depth += 1
        targets = [target for url in todo for target in links.get(url) or moved_to(site, url)]
        todo = [url for url in dict.fromkeys(targets) if url not in found and is_of_town(url) and CALENDAR not in url]
        found |= dict.fromkeys(todo, depth)
    return found


def moved_to(site: TownSite, url: str) -> list[str]:
    return [value for name, value in response(site, url).headers if name == "Location"]


def linking(links: dict[str, list[str]], target: str, in_town: bool) -> int:
    return sum(target in found for url, found in links.items() if is_of_town(url) == in_town)


def test_it_is_the_same_every_time_and_another_for_another_rng(site: TownSite) -> None:
    again, other = TownSite(), TownSite(rng=1)
    assert site.urls() == again.urls()
    assert all(response(site, url) == response(again, url) for url in site.urls())
    assert response(site, HOME) != response(other, HOME)


def test_its_size_and_its_hosts(site: TownSite) -> None:
    assert 1500 <= len(site.town_urls()) < len(site.urls()) <= 3100
    assert len({host_and_target(url)[0] for url in site.town_urls()}) == 12
    assert len({host_and_target(url)[0] for url in site.urls()}) == 22


def test_pages_have_titles_texts_and_languages(pages: dict[str, Page]) -> None:
    assert all(page.title and page.headings[0] == page.title for page in pages.values())
    assert {page.language for page in pages.values()} == {"en", "de", "fr"}
    assert sum(len(page.text.split()) > 60 for page in pages.values()) > 0.8 * len(pages)
    assert not any("{" in page.text or "\x00" in page.text for page in pages.values())


def test_every_page_of_the_town_can_be_reached_some_by_many_links(site: TownSite, links: dict[str, list[str]]) -> None:
    found = depths(site, links)
    assert set(site.town_urls()) <= set(found)
    assert max(found.values()) > 20
    assert sum(depth > 6 for depth in found.values()) > 100


def test_some_links_are_dead_some_have_moved_some_are_files(site: TownSite, links: dict[str, list[str]]) -> None:
    targets = {target for found in links.values() for target in found} - links.keys()
    statuses = {url: response(site, url).status for url in targets if not url.startswith(CALENDAR)}
    assert sum(status == 404 for status in statuses.values()) >= 5
    assert sum(status in (301, 302) for status in statuses.values()) >= 4
    types = [response(site, url).content_type for url, status in statuses.items() if status == 200]
    assert types.count("application/pdf") > 50
    assert types.count("image/png") > 10
    assert set(types) == {"application/pdf", "image/png"}


def test_files_can_be_opened(site: TownSite) -> None:
    drawing = response(site, url_of("visit/lanterns.png")).body
    assert drawing.startswith(b"\x89PNG\r\n\x1a\n")
    document = response(site, url_of("www/services/council-tax/form.pdf")).body
    assert document.startswith(b"%PDF-1.4\n")
    assert int(document.split(b"startxref\n")[1].split()[0]) == document.index(b"xref\n0 6")


def test_the_calendar_has_no_end(site: TownSite) -> None:
    url = CALENDAR + "2026-05"
    for _ in range(300):
        page = read(site, url)
        assert len(page.links) > 30
        url = next(target for target, text in page.anchors if text == "Next month")
    assert url == CALENDAR + "2051-05"
    far = read(site, CALENDAR + "99999-12-31")
    assert CALENDAR + "100000-01-01" in far.links
    for never in ("2026-02", "2027-13", "2027-02-30", "2027-02-00", "soon"):
        assert response(site, CALENDAR + never).status == 404


def test_what_is_not_for_robots_is_linked_and_forbidden(site: TownSite, links: dict[str, list[str]]) -> None:
    for place in NOT_FOR_ROBOTS:
        assert any(target.startswith(place) for found in links.values() for target in found)
        host, path = host_and_target(place)
        assert f"Disallow: {path}" in response(site, f"http://{host}/robots.txt").body.decode()


def test_the_world_links_to_other_pages_than_the_town(links: dict[str, list[str]]) -> None:
    for page in (IRON_BRIDGE, DOME, LANTERNS):
        assert linking(links, page, in_town=True) <= 5
        assert linking(links, page, in_town=False) >= 100
    assert linking(links, CAR_PARK, in_town=True) > 500
    assert linking(links, CAR_PARK, in_town=False) == 0
    abroad = {target for url, found in links.items() if is_of_town(url) for target in found if not is_of_town(target)}
    assert len({host_and_target(url)[0] for url in abroad}) == 10


def test_print_versions_repeat_their_articles_and_articles_do_not_repeat_each_other(site: TownSite) -> None:
    printed = [url for url in site.urls() if url.endswith("?print=1")][:20]
    texts = [read(site, url.removesuffix("?print=1")).text.split("\n", 2)[2] for url in printed]
    signatures = [near_duplicates.signature(text) or b"" for text in texts]
    for k, url in enumerate(printed):
        again = near_duplicates.signature(read(site, url).text) or b""
        assert near_duplicates.similarity(signatures[k], again) > 0.6
        others = signatures[:k]
        assert max((near_duplicates.similarity(signatures[k], other) for other in others), default=0.0) < 0.5


def test_addresses_have_the_port_of_the_request(site: TownSite) -> None:
    answered = site.response(f"{HALL}:8000", "/")
    page = extract_page(answered.body, url_at_port(HOME, 8000))
    assert url_at_port(url_of("courier/"), 8000) in page.links
    assert all(":8000/" in link for link in page.links)
    moved = site.response(f"{TOWN}:8000", "/")
    assert ("Location", url_at_port(HOME, 8000)) in moved.headers
    assert moved_to(site, url_of("/")) == [HOME]


def test_hosts_that_do_not_exist_and_what_is_not_there(site: TownSite) -> None:
    assert response(site, "http://unknown.localhost/").status == 404
    nothing = response(site, url_of("market/nothing"))
    assert nothing.status == 404
    assert b"Quillhaven Market" in nothing.body


def test_a_week_passes(site: TownSite) -> None:
    before, site = site, TownSite()
    changes = site.pass_a_week()
    assert site.week == 1
    assert min(map(len, changes)) > 5
    assert changes.new == set(site.urls()) - set(before.urls())
    assert changes.deleted == set(before.urls()) - set(site.urls())
    assert all(response(site, url).status == 404 for url in changes.deleted)
    for url in set(site.urls()) & set(before.urls()):
        assert (response(site, url) != response(before, url)) == (url in changes.edited)
    assert {HOME, url_of("courier/"), url_of("market/")} <= changes.edited
    assert len(changes.edited) < 0.05 * len(site.urls())


def test_a_crawl_proves_enough_without_staying_in_the_calendar(site: TownSite, tmp_path: Path) -> None:
    with TownServer(site) as web:
        home = url_at_port(HOME, web.port)
        settings = {"crawl": {"robots": True}}
        report = crawled(web, home, tmp_path / "c", scope="site", until=0.98, budget=4000, settings=settings)
        requested = [f"http://{host.partition(':')[0]}{target}" for host, target in web.requests]
    assert report.goal_reached
    assert report.stopped_because == "coverage"
    proved = report.figures.certificate
    assert 0.98 <= proved.lower <= proved.upper < 1
    assert 0 < proved.blocked < 0.02
    assert 0 < sum(url.startswith(CALENDAR) for url in requested) < 200
    assert not any(url.startswith(NOT_FOR_ROBOTS) for url in requested)
    stored = StoredCrawl(tmp_path / "c")
    assert all(is_of_town(url) for url in stored.fetched_urls())
    assert {stored.outcome(url) for url in stored.urls} >= {"ok", "http 404", "redirect", "robots.txt", "unwanted type"}


def test_a_page_with_the_tag_of_the_request_is_not_sent_again() -> None:
    town = TownSite()
    with TownServer(town) as web:
        status, headers, body = fetch(web.port, HOME)
        assert (status, body) == (200, response(town, HOME).body)
        tag = headers["etag"]
        for sent in (tag, f"W/{tag}", f'"other", {tag}'):
            again = fetch(web.port, HOME, headers={"If-None-Match": sent})
            assert (again[0], again[1]["etag"], again[2]) == (304, tag, b"")
        town.pass_a_week()
        assert fetch(web.port, HOME, headers={"If-None-Match": tag})[0] == 200
        assert fetch(web.port, url_of("www/nothing-here"), headers={"If-None-Match": tag})[0] == 404


def test_a_port_in_use_is_an_error(site: TownSite) -> None:
    with TownServer(site) as web, pytest.raises(OSError, match="in use"):
        TownServer(site, web.port)
