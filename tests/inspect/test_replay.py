"""A crawl over again on what it has stored: the same decisions, other policies, and bounds that stay true."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import orienteer as ori
from orienteer.errors import CrawlFolderError, DamagedArchiveWarning, GraphFileError, InputError
from orienteer.inspect.replay import Replay, replay
from tests.conftest import random_web
from tests.fake_web.fake_response import FakeResponse, redirect_to
from tests.fake_web.faults import Faulty
from tests.fake_web.graph_site import GraphSite
from tests.fake_web.server import FakeWeb
from tests.fake_web.site import MadeSite
from tests.graph.formats.test_warc import HTML, Archive
from tests.live.live_crawls import StoredCrawl, crawled, hub, renumbered
from tests.live.topics import LIVE_POLICIES, spec_for, topic_for

ONE_WORKER = {"crawl": {"workers": 1}}


def urls_of(result: Replay) -> list[str]:
    return [result.urls[int(page)] for page in result.order]


# -- crawl folders ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", LIVE_POLICIES)
def test_the_same_policy_gives_the_same_order(policy: str, tmp_path: Path, rng: np.random.Generator) -> None:
    site = GraphSite(random_web(rng, 150, 4.0, with_hosts=True))
    topic = topic_for(policy, site, tmp_path, rng)
    folder, spec = tmp_path / "crawl", spec_for(policy, site, tmp_path)
    with FakeWeb(Faulty(site, not_found=0.1, redirects=0.1)) as web:
        report = crawled(web, [hub(site), site.url_of(3)], folder, policy=spec, settings=ONE_WORKER, **topic)
    stored, again = StoredCrawl(folder), replay(folder)
    assert again.order.tolist() == stored.order
    assert again.urls[:] == stored.urls
    assert again.policy == policy
    assert (again.n_missing, again.goal_reached, again.stopped_because) == (0, True, "frontier empty")
    assert again.certificate.lower == pytest.approx(report.figures.certificate.lower, abs=1e-8)


PLACES = {
    "http://a.test/": "<a href=/1><a href=/image><a href=/closed><a href=/gone><a href=/moved><a href=/ill>"
    "<a href=/shy><a href=/loop1><a href=/away><a href=/r0><a href=/secret><a href=/copy><a href=/big><a href=http://b.test/>",
    "http://a.test/1": "<a href=/2><a href=/closed><a href=/secret><p>one",
    "http://a.test/2": "<a href=/3><a href=/1><p>two",
    "http://a.test/copy": "<a href=/3><a href=/1><p>two",
    "http://a.test/image": FakeResponse(b"GIF89a", content_type="image/gif"),
    "http://a.test/closed": FakeResponse("no", status=403),
    "http://a.test/moved": redirect_to("/2"),
    "http://a.test/ill": FakeResponse("not now", status=500),
    "http://a.test/shy": FakeResponse("<a href=/hidden>", headers=(("X-Robots-Tag", "nofollow"),)),
    "http://a.test/loop1": redirect_to("/loop2"),
    "http://a.test/loop2": redirect_to("/loop1"),
    "http://a.test/away": redirect_to("http://b.test/"),
    "http://a.test/big": FakeResponse(b"x" * 200_000),
    "http://a.test/named": "<a href=/from-named>",
    "http://a.test/map.xml": FakeResponse(
        "<urlset><url><loc>http://a.test/named</loc></url></urlset>", content_type="text/xml"
    ),
} | {f"http://a.test/r{k}": redirect_to(f"/r{k + 1}") for k in range(20)}
ROBOTS = {"a.test": "User-agent: *\nDisallow: /secret\nSitemap: http://a.test/map.xml"}


@pytest.mark.parametrize("policy", ["certified", "fractional", "breadth-first"])
@pytest.mark.parametrize("duplicates", ["report", "merge"])
def test_whatever_an_answer_was_taken_for_it_is_again(policy: str, duplicates: str, tmp_path: Path) -> None:
    """Images, refusals, loops, endless redirects, nofollow, what leaves the scope, what only sitemaps name."""
    settings = {
        "crawl": {"workers": 1, "robots": True, "duplicates": duplicates},
        "retry": {"max_attempts": 1},
        "fetch": {"max_body_bytes": 100_000},
    }
    with FakeWeb(MadeSite(PLACES, robots=ROBOTS)) as web:
        report = crawled(web, "http://a.test/", tmp_path, scope="host", policy=policy, settings=settings)
    stored, again = StoredCrawl(tmp_path), replay(tmp_path)
    assert urls_of(again) == [stored.urls[page] for page in stored.order]
    assert again.n_missing == again.n_blocked == report.figures.n_blocked == 7
    assert again.certificate.unknown == pytest.approx(report.figures.certificate.unknown, abs=1e-8)
    assert again.certificate.lower == pytest.approx(report.figures.certificate.lower, abs=1e-8)
    assert again.certificate.blocked == pytest.approx(report.figures.certificate.blocked, abs=1e-8)


def test_a_seed_that_moved_to_another_host(tmp_path: Path) -> None:
    places = {"http://a.test/": redirect_to("http://b.test/"), "http://b.test/": "<a href=/x><a href=http://c.test/>"}
    with FakeWeb(MadeSite(places)) as web:
        crawled(web, "http://a.test/", tmp_path, scope="host", settings=ONE_WORKER)
    assert urls_of(replay(tmp_path)) == ["http://a.test/", "http://b.test/", "http://b.test/x"]


@pytest.mark.parametrize("until", [None, 0.7])
def test_other_policies_and_goals(until: float | None, tmp_path: Path, rng: np.random.Generator) -> None:
    """On a crawl of all there is they fetch what they would have fetched then."""
    site = GraphSite(random_web(rng, 120, 4.0, with_hosts=True))
    with FakeWeb(site) as web:
        crawled(web, hub(site), tmp_path, policy="random")
    graph = renumbered(StoredCrawl(tmp_path), site)
    for policy in LIVE_POLICIES:
        again = replay(tmp_path, policy, until)
        trace = ori.simulate(graph, policy, trust=[0], until=until)
        assert again.order.tolist() == trace.order.tolist(), policy
        assert again.stopped_because == trace.stopped_because
    by_budget = replay(tmp_path, "fractional", budget=5)
    assert (len(by_budget.order), by_budget.stopped_because, by_budget.ending) == (5, "budget", "limit reached")
    too_much = replay(tmp_path, budget=10_000)
    assert (too_much.stopped_because, too_much.goal_reached) == ("frontier empty", True)
    settings = replay(tmp_path, "fractional:inter_host_weight=20")
    assert settings.policy == "fractional:inter_host_weight=20"


@pytest.mark.parametrize("policy", LIVE_POLICIES)
def test_what_is_proved_on_a_part_of_the_web_is_true_of_all_of_it(
    policy: str, tmp_path: Path, rng: np.random.Generator
) -> None:
    """What the crawl had no time for is not there in the replay, and may be anything."""
    site = GraphSite(random_web(rng, 200, 4.0, with_hosts=True))
    with FakeWeb(site) as web:
        crawled(web, hub(site), tmp_path, policy="opic", budget=40)
    again = replay(tmp_path, policy)
    assert again.n_missing > 0
    assert len(again.order) == 40
    graph = renumbered(StoredCrawl(tmp_path), site)
    truth = ori.pagerank(graph, [0], tolerance=1e-12)[again.order].sum()
    assert again.certificate.lower - 1e-9 <= truth <= again.certificate.upper + 1e-9
    assert (again.n_blocked, again.certificate.blocked) == (0, 0.0), "nothing was: the crawl had not come that far"
    assert again.certificate.frontier > 0
    half = replay(tmp_path, policy, budget=20)
    truth = ori.pagerank(graph, [0], tolerance=1e-12)[half.order].sum()
    assert half.certificate.lower - 1e-9 <= truth <= half.certificate.upper + 1e-9


def test_a_crawl_that_has_just_begun(tmp_path: Path) -> None:
    from orienteer.ledger.plan import CrawlPlan
    from orienteer.live.session import open_crawl

    plan = CrawlPlan.of_tables({"crawl": {"seeds": ["http://a.test/"]}}, "test")
    with open_crawl(tmp_path, plan) as live:
        live.ledger.acknowledge()
        again = replay(tmp_path)  # while the other still has it open
    assert (len(again.order), again.n_missing, again.stopped_because) == (0, 1, "frontier empty")
    assert again.certificate.frontier == pytest.approx(1.0)


def test_a_damaged_database(tmp_path: Path) -> None:
    with FakeWeb(MadeSite({"http://a.test/": "<a href=/b>"})) as web:
        crawled(web, "http://a.test/", tmp_path)
    (tmp_path / "crawl.db").write_bytes(b"SQLite format 3\0" + b"rubbish" * 1000)
    with pytest.raises(CrawlFolderError, match="damaged"):
        replay(tmp_path)


# -- other archives ---------------------------------------------------------------------------------------------


def write_warc(path: Path, pages: dict[str, tuple[str, dict[str, str], str]]) -> None:
    """A WARC file by another program than ours: of each URL status line, headers and body."""
    archive = Archive(compressed=path.suffix == ".gz")
    archive.add_about({"software": "another"})
    for url, (status, headers, body) in pages.items():
        archive.add(url, body.encode(), HTML, *headers.items(), status=status)
    path.write_bytes(archive.bytes())


FOREIGN = {
    "http://x.test/": ("200 OK", {}, "<a href=/a><a href=/b><a href=/c><a href=http://y.test/>"),
    "http://x.test/a": ("200 OK", {}, "<a href=/b><a href=/missing>"),
    "http://x.test/b": ("301 Moved", {"Location": "/a"}, ""),
    "http://x.test/c": ("404 Not Found", {}, ""),
    "http://y.test/": ("403 Forbidden", {}, "<a href=/not-to-be-read>"),
}


@pytest.mark.parametrize("name", ["x.warc", "x.warc.gz"])
def test_an_archive_of_another_program(name: str, tmp_path: Path) -> None:
    write_warc(tmp_path / name, FOREIGN)
    for source in (tmp_path / name, tmp_path):
        result = replay(source, "breadth-first", seeds=["x.test", "http://x.test"])
        assert result.n_missing == 3, "the https page, /missing, and what was forbidden"
        assert set(urls_of(result)) == set(FOREIGN) - {"http://y.test/"}
        assert result.certificate.frontier > 0.1
    assert replay(tmp_path / name, seeds=["http://x.test/"]).policy == "certified"


def test_of_a_damaged_archive_what_is_whole_is_replayed(tmp_path: Path) -> None:
    archive = Archive(compressed=True)
    for url in ("http://x.test/", "http://x.test/a"):
        archive.add(url, b"<a href=/a>")
    (tmp_path / "1.warc.gz").write_bytes(archive.bytes()[:-5])
    (tmp_path / "2.warc.gz").write_bytes(archive.bytes()[:30])
    with pytest.warns(DamagedArchiveWarning) as caught:
        result = replay(tmp_path, "breadth-first", seeds=["http://x.test/"])
    assert [str(one.message) for one in caught] == [
        f"{tmp_path / '1.warc.gz'}: after 1 record the archive is damaged; 2 gaps were skipped"
    ]
    assert (urls_of(result), result.n_missing) == (["http://x.test/"], 1)


def test_archives_that_cannot_be_replayed(tmp_path: Path) -> None:
    seeds = ["http://x.test/"]
    with pytest.raises(InputError, match="is not a crawl folder; name the pages to start from"):
        replay(tmp_path)
    with pytest.raises(InputError, match="no WARC files in it"):
        replay(tmp_path, seeds=seeds)
    with pytest.raises(InputError, match="no such file or folder"):
        replay(tmp_path / "none", seeds=seeds)
    with pytest.raises(InputError, match="is not a valid URL"):
        replay(tmp_path, seeds=["http://"])
    with pytest.raises(InputError, match="did you mean 'rankmass'"):
        replay(tmp_path, "rankmas", seeds=seeds)
    (tmp_path / "x.warc.gz").write_bytes(b"no records")
    with pytest.raises(GraphFileError, match=r"x\.warc\.gz: no WARC records in it that can be read$"):
        replay(tmp_path, seeds=seeds)
    with FakeWeb(MadeSite({"http://a.test/": ""})) as web:
        crawled(web, "http://a.test/", tmp_path / "c")
    with pytest.raises(InputError, match="has its own seeds"):
        replay(tmp_path / "c", seeds=seeds)
