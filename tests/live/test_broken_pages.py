"""Some pages of a host are broken: the others are crawled all the same."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from orienteer.pages.states import PageState
from tests.fake_web.fake_response import FakeResponse, redirect_to
from tests.fake_web.faults import Faulty
from tests.fake_web.server import FakeWeb
from tests.fake_web.site import MadeSite
from tests.live.live_crawls import StoredCrawl, crawled

pytestmark = pytest.mark.long

N_GOOD = 60
ILL = {
    "500": lambda: FakeResponse("out of order", 500),
    "redirect to nowhere": lambda: redirect_to("mailto:info@a.test", 302),
    "cut off": lambda: FakeResponse("<p>half a page", cut_after=4),
    "reset": lambda: FakeResponse(reset=True),
    "slow down": lambda: FakeResponse(status=429),
    "time-out": lambda: FakeResponse("at last", delay_s=30.0),
}


def site_with(broken: Callable[[], FakeResponse]) -> MadeSite:
    """A home page that links to three broken pages first, then to sixty good ones."""
    home = "".join(f"<a href=/broken{k}>" for k in range(3)) + "".join(f"<a href=/{k}>" for k in range(N_GOOD))
    pages: dict[str, FakeResponse | str] = {f"http://a.test/broken{k}": broken() for k in range(3)}
    return MadeSite(pages | {"http://a.test/": home} | {f"http://a.test/{k}": f"<p>{k}" for k in range(N_GOOD)})


CASES = [(kind, n) for kind in ILL for n in (1, 8) if (kind, n) != ("time-out", 1)]


@pytest.mark.parametrize(("kind", "connections"), CASES)
def test_three_broken_pages_cost_three_pages(kind: str, connections: int, tmp_path: Path) -> None:
    settings = {
        "politeness": {"connections": connections, "delay_s": 0.002},
        "fetch": {"timeout_s": 1.0 if kind == "time-out" else 30.0},
        "retry": {"back_off_s": 0.01, "max_back_off_s": 300.0},
    }
    with FakeWeb(site_with(ILL[kind])) as web:
        report = crawled(web, "http://a.test/", tmp_path, policy="breadth-first", settings=settings)
        n_tries = [web.count(f"http://a.test/broken{k}") for k in range(3)]
    stored = StoredCrawl(tmp_path)
    assert stored.fetched_urls() == {"http://a.test/", *(f"http://a.test/{k}" for k in range(N_GOOD))}
    rows = [stored.rows[f"http://a.test/broken{k}"] for k in range(3)]
    assert [row.state for row in rows if row is not None] == [PageState.BLOCKED] * 3
    assert report.figures.n_blocked == 3
    assert report.figures.n_hosts_abandoned == 0
    n_expected = {"redirect to nowhere": 1, "slow down": 4}.get(kind, 3)  # a redirect is not retried
    assert min(n_tries) == n_expected or kind == "reset"  # libcurl repeats the request if a reused connection is reset


def test_other_pages_are_fetched_while_a_broken_one_waits(tmp_path: Path) -> None:
    """One worker, breadth first, and back-offs longer than the test: the broken page comes last."""
    responses = iter([FakeResponse(status=500), FakeResponse("<p>well again")])
    pages = {"http://a.test/": "<a href=/ill><a href=/b><a href=/c>", "http://a.test/ill": lambda *_: next(responses)}
    with FakeWeb(MadeSite(pages | {"http://a.test/b": "", "http://a.test/c": ""})) as web:
        crawled(
            web, "http://a.test/", tmp_path, policy="breadth-first",
            settings={"crawl": {"workers": 1}, "retry": {"back_off_s": 0.3, "max_back_off_s": 0.3}},
        )  # fmt: skip
        targets = [target for _, _, target in web.requests]
    assert targets == ["/", "/ill", "/b", "/c", "/ill"]


def test_a_waiting_page_does_not_count_against_the_budget(tmp_path: Path) -> None:
    pages: dict[str, FakeResponse | str] = {f"http://a.test/{k}": f"<a href=/{k + 1}>" for k in range(9)}
    pages |= {"http://a.test/0": "<a href=/ill><a href=/1>", "http://a.test/ill": FakeResponse(status=500)}
    with FakeWeb(MadeSite(pages)) as web:
        report = crawled(
            web, "http://a.test/0", tmp_path, policy="breadth-first", budget=5,
            settings={"crawl": {"workers": 1}, "retry": {"back_off_s": 30.0, "max_back_off_s": 30.0}},
        )  # fmt: skip
        assert web.count("http://a.test/ill") == 1
        assert report.stopped_because == "budget"
        again = crawled(web, "http://a.test/0", tmp_path, policy="breadth-first")
    assert (report.figures.n_done, report.figures.n_frontier) == (5, 2)
    assert StoredCrawl(tmp_path).outcome("http://a.test/ill") == "http 500"
    assert again.stopped_because == "frontier empty"


def test_a_responding_host_is_not_abandoned_for_pages_that_fail_first(tmp_path: Path) -> None:
    """Twenty broken pages before the first good one."""
    home = "".join(f"<a href=/{k}>" for k in range(40))
    pages: dict[str, FakeResponse | str] = {
        f"http://a.test/{k}": FakeResponse(status=500) if k < 20 else "" for k in range(40)
    }
    with FakeWeb(MadeSite(pages | {"http://a.test/": home})) as web:
        report = crawled(
            web, "http://a.test/", tmp_path, policy="breadth-first", settings={"politeness": {"connections": 1}}
        )
    assert (report.figures.n_fetched, report.figures.n_blocked, report.figures.n_hosts_abandoned) == (21, 20, 0)


@pytest.mark.parametrize(("n_links", "is_reached"), [(50, False), (2, True)])
def test_a_crawl_that_lost_most_pages_with_their_host_has_not_reached_its_goal(
    n_links: int, is_reached: bool, tmp_path: Path
) -> None:
    """A few pages that are blocked one by one are reported as such, and do not make the host unreachable."""
    home = "".join(f"<a href=/{k}>" for k in range(n_links))
    pages = {"http://a.test/": home} | {f"http://a.test/{k}": "" for k in range(n_links)}
    with FakeWeb(Faulty(MadeSite(pages), dies_after={"a.test": 1})) as web:
        report = crawled(web, "http://a.test/", tmp_path)
    assert report.stopped_because == "frontier empty"
    assert report.goal_reached == is_reached


@pytest.mark.parametrize("n_pages", [0, 20])
def test_a_sitemap_that_is_always_refused_costs_three_requests(n_pages: int, tmp_path: Path) -> None:
    """It precedes the pages of its host, which are fetched after its failure."""
    pages: dict[str, FakeResponse | str] = {f"http://a.test/{k}": "" for k in range(n_pages)}
    pages |= {"http://a.test/": "".join(f"<a href=/{k}>" for k in range(n_pages))}
    pages |= {
        "http://a.test/robots.txt": "Sitemap: http://a.test/map.xml",
        "http://a.test/map.xml": FakeResponse(status=429),
    }
    with FakeWeb(MadeSite(pages)) as web:
        report = crawled(
            web, "http://a.test/", tmp_path,
            settings={"crawl": {"robots": True, "workers": 1}, "retry": {"back_off_s": 0.05, "max_back_off_s": 300.0}},
        )  # fmt: skip
        assert web.count("http://a.test/map.xml") == 3
    assert (report.figures.n_fetched, report.figures.n_hosts_abandoned) == (1 + n_pages, 0)
