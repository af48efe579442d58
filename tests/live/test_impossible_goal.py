"""Live crawls of webs that block too much: the notice, the end of the crawl, and its resume."""

from __future__ import annotations

import dataclasses
import signal
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import orienteer as ori
from orienteer.crawl.crawl import Crawl
from orienteer.crawl.goal import Goal
from orienteer.inspect.crawl_status import crawl_status
from orienteer.inspect.replay import replay
from orienteer.inspect.run_report import Report
from orienteer.inspect.status_text import describe_impossible_goal, describe_stopped
from orienteer.ledger.plan import CrawlPlan
from orienteer.live.control import resume_refusal
from orienteer.live.session import open_crawl, refresh, run
from orienteer.policies import make_policy
from orienteer.policies.policy import TrustedPages
from tests.conftest import random_web
from tests.fake_web.fake_response import FakeResponse
from tests.fake_web.graph_site import GraphSite
from tests.fake_web.server import FakeWeb
from tests.fake_web.site import MadeSite
from tests.live.live_crawls import StoredCrawl, Tables, crawled, hub, renumbered
from tests.live.test_live_log import log_of

UNTIL = 0.9
ONE_WORKER: Tables = {"crawl": {"robots": True, "workers": 1, "until": UNTIL, "stop_when": "proved"}}


def closed_site(rng: np.random.Generator, n_pages: int = 150) -> GraphSite:
    """A web some of whose hosts forbid all crawling."""
    site = GraphSite(random_web(rng, n_pages, 4.0, with_hosts=True))
    hosts = sorted(set(site.hosts) - {hub(site).split("/")[2]})
    site.robots = dict.fromkeys(rng.choice(hosts, len(hosts) // 4, replace=False), "User-agent: *\nDisallow: /")
    return site


def run_with_notices(web: FakeWeb, seed: str, folder: Path, tables: Tables) -> tuple[Report, list[str]]:
    """Run a crawl; return its report and the messages for the user."""
    settings: Tables = {
        "crawl": {"seeds": (seed,), **tables.get("crawl", {})},
        "scope": {"kind": "web"},
        "politeness": {"delay_s": 0.0},
        "fetch": {"connect_to": web.address, "timeout_s": 60.0},
    }
    notices: list[str] = []
    with open_crawl(folder, CrawlPlan.of_tables(settings, "settings")) as live:
        return run(live, notify=notices.append), notices


def decisions(stored: StoredCrawl, site: GraphSite, goal: Goal) -> tuple[Crawl, list[int]]:
    """Run the same crawl without a network; return the pages that it selects, by their ids in the live one."""
    graph = renumbered(stored, site)
    assert graph.hosts is not None
    crawl = Crawl(make_policy("certified"), TrustedPages(np.array([0], np.uint32), np.ones(1)), goal, hosts=[0])
    names = stored.urls + [""] * (graph.n_pages - len(stored.urls))
    chosen = []
    while (page := crawl.next()) is not None:
        chosen.append(page)
        if names[page].split("/")[2] in site.robots:
            crawl.blocked(page, was_requested=False)
        else:
            crawl.fetched(page, graph.links(page), hosts=graph.hosts[graph.links(page)])
    return crawl, chosen


def done(stored: StoredCrawl) -> list[int]:
    """Return all pages in the order they were done, with blocked ones."""
    return [int(page) for events in stored.done for page in events.pages]


def test_a_notice_comes_once_and_the_crawl_ends_when_what_is_reachable_is_covered(
    tmp_path: Path, rng: np.random.Generator
) -> None:
    site = closed_site(rng)
    with FakeWeb(site) as web:
        report, notices = run_with_notices(web, hub(site), tmp_path / "c", ONE_WORKER)
        everything = crawled(web, hub(site), tmp_path / "all", settings={"crawl": {"robots": True}})
    proved = report.figures.certificate
    assert report.stopped_because == "reachable"
    assert not report.goal_reached
    assert report.figures.goal_is_impossible
    assert proved.of_reachable >= UNTIL > 1 - proved.blocked - proved.unknown
    assert report.figures.n_frontier > 0
    assert report.figures.n_done < everything.figures.n_done
    assert len(notices) == 1
    assert notices[0].startswith("90 % cannot be proved: up to ")
    assert notices[0].endswith(
        "% of a surfer's time is on blocked pages (robots.txt), or behind them; "
        "going on until 90 % of what is reachable is covered"
    )
    (event,) = log_of(tmp_path / "c", "goal impossible")
    assert event["until"] == UNTIL
    assert event["reasons"] == ["robots.txt"]
    assert 1 - event["blocked"] - event["unknown"] < UNTIL
    assert event["lower"] < proved.lower, "the notice came long before the end"


def test_live_crawl_simulation_and_replay_agree(tmp_path: Path, rng: np.random.Generator) -> None:
    for k in range(3):
        site = closed_site(rng)
        for of_reachable in (False, True):
            folder = tmp_path / f"{k}-{of_reachable}"
            tables = {
                "crawl": {**ONE_WORKER["crawl"], "stop_when": "proved" + ",reachable" * of_reachable, "sitemaps": False}
            }
            with FakeWeb(site) as web:
                report = crawled(web, hub(site), folder, settings=tables)
            stored = StoredCrawl(folder)
            crawl, chosen = decisions(stored, site, Goal(UNTIL, of_reachable=of_reachable))
            assert done(stored) == chosen
            assert report.stopped_because == crawl.stopped_because
            assert report.goal_reached == (crawl.stopped_because == "coverage")
            assert report.goal_reached or not of_reachable
            assert report.figures.of_reachable == of_reachable
            again = replay(folder, until=UNTIL, of_reachable=of_reachable)
            assert again.order.tolist() == stored.order
            assert again.stopped_because == report.stopped_because
            assert again.goal_reached == report.goal_reached
            assert again.certificate.of_reachable == pytest.approx(report.figures.certificate.of_reachable, abs=1e-8)


def test_a_crawl_in_several_runs_ends_like_one_run(tmp_path: Path, rng: np.random.Generator) -> None:
    """The decision is repeated from a replay or a checkpoint; each run gives one notice."""
    site = closed_site(rng)
    with FakeWeb(site) as web:
        whole, _ = run_with_notices(web, hub(site), tmp_path / "whole", ONE_WORKER)
        n_done = whole.figures.n_done
        n_notices = []
        for budget in (n_done // 3, 2 * n_done // 3, n_done - 1, None):
            tables = {"crawl": {**ONE_WORKER["crawl"], "budget": budget}}
            part, notices = run_with_notices(web, hub(site), tmp_path / "runs", tables)
            assert part.stopped_because == ("reachable" if budget is None else "budget")
            assert len(notices) == part.figures.goal_is_impossible
            n_notices.append(len(notices))
            if budget == n_done // 3:
                for file in (tmp_path / "runs" / "checkpoints").iterdir():
                    file.unlink()
        again, notices = run_with_notices(web, hub(site), tmp_path / "runs", ONE_WORKER)
    assert n_notices[-1] == 1
    assert done(StoredCrawl(tmp_path / "runs")) == done(StoredCrawl(tmp_path / "whole"))
    assert again.stopped_because == "reachable"
    assert again.figures.n_done == n_done, "a finished crawl costs nothing"
    assert len(notices) == 1
    assert "going on" not in notices[0]


def test_a_finished_crawl_resumes_with_a_higher_goal(tmp_path: Path, rng: np.random.Generator) -> None:
    site = closed_site(rng)

    def more(web: FakeWeb, **goal: Any) -> Report:
        return crawled(web, hub(site), tmp_path / "c", settings={"crawl": {**ONE_WORKER["crawl"], **goal}})

    with FakeWeb(site) as web:
        first = more(web)
        status = crawl_status(tmp_path / "c")
        assert describe_stopped(status) == (
            "goal not reached: a coverage of 90 % of what is reachable is proved, "
            "but 90 % of everything cannot be proved"
        )
        assert describe_impossible_goal(status).startswith("90 % cannot be proved: up to ")
        assert status.as_dict()["figures"]["goal_is_impossible"] is True
        assert status.as_dict()["figures"]["certificate"]["of_reachable"] >= UNTIL
        assert "a coverage of 90 % of what is reachable is proved already" in str(resume_refusal(status))
        assert resume_refusal(status, until=0.99) is None
        assert resume_refusal(status, until=0.85) is None, "it may be possible, and not proved yet"
        of_reachable = more(web, stop_when="proved,reachable")
        assert of_reachable.goal_reached
        assert of_reachable.figures.n_done == first.figures.n_done
        assert "a coverage of 90 % of what is reachable is proved already" in str(
            resume_refusal(crawl_status(tmp_path / "c"))
        )
        higher = more(web, until=0.99)
        assert higher.stopped_because == "reachable"
        assert higher.figures.n_done > first.figures.n_done
        rest = more(web, until=None)
        assert rest.stopped_because == "frontier empty"
        assert rest.goal_reached
        assert not rest.figures.goal_is_impossible


def test_a_refresh_goes_on_until_no_page_is_due(tmp_path: Path, rng: np.random.Generator) -> None:
    """It skips pages that are too far away but could be fetched, so it does not decide what is impossible."""
    site = closed_site(rng)
    with FakeWeb(site) as web:
        first = crawled(web, hub(site), tmp_path / "c", settings=ONE_WORKER)
        again = refresh(tmp_path / "c", now=time.time() + 1e9)
    assert first.stopped_because == "reachable"
    assert again.stopped_because == "frontier empty"
    assert not again.figures.goal_is_impossible
    assert len(log_of(tmp_path / "c", "goal impossible")) == 1


def test_a_killed_crawl_keeps_the_decision(tmp_path: Path, rng: np.random.Generator) -> None:
    """A crawl that is killed after any response decides like an uninterrupted one."""
    site = closed_site(rng, 80)
    with FakeWeb(site) as web:
        whole, _ = run_with_notices(web, hub(site), tmp_path / "whole", ONE_WORKER)
        folder = tmp_path / "killed"
        for n in (5, 25):
            with pytest.raises(KeyboardInterrupt):
                killed_after(n, web, hub(site), folder)
        report, notices = run_with_notices(web, hub(site), folder, ONE_WORKER)
    assert report.stopped_because == whole.stopped_because == "reachable"
    assert done(StoredCrawl(folder)) == done(StoredCrawl(tmp_path / "whole"))
    assert len(notices) == 1


def killed_after(n: int, web: FakeWeb, seed: str, folder: Path) -> None:
    """A run that is interrupted after n responses: only committed results are stored."""
    responses = []

    def on_response(_: int, response: Any) -> None:
        responses.append(response)
        if len(responses) == n:
            signal.raise_signal(signal.SIGINT)

    plan = CrawlPlan.of_tables(
        {
            "crawl": {"seeds": (seed,), **ONE_WORKER["crawl"], "commit_every_s": 0.001},
            "scope": {"kind": "web"},
            "politeness": {"delay_s": 0.0},
            "fetch": {"connect_to": web.address, "timeout_s": 60.0},
        },
        "settings",
    )
    with open_crawl(folder, plan) as live:
        live.on_response = on_response
        live.run()


def test_other_reasons_are_named_the_costliest_first(tmp_path: Path) -> None:
    pages: dict[str, Any] = {
        "http://a.test/": "".join(f"<a href=/{name}>x</a>" for name in ("closed", "secret", "c", "d")),
        "http://a.test/closed": FakeResponse("no", status=403),
        "http://a.test/c": "<a href=/closed>x</a>",
        "http://a.test/d": "<a href=/>x</a><meta name=robots content=nofollow>",
    }
    with FakeWeb(MadeSite(pages, robots={"a.test": "User-agent: *\nDisallow: /secret"})) as web:
        report, notices = run_with_notices(web, "http://a.test/", tmp_path / "c", ONE_WORKER)
    assert report.stopped_because == "reachable"
    (event,) = log_of(tmp_path / "c", "goal impossible")
    assert set(event["reasons"]) <= {"http 403", "robots.txt"}
    proved = report.figures.certificate
    assert proved.unknown > 0
    assert proved.of_reachable == pytest.approx(1, abs=1e-6)
    assert len(notices) == 1


def test_a_site_without_blocked_pages_is_unaffected(tmp_path: Path, rng: np.random.Generator) -> None:
    site = GraphSite(random_web(rng, 100, 4.0))
    with FakeWeb(site) as web:
        report, notices = run_with_notices(web, hub(site), tmp_path / "c", ONE_WORKER)
        alike, _ = run_with_notices(
            web, hub(site), tmp_path / "r", {"crawl": {**ONE_WORKER["crawl"], "stop_when": "proved,reachable"}}
        )
    assert notices == []
    assert report.stopped_because == alike.stopped_because == "coverage"
    assert done(StoredCrawl(tmp_path / "c")) == done(StoredCrawl(tmp_path / "r"))
    assert log_of(tmp_path / "c", "goal impossible") == []
    assert not dataclasses.asdict(report.figures)["goal_is_impossible"]
    assert ori.simulate(renumbered(StoredCrawl(tmp_path / "c"), site), trust=[0], until=UNTIL).n_fetched == len(
        StoredCrawl(tmp_path / "c").order
    )
