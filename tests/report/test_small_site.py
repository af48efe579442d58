"""A site with one fault of each kind that is possible without TLS, and some cases that are no faults."""

from __future__ import annotations

from pathlib import Path

import pytest

from orienteer.errors import InputError
from orienteer.report.checks import valued_findings
from orienteer.report.finding import KINDS, Finding, SiteReport
from orienteer.report.site_report import site_report
from tests.fake_web.fake_response import FakeResponse, redirect_to
from tests.fake_web.server import FakeWeb
from tests.fake_web.site import MadeSite
from tests.live.live_crawls import crawled

A, B = "http://a.test", "http://b.test"
HOME = f"{A}/"
DESCRIBED = "<meta name=description content='About something.'>"
PICTURES = "<a href=/picture-link><img src=/p.png alt='The picture'></a><a href=/silent><img src=/q.png></a>"
SCRIPTS = f"<div id=app></div><script src=/app.js></script><script>{'x();' * 99}</script>"
TEXT = " ".join(f"word{k} of a long enough text" for k in range(60))
SITEMAP = "<urlset>" + "".join(f"<url><loc>{A}/{name}</loc></url>" for name in (
    "", "orphan", "linked", "listed-gone", "listed-old", "listed-secret",
)) + "</urlset>"  # fmt: skip


def html(title: str, *links: str, more: str = DESCRIBED, text: str = "") -> str:
    items = "".join(f"<li><a href='{link.partition(' ')[0]}'>{link.partition(' ')[2]}</a>" for link in links)
    body = f"<h1>{title}</h1><p>{text or title + ' ' + TEXT}</p>"
    return f"<!DOCTYPE html><title>{title}</title>{more}{body}<ul>{items}</ul>"


SITE = {
    HOME: html(
        "Home", "/gone The gone page", "/gone Once more", "/error Error", "/secret Secret", "/private/x Private",
        "/old Old", "/chain Chain", "/loop Loop", "/dead-end Dead end", "/linked Linked", "/same/1 One", "/same/2 Two",
        "/untitled Untitled", "/app App", "/bare Bare", "/twin/1 Twin", "/deep/1 Down", "/ Here", "#top Top",
        "http://b.test/ Neighbour", "http://other.org/ Outside", "/file.zip File",
        more=DESCRIBED + PICTURES,
    ),
    f"{A}/error": FakeResponse(status=500),
    f"{A}/secret": FakeResponse(status=403),
    f"{A}/private/x": html("Private"),
    f"{A}/old": redirect_to(f"{A}/linked", 301),
    f"{A}/chain": redirect_to(f"{A}/chain/2", 302),
    f"{A}/chain/2": redirect_to(f"{A}/chain/3", 301),
    f"{A}/chain/3": redirect_to(f"{A}/linked", 308),
    f"{A}/loop": redirect_to(f"{A}/loop/2"),
    f"{A}/loop/2": redirect_to(f"{A}/loop"),
    f"{A}/dead-end": redirect_to(f"{A}/gone"),
    f"{A}/linked": html("Linked", "/ Home", "/gone Gone", text="Linked, and " + TEXT[::-1]),
    f"{A}/same/1": html("Shared  title", "/ Home", text="One " * 80),
    f"{A}/same/2": html("shared title", "/ Home", text="Two " * 80),
    f"{A}/untitled": html("", "/ Home", text="Without " * 80),
    f"{A}/app": f"<title>App</title>{DESCRIBED}{SCRIPTS}",
    f"{A}/bare": html("Bare", "/ Home", more="", text="Bare " * 80),
    f"{A}/twin/1": html("Twin", "/ Home", "/twin/2 The other", text="Twice " * 80),
    f"{A}/twin/2": html("Twin", "/ Home", "/twin/2 The other", text="Twice " * 80),
    **{f"{A}/deep/{k}": html(f"Deep {k}", f"/deep/{k + 1} Down", text=f"{k} below " * 80) for k in range(1, 5)},
    f"{A}/deep/5": html("Deep 5", "/ Home", text="At the ground " * 80),
    f"{A}/orphan": html("Orphan", "/ Home", "/gone Gone", text="Alone " * 80),
    f"{A}/listed-old": redirect_to(f"{A}/linked"),
    f"{A}/listed-secret": FakeResponse(status=401),
    f"{A}/hidden": html("", more="<meta name=robots content=noindex>", text="Hidden " * 80),
    f"{A}/file.zip": FakeResponse(b"PK", content_type="application/zip"),
    f"{A}/sitemap.xml": FakeResponse(SITEMAP, content_type="application/xml"),
    f"{B}/": html("Neighbour", f"{A}/old Their old page", f"{A}/hidden Hidden", "/gone Gone", text="Near " * 80),
}  # fmt: skip
ROBOTS = {"a.test": f"User-agent: *\nDisallow: /private/\nSitemap: {A}/sitemap.xml\n"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report") / "small"
    settings = {
        "crawl": {"robots": True, "workers": 1},
        "retry": {"max_attempts": 2, "give_up_after": 50},
        "scope": {"deny": ["other"]},
    }
    with FakeWeb(MadeSite(SITE, ROBOTS)) as web:
        crawled(web, HOME, folder, settings=settings)
    return folder


@pytest.fixture(scope="module")
def report(folder: Path) -> SiteReport:
    return site_report(folder, deep=4)


def one(report: SiteReport, kind: str, url: str) -> Finding:
    return next(finding for finding in report.findings[kind] if finding.url == url)


def test_all_is_found_and_nothing_else(report: SiteReport) -> None:
    assert {kind: {finding.url.removeprefix(A) for finding in report.findings[kind]} for kind in KINDS} == {
        "broken": {"/gone", "/error", "/loop", "/dead-end", "/picture-link", "/silent", f"{B}/gone"},
        "hosts": set(),
        "chains": {"/chain"},
        "redirects": {"/old"},
        "blocked": {"/secret", "/private/x"},
        "mixed": set(),
        "scripts": {"/app"},
        "slow": set(),
        "deep": {"/deep/5"},
        "untitled": {"/untitled"},
        "titles": {"/same/1"},
        "undescribed": {"/bare"},
        "duplicates": {"/twin/1"},
        "orphans": {"/orphan"},
        "sitemap": {"/listed-gone", "/listed-old", "/listed-secret"},
        "valued": set(),
    }


def test_why(report: SiteReport) -> None:
    whys = {finding.url.removeprefix(A): finding.why for finding in report.all_findings()}
    assert whys["/gone"] == whys["/dead-end"] == "http 404"
    assert whys["/error"] == "http 500"
    assert whys["/loop"] == "redirect loop"
    assert whys["/old"] == "moved permanently (301)"
    assert whys["/chain"] == "moved temporarily (302), moved permanently (301), moved permanently (308)"
    assert whys["/private/x"] == "robots.txt forbids it"
    assert whys["/secret"] == "http 403"
    assert whys["/same/1"].split() == ["Shared", "title"]
    assert whys["/listed-old"] == "it has moved"


def test_where_redirects_lead(report: SiteReport) -> None:
    assert one(report, "chains", f"{A}/chain").leads_to == (f"{A}/chain/2", f"{A}/chain/3", f"{A}/linked")
    assert one(report, "broken", f"{A}/dead-end").leads_to == (f"{A}/gone",)


def test_words_of_links(report: SiteReport) -> None:
    gone = one(report, "broken", f"{A}/gone")
    assert {place.url: place.words for place in gone.places} == {
        HOME: "The gone page / Once more", f"{A}/linked": "Gone", f"{A}/orphan": "Gone",
    }  # fmt: skip
    assert one(report, "broken", f"{A}/picture-link").places[0].words == "The picture"
    assert one(report, "broken", f"{A}/silent").places[0].words == ""


def test_costs_follow_from_ranks(report: SiteReport) -> None:
    """The share of a link in all clicks is the rank of its page divided by the number of its links."""
    gone, error = one(report, "broken", f"{A}/gone"), one(report, "broken", f"{A}/error")
    costs = {place.url: place.cost for place in gone.places}
    assert gone.cost == pytest.approx(sum(costs.values()))
    assert costs[HOME] == pytest.approx(error.cost)  # from the same page, each link is as likely
    ranks = {finding.url: finding.cost for finding in report.findings["orphans"]}
    n_links = 2  # of the orphan
    all_clicks = (ranks[f"{A}/orphan"] / n_links) / costs[f"{A}/orphan"]
    assert 0.9 < all_clicks <= 1.0  # the rank of all pages that have links


def test_fewer_places(folder: Path, report: SiteReport) -> None:
    few = site_report(folder, max_places=1, deep=4)
    first, all_places = one(few, "broken", f"{A}/gone"), one(report, "broken", f"{A}/gone")
    assert first.places == all_places.places[:1]
    assert first.n_places == all_places.n_places == 3
    assert first.cost == all_places.cost


def test_times_are_known_of_all_pages(folder: Path, report: SiteReport) -> None:
    assert not any("response times" in sentence for sentence in report.not_known)
    slow = site_report(folder, slow_s=0.0)
    assert len(slow.findings["slow"]) == report.n_pages
    assert all(finding.value is not None and finding.value > 0 for finding in slow.findings["slow"])


def test_of_one_host(folder: Path) -> None:
    neighbour = site_report(folder, hosts="http://b.test/anything")
    assert neighbour.n_pages == 1
    assert {finding.url for finding in neighbour.all_findings()} == {f"{A}/old", f"{B}/gone"}
    assert neighbour.clicks.broken == pytest.approx(1 / 3)
    with pytest.raises(InputError, match=r"no page of c\.test"):
        site_report(folder, hosts=["c.test"])


def test_pages_valued_more_by_other_sites(small_estimate: Path) -> None:
    first, *_ = valued_findings(small_estimate, ())
    assert first.url == f"{A}/orphan"
    assert first.why == "place 1 in the whole web, place 7 by the links of the site"
    assert list(valued_findings(small_estimate, ("b.test",))) == []


@pytest.fixture
def small_estimate(tmp_path: Path) -> Path:
    entry = (
        '{"url": "http://a.test/orphan", "inside": 0.01, "outside": 0.5, "position_inside": 7, "position_outside": 1}'
    )
    (tmp_path / "estimate.json").write_text(f'{{"valued_more": [{entry}]}}')
    return tmp_path


@pytest.mark.parametrize("limit", [{"deep": -1}, {"slow_s": -0.5}, {"max_places": -1}])
def test_negative_limits(folder: Path, limit: dict[str, int]) -> None:
    with pytest.raises(InputError, match="not be negative"):
        site_report(folder, **limit)  # type: ignore[arg-type]
