"""Live crawls over real sockets: the same decisions as in a simulation, and an outcome for every fault of the web."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import orienteer as ori
from orienteer.errors import CrawlFolderError, InputError
from orienteer.graph.coverage import certificate
from orienteer.inspect.replay import replay
from orienteer.live.session import live_crawl
from orienteer.pages.states import PageState
from tests.conftest import random_web
from tests.fake_web.fake_response import FakeResponse, redirect_to
from tests.fake_web.faults import Faulty
from tests.fake_web.graph_site import GraphSite
from tests.fake_web.server import FakeWeb
from tests.fake_web.site import MadeSite
from tests.fake_web.traps import with_traps
from tests.live.live_crawls import StoredCrawl, crawled, hub, renumbered


@pytest.mark.parametrize("policy", ["certified", "rankmass", "fractional"])
def test_seeds_with_different_trust(policy: str, tmp_path: Path, rng: np.random.Generator) -> None:
    """Order and certificate agree with the simulation with this trust, also after a resume and in a replay."""
    site = GraphSite(random_web(rng, 150, 4.0, with_hosts=True))
    seeds = [site.url_of(page) for page in (3, 50, 120)]
    trust = [0.5, 8.0, 1.5]
    settings = {"crawl": {"workers": 1, "trust": trust}}
    with FakeWeb(site) as web:
        for until in (0.3, 0.8):
            report = crawled(web, seeds, tmp_path / "c", policy=policy, until=until, settings=settings)
        with pytest.raises(InputError, match="begun with trust 0.5, 8.0, 1.5, not none"):
            crawled(web, seeds, tmp_path / "c", policy=policy, until=0.9)
    stored = StoredCrawl(tmp_path / "c")
    graph = renumbered(stored, site)
    weights = dict(enumerate(np.array(trust) / 10))
    trace = ori.simulate(graph, policy, trust=weights, until=0.8)
    assert stored.order == trace.order.tolist()
    assert stored.order != ori.simulate(graph, policy, trust=[0, 1, 2], until=0.8).order.tolist(), "trust matters here"
    bounds = report.figures.certificate
    truth = ori.pagerank(graph, weights, tolerance=1e-10)[stored.order].sum()
    assert bounds.lower - 1e-9 <= truth <= bounds.upper + 1e-9
    assert bounds.lower == pytest.approx(certificate(graph, stored.order, weights).lower, abs=1e-8)
    again = replay(tmp_path / "c", until=0.8)
    assert again.order.tolist() == stored.order
    assert again.certificate.lower == pytest.approx(bounds.lower, abs=1e-8)


def test_with_many_workers_the_set_and_the_certificate_are_the_same(tmp_path: Path, rng: np.random.Generator) -> None:
    site = GraphSite(random_web(rng, 400, 5.0, with_hosts=True))
    reports = {}
    with FakeWeb(Faulty(site, latency_s=(0.0, 0.01))) as web:
        for workers in (1, 64):
            folder = tmp_path / str(workers)
            reports[workers] = crawled(web, hub(site), folder, settings={"crawl": {"workers": workers}})
    assert StoredCrawl(tmp_path / "1").fetched_urls() == StoredCrawl(tmp_path / "64").fetched_urls()
    one, many = reports[1].figures.certificate, reports[64].figures.certificate
    assert one.lower == pytest.approx(many.lower, abs=1e-8)
    assert one.upper == pytest.approx(many.upper, abs=1e-8)
    # At most the requests in flight at the end are fetched in excess, and the certificate holds for what is stored.
    with FakeWeb(Faulty(site, latency_s=(0.0, 0.01))) as web:
        report = crawled(
            web, hub(site), tmp_path / "part", until=0.7, policy="certified", settings={"crawl": {"workers": 64}}
        )
    stored = StoredCrawl(tmp_path / "part")
    graph = renumbered(stored, site)
    truth = ori.pagerank(graph, [0], tolerance=1e-10)[stored.order].sum()
    bounds = report.figures.certificate
    assert report.stopped_because == "coverage"
    assert 0.7 <= bounds.lower <= truth + 1e-9
    assert truth <= bounds.upper + 1e-9
    assert certificate(graph, stored.order, [0]).lower == pytest.approx(bounds.lower, abs=1e-8)


def test_a_crawl_resumes(tmp_path: Path, rng: np.random.Generator) -> None:
    site = GraphSite(random_web(rng, 200, 4.0, with_hosts=True))
    with FakeWeb(site) as web:
        whole = crawled(web, hub(site), tmp_path / "whole")
        whole_order = StoredCrawl(tmp_path / "whole")
        for budget in (10, 25, 60):
            report = crawled(web, hub(site), tmp_path / "runs", budget=budget, settings={"crawl": {"workers": 3}})
            assert report.stopped_because == "budget"
            assert report.figures.n_done == budget
        rest = crawled(web, hub(site), tmp_path / "runs")
    assert rest.stopped_because == whole.stopped_because == "frontier empty"
    assert StoredCrawl(tmp_path / "runs").fetched_urls() == whole_order.fetched_urls()
    assert rest.figures.certificate.lower == pytest.approx(whole.figures.certificate.lower, abs=1e-8)
    assert all(web.count(url) == 2 for url in whole_order.fetched_urls()), "once in each of the two crawls"


def test_a_finished_crawl_sends_no_requests_for_the_same_goal(tmp_path: Path, rng: np.random.Generator) -> None:
    site = GraphSite(random_web(rng, 60, 4.0))
    with FakeWeb(site) as web:
        one_worker = {"crawl": {"workers": 1}}
        first = crawled(web, hub(site), tmp_path, until=0.6, settings=one_worker)
        n_requests = len(web.requests)
        second = crawled(web, hub(site), tmp_path, until=0.6, settings=one_worker)
        assert len(web.requests) == n_requests
        assert second.stopped_because == first.stopped_because == "coverage"
        crawled(web, hub(site), tmp_path, until=0.9)
        assert len(web.requests) > n_requests


def test_another_crawl_is_not_mixed_into_a_folder(tmp_path: Path) -> None:
    site = MadeSite({"http://a.test/": "<a href=/b>b</a>", "http://a.test/b": ""})
    with FakeWeb(site) as web:
        crawled(web, "http://a.test/", tmp_path)
        with pytest.raises(InputError, match="begun with seeds http://a.test/, not http://b.test/"):
            crawled(web, "http://b.test/", tmp_path)
        with pytest.raises(InputError, match="begun with policy certified, not opic"):
            crawled(web, "http://a.test/", tmp_path, policy="opic")
        with pytest.raises(InputError, match="begun with scope.kind web, not site"):
            crawled(web, "http://a.test/", tmp_path, scope="site")


def test_two_processes_cannot_crawl_into_one_folder(tmp_path: Path) -> None:
    from orienteer.store.folder import CrawlFolder

    site = MadeSite({"http://a.test/": ""})
    with FakeWeb(site) as web:
        crawled(web, "http://a.test/", tmp_path)
        with CrawlFolder.open(tmp_path), pytest.raises(CrawlFolderError, match="is in use by process"):
            crawled(web, "http://a.test/", tmp_path)


PAGES = {
    "http://a.test/": "<a href=/page><a href=/gone><a href=/image><a href=/moved><a href=/closed><a href=/loop1>"
    "<a href=/secret/x><a href=/big><a href=/broken><a href=http://outside.test/><a href=/leaves>",
    "http://a.test/page": "<title> The  page </title><p>some words",
    "http://a.test/image": FakeResponse(b"GIF89a", content_type="image/gif"),
    "http://a.test/moved": redirect_to("/new-place"),
    "http://a.test/new-place": "<p>moved here",
    "http://a.test/closed": FakeResponse("no", status=403),
    "http://a.test/loop1": redirect_to("/loop2"),
    "http://a.test/loop2": redirect_to("/loop1"),
    "http://a.test/secret/x": "<p>secret",
    "http://a.test/big": FakeResponse(b"x" * 3_000_000),
    "http://a.test/broken": FakeResponse("<p>half a page", cut_after=4),
    "http://a.test/leaves": redirect_to("http://outside.test/"),
}
ROBOTS = {"a.test": "User-agent: *\nDisallow: /secret/\n"}


def test_every_page_has_an_outcome(tmp_path: Path) -> None:
    with FakeWeb(MadeSite(PAGES, robots=ROBOTS)) as web:
        report = crawled(
            web, "http://a.test/", tmp_path, scope="host",
            settings={"crawl": {"robots": True}, "fetch": {"max_body_bytes": 1_000_000}},
        )  # fmt: skip
    stored = StoredCrawl(tmp_path)
    outcomes = {url.removeprefix("http://a.test"): row.outcome for url, row in stored.rows.items() if row is not None}
    assert outcomes == {
        "/": "ok",
        "/page": "ok",
        "/gone": "http 404",
        "/image": "unwanted type",
        "/moved": "redirect",
        "/new-place": "ok",
        "/closed": "http 403",
        "/loop1": "redirect",
        "/loop2": "redirect loop",
        "/secret/x": "robots.txt",
        "/big": "too large",
        "/broken": "broken answer",
        "/leaves": "redirect leaves the scope",
    }
    states = {url.removeprefix("http://a.test"): PageState(row.state) for url, row in stored.rows.items() if row}
    blocked = {path for path, state in states.items() if state is PageState.BLOCKED}
    assert blocked == {"/closed", "/secret/x", "/big", "/broken", "/loop2", "/leaves"}
    assert {path for path, state in states.items() if state is PageState.FAILED} == {"/gone"}
    assert {path for path, state in states.items() if state is PageState.SKIPPED} == {"/image"}
    assert stored.rows["http://outside.test/"] is None
    assert web.count("http://outside.test/") == 0
    assert web.count("http://a.test/secret/x") == 0
    assert web.count("http://a.test/broken") == 3
    assert stored.rows["http://a.test/page"].title == "The page"
    bounds = report.figures.certificate
    assert bounds.lower + bounds.blocked + bounds.unknown == pytest.approx(1, abs=1e-8)
    assert bounds.blocked > 0.1
    assert bounds.unknown > 0.1  # the targets of /leaves and /loop1
    assert 0 < report.dead < 0.5


def test_a_host_with_unreachable_robots_txt_is_not_crawled_and_abandoned(tmp_path: Path) -> None:
    site = MadeSite({"http://a.test/": "<a href=/b>", "http://a.test/robots.txt": FakeResponse(status=500)})
    with FakeWeb(site) as web:
        report = crawled(
            web, "http://a.test/", tmp_path, settings={"crawl": {"robots": True}, "retry": {"give_up_after": 3}}
        )
    assert web.count("http://a.test/") == 0
    assert web.count("http://a.test/robots.txt") == 3
    assert StoredCrawl(tmp_path).outcome("http://a.test/") == "host given up"
    assert report.figures.certificate.blocked == pytest.approx(1)


def test_robots_txt_may_have_moved(tmp_path: Path) -> None:
    pages = {
        "http://a.test/": "<a href=/no><a href=/yes>",
        "http://a.test/yes": "",
        "http://a.test/robots.txt": redirect_to("http://b.test/rules"),
        "http://b.test/rules": "User-agent: *\nDisallow: /no",
    }
    with FakeWeb(MadeSite(pages)) as web:
        crawled(web, "http://a.test/", tmp_path, scope="host", settings={"crawl": {"robots": True}})
    stored = StoredCrawl(tmp_path)
    assert (stored.outcome("http://a.test/no"), stored.outcome("http://a.test/yes")) == ("robots.txt", "ok")


def test_sitemaps_name_pages_that_nothing_links_to(tmp_path: Path) -> None:
    sitemap = "<urlset><url><loc>http://a.test/hidden</loc></url><url><loc>http://other.test/</loc></url></urlset>"
    pages = {
        "http://a.test/": "<a href=/b>",
        "http://a.test/b": "",
        "http://a.test/hidden": "<a href=/deeper>",
        "http://a.test/deeper": "",
        "http://a.test/map.xml": FakeResponse(sitemap, content_type="application/xml"),
    }
    robots = {"a.test": "Sitemap: http://a.test/map.xml"}
    with FakeWeb(MadeSite(pages, robots=robots)) as web:
        report = crawled(web, "http://a.test/", tmp_path / "a", scope="host", settings={"crawl": {"robots": True}})
        names = ("", "b", "hidden", "deeper")
        assert StoredCrawl(tmp_path / "a").fetched_urls() == {f"http://a.test/{name}" for name in names}
        assert report.stopped_because == "frontier empty"
        # A second run has them without a request.
        n_requests = len(web.requests)
        again = crawled(web, "http://a.test/", tmp_path / "a", scope="host", settings={"crawl": {"robots": True}})
        assert len(web.requests) == n_requests
        assert again.figures.n_fetched == 4
        # A coverage is reached without pages that have no mass.
        one_worker = {"crawl": {"robots": True, "workers": 1}}
        crawled(web, "http://a.test/", tmp_path / "b", scope="host", until=0.99, settings=one_worker)
    assert StoredCrawl(tmp_path / "b").fetched_urls() == {"http://a.test/", "http://a.test/b"}


def test_a_crawl_delay_is_obeyed(tmp_path: Path) -> None:
    pages = {"http://a.test/": "<a href=/b><a href=/c>", "http://a.test/b": "", "http://a.test/c": ""}
    robots = {"a.test": "User-agent: *\nCrawl-delay: 0.3"}
    with FakeWeb(MadeSite(pages, robots=robots)) as web:
        crawled(web, "http://a.test/", tmp_path, settings={"crawl": {"robots": True}, "politeness": {"connections": 1}})
        times = [time for time, _, _ in web.requests]
        assert web.max_open_per_host.get("a.test", 1) == 1
    pauses = np.diff(times)
    assert len(times) == 4
    assert (pauses[1:] >= 0.29).all()


def test_a_slow_host_does_not_hold_up_the_others(tmp_path: Path) -> None:
    """While one page of the slow host is in flight, the fast one is crawled completely."""
    is_done = threading.Event()

    def last(*_: object) -> FakeResponse:
        is_done.set()
        return FakeResponse("")

    pages: dict[str, Any] = {f"http://fast.test/{k}": f"<a href=/{k + 1}>" for k in range(30)}
    pages |= {"http://fast.test/30": last, "http://slow.test/": FakeResponse("", held_until=is_done)}
    with FakeWeb(MadeSite(pages)) as web:
        crawled(
            web, ["http://slow.test/", "http://fast.test/0"], tmp_path,
            settings={"crawl": {"workers": 2}, "politeness": {"connections": 1}},
        )  # fmt: skip
    order = [StoredCrawl(tmp_path).urls[page] for page in StoredCrawl(tmp_path).order]
    assert order.index("http://slow.test/") >= 30


def test_temporary_failures_are_retried(tmp_path: Path, rng: np.random.Generator) -> None:
    site = GraphSite(random_web(rng, 150, 5.0, with_hosts=True))
    faulty = Faulty(site, server_error=0.4)
    with FakeWeb(site) as web:
        crawled(web, hub(site), tmp_path / "well")
    with FakeWeb(faulty) as web:
        crawled(web, hub(site), tmp_path / "ill", settings={"retry": {"max_attempts": 6, "give_up_after": 50}})
    assert StoredCrawl(tmp_path / "ill").fetched_urls() == StoredCrawl(tmp_path / "well").fetched_urls()


def test_a_dead_host_is_abandoned_with_its_pages(tmp_path: Path) -> None:
    pages: dict[str, str] = {
        f"http://dies.test/{k}": " ".join(f"<a href=/{k + step}>" for step in range(1, 9)) for k in range(40)
    }
    pages |= {f"http://lives.test/{k}": f"<a href=/{k + 1}>" for k in range(40)}
    with FakeWeb(Faulty(MadeSite(pages), dies_after={"dies.test": 10})) as web:
        report = crawled(
            web, ["http://dies.test/0", "http://lives.test/0"], tmp_path, settings={"retry": {"give_up_after": 4}}
        )
    stored = StoredCrawl(tmp_path)
    assert {url for url in stored.fetched_urls() if "lives" in url} >= {f"http://lives.test/{k}" for k in range(40)}
    assert len({url for url in stored.fetched_urls() if "dies" in url}) == 10
    assert report.figures.n_hosts_abandoned == 1
    assert report.figures.certificate.blocked > 0.01
    assert report.n_abandoned >= 1
    assert not report.goal_reached, "every page was tried, and a host is missing"
    assert {row.outcome for url, row in stored.rows.items() if row and row.state == PageState.BLOCKED} <= {
        "host given up", "no connection", "broken answer",
    }  # fmt: skip


def test_retry_after_is_honoured(tmp_path: Path) -> None:
    responses = iter([FakeResponse(status=429, headers=(("Retry-After", "1"),)), FakeResponse("<p>now")])
    with FakeWeb(MadeSite({"http://a.test/": lambda *_: next(responses)})) as web:
        crawled(web, "http://a.test/", tmp_path)
        first, second = (time for time, _, _ in web.requests)
    assert second - first >= 0.95
    assert StoredCrawl(tmp_path).outcome("http://a.test/") == "ok"


def test_traps_end(tmp_path: Path) -> None:
    site = with_traps(MadeSite({"http://a.test/": "<a href=/b>", "http://a.test/b": ""}), n_hops=5, n_links=20)
    with FakeWeb(site) as web:
        report = crawled(web, "http://a.test/", tmp_path, until=0.7, budget=2000)
    assert report.stopped_because == "coverage"
    assert report.figures.certificate.unknown > 0.05  # behind the endless redirects
    outcomes = {row.outcome for row in StoredCrawl(tmp_path).rows.values() if row}
    assert outcomes >= {"ok", "redirect"}


def test_endless_redirects_end(tmp_path: Path) -> None:
    pages = {"http://a.test/": "<a href=/r0>"} | {f"http://a.test/r{k}": redirect_to(f"/r{k + 1}") for k in range(50)}
    with FakeWeb(MadeSite(pages)) as web:
        report = crawled(web, "http://a.test/", tmp_path, settings={"fetch": {"max_redirects": 4}})
    assert report.figures.n_done == 6
    assert StoredCrawl(tmp_path).outcome("http://a.test/r4") == "too many redirects"


def test_a_seed_that_moved_brings_its_new_host_into_the_scope(tmp_path: Path) -> None:
    pages = {
        "http://a.test/": redirect_to("http://www.a.test/"),
        "http://www.a.test/": "<a href=/b><a href=http://other.test/>",
        "http://www.a.test/b": "<a href=/c>",
        "http://www.a.test/c": "",
        "http://other.test/": "",
    }
    with FakeWeb(MadeSite(pages)) as web:
        crawled(web, "http://a.test/", tmp_path, scope="host", budget=2)
        crawled(web, "http://a.test/", tmp_path, scope="host")
    assert StoredCrawl(tmp_path).fetched_urls() == set(pages) - {"http://other.test/"}


def test_depth_is_counted_from_the_seeds(tmp_path: Path) -> None:
    pages = {f"http://a.test/{k}": f"<a href=/{k + 1}>" for k in range(6)}
    with FakeWeb(MadeSite(pages)) as web:
        crawled(web, "http://a.test/0", tmp_path, budget=2, settings={"scope": {"max_depth": 3}})
        crawled(web, "http://a.test/0", tmp_path, settings={"scope": {"max_depth": 3}})
    stored = StoredCrawl(tmp_path)
    assert stored.fetched_urls() == {f"http://a.test/{k}" for k in range(4)}
    assert stored.outcome("http://a.test/4") == "too deep"


def test_duplicates_are_reported_or_merged(tmp_path: Path) -> None:
    words = " ".join(f"word{k} and so on" for k in range(300))
    pages = {
        "http://a.test/": "<a href=/one><a href=/same><a href=/similar>",
        "http://a.test/one": f"<p>{words}<a href=/from-one>",
        "http://a.test/same": f"<p>{words}<a href=/from-one>",
        "http://a.test/similar": f"<p>{words} with one word more<a href=/from-similar>",
    }
    one_worker = {"workers": 1}
    with FakeWeb(MadeSite(pages)) as web:
        crawled(web, "http://a.test/", tmp_path / "report", settings={"crawl": one_worker})
        merging = one_worker | {"duplicates": "merge", "near_duplicates": "merge"}
        crawled(web, "http://a.test/", tmp_path / "merge", settings={"crawl": merging})
        crawled(web, "http://a.test/", tmp_path / "merge", settings={"crawl": merging})
    stored = StoredCrawl(tmp_path / "report")
    one = stored.urls.index("http://a.test/one")
    assert stored.rows["http://a.test/same"].duplicate_of == one
    assert stored.rows["http://a.test/similar"].near_duplicate_of == one
    assert "http://a.test/from-similar" in stored.urls
    merged = StoredCrawl(tmp_path / "merge")
    assert merged.rows["http://a.test/same"].redirect_to == one
    assert merged.rows["http://a.test/similar"].near_duplicate_of == one
    assert merged.rows["http://a.test/similar"].redirect_to is None
    assert "http://a.test/from-similar" not in merged.urls


@pytest.mark.parametrize("address", ["127.0.0.1", "localhost", "[::1]", "0.0.0.0", "2130706433"])
def test_private_addresses_are_refused(address: str, tmp_path: Path) -> None:
    with FakeWeb(MadeSite({})) as web:
        url = f"http://{address}:{web.port}/"
        report = live_crawl(url, tmp_path, settings={"crawl": {"robots": False}, "politeness": {"delay_s": 0.0}})
        assert web.requests == []
    assert list(report.figures.outcomes) == ["forbidden address"]
    assert report.figures.certificate.blocked == pytest.approx(1)


def test_a_redirect_to_a_private_address_is_refused(tmp_path: Path) -> None:
    """A redirect of a public host must not reach a private address, unless private addresses are allowed."""
    with FakeWeb(MadeSite({"http://public.test/": "<p>secret"})) as inner:
        report = live_crawl(f"http://localhost:{inner.port}/", tmp_path / "no", settings={"crawl": {"robots": False}})
        assert report.figures.outcomes == {"forbidden address": 1}
        allowed = live_crawl(
            f"http://localhost:{inner.port}/", tmp_path / "yes",
            settings={"crawl": {"robots": False}, "fetch": {"allow_private": True}},
        )  # fmt: skip
        assert allowed.figures.outcomes == {"http 404": 1}


def test_the_robots_txt_of_a_forbidden_host_is_not_retried(tmp_path: Path) -> None:
    report = live_crawl("http://127.0.0.1:9/", tmp_path, settings={"politeness": {"delay_s": 0.0}})
    assert report.figures.outcomes["forbidden address"] == 1
