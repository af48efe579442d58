"""Real spiders on the fake web, each in a process of its own."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import orienteer as ori
from orienteer.graph.reach import UNREACHED, distances
from orienteer.graph.synthetic import synthetic_web
from tests.fake_web.fake_response import FakeResponse, redirect_to
from tests.fake_web.graph_site import GraphSite
from tests.fake_web.server import FakeWeb
from tests.fake_web.site import MadeSite, RequestHeaders
from tests.live.live_crawls import hub
from tests.scrapy.projects import ASYNCIO, CLASSIC, ONE_LINE, Project

pytestmark = pytest.mark.long

pytest.importorskip("scrapy", reason="Scrapy is not installed: pip install 'orienteer[scrapy]'")

SITE = GraphSite(synthetic_web(150))
STARTS = [f"http://{host}/" for host in SITE.hosts]
HOME = "http://a.test/"


def page_with(*links: str) -> str:
    return "".join(f"<a href='{link}'>{link}</a> " for link in links)


def reached() -> set[str]:
    """The URLs of all pages that one gets to."""
    starts = [SITE.page_of(url) for url in STARTS]
    return {SITE.url_of(int(page)) for page in np.flatnonzero(distances(SITE.graph, starts) != UNREACHED)}


@pytest.mark.parametrize(
    ("spider", "settings"),
    [
        ("follow", ONE_LINE | {"TWISTED_REACTOR": ASYNCIO}),
        ("follow-async", {"ADDONS": {}, "SCHEDULER": "orienteer.scrapy.Scheduler", "TWISTED_REACTOR": CLASSIC}),
        ("rules", ONE_LINE | {"JOBDIR": "job"}),
    ],
)
def test_a_spider_gets_all_pages(spider: str, settings: dict[str, Any], tmp_path: Path) -> None:
    if "JOBDIR" in settings:
        settings = settings | {"JOBDIR": str(tmp_path / "job")}
    with FakeWeb(SITE) as web:
        project = Project(web, tmp_path, spider, STARTS, **settings)
        stats = project.run()
        n_requests = len(web.requests)
    # Rules are for links: a start page that nothing links to has no item.
    assert reached() - set(STARTS) <= project.item_urls() <= reached()
    assert spider == "rules" or project.item_urls() == reached()
    assert stats["reason"] == "finished"
    assert stats["orienteer/pages/fetched"] == stats["orienteer/pages/known"] == n_requests
    assert stats["orienteer/pages/started_from"] == len(STARTS)
    assert 1 - 1e-6 < stats["orienteer/coverage_lower"] <= stats["orienteer/coverage_upper"] <= 1
    assert stats["scheduler/enqueued"] == stats["scheduler/dequeued"] == n_requests
    assert "ERROR" not in project.log()
    assert "Traceback" not in project.log()
    assert (tmp_path / "job" / "orienteer" / "requests.db").exists() == ("JOBDIR" in settings)


def test_it_stops_when_the_coverage_is_proved_and_that_is_true(tmp_path: Path) -> None:
    with FakeWeb(SITE) as web:
        project = Project(web, tmp_path, "follow", STARTS, CLOSESPIDER_COVERAGE=0.9, CONCURRENT_REQUESTS=2)
        stats = project.run()
        asked = [f"http://{host}{target}" for _, host, target in web.requests]
    assert stats["reason"] == "closespider_coverage"
    assert 0.9 <= stats["orienteer/coverage_lower"] <= stats["orienteer/coverage_upper"]
    assert len(asked) < len(reached()), "it need not fetch all for that"
    rank = ori.pagerank(SITE.graph, [SITE.page_of(url) for url in STARTS], tolerance=1e-10)
    truth = rank[[SITE.page_of(url) for url in set(asked)]].sum()
    assert truth >= stats["orienteer/coverage_lower"] - 1e-6


def test_it_stops_when_the_coverage_is_measured_and_that_is_true(tmp_path: Path) -> None:
    """It claims the goal, or what is proved where that is more, as the pages that were in flight may still add to it.

    The walks differ each time. With many links between hosts they mostly need two thirds of the pages of a proof, but
    a proof may come first.
    """
    site, until = GraphSite(synthetic_web(2000, inter_host=0.3, rng=5)), 0.8
    start = hub(site)
    with FakeWeb(site) as web:
        measured = {"CLOSESPIDER_COVERAGE": until, "ORIENTEER_CONFIDENCE": 0.99, "JOBDIR": str(tmp_path / "job")}
        project = Project(web, tmp_path, "follow", [start], CONCURRENT_REQUESTS=8, **measured)
        stats = project.run()
        asked = {f"http://{host}{target}" for _, host, target in web.requests}
    assert stats["reason"] == "closespider_coverage"
    assert stats["orienteer/measured/evidence"] == 1 or stats["orienteer/coverage_lower"] >= until
    assert stats["orienteer/measured/lower"] == max(until, stats["orienteer/coverage_lower"])
    assert stats["orienteer/measured/walks"] > 10
    assert stats["orienteer/measured/confidence"] == 0.99
    rank = ori.pagerank(site.graph, [site.page_of(start)], tolerance=1e-10)
    assert rank[[site.page_of(url) for url in asked]].sum() >= until
    assert project.item_urls() >= asked, "pages for walks go through the spider's own callbacks"
    assert "ERROR" not in project.log()


def test_responses_by_status(tmp_path: Path) -> None:
    """Retries, redirects, pages that are gone, forbidden, or never there."""
    tries: Counter[str] = Counter()

    def now_and_then(host: str, target: str, headers: RequestHeaders) -> FakeResponse:
        tries[target] += 1
        return FakeResponse(status=503) if tries[target] < 3 else FakeResponse(page_with("/behind"))

    pages: dict[str, Any] = {
        HOME: page_with("/sometimes", "/moved", "/to-known", "/gone", "/secret", "/never", "/private", "/to-itself"),
        "http://a.test/sometimes": now_and_then,
        "http://a.test/behind": page_with(),
        "http://a.test/moved": redirect_to("/moved-on", 302),
        "http://a.test/moved-on": redirect_to("/here"),
        "http://a.test/here": page_with("/"),
        "http://a.test/to-known": redirect_to("/sometimes"),
        "http://a.test/to-itself": redirect_to("/to-itself"),
        "http://a.test/secret": FakeResponse(status=403),
        "http://a.test/never": FakeResponse(status=500),
    }
    site = MadeSite(pages, robots={"a.test": "User-agent: *\nDisallow: /private"})
    with FakeWeb(site) as web:
        settings = {"ORIENTEER_DIR": str(tmp_path / "requests"), "ROBOTSTXT_OBEY": True}
        project = Project(web, tmp_path, "follow", [HOME], **settings)
        stats = project.run()
        asked = Counter(target for _, _, target in web.requests)
    assert project.item_urls() == {HOME, *(f"http://a.test/{name}" for name in ("sometimes", "behind", "here"))}
    assert asked["/sometimes"] == 3
    assert asked["/never"] == 3  # RETRY_TIMES is 2
    assert asked["/here"] == asked["/gone"] == asked["/secret"] == asked["/to-itself"] == 1
    assert asked["/private"] == 0
    # Fetched: the home page as a start and as a link, three more pages, three redirects.
    assert stats["orienteer/pages/fetched"] == 8
    assert stats["orienteer/pages/failed"] == 1  # /gone
    assert stats["orienteer/pages/blocked"] == 4  # also the redirect that leads to itself
    assert stats["orienteer/blocked"] > 0.1
    proved = ("orienteer/coverage_lower", "orienteer/blocked", "orienteer/unknown")
    assert sum(stats[name] for name in proved) == pytest.approx(1, abs=1e-6)


def test_requests_keep_their_attributes(tmp_path: Path) -> None:
    def says_cookie(host: str, target: str, headers: RequestHeaders) -> FakeResponse:
        return FakeResponse("", headers=(("X-Cookie", headers.get("Cookie") or ""),))

    site = MadeSite({HOME: "home"} | {f"http://a.test/p{k}": says_cookie for k in range(3)})
    with FakeWeb(site) as web:
        project = Project(web, tmp_path, "belongings", [HOME], ORIENTEER_DIR=str(tmp_path / "requests"))
        project.settings["CONCURRENT_REQUESTS"] = 1  # cookies are those of the session by then
        stats = project.run()
    pages = {item["url"][-2:]: item for item in project.items() if item["meta"]["deep"]}
    for k in range(3):
        assert pages[f"p{k}"]["meta"] == {"k": k, "deep": {"list": [k, "x"]}}
        assert pages[f"p{k}"]["word"] == f"w{k}"
        assert pages[f"p{k}"]["own"] == f"h{k}"
        assert pages[f"p{k}"]["cookie"] == f"session=s{k}"
    forms = [item["meta"]["k"] for item in project.items() if item["url"].endswith("/form")]
    assert sorted(forms) == [0, 1], "a request with another body is another page"
    of_p0 = [item["meta"]["k"] for item in project.items() if item["url"].endswith("/p0")]
    assert sorted(map(str, of_p0)) == ["0", "again"], "the same URL with other meta is not, unless it insists"
    assert stats["dupefilter/filtered"] == 1
    assert stats["orienteer/pages/known"] == 7


def test_priority_is_a_boost(tmp_path: Path) -> None:
    links = [f"/p{k}" for k in range(6)]
    site = MadeSite({HOME: page_with(*links)} | {f"http://a.test{link}": "" for link in links})
    with FakeWeb(site) as web:
        project = Project(web, tmp_path, "prioritised", [HOME], CONCURRENT_REQUESTS=1)
        project.run()
        asked = [target for _, _, target in web.requests]
    assert asked == ["/", *reversed(links)]


def test_it_waits_for_delays_and_does_not_end_early(tmp_path: Path) -> None:
    chain = {f"http://a.test/{k or ''}": page_with(f"/{k + 1}") for k in range(6)}
    with FakeWeb(MadeSite(chain)) as web:
        settings = {"DOWNLOAD_DELAY": 0.4, "DOWNLOAD_DELAY_JITTER": 0.0, "TWISTED_REACTOR": CLASSIC}
        project = Project(web, tmp_path, "follow", [HOME], **settings)
        stats = project.run()
        times = [time for time, _, _ in web.requests]
    assert len(project.items()) == 6
    assert stats["reason"] == "finished"
    assert len(times) == 7
    # A busy machine may see one request late, which makes the next gap short.
    assert np.median(np.diff(times)) >= 0.35
    assert times[-1] - times[0] >= 3 * 0.4


def test_a_host_that_must_wait_does_not_hold_up_the_others(tmp_path: Path) -> None:
    """Twelve pages of a slow host and thirty of quick ones, four requests at a time."""
    slow = [f"http://slow.test/{k}" for k in range(12)]
    quick = [f"http://quick{k % 3}.test/{k}" for k in range(30)]
    site = MadeSite({HOME: page_with(*slow, *quick)} | dict.fromkeys(slow + quick, ""))
    with FakeWeb(site) as web:
        settings = {"DOWNLOAD_SLOTS": {"slow.test": {"concurrency": 1, "delay": 0.25}}, "CONCURRENT_REQUESTS": 4}
        project = Project(web, tmp_path, "follow", [HOME], **settings)
        project.run()
        hosts = [host for _, host, _ in web.requests]
    assert len(project.items()) == 43
    last_quick = max(k for k, host in enumerate(hosts) if host.startswith("quick"))
    assert hosts[:last_quick].count("slow.test") < 10, (
        "in the order of the links it would have been asked twelve times before"
    )


def test_requests_made_of_others(tmp_path: Path) -> None:
    """By a callback with the same request object; by an errback, which starts from another host."""
    pages = {HOME: page_with("/b", "/down"), "http://a.test/b": "", "http://a.test/down": FakeResponse(reset=True)}
    with FakeWeb(MadeSite(pages | {"http://other.test/": page_with()})) as web:
        project = Project(web, tmp_path, "insistent", [HOME], RETRY_TIMES=1)
        stats = project.run()
        asked = Counter(f"http://{host}{target}" for _, host, target in web.requests)
    # In addition, Twisted itself retries once if a reused connection is reset.
    assert 2 <= asked.pop("http://a.test/down") <= 4
    assert asked == {HOME: 2, "http://a.test/b": 2, "http://other.test/": 1}
    assert project.item_urls() == {HOME, "http://a.test/b", "http://other.test/"}
    assert stats["orienteer/pages/started_from"] == 2
    assert stats["orienteer/pages/blocked"] == 1


def test_requests_that_cannot_be_serialized_stay_in_memory_with_one_warning(tmp_path: Path) -> None:
    site = MadeSite({HOME: page_with("/b", "/c"), "http://a.test/b": page_with("/d"), "http://a.test/c": ""})
    with FakeWeb(site) as web:
        project = Project(web, tmp_path, "lambdas", [HOME], ORIENTEER_DIR=str(tmp_path / "requests"))
        stats = project.run()
    assert project.item_urls() == {HOME, "http://a.test/b", "http://a.test/c"}
    assert stats["orienteer/unwritten_requests"] == 3
    assert project.log().count("cannot be serialized") == 1


def test_a_bad_setting_is_one_error_line_and_no_request(tmp_path: Path) -> None:
    with FakeWeb(SITE) as web:
        project = Project(web, tmp_path, "follow", STARTS, ORIENTEER_POLICY="certifed", LOG_LEVEL="WARNING")
        stats = project.run()
        assert web.requests == []
    assert stats["reason"] == "orienteer_error"
    (line,) = project.log().splitlines()
    assert "ORIENTEER_POLICY: no policy named 'certifed'; did you mean 'certified'?" in line
