"""Some pages of a host are broken: they cost nothing but themselves."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from orienteer.fake_web.answers import Answer, redirect_to
from orienteer.fake_web.faults import Faulty
from orienteer.fake_web.server import FakeWeb
from orienteer.fake_web.site import MadeSite
from orienteer.pages.states import PageState
from tests.live.live_crawls import Told, crawled

pytestmark = pytest.mark.long

N_GOOD = 60
ILL = {
    "500": lambda: Answer("out of order", 500),
    "redirect to nowhere": lambda: redirect_to("mailto:somebody@a.test", 302),
    "cut off": lambda: Answer("<p>half a page", cut_after=4),
    "reset": lambda: Answer(reset=True),
    "slow down": lambda: Answer(status=429),
    "time-out": lambda: Answer("at last", delay_s=30.0),
}


def site_with(broken: Callable[[], Answer]) -> MadeSite:
    """A home page that links to three broken pages first, then to sixty good ones."""
    home = "".join(f"<a href=/broken{k}>" for k in range(3)) + "".join(f"<a href=/{k}>" for k in range(N_GOOD))
    places: dict[str, Answer | str] = {f"http://a.test/broken{k}": broken() for k in range(3)}
    return MadeSite(places | {"http://a.test/": home} | {f"http://a.test/{k}": f"<p>{k}" for k in range(N_GOOD)})


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
    told = Told(tmp_path)
    assert told.fetched_urls() == {"http://a.test/", *(f"http://a.test/{k}" for k in range(N_GOOD))}
    rows = [told.rows[f"http://a.test/broken{k}"] for k in range(3)]
    assert [row.state for row in rows if row is not None] == [PageState.BLOCKED] * 3
    assert report.figures.n_blocked == 3
    if kind != "slow down":  # a host that says nothing else in the end is believed
        assert report.figures.n_hosts_given_up == 0
        n_expected = 1 if kind == "redirect to nowhere" else 3  # that one is an answer
        assert min(n_tries) == n_expected or kind == "reset"  # libcurl asks again where a used connection is reset


def test_while_a_broken_page_waits_the_others_are_asked_for(tmp_path: Path) -> None:
    """One worker, breadth first, and a wait that nobody would survive: the broken page comes last."""
    answers = iter([Answer(status=500), Answer("<p>well again")])
    places = {"http://a.test/": "<a href=/ill><a href=/b><a href=/c>", "http://a.test/ill": lambda *_: next(answers)}
    with FakeWeb(MadeSite(places | {"http://a.test/b": "", "http://a.test/c": ""})) as web:
        crawled(
            web, "http://a.test/", tmp_path, policy="breadth-first",
            settings={"crawl": {"workers": 1}, "retry": {"back_off_s": 0.3, "max_back_off_s": 0.3}},
        )  # fmt: skip
        asked = [target for _, _, target in web.requests]
    assert asked == ["/", "/ill", "/b", "/c", "/ill"]


def test_a_page_that_waits_takes_nothing_from_the_budget(tmp_path: Path) -> None:
    places: dict[str, Answer | str] = {f"http://a.test/{k}": f"<a href=/{k + 1}>" for k in range(9)}
    places |= {"http://a.test/0": "<a href=/ill><a href=/1>", "http://a.test/ill": Answer(status=500)}
    with FakeWeb(MadeSite(places)) as web:
        report = crawled(
            web, "http://a.test/0", tmp_path, policy="breadth-first", budget=5,
            settings={"crawl": {"workers": 1}, "retry": {"back_off_s": 30.0, "max_back_off_s": 30.0}},
        )  # fmt: skip
        assert web.count("http://a.test/ill") == 1
        assert report.stopped_because == "budget"
        again = crawled(web, "http://a.test/0", tmp_path, policy="breadth-first")
    assert (report.figures.n_done, report.figures.n_frontier) == (5, 2)
    assert Told(tmp_path).outcome("http://a.test/ill") == "http 500"
    assert again.stopped_because == "frontier empty"


def test_a_host_that_answers_is_not_given_up_for_the_pages_it_fails_on_first(tmp_path: Path) -> None:
    """Twenty broken pages before the first good one."""
    home = "".join(f"<a href=/{k}>" for k in range(40))
    places: dict[str, Answer | str] = {f"http://a.test/{k}": Answer(status=500) if k < 20 else "" for k in range(40)}
    with FakeWeb(MadeSite(places | {"http://a.test/": home})) as web:
        report = crawled(
            web, "http://a.test/", tmp_path, policy="breadth-first", settings={"politeness": {"connections": 1}}
        )
    assert (report.figures.n_fetched, report.figures.n_blocked, report.figures.n_hosts_given_up) == (21, 20, 0)


@pytest.mark.parametrize(("n_links", "is_reached"), [(50, False), (2, True)])
def test_a_crawl_that_lost_most_pages_with_their_host_has_not_reached_its_goal(
    n_links: int, is_reached: bool, tmp_path: Path
) -> None:
    """Few pages that are blocked one by one are told as such, and are no reason to say so."""
    home = "".join(f"<a href=/{k}>" for k in range(n_links))
    places = {"http://a.test/": home} | {f"http://a.test/{k}": "" for k in range(n_links)}
    with FakeWeb(Faulty(MadeSite(places), dies_after={"a.test": 1})) as web:
        report = crawled(web, "http://a.test/", tmp_path)
    assert report.stopped_because == "frontier empty"
    assert report.goal_reached == is_reached
