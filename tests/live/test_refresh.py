"""A fake web that changes between epochs: what a refresh requests, finds, updates and leaves."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from warcio.archiveiterator import ArchiveIterator

import orienteer as ori
from orienteer.errors import CrawlFolderError, InputError
from orienteer.inspect.changes import changes, epoch_changes
from orienteer.inspect.crawl_status import crawl_status
from orienteer.inspect.verify import verify
from orienteer.ledger.ledger import Ledger
from orienteer.ledger.revisiting import DAY_S
from orienteer.live.session import open_crawl, plan_of_folder, refresh
from orienteer.live.start_pages import begin_epoch, new_epoch
from orienteer.pages.states import PageState
from orienteer.store.folder import CrawlFolder
from orienteer.store.folder_view import FolderView
from orienteer.store.visits import VisitKind
from tests.conftest import random_web
from tests.fake_web.changing import ChangingSite, Validators, next_epoch
from tests.fake_web.graph_site import GraphSite
from tests.fake_web.server import FakeWeb
from tests.fake_web.site import MadeSite
from tests.live.live_crawls import hub
from tests.live.refreshes import NOTHING_HAPPENS, Refreshed, contents, rows_of, visits_of

pytestmark = pytest.mark.long

HOME = "http://a.test/"
PAGES = {
    HOME: "<title>Home</title><a href=/x>x</a> <a href=/y>y</a> <a href=http://b.test/>b</a>",
    "http://a.test/x": "<title>X</title><a href=/y>y</a> <a href=/deep>deep</a>",
    "http://a.test/y": "<title>Y</title><a href=/>home</a>",
    "http://a.test/deep": "<title>Deep</title>nothing",
    "http://b.test/": "<title>B</title><a href=/1>1</a> <a href=/2>2</a>",
    "http://b.test/1": "<title>B 1</title>one",
    "http://b.test/2": "<title>B 2</title>two",
}

Make = Callable[..., Refreshed]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    """Return a function that crawls a changing site, for refreshes."""
    webs: list[FakeWeb] = []

    def made(site: Any = None, validators: Validators = "both", **first: Any) -> Refreshed:
        changing = ChangingSite(MadeSite(PAGES) if site is None else site, validators)
        webs.append(FakeWeb(changing).__enter__())
        return Refreshed(changing, webs[-1], tmp_path / "crawl", **{"seeds": HOME, **first})

    yield made
    for web in webs:
        web.__exit__(None, None, None)


def test_new_changed_and_missing_pages_are_found_and_others_not_sent_again(make: Make) -> None:
    web = make()
    before = web.rows()
    web.site.edit("http://a.test/x", "<title>X2</title><a href=/y>y</a> <a href=/new>new</a>")
    web.site.add("http://a.test/new", "<title>New</title>")
    web.site.delete("http://b.test/2")
    report = web.refresh()
    assert web.visits() == {
        HOME: VisitKind.NOT_MODIFIED, "http://a.test/x": VisitKind.CHANGED, "http://a.test/y": VisitKind.NOT_MODIFIED,
        "http://a.test/deep": VisitKind.NOT_MODIFIED, "http://a.test/new": VisitKind.NEW,
        "http://b.test/": VisitKind.NOT_MODIFIED, "http://b.test/1": VisitKind.NOT_MODIFIED,
        "http://b.test/2": VisitKind.MISSING,
    }  # fmt: skip
    assert report.figures.visits == {"new": 1, "changed": 1, "not modified": 5, "missing": 1}
    assert web.site.traffic.n_not_modified == 5
    after = web.rows()
    assert after["http://a.test/x"].title == "X2"
    assert after["http://a.test/new"].title == "New"
    unchanged = set(before) - {"http://a.test/x"}
    assert contents({url: after[url] for url in unchanged}) == contents({url: before[url] for url in unchanged})
    assert report.goal_reached
    assert report.figures.epoch == 1


@pytest.mark.parametrize("validators", get_args(Validators))
def test_unchanged_pages_are_detected_by_validators_or_content(make: Make, validators: Validators) -> None:
    web = make(validators=validators)
    web.refresh()
    kind = VisitKind.UNCHANGED if validators == "none" else VisitKind.NOT_MODIFIED
    assert set(web.visits().values()) == {kind}
    assert web.site.traffic.n_not_modified == (0 if validators == "none" else len(PAGES))


@pytest.mark.parametrize("validators", ["both", "none"])
def test_revisit_records_refer_to_the_archived_page(make: Make, validators: Validators) -> None:
    web = make(validators=validators)
    web.refresh()
    (path,) = (web.folder / "archive").iterdir()
    with path.open("rb") as stream:
        records = [
            (record.rec_type, record.rec_headers, record.http_headers)
            for record in ArchiveIterator(stream, check_digests="raise")
            if record.rec_type != "warcinfo"
        ]
    pages = {headers["WARC-Target-URI"]: headers for kind, headers, _ in records if kind == "response"}
    revisits = {headers["WARC-Target-URI"]: (headers, http) for kind, headers, http in records if kind == "revisit"}
    assert set(pages) == set(revisits) == set(PAGES)
    for url, (headers, http) in revisits.items():
        assert headers["WARC-Refers-To-Target-URI"] == url
        assert headers["WARC-Refers-To-Date"] == pages[url]["WARC-Date"]
        assert headers["WARC-Payload-Digest"] == pages[url]["WARC-Payload-Digest"]
        assert http.get_statuscode() == ("304" if validators == "both" else "200")


def test_the_archive_has_every_page_after_a_refresh(make: Make) -> None:
    web = make()
    web.site.edit("http://a.test/y", "<title>Y2</title>")
    web.refresh()
    with FolderView.open(web.folder) as folder:
        for url, row in web.rows().items():
            assert row.archived is not None
            page = folder.archive.read(row.archived)
            assert (page.url, page.body) == (url, web.site.body_of(url))


OUTAGES = ["refuse", "503", "timeout", "404-everything", "maintenance", "same-page"]


@pytest.mark.parametrize("kind", OUTAGES)
def test_an_outage_of_a_host_deletes_nothing(make: Make, kind: str) -> None:
    timeout_s = 1.5 if kind == "timeout" else 60.0
    web = make(settings={"fetch": {"timeout_s": timeout_s}, "retry": {"give_up_after": 3, "back_off_s": 0.01}})
    before = web.rows()
    web.site.outage("b.test", kind)
    report = web.refresh()
    after = web.rows()
    lost = {url for url in before if contents(before)[url] != contents(after)[url]}
    # An error page with the status 200 counts as a change for the first URL only.
    assert len(lost) <= (kind == "same-page")
    assert not web.of_kind(VisitKind.GONE)
    assert report.library is not None
    web.site.end_outage("b.test")
    web.refresh()
    assert contents({url: row for url, row in web.rows().items() if url in PAGES}) == contents(before)


def test_an_outage_that_lasts_for_months_deletes_nothing(make: Make) -> None:
    web = make(settings={"retry": {"give_up_after": 2, "back_off_s": 0.01}})
    before = web.rows()
    web.site.outage("b.test", "refuse")
    for _ in range(4):
        web.refresh(days=30)
        assert contents(web.rows()) == contents(before)
    assert web.of_kind(VisitKind.UNREACHABLE) == {url for url in PAGES if "b.test" in url}


def test_missing_pages_are_deleted_after_several_days_and_may_return(make: Make) -> None:
    web = make()
    page = "http://b.test/2"
    web.site.delete(page, 410)
    kinds, states = [], []
    for days in (1, 0.5, 0.5, 0.5, 0.5, 5):
        web.refresh(days)
        kinds.append(web.visits().get(page))
        states.append(web.rows()[page].state)
    assert kinds[:5] == [VisitKind.MISSING] * 4 + [VisitKind.GONE]
    assert kinds[5] in NOTHING_HAPPENS
    assert states == [PageState.FETCHED] * 4 + [PageState.FAILED] * 2
    assert web.rows()[page].outcome == "http 410"
    web.site.restore(page)
    web.refresh(50)
    assert web.visits()[page] is VisitKind.CHANGED
    assert web.rows()[page].title == "B 2"


def test_unchanged_pages_are_visited_less_and_less_often(make: Make) -> None:
    web = make()
    requests: dict[str, list[int]] = {url: [] for url in PAGES}
    for day in range(12):
        web.site.edit("http://a.test/y", f"<title>Y {day}</title>")
        web.refresh()
        for url in PAGES:
            requests[url].append(sum(n for (asked_for, _), n in web.site.traffic.requests.items() if asked_for == url))
    assert sum(requests["http://a.test/y"]) == 12
    for url in set(PAGES) - {"http://a.test/y"}:
        assert requests[url][0] == 1
        assert 2 <= sum(requests[url]) <= 6
    assert web.rows()["http://a.test/y"].title == "Y 11"


def test_a_page_that_is_not_due_costs_no_budget(make: Make) -> None:
    web = make()
    web.refresh()
    report = web.refresh(days=0.1, budget=1)
    assert report.figures.visits == {"carried": len(PAGES)}
    assert report.stopped_because == "frontier empty"
    assert web.site.traffic.n_requests == 0
    assert report.figures.certificate.lower == pytest.approx(1.0)


def test_a_budget_counts_requested_pages(make: Make) -> None:
    web = make()
    report = web.refresh(budget=3)
    assert report.stopped_because == "budget"
    assert report.ending == "limit reached"
    assert web.site.traffic.n_requests == 3


def test_an_epoch_goes_no_farther_than_its_hops(make: Make) -> None:
    web = make(settings={"refresh": {"n_seeds": 1, "hops": 1, "method": "greedy"}})
    web.site.edit(HOME, PAGES[HOME] + "<a href=/n1>n</a>")
    web.site.add("http://a.test/n1", "<a href=/n2>n</a>")
    web.site.add("http://a.test/n2", "<a href=/n3>n</a>")
    web.refresh()
    assert web.visits()["http://a.test/n1"] is VisitKind.NEW
    assert web.visits()["http://a.test/n2"] is VisitKind.LEFT
    assert "http://a.test/n2" not in web.rows()
    web.refresh()
    assert web.visits()["http://a.test/n2"] is VisitKind.NEW  # the next seeds are selected to reach it


def test_blocked_pages_are_retried(make: Make) -> None:
    pages = PAGES | {"http://b.test/1": ori_answer(403)}
    web = make(MadeSite(pages))
    assert web.rows()["http://b.test/1"].state == PageState.BLOCKED
    web.site.site = MadeSite(PAGES)
    web.refresh()
    assert web.visits()["http://b.test/1"] is VisitKind.NEW
    assert web.rows()["http://b.test/1"].title == "B 1"


def ori_answer(status: int) -> Any:
    from tests.fake_web.fake_response import FakeResponse

    return FakeResponse(status=status)


def test_a_permanent_redirect_replaces_a_page_and_a_temporary_one_does_not(make: Make) -> None:
    pages: dict[str, Any] = dict(PAGES)
    web = make(MadeSite(pages))
    web.site.site = MadeSite(pages | {"http://b.test/1": moved(301), "http://b.test/2": moved(302)})
    web.refresh()
    assert web.visits()["http://b.test/1"] is VisitKind.CHANGED
    assert web.visits()["http://b.test/2"] is VisitKind.MISSING
    rows = web.rows()
    assert rows["http://b.test/1"].redirect_to == rows["http://a.test/y"].id
    assert rows["http://b.test/2"].redirect_to is None
    web.refresh(2)
    web.refresh(2)
    assert web.rows()["http://b.test/2"].redirect_to == rows["http://a.test/y"].id


def moved(status: int, target: str = "http://a.test/y") -> Any:
    from tests.fake_web.fake_response import redirect_to

    return redirect_to(target, status)


def test_a_temporary_redirect_of_a_seed_does_not_widen_the_scope(make: Make) -> None:
    web = make(MadeSite(PAGES), scope="host")
    assert {url.split("/")[2] for url in web.rows()} == {"a.test"}
    away = "http://status.test/"
    for status, hosts in ((302, {"a.test"}), (301, {"a.test", "status.test"})):
        web.site.site = MadeSite(PAGES | {HOME: moved(status, away), away: "we are down"})
        web.refresh()
        assert {url.split("/")[2] for url in web.rows()} == hosts


def test_not_modified_without_a_stored_page_is_an_error(make: Make) -> None:
    web = make(MadeSite(PAGES | {"http://b.test/1": ori_answer(304)}))
    row = web.rows()["http://b.test/1"]
    assert (row.state, row.outcome) == (PageState.BLOCKED, "not modified")
    web.refresh()
    assert web.rows()["http://b.test/1"].state == PageState.BLOCKED


# -- random webs ------------------------------------------------------------------------------------------------------


def evolving(make: Make, rng: np.random.Generator, n_pages: int = 60, **first: Any) -> Refreshed:
    graph = random_web(rng, n_pages, 5.0, with_hosts=True)
    site = GraphSite(graph)
    return make(site, seeds=hub(site), **first)


@pytest.mark.parametrize("number", range(3))
def test_a_refresh_finds_exactly_the_changes(make: Make, number: int) -> None:
    rng = np.random.default_rng(number)
    web = evolving(make, rng, settings={"refresh": {"hops": 50, "revisit_chance": 0.0}})
    for _ in range(3):
        known = web.rows()
        had = {url for url, row in known.items() if row.state == PageState.FETCHED}
        changes = next_epoch(rng, web.site, 0.1, 0.2, 0.1, among=had - {hub(web.site.site)})
        web.refresh()
        assert changes.new <= web.of_kind(VisitKind.NEW) <= set(web.site.urls()) - had  # they link to others
        assert web.of_kind(VisitKind.CHANGED) == changes.edited - changes.deleted
        assert web.of_kind(VisitKind.MISSING) >= changes.deleted
        assert web.of_kind(VisitKind.NOT_MODIFIED) <= had - changes.edited - changes.deleted
        rows = web.rows()
        with FolderView.open(web.folder) as folder:
            for url in web.of_kind(VisitKind.NEW, VisitKind.CHANGED, VisitKind.NOT_MODIFIED):
                place = rows[url].archived
                assert place is not None
                assert folder.archive.read(place).body == web.site.body_of(url)


@pytest.mark.parametrize(
    ("policy", "start", "with_checkpoint"),  # the last two in every combination
    [
        ("certified", "selected", True), ("certified", "seeds", False), ("fractional", "selected", False),
        ("breadth-first", "seeds", True),
    ],
)  # fmt: skip
def test_an_interrupted_epoch_resumes_like_an_uninterrupted_one(
    make: Make, policy: str, start: str, with_checkpoint: bool
) -> None:
    rng = np.random.default_rng(5)
    settings = {"refresh": {"start": start, "n_seeds": 3, "hops": 3}, "crawl": {"workers": 1, "near_duplicates": "off"}}
    web = evolving(make, rng, policy=policy, settings=settings)
    web.refresh()
    next_epoch(rng, web.site, 0.2, 0.3, 0.1)
    undisturbed = web.folder.with_name("undisturbed")
    shutil.copytree(web.folder, undisturbed)
    now = web.today + 3 * 86_400
    expected = refresh(undisturbed, now=now)
    plan = plan_of_folder(web.folder)
    n_runs = 0
    while n_runs < 100:
        with open_crawl(web.folder, plan, refresh=n_runs == 0, now=now) as live:
            stop_at = len(live.crawl.order) + 11

            def tick(live: Any = live, stop_at: int = stop_at) -> None:
                if len(live.crawl.order) >= stop_at:
                    live.stop_level = 1

            why = live.run(tick)
        n_runs += 1
        if not with_checkpoint:
            shutil.rmtree(web.folder / "checkpoints")
        if why != "interrupted":
            break
    assert n_runs > 3
    assert list(web.visits().items()) == list(visits_of(undisturbed).items())
    assert contents(web.rows()) == contents(rows_of(undisturbed))
    assert why == expected.stopped_because


def test_reopening_a_folder_in_an_epoch_restores_the_crawl(make: Make) -> None:
    rng = np.random.default_rng(8)
    web = evolving(make, rng)
    next_epoch(rng, web.site, 0.2, 0.3, 0.1)
    web.today += 86_400
    plan = plan_of_folder(web.folder, {"crawl": {"budget": 25}})
    with open_crawl(web.folder, plan, refresh=True, now=web.today) as live:
        live.run()
        crawl = live.crawl
        n_asked = live.crawl.n_requested
    for use_checkpoint in (True, False):
        if not use_checkpoint:
            shutil.rmtree(web.folder / "checkpoints")
        with CrawlFolder.open(web.folder) as folder:
            again = Ledger(folder, plan)
        assert again.crawl.order == crawl.order
        assert again.crawl.n_requested == n_asked
        assert np.array_equal(again.crawl.states(), crawl.states())
        assert again.crawl.certificate().lower == pytest.approx(crawl.certificate().lower, abs=1e-9)
        for mine, theirs in zip(again.crawl.waiting(), crawl.waiting(), strict=True):
            assert mine == pytest.approx(theirs)


@pytest.mark.parametrize("number", range(2))
def test_the_bounds_hold_for_the_current_web(make: Make, number: int) -> None:
    """After a refresh of everything, the true share of a surfer's time lies inside both certificates."""
    rng = np.random.default_rng(100 + number)
    web = evolving(make, rng)
    next_epoch(rng, web.site, 0.2, 0.3, 0.0)
    for budget, start in ((15, "seeds"), (500, "selected")):
        settings = {"refresh": {"start": start, "hops": 50}}
        report = web.refresh(days=30, budget=budget, settings=settings)
        rows = web.rows()
        graph = web_as_it_is(web)
        seeds = [graph.urls.find(hub(web.site.site))]
        truth = ori.pagerank(graph, trust=seeds, tolerance=1e-10)
        mine = sum(truth[graph.urls.find(url)] for url, row in rows.items() if row.state != PageState.BLOCKED)
        if budget == 500:
            assert report.library is not None
            assert report.library.lower - 1e-8 <= mine <= report.library.upper + 1e-8
        seen = sum(truth[graph.urls.find(url)] for url in web.visits())
        if start == "seeds":
            bounds = report.figures.certificate
            assert bounds.lower - 1e-8 <= seen <= bounds.upper + 1e-8


def web_as_it_is(web: Refreshed) -> Any:
    from orienteer.extract.page import extract_page

    urls = web.site.urls()
    numbers = {url: k for k, url in enumerate(urls)}
    links = [
        (numbers[url], numbers[target])
        for url in urls
        for target in extract_page(web.site.body_of(url), url, with_text=False).links
        if target in numbers
    ]
    return ori.LinkGraph.from_links(len(urls), *zip(*links, strict=True), urls=urls)


# -- use --------------------------------------------------------------------------------------------------------------


def test_a_resume_without_refresh_continues_the_epoch(make: Make) -> None:
    web = make()
    web.refresh(budget=2)
    with open_crawl(web.folder, plan_of_folder(web.folder, {"crawl": {"budget": 100}})) as live:
        assert live.ledger.epoch_number == 1
        assert live.run() == "frontier empty"
    assert len(web.visits()) == len(PAGES)


def test_the_first_crawl_is_listed_with_its_epochs(make: Make) -> None:
    from orienteer.inspect.crawl_status import crawl_status

    web = make()
    assert crawl_status(web.folder).epochs == ()
    web.site.delete("http://b.test/2")
    web.refresh()
    web.refresh(3)
    first, second, third = crawl_status(web.folder).epochs
    assert (first.number, first.n_requested, first.visits) == (0, 7, {"new": 7, "nothing": 0})
    assert (second.number, second.n_requested, second.n_due) == (1, 7, 7)
    assert second.visits == {"not modified": 6, "missing": 1}
    assert second.unsent_bytes == sum(len(body) for url, body in PAGES.items() if url != "http://b.test/2")
    assert second.ended is not None
    assert third.visits["missing"] == 1
    assert crawl_status(web.folder).library is not None
    assert crawl_status(web.folder).report_is_current


def test_there_must_be_something_to_refresh(tmp_path: Path) -> None:
    with pytest.raises(CrawlFolderError, match="no crawl in this folder"):
        refresh(tmp_path / "none")
    from orienteer.ledger.plan import CrawlPlan
    from orienteer.ledger.settings import CrawlSettings

    CrawlFolder.create(tmp_path / "crawl", CrawlPlan(CrawlSettings(seeds=(HOME,))).to_toml()).close()
    with pytest.raises(InputError, match="nothing to refresh"):
        refresh(tmp_path / "crawl")
    with pytest.raises(InputError, match="no setting"):
        refresh(tmp_path / "crawl", settings={"refresh": {"hop": 3}})


def test_near_duplicates_are_found_by_the_current_content(make: Make) -> None:
    words = " ".join(f"word{k}" for k in range(300))
    pages = PAGES | {"http://b.test/1": f"<p>{words}", "http://b.test/2": f"<p>{words} more"}
    web = make(MadeSite(pages), settings={"crawl": {"near_duplicates": "report", "workers": 1}})
    repeats = [row for row in web.rows().values() if row.near_duplicate_of is not None]
    assert len(repeats) == 1
    for page in ("http://b.test/1", "http://b.test/2"):
        web.site.edit(page, f"<p>{page} " + " ".join(f"{page}{k}" for k in range(300)))
    web.refresh()
    assert all(row.near_duplicate_of is None for row in web.rows().values())
    web.site.edit("http://b.test/1", web.site.body_of("http://b.test/2") + b" more")
    web.refresh(30)
    rows = web.rows()
    assert rows["http://b.test/1"].near_duplicate_of == rows["http://b.test/2"].id


def test_two_addresses_of_one_page_change_together(make: Make) -> None:
    """Neither counts as missing because it repeats the other, in either order of requests."""
    web, index = two_addresses(make)
    for number, first in enumerate((index, HOME, index), 1):
        edit_both(web, index, number)
        begin_at(web, first, number)
        refresh(web.folder, settings={"crawl": {"workers": 1}})
        visits = web.visits()
        assert next(iter(visits)) == first
        assert (visits[HOME], visits[index]) == (VisitKind.CHANGED, VisitKind.CHANGED)


def test_two_addresses_of_one_page_may_be_visited_at_different_times(make: Make) -> None:
    """The page is edited between the visits of a refresh, so that they differ for a while."""
    web, index = two_addresses(make)
    edit_both(web, index, 1)
    begin_at(web, index, 1)
    refresh(web.folder, budget=1)
    assert web.visits()[index] is VisitKind.CHANGED
    for number in (2, 3):
        edit_both(web, index, number)
        begin_at(web, HOME, number)
        refresh(web.folder, settings={"crawl": {"workers": 1}}, budget=10)
        visits = web.visits()
        assert (visits[HOME], visits[index]) == (VisitKind.CHANGED, VisitKind.CHANGED)


def test_a_page_that_gets_its_content_back_is_not_missing(make: Make) -> None:
    """Another address shows the same by then, as in an outage in which all addresses showed one page."""
    index = "http://a.test/index.html"
    pages = {HOME: "<title>0</title><a href=/index.html>i</a> <a href=/x>x</a>", "http://a.test/x": "x"}
    web = make(MadeSite(pages | {index: "<title>1</title>"}), "none")
    web.site.edit(HOME, "<title>broken</title>")
    web.site.edit(index, pages[HOME])
    begin_at(web, HOME, 1)
    refresh(web.folder, settings={"crawl": {"workers": 1}})
    assert (web.visits()[HOME], web.visits()[index]) == (VisitKind.CHANGED, VisitKind.CHANGED)
    web.site.edit(HOME, pages[HOME])
    begin_at(web, index, 2)
    refresh(web.folder, settings={"crawl": {"workers": 1}})
    assert web.visits()[HOME] is VisitKind.CHANGED


def two_addresses(make: Make) -> tuple[Refreshed, str]:
    index = "http://a.test/index.html"
    pages = {HOME: "<title>0</title><a href=/index.html>i</a> <a href=/x>x</a>", "http://a.test/x": "x"}
    return make(MadeSite(pages | {index: pages[HOME]}), "none"), index


def edit_both(web: Refreshed, index: str, number: int) -> None:
    for url in (HOME, index):
        web.site.edit(url, f"<title>{number}</title><a href=/index.html>i</a> <a href=/x>x</a>")


def begin_at(web: Refreshed, first: str, days: int) -> None:
    """Begin a refresh some days later, with this page first."""
    with CrawlFolder.open(web.folder) as folder:
        start = np.array([folder.database.urls.find(first)], np.uint32)
        epoch = new_epoch(folder.database, plan_of_folder(web.folder), web.today + days * DAY_S)
        folder.database.epochs.add(epoch._replace(seeds=start, trust=np.ones(1)))
        folder.acknowledge()


def test_the_same_response_for_all_pages_is_an_error(make: Make) -> None:
    web = make()
    web.site.outage("a.test", "same-page")
    web.refresh()
    kinds = [web.visits()[url] for url in PAGES if url.startswith(HOME)]
    assert kinds.count(VisitKind.CHANGED) == 1  # the first one, which repeats no other
    assert kinds.count(VisitKind.MISSING) == len(kinds) - 1


def test_a_refresh_killed_before_its_first_page_does_not_change_the_bounds(make: Make) -> None:
    web = make()
    before = crawl_status(web.folder).proved
    assert before is not None
    with CrawlFolder.open(web.folder) as folder:
        begin_epoch(folder, plan_of_folder(web.folder))
    status, found = crawl_status(web.folder), verify(web.folder)
    assert found.holds
    assert not status.report_is_current
    assert status.proved is not None
    for bounds in (status.proved, found.certificate):
        assert (bounds.lower, bounds.upper) == pytest.approx((before.lower, before.upper), abs=1e-8)


def test_a_missing_page_is_listed_once_until_it_returns(make: Make) -> None:
    web = make(MadeSite(PAGES))
    web.site.delete("http://b.test/1", 410)
    web.site.site = MadeSite(PAGES | {"http://b.test/2": moved(302)})
    found = web.refresh().missing
    assert {(page.url, page.outcome) for page in found} == {
        ("http://b.test/1", "http 410"),
        ("http://b.test/2", "redirect"),
    }
    again = web.refresh(0.5).missing
    assert [(page.url, page.since) for page in again] == [(page.url, page.since) for page in found]
    assert {page.n_times for page in again} == {2}
    with FolderView.open(web.folder) as view:
        listed = [(one.epoch, one.url) for one in changes(view.database, kinds=["missing"])]
        assert {one.epoch: one.missing for one in epoch_changes(view.database)} == {0: 0, 1: 2, 2: 0}
    assert sorted(listed) == [(1, "http://b.test/1"), (1, "http://b.test/2")]
    web.site.restore("http://b.test/1")
    assert [page.url for page in web.refresh(0.5).missing] == ["http://b.test/2"]
