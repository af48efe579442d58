"""Requests for robots.txt and sitemaps: which ones, and when."""

from __future__ import annotations

import pytest

from orienteer.crawl import host_rules as module
from orienteer.crawl.host_rules import HostRules
from orienteer.pages.outcome import Outcome
from orienteer.responses.headers import Headers
from orienteer.responses.response import HostRequest, HostRequestKind, Response
from orienteer.responses.robots import MAX_ROBOTS_BYTES
from orienteer.responses.sitemaps import MAX_SITEMAP_BYTES

AGENT = "Orienteer/1.0"
PAGE = "http://a.test/page"
HOST = "a.test"
ROBOTS = "http://a.test/robots.txt"
DAY_S = 24 * 3600.0
RULES = b"User-agent: *\nDisallow: /no"


def host_requests(robots: bool = True, sitemaps: bool = True) -> HostRules:
    return HostRules(AGENT, robots, sitemaps)


def response(
    content: bytes = b"", outcome: Outcome = Outcome.OK, status: int = 200, url: str = ROBOTS, location: str = ""
) -> Response:
    headers = Headers([("Location", location)] if location else [])
    return Response(
        HostRequest(url, HostRequestKind.ROBOTS), outcome, status, headers=headers, body=content, content=content
    )


def requested(requests: HostRules, now: float) -> str | None:
    """Return the URL of the next request."""
    request = requests.next(HOST, PAGE, now)
    assert request is None or request.kind is HostRequestKind.ROBOTS
    return None if request is None else request.url


def moved(location: str, url: str = ROBOTS) -> Response:
    return response(outcome=Outcome.REDIRECT, status=301, url=url, location=location)


def allowing(host: str = HOST, now: float = 0.0, rules: bytes = b"") -> HostRules:
    requests = host_requests()
    assert requests.receive_robots(host, response(rules), now) is not None
    return requests


# -- robots.txt -------------------------------------------------------------------------------------------------


def test_robots_txt_comes_first_and_lasts_a_day() -> None:
    requests = host_requests()
    assert requested(requests, 0.0) == ROBOTS
    assert requested(requests, 0.0) == ROBOTS, "until there is a response"
    assert requests.receive_robots(HOST, response(RULES), 100.0) is not None
    assert requests.next(HOST, PAGE, 100.0) is None
    assert (requests.allows(HOST, "http://a.test/no"), requests.allows(HOST, "http://a.test/yes")) == (False, True)
    assert requests.next(HOST, PAGE, 99.0 + DAY_S) is None
    assert requested(requests, 100.0 + DAY_S) == ROBOTS
    requests.receive_robots(HOST, response(b""), 101.0 + DAY_S)
    assert requests.allows(HOST, "http://a.test/no")


def test_each_host_and_port_has_its_own_robots_txt() -> None:
    requests = allowing()
    first = requests.next("b.test:8443", "https://b.test:8443/x?y", 0.0)
    assert first is not None
    assert first.url == "https://b.test:8443/robots.txt"


@pytest.mark.parametrize(
    ("outcome", "status"),
    [(Outcome.SERVER_ERROR, 500), (Outcome.SLOW_DOWN, 429), (Outcome.TIMED_OUT, 0), (Outcome.NO_ADDRESS, 0)],
)
def test_an_unreachable_robots_txt_is_requested_again(outcome: Outcome, status: int) -> None:
    requests = host_requests()
    assert requests.receive_robots(HOST, response(outcome=outcome, status=status), 0.0) is None
    assert requested(requests, 1.0) == ROBOTS
    assert requests.receive_robots(HOST, response(RULES), 2.0) is not None
    assert requests.next(HOST, PAGE, 3.0) is None


def test_a_missing_robots_txt_allows_everything() -> None:
    requests = host_requests()
    assert requests.receive_robots(HOST, response(outcome=Outcome.CLIENT_ERROR, status=404), 0.0) is not None
    assert requests.next(HOST, PAGE, 0.0) is None
    assert requests.allows(HOST, "http://a.test/no")


def test_five_redirects_are_followed_to_any_host() -> None:
    requests = host_requests()
    for k in range(5):
        assert requests.receive_robots(HOST, moved(f"http://b.test/{k}"), 0.0) is None
        assert requested(requests, 0.0) == f"http://b.test/{k}"
    assert requests.receive_robots(HOST, response(RULES), 0.0) is not None
    assert not requests.allows(HOST, "http://a.test/no"), "the rules apply to the first host"
    assert requested(requests, DAY_S) == ROBOTS, "the next day it may have moved"


def test_a_sixth_redirect_counts_as_no_rules() -> None:
    requests = host_requests()
    for k in range(5):
        assert requests.receive_robots(HOST, moved(f"/robots.txt?{k}"), 0.0) is None
    assert requests.receive_robots(HOST, moved("/robots.txt"), 0.0) is not None
    assert requests.allows(HOST, "http://a.test/no")


def test_a_failed_redirect_target_starts_again() -> None:
    requests = host_requests()
    requests.receive_robots(HOST, moved("http://b.test/"), 0.0)
    assert requests.receive_robots(HOST, response(outcome=Outcome.NO_CONNECTION, status=0), 0.0) is None
    assert requested(requests, 0.0) == ROBOTS


def test_without_robots_nothing_is_requested() -> None:
    requests = host_requests(robots=False)
    assert requests.next(HOST, PAGE, 0.0) is None
    assert requests.allows(HOST, PAGE)
    requests.queue_sitemaps(HOST, ["http://a.test/map.xml"])
    assert requests.next(HOST, PAGE, 0.0) is None


def test_rules_are_cached_by_last_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MAX_HOSTS", 3)
    requests = host_requests()
    names = ["a.test", "b.test", "c.test", "d.test"]
    for host in names[:3]:
        requests.receive_robots(host, response(RULES), 0.0)
    assert requests.next("a.test", PAGE, 0.0) is None, "b.test is now the least recently used"
    requests.receive_robots("d.test", response(RULES), 0.0)
    assert [requests.next(host, PAGE, 0.0) is None for host in ("a.test", "c.test", "d.test")] == [True] * 3
    assert requests.next("b.test", PAGE, 0.0) is not None


# -- sitemaps ---------------------------------------------------------------------------------------------------


def maps(n: int, prefix: str = "map") -> list[str]:
    return [f"http://a.test/{prefix}{k}.xml" for k in range(n)]


def take_all(requests: HostRules, host: str = HOST) -> list[str]:
    """Return the URLs of all remaining requests in order."""
    found = []
    while (host_request := requests.next(host, PAGE, 0.0)) is not None:
        assert host_request.kind is HostRequestKind.SITEMAP
        found.append(host_request.url)
    return found


def test_sitemaps_are_requested_in_order() -> None:
    requests = allowing()
    requests.queue_sitemaps(HOST, maps(3))
    assert take_all(requests) == maps(3)
    assert requests.next(HOST, PAGE, 0.0) is None


def test_sitemaps_wait_for_robots_txt_and_obey_it() -> None:
    requests = host_requests()
    requests.queue_sitemaps(HOST, ["http://a.test/no/map.xml", "http://a.test/map.xml"])
    assert requested(requests, 0.0) == ROBOTS
    requests.receive_robots(HOST, response(RULES), 0.0)
    assert take_all(requests) == ["http://a.test/map.xml"]


def test_the_sitemaps_of_a_host_are_limited() -> None:
    requests = allowing()
    requests.queue_sitemaps(HOST, maps(40))
    assert len(take_all(requests)) == 40
    requests.queue_sitemaps(HOST, maps(40, "more"))
    assert len(take_all(requests)) == 10
    requests.queue_sitemaps(HOST, maps(40, "still-more"))
    assert take_all(requests) == []


def test_a_sitemap_is_read_once_however_often_it_is_named() -> None:
    """An index may name itself; robots.txt names the same ones every day."""
    requests = allowing()
    requests.queue_sitemaps(HOST, maps(2) + maps(2))
    assert take_all(requests) == maps(2)
    requests.queue_sitemaps(HOST, maps(3))
    assert take_all(requests) == maps(3)[2:]


def test_a_failed_sitemap_is_requested_again() -> None:
    requests = allowing()
    requests.queue_sitemaps(HOST, maps(2))
    first = requests.next(HOST, PAGE, 0.0)
    assert first is not None
    requests.requeue(HOST, first.url)
    assert take_all(requests) == maps(2)


def test_sitemaps_can_be_switched_off() -> None:
    requests = host_requests(sitemaps=False)
    requests.receive_robots(HOST, response(), 0.0)
    requests.queue_sitemaps(HOST, maps(3))
    assert requests.next(HOST, PAGE, 0.0) is None


def test_pages_and_sitemaps_of_a_sitemap() -> None:
    requests = allowing()
    index = b"<sitemapindex><sitemap><loc>/more.xml</loc></sitemap></sitemapindex>"
    pages = b"<urlset><url><loc>http://a.test/x</loc></url><url><loc>/y</loc></url></urlset>"
    url = "http://a.test/map.xml"
    assert requests.receive_sitemap(response(index, url=url)) == ([], ["http://a.test/more.xml"])
    assert requests.receive_sitemap(response(pages, url=url)) == (["http://a.test/x", "http://a.test/y"], [])
    assert requests.receive_sitemap(response(b"rubbish", url=url)) == ([], [])
    assert requests.receive_sitemap(response(pages, Outcome.CLIENT_ERROR, 404, url)) == ([], [])


def test_host_requests_have_their_own_size_limits() -> None:
    requests = host_requests()
    robots = requests.next(HOST, PAGE, 0.0)
    requests.receive_robots(HOST, response(), 0.0)
    requests.queue_sitemaps(HOST, maps(1))
    sitemap = requests.next(HOST, PAGE, 0.0)
    assert robots is not None
    assert sitemap is not None
    assert (robots.max_body_bytes, sitemap.max_body_bytes) == (MAX_ROBOTS_BYTES, MAX_SITEMAP_BYTES)


def test_the_sitemaps_of_new_rules_are_returned_once() -> None:
    """A page queues them, even if an asset was the first to need the rules."""
    requests = host_requests()
    assert requests.new_rules(HOST) is None
    requests.receive_robots(HOST, response(b"Sitemap: http://a.test/map.xml"), 0.0)
    robots = requests.new_rules(HOST)
    assert robots is not None
    assert robots.sitemaps == ["http://a.test/map.xml"]
    assert requests.new_rules(HOST) is None
