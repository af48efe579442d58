"""What is asked of a host besides its pages, and when."""

from __future__ import annotations

import pytest

from orienteer.answers.answer import Fetched, Request
from orienteer.answers.headers import Headers
from orienteer.answers.robots import MAX_ROBOTS_BYTES
from orienteer.answers.sitemaps import MAX_SITEMAP_BYTES
from orienteer.live import errands as module
from orienteer.live.errands import Errand, Errands
from orienteer.pages.outcome import Outcome

AGENT = "Orienteer/1.0"
PAGE = "http://a.test/page"
ROBOTS = Errand("http://a.test/robots.txt", is_robots=True)
DAY_S = 24 * 3600.0
RULES = b"User-agent: *\nDisallow: /no"


def errands(robots: bool = True, sitemaps: bool = True) -> Errands:
    return Errands(AGENT, robots, sitemaps)


def answer(
    content: bytes = b"", outcome: Outcome = Outcome.OK, status: int = 200, url: str = ROBOTS.url, location: str = ""
) -> Fetched:
    headers = Headers([("Location", location)] if location else [])
    return Fetched(Request(url, 0), outcome, status, headers=headers, body=content, content=content)


def moved(location: str, url: str = ROBOTS.url) -> Fetched:
    return answer(outcome=Outcome.REDIRECT, status=301, url=url, location=location)


def allowing(host: int = 0, now: float = 0.0, rules: bytes = b"") -> Errands:
    asked = errands()
    assert asked.robots_came(host, answer(rules), now) is not None
    return asked


# -- robots.txt -------------------------------------------------------------------------------------------------


def test_robots_txt_comes_first_and_lasts_a_day() -> None:
    asked = errands()
    assert asked.next(0, PAGE, 0.0) == ROBOTS
    assert asked.next(0, PAGE, 0.0) == ROBOTS, "until there is an answer"
    assert asked.robots_came(0, answer(RULES), 100.0) is not None
    assert asked.next(0, PAGE, 100.0) is None
    assert (asked.allows(0, "http://a.test/no"), asked.allows(0, "http://a.test/yes")) == (False, True)
    assert asked.next(0, PAGE, 99.0 + DAY_S) is None
    assert asked.next(0, PAGE, 100.0 + DAY_S) == ROBOTS
    asked.robots_came(0, answer(b""), 101.0 + DAY_S)
    assert asked.allows(0, "http://a.test/no")


def test_each_host_has_its_own_and_so_has_each_port() -> None:
    asked = allowing(host=0)
    assert asked.next(1, "https://b.test:8443/x?y", 0.0) == Errand("https://b.test:8443/robots.txt", is_robots=True)


@pytest.mark.parametrize(
    ("outcome", "status"),
    [(Outcome.SERVER_ERROR, 500), (Outcome.SLOW_DOWN, 429), (Outcome.TIMED_OUT, 0), (Outcome.NO_ADDRESS, 0)],
)
def test_while_it_is_out_of_reach_it_is_asked_for_again(outcome: Outcome, status: int) -> None:
    asked = errands()
    assert asked.robots_came(0, answer(outcome=outcome, status=status), 0.0) is None
    assert asked.next(0, PAGE, 1.0) == ROBOTS
    assert asked.robots_came(0, answer(RULES), 2.0) is not None
    assert asked.next(0, PAGE, 3.0) is None


def test_where_there_is_none_all_is_allowed() -> None:
    asked = errands()
    assert asked.robots_came(0, answer(outcome=Outcome.CLIENT_ERROR, status=404), 0.0) is not None
    assert asked.next(0, PAGE, 0.0) is None
    assert asked.allows(0, "http://a.test/no")


def test_five_redirects_are_followed_to_any_host() -> None:
    asked = errands()
    for k in range(5):
        assert asked.robots_came(0, moved(f"http://b.test/{k}"), 0.0) is None
        assert asked.next(0, PAGE, 0.0) == Errand(f"http://b.test/{k}", is_robots=True)
    assert asked.robots_came(0, answer(RULES), 0.0) is not None
    assert not asked.allows(0, "http://a.test/no"), "the rules are of the host that was asked first"
    assert asked.next(0, PAGE, DAY_S) == ROBOTS, "the next day it may be elsewhere"


def test_a_sixth_redirect_is_as_good_as_no_rules() -> None:
    asked = errands()
    for k in range(5):
        assert asked.robots_came(0, moved(f"/robots.txt?{k}"), 0.0) is None
    assert asked.robots_came(0, moved("/robots.txt"), 0.0) is not None
    assert asked.allows(0, "http://a.test/no")


def test_a_redirect_that_leads_nowhere_starts_anew() -> None:
    asked = errands()
    asked.robots_came(0, moved("http://b.test/"), 0.0)
    assert asked.robots_came(0, answer(outcome=Outcome.NO_CONNECTION, status=0), 0.0) is None
    assert asked.next(0, PAGE, 0.0) == ROBOTS


def test_who_does_not_mind_robots_asks_nothing() -> None:
    asked = errands(robots=False)
    assert asked.next(0, PAGE, 0.0) is None
    assert asked.allows(0, PAGE)
    asked.expect_sitemaps(0, ["http://a.test/map.xml"])
    assert asked.next(0, PAGE, 0.0) is None


def test_rules_are_kept_of_the_hosts_asked_last(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MAX_HOSTS", 3)
    asked = errands()
    for host in range(3):
        asked.robots_came(host, answer(RULES), 0.0)
    assert asked.next(0, PAGE, 0.0) is None, "host 1 is now the one asked longest ago"
    asked.robots_came(3, answer(RULES), 0.0)
    assert [asked.next(host, PAGE, 0.0) is None for host in (0, 2, 3)] == [True] * 3
    assert asked.next(1, PAGE, 0.0) == ROBOTS


# -- sitemaps ---------------------------------------------------------------------------------------------------


def maps(n: int, prefix: str = "map") -> list[str]:
    return [f"http://a.test/{prefix}{k}.xml" for k in range(n)]


def asked_in_turn(asked: Errands, host: int = 0) -> list[str]:
    """All errands that are left, in their order."""
    found = []
    while (errand := asked.next(host, PAGE, 0.0)) is not None:
        assert not errand.is_robots
        found.append(errand.url)
    return found


def test_sitemaps_follow_one_by_one() -> None:
    asked = allowing()
    asked.expect_sitemaps(0, maps(3))
    assert asked_in_turn(asked) == maps(3)
    assert asked.next(0, PAGE, 0.0) is None


def test_sitemaps_wait_for_robots_txt_and_keep_to_it() -> None:
    asked = errands()
    asked.expect_sitemaps(0, ["http://a.test/no/map.xml", "http://a.test/map.xml"])
    assert asked.next(0, PAGE, 0.0) == ROBOTS
    asked.robots_came(0, answer(RULES), 0.0)
    assert asked_in_turn(asked) == ["http://a.test/map.xml"]


def test_there_is_an_end_to_the_sitemaps_of_a_host() -> None:
    asked = allowing()
    asked.expect_sitemaps(0, maps(40))
    assert len(asked_in_turn(asked)) == 40
    asked.expect_sitemaps(0, maps(40, "more"))
    assert len(asked_in_turn(asked)) == 10
    asked.expect_sitemaps(0, maps(40, "still-more"))
    assert asked_in_turn(asked) == []


def test_a_sitemap_is_read_once_however_often_it_is_named() -> None:
    """An index may name itself; robots.txt names the same ones every day."""
    asked = allowing()
    asked.expect_sitemaps(0, maps(2) + maps(2))
    assert asked_in_turn(asked) == maps(2)
    asked.expect_sitemaps(0, maps(3))
    assert asked_in_turn(asked) == maps(3)[2:]


def test_one_that_could_not_be_had_is_asked_for_again() -> None:
    asked = allowing()
    asked.expect_sitemaps(0, maps(2))
    first = asked.next(0, PAGE, 0.0)
    assert first is not None
    asked.ask_again(0, first)
    assert asked_in_turn(asked) == maps(2)


def test_sitemaps_may_be_unwanted() -> None:
    asked = errands(sitemaps=False)
    asked.robots_came(0, answer(), 0.0)
    asked.expect_sitemaps(0, maps(3))
    assert asked.next(0, PAGE, 0.0) is None


def test_what_a_sitemap_says() -> None:
    asked = allowing()
    index = b"<sitemapindex><sitemap><loc>/more.xml</loc></sitemap></sitemapindex>"
    pages = b"<urlset><url><loc>http://a.test/x</loc></url><url><loc>/y</loc></url></urlset>"
    url = "http://a.test/map.xml"
    assert asked.sitemap_came(answer(index, url=url)) == ([], ["http://a.test/more.xml"])
    assert asked.sitemap_came(answer(pages, url=url)) == (["http://a.test/x", "http://a.test/y"], [])
    assert asked.sitemap_came(answer(b"rubbish", url=url)) == ([], [])
    assert asked.sitemap_came(answer(pages, Outcome.CLIENT_ERROR, 404, url)) == ([], [])


def test_an_errand_has_its_own_limit() -> None:
    assert ROBOTS.max_body_bytes == MAX_ROBOTS_BYTES
    assert Errand("http://a.test/map.xml", is_robots=False).max_body_bytes == MAX_SITEMAP_BYTES
