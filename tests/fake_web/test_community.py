"""The town of the demo: believable to a reader, and as awkward to a crawler as a real one."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from orienteer.extract import near_duplicates
from orienteer.extract.page import Page, extract_page
from orienteer.fake_web.community import events
from orienteer.fake_web.community.addresses import (
    CAR_PARK,
    COURIER,
    DOME,
    HALL,
    HOME,
    IRON_BRIDGE,
    LANTERNS,
    LIBRARY,
    MARKET,
    SCHOOL,
    TOWN,
    VISIT,
    at,
)  # fmt: skip
from orienteer.fake_web.community.site import CommunitySite, is_of_town, url_at_port
from orienteer.fake_web.fake_response import FakeResponse
from orienteer.fake_web.server import FakeWeb
from orienteer.fake_web.site import RequestHeaders, TaggedSite, host_and_target
from tests.fake_web.client import fetch
from tests.live.live_crawls import StoredCrawl, crawled

NO_HEADERS = RequestHeaders(b"")
NOT_FOR_ROBOTS = (at(HALL, "/internal/"), at(LIBRARY, "/catalogue/"), at(SCHOOL, "/marks/"))
CALENDAR = at(HALL, events.PATH)


@pytest.fixture(scope="module")
def site() -> CommunitySite:
    return CommunitySite()


@pytest.fixture(scope="module")
def pages(site: CommunitySite) -> dict[str, Page]:
    """Every page, as a crawler reads it."""
    return {url: read(site, url) for url in site.urls()}


@pytest.fixture(scope="module")
def links(pages: dict[str, Page]) -> dict[str, list[str]]:
    return {url: page.links for url, page in pages.items()}


def response(site: CommunitySite, url: str) -> FakeResponse:
    return site.response(*host_and_target(url), NO_HEADERS)


def read(site: CommunitySite, url: str) -> Page:
    answered = response(site, url)
    assert answered.status == 200, url
    assert isinstance(answered.body, str)
    return extract_page(answered.body.encode(), url)


def depths(site: CommunitySite, links: dict[str, list[str]]) -> dict[str, int]:
    """How many links lead from the town hall to each page of the town, the calendar left out."""
    found, depth, todo = {HOME: 0}, 0, [HOME]
    while todo:
        depth += 1
        targets = [target for url in todo for target in links.get(url) or moved_to(site, url)]
        todo = [url for url in dict.fromkeys(targets) if url not in found and is_of_town(url) and CALENDAR not in url]
        found |= dict.fromkeys(todo, depth)
    return found


def moved_to(site: CommunitySite, url: str) -> list[str]:
    return [value for name, value in response(site, url).headers if name == "Location"]


def linking(links: dict[str, list[str]], target: str, in_town: bool) -> int:
    return sum(target in found for url, found in links.items() if is_of_town(url) == in_town)


def test_it_is_the_same_every_time_and_another_for_another_rng(site: CommunitySite) -> None:
    again, other = CommunitySite(), CommunitySite(rng=1)
    assert site.urls() == again.urls()
    assert all(response(site, url) == response(again, url) for url in site.urls())
    assert response(site, HOME) != response(other, HOME)


def test_its_size_and_its_hosts(site: CommunitySite) -> None:
    assert 1500 <= len(site.town_urls()) < len(site.urls()) <= 3100
    assert len({host_and_target(url)[0] for url in site.town_urls()}) == 12
    assert len({host_and_target(url)[0] for url in site.urls()}) == 22


def test_pages_have_titles_texts_and_languages(pages: dict[str, Page]) -> None:
    assert all(page.title and page.headings[0] == page.title for page in pages.values())
    assert {page.language for page in pages.values()} == {"en", "de", "fr"}
    assert sum(len(page.text.split()) > 60 for page in pages.values()) > 0.8 * len(pages)
    assert not any("{" in page.text or "\x00" in page.text for page in pages.values())


def test_every_page_of_the_town_can_be_reached_some_by_many_links(
    site: CommunitySite, links: dict[str, list[str]]
) -> None:
    found = depths(site, links)
    assert set(site.town_urls()) <= set(found)
    assert max(found.values()) > 20
    assert sum(depth > 6 for depth in found.values()) > 100


def test_some_links_are_dead_some_have_moved_some_are_files(site: CommunitySite, links: dict[str, list[str]]) -> None:
    targets = {target for found in links.values() for target in found} - links.keys()
    statuses = {url: response(site, url).status for url in targets if not url.startswith(CALENDAR)}
    assert sum(status == 404 for status in statuses.values()) >= 5
    assert sum(status in (301, 302) for status in statuses.values()) >= 4
    types = [response(site, url).content_type for url, status in statuses.items() if status == 200]
    assert types.count("application/pdf") > 50
    assert types.count("image/png") > 10
    assert set(types) == {"application/pdf", "image/png"}


def test_files_can_be_opened(site: CommunitySite) -> None:
    drawing = response(site, at(VISIT, "/lanterns.png")).body
    assert isinstance(drawing, bytes)
    assert drawing.startswith(b"\x89PNG\r\n\x1a\n")
    document = response(site, at(HALL, "/services/council-tax/form.pdf")).body
    assert isinstance(document, bytes)
    assert document.startswith(b"%PDF-1.4\n")
    assert int(document.split(b"startxref\n")[1].split()[0]) == document.index(b"xref\n0 6")


def test_the_calendar_has_no_end(site: CommunitySite) -> None:
    url = events.first_month(HALL)
    for _ in range(300):
        page = read(site, url)
        assert len(page.links) > 30
        url = next(target for target, text in page.anchors if text == "Next month")
    assert url == at(HALL, "/calendar/2051-05")
    far = read(site, at(HALL, "/calendar/99999-12-31"))
    assert at(HALL, "/calendar/100000-01-01") in far.links
    for never in ("2026-02", "2027-13", "2027-02-30", "2027-02-00", "soon"):
        assert response(site, at(HALL, f"/calendar/{never}")).status == 404


def test_what_is_not_for_robots_is_linked_and_forbidden(site: CommunitySite, links: dict[str, list[str]]) -> None:
    for place in NOT_FOR_ROBOTS:
        assert any(target.startswith(place) for found in links.values() for target in found)
        host, path = host_and_target(place)
        assert f"Disallow: {path}" in str(response(site, at(host, "/robots.txt")).body)


def test_the_world_links_to_other_pages_than_the_town(links: dict[str, list[str]]) -> None:
    for page in (IRON_BRIDGE, DOME, LANTERNS):
        assert linking(links, page, in_town=True) <= 5
        assert linking(links, page, in_town=False) >= 100
    assert linking(links, CAR_PARK, in_town=True) > 500
    assert linking(links, CAR_PARK, in_town=False) == 0
    abroad = {target for url, found in links.items() if is_of_town(url) for target in found if not is_of_town(target)}
    assert len({host_and_target(url)[0] for url in abroad}) == 10


def test_print_versions_repeat_their_articles_and_articles_do_not_repeat_each_other(site: CommunitySite) -> None:
    printed = [url for url in site.urls() if url.endswith("?print=1")][:20]
    texts = [read(site, url.removesuffix("?print=1")).text.split("\n", 2)[2] for url in printed]
    signatures = [near_duplicates.signature(text) or b"" for text in texts]
    for k, url in enumerate(printed):
        again = near_duplicates.signature(read(site, url).text) or b""
        assert near_duplicates.similarity(signatures[k], again) > 0.6
        others = signatures[:k]
        assert max((near_duplicates.similarity(signatures[k], other) for other in others), default=0.0) < 0.5


def test_addresses_have_the_port_of_the_request(site: CommunitySite) -> None:
    answered = site.response(f"{HALL}:8000", "/", NO_HEADERS)
    page = extract_page(str(answered.body).encode(), url_at_port(HOME, 8000))
    assert url_at_port(at(COURIER), 8000) in page.links
    assert all(":8000/" in link for link in page.links)
    moved = site.response(f"{TOWN}:8000", "/", NO_HEADERS)
    assert ("Location", url_at_port(HOME, 8000)) in moved.headers
    assert moved_to(site, at(TOWN)) == [HOME]


def test_hosts_that_do_not_exist_and_what_is_not_there(site: CommunitySite) -> None:
    assert response(site, "http://unknown.localhost/").status == 404
    nothing = response(site, at(MARKET, "/nothing"))
    assert nothing.status == 404
    assert "Quillhaven Market" in str(nothing.body)


def test_a_week_passes() -> None:
    site, before = CommunitySite(), CommunitySite()
    changes = site.pass_a_week()
    assert site.week == 1
    assert min(map(len, changes)) > 5
    assert changes.new == set(site.urls()) - set(before.urls())
    assert changes.deleted == set(before.urls()) - set(site.urls())
    assert all(response(site, url).status == 404 for url in changes.deleted)
    for url in set(site.urls()) & set(before.urls()):
        assert (response(site, url) != response(before, url)) == (url in changes.edited)
    assert {HOME, at(COURIER), at(MARKET)} <= changes.edited
    assert len(changes.edited) < 0.05 * len(site.urls())


def test_a_crawl_proves_enough_without_staying_in_the_calendar(tmp_path: Path) -> None:
    with FakeWeb(TaggedSite(CommunitySite())) as web:
        home = url_at_port(HOME, web.port)
        settings = {"crawl": {"robots": True}}
        report = crawled(web, home, tmp_path / "c", scope="site", until=0.98, budget=4000, settings=settings)
        requested = [f"http://{host.partition(':')[0]}{target}" for _, host, target in web.requests]
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


def test_from_the_shell() -> None:
    command = [sys.executable, "-m", "orienteer.fake_web", "--community"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        port = int(process.stdout.readline().split(";")[0].rpartition(":")[2])
        status, _, body = fetch(port, url_at_port(HOME, port))
        assert status == 200
        assert url_at_port(at(COURIER), port).encode() in body
        process.send_signal(signal.SIGINT)
        assert f"In a browser: {url_at_port(HOME, port)}" in process.stdout.read()
        assert process.wait(300) == 0


@pytest.mark.parametrize("arguments", [[], ["web.npz", "--community"]])
def test_from_the_shell_one_web_must_be_named(arguments: list[str]) -> None:
    command = [sys.executable, "-m", "orienteer.fake_web", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 2
    assert "--community" in done.stderr


def test_a_page_with_the_tag_of_the_request_is_not_sent_again() -> None:
    town = CommunitySite()
    site = TaggedSite(town)

    def requested(url: str, tag: str = "") -> FakeResponse:
        head = f"GET / HTTP/1.1\r\nIf-None-Match: {tag}".encode()
        return site.response(*host_and_target(url), RequestHeaders(head if tag else b""))

    first = requested(HOME)
    assert first.body == response(town, HOME).body
    tag = dict(first.headers)["ETag"]
    for sent in (tag, f"W/{tag}", f'"other", {tag}'):
        again = requested(HOME, sent)
        assert (again.status, again.payload(), dict(again.headers)) == (304, b"", {"ETag": tag})
    town.pass_a_week()
    assert requested(HOME, tag).status == 200
    assert requested(at(HALL, "/nothing-here"), tag) == response(town, at(HALL, "/nothing-here"))
