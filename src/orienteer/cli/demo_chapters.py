"""Chapters 1 to 5 of the demo: seeds, crawl, refresh, the rank in the whole web, and search."""

from __future__ import annotations

import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from orienteer.cli import display
from orienteer.cli.demo import Stage, watching
from orienteer.cli.display import add_fact, facts_grid
from orienteer.errors import OrienteerError
from orienteer.graph.proved import percent
from orienteer.inspect.status_text import describe_certificate
from orienteer.pages.states import PageState
from orienteer.pages.stop_reason import StopReason
from orienteer.wording import counted, goal_share, plain

if TYPE_CHECKING:
    from orienteer.graph.estimation.history import EstimateRound
    from orienteer.inspect.run_report import Report
    from orienteer.live.start_pages import StartPages
    from orienteer.search.search_index import Hit, SearchIndex
    from orienteer.side_crawls.estimate import EstimateReport

GOAL = 0.98
_FIRST_LOOK = 300  # pages
_N_SEEDS, _HOPS = 5, 3
_N_DRAWS = 20
_AT_MOST = 8000  # pages: a policy that cannot prove enough must not crawl the endless calendar for ever
_KILLED_AFTER = 150  # pages: before the crawl can have finished
_TIMEOUT_S = 60.0  # for them
_CALENDAR = "/calendar/"
_KNOWN_BY = {StopReason.COVERAGE: "proved", StopReason.MEASURED: "measured"}
_BUDGET, _ROUNDS = 700, 20  # pages fetched outside the town
_QUERIES = ("bridge", "opening hours", "lantern festival")
_ORDERS = {"text": "by words", "local": "inside", "global": "outside"}
_N_LISTED = 4  # of every kind
_N_BEST = 3  # of each order
_TITLE_CHARS = 44


def choose_seeds(stage: Stage) -> StartPages:
    """Chapter 1: crawl a few pages from the home page, and choose the seeds that reach the most."""
    from orienteer.ledger.settings import StartSettings
    from orienteer.live.start_pages import start_pages

    stage.begin("1. Where to start")
    first = stage.scratch / "first-look"
    seen = stage.crawl("a first look", first, stage.home, budget=_FIRST_LOOK, settings=stage.settings())
    with stage.working() as progress:
        start = start_pages(first, StartSettings(_N_SEEDS, _HOPS, trust_by="value"), progress)
        by_chance = _reached_by_chance(first)
    found = start.selection
    stage.say(
        f"A first look from the home page of the town hall: {seen.figures.n_done:,} pages requested, {found.n_pages:,} "
        f"known. Of these, {len(start.seeds)} are chosen that reach the most within {_HOPS} links: "
        f"{display.share(found.value, found.total_value)} of the value of them all. {_N_SEEDS} pages drawn at random "
        f"reach {100 * by_chance:.0f} % on average. Each seed is trusted for what it adds."
    )
    table = display.columns_table(None, ("seed", False), ("pages it adds", True), ("trust", True))
    total = sum(start.trust)
    for url, trust, seed in zip(start.seeds, start.trust, found.seeds, strict=True):
        table.add_row(stage.short(url), f"{seed.n_pages:,}", f"{100 * trust / total:.1f} %")
    stage.show(table)
    return start


def _reached_by_chance(folder: Path) -> float:
    """Return the mean share of the value that the same number of random pages reach."""
    from orienteer.inspect.snapshot import web_at
    from orienteer.live.start_pages import paper_value_of_crawl
    from orienteer.seeds.select import seed_selection

    web = web_at(folder)
    value = paper_value_of_crawl(web)
    draws = [seed_selection(web.graph, _N_SEEDS, _HOPS, "random", value, rng=rng) for rng in range(_N_DRAWS)]
    return sum(draw.share(draw.value) for draw in draws) / _N_DRAWS


def crawl_and_compare(stage: Stage, start: StartPages) -> None:
    """Chapter 2: the crawl, killed and resumed; then the same breadth first."""
    stage.begin("2. What to fetch next, and when to stop")
    stage.say(
        f"A crawl from these seeds goes on until {goal_share(GOAL)} of what their surfer sees is fetched: measured by "
        "random walks, or proved, whichever comes first."
    )
    killed = _killed(stage, start)
    goal = {"until": GOAL, "budget": _AT_MOST}
    tables = stage.settings(trust=start.trust)
    ours = stage.crawl("crawling", stage.folder, start.seeds, settings=tables, **goal)
    _print_crawl(stage, ours, killed)
    tables["crawl"] |= {"stop_when": "measured,certificate", "archive": False, "near_duplicates": "off"}
    tables["politeness"]["delay_s"] = 0.0
    folder = stage.scratch / "breadth-first"
    what = "the same, breadth first"
    simple = stage.crawl(what, folder, start.seeds, policy="breadth-first", settings=tables, **goal)
    _compare(stage, ours, simple, folder)


class _Killed(NamedTuple):
    """The pages that a killed crawl had committed, and the number of requests before the kill."""

    urls: frozenset[str]
    n_requests: int


def _killed(stage: Stage, start: StartPages) -> _Killed | None:
    """Start the crawl in a separate process and kill it; None if it finished first."""
    from orienteer.ledger.plan import CrawlPlan

    crawl = {"seeds": start.seeds, "until": GOAL, "budget": _AT_MOST, "trust": start.trust}
    plan = CrawlPlan.of_tables(stage.settings(**crawl) | {"scope": {"kind": "site"}}, "the demo")
    settings = stage.scratch / "plan.toml"
    settings.write_text(plan.to_toml(), encoding="utf-8")
    options = ["--settings", str(settings), "--output", str(stage.folder), "--quiet"]
    command = [sys.executable, "-P", "-m", "orienteer", "crawl", *options]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            _wait_for(process, stage)
            was_running = process.poll() is None
        finally:
            process.kill()
    urls = _acknowledged(stage.folder)
    return _Killed(urls, len(stage.web.requests)) if was_running and urls else None


def _wait_for(process: subprocess.Popen[bytes], stage: Stage) -> None:
    """Wait until the crawl has committed enough pages, has ended, or takes too long."""
    deadline = time.monotonic() + _TIMEOUT_S
    with stage.working() as progress:
        while process.poll() is None and time.monotonic() < deadline:
            n_pages = len(_acknowledged(stage.folder))
            progress("crawling, until it is killed", n_pages, 0)
            if n_pages >= _KILLED_AFTER:
                return
            time.sleep(0.02)


def _acknowledged(folder: Path) -> frozenset[str]:
    """Return the URLs that the crawl has committed, which survive a kill."""
    from orienteer.store.database import DatabaseView

    with suppress(OrienteerError), DatabaseView(folder / "crawl.db") as database:  # OrienteerError: no database yet
        return frozenset(database.urls.of_all([page for page, _, _ in database.pages.states()]))
    return frozenset()


def _print_crawl(stage: Stage, report: Report, killed: _Killed | None) -> None:
    figures, proved = report.figures, report.figures.certificate
    n_calendar, n_waiting = _calendar_pages(stage.folder)
    rows = facts_grid()
    add_fact(rows, "killed", _after_the_kill(stage, killed))
    proof = f"at least {percent(proved.lower)}, at most {percent(proved.upper, up=True)} of what a surfer sees"
    walked = figures.survey
    add_fact(rows, "result", f"{report.headline}, after asking for {counted(figures.n_done, 'page')}")
    add_fact(rows, "", "" if walked is None or walked.measured is None else walked.describe())
    add_fact(rows, "", f"proved: {proof}")
    add_fact(rows, "left out", f"all that waits in the frontier can cost {percent(proved.frontier, up=True)} at most")
    trap = f"{n_calendar:,} pages of the calendar were fetched, {n_waiting:,} more wait, and they never end"
    add_fact(rows, "a trap", trap)
    pages = counted(figures.n_blocked, "page")
    blocked = f"robots.txt forbids {pages}: up to {percent(proved.blocked, up=True)} is unreachable"
    add_fact(rows, "blocked", blocked if figures.n_blocked else "")
    add_fact(rows, "no pages", _failures(stage.folder))
    stage.show(rows)


def _after_the_kill(stage: Stage, killed: _Killed | None) -> str:
    """Describe what the resumed crawl fetched again, by the requests of the server; empty if it was not killed."""
    if killed is None:
        return ""
    asked = {f"http://{host}{target}" for host, target in stage.web.requests[killed.n_requests :]}
    again = len(asked & killed.urls)
    of_these = f"{counted(again, 'page')} of these" if again else "no page of these"
    return f"by kill -9, with {len(killed.urls):,} pages stored; another run resumed it, and fetched {of_these} again"


def _calendar_pages(folder: Path) -> tuple[int, int]:
    """Return the numbers of calendar pages that the crawl has fetched, and that it only knows."""
    from orienteer.store.database import DatabaseView

    with DatabaseView(folder / "crawl.db") as database:
        n_known = sum(block.count(_CALENDAR.encode()) for block in database.urls.blocks())
    n_fetched = sum(_CALENDAR in url for url in _acknowledged(folder))
    return n_fetched, n_known - n_fetched


def _failures(folder: Path) -> str:
    """Describe the URLs that are no pages, by reason."""
    from orienteer.inspect.crawl_status import crawl_status

    words = {"unwanted type": "pictures", "http 404": "dead links"}
    status = crawl_status(folder)
    outcomes = status.outcomes(PageState.SKIPPED) | status.outcomes(PageState.FAILED)
    failed = [f"{n:,} {words.get(kind, kind)}" for kind, n in outcomes.items()]
    n_moved = status.outcomes(PageState.FETCHED).get("redirect", 0)
    if n_moved:
        failed.append(counted(n_moved, "address that has moved", "addresses that have moved"))
    return ", ".join(failed)


def _compare(stage: Stage, ours: Report, simple: Report, simple_folder: Path) -> None:
    headings = [
        ("order", False),
        ("pages requested", True),
        ("of the calendar", True),
        (f"{goal_share(GOAL)} is", False),
    ]
    table = display.columns_table(None, *headings)
    for name, report, folder in (("certified", ours, stage.folder), ("breadth-first", simple, simple_folder)):
        figures = report.figures
        n_calendar = _calendar_pages(folder)[0]
        table.add_row(
            name, f"{figures.n_done:,}", f"{n_calendar:,}", _KNOWN_BY.get(report.stopped_because, "not known")
        )
    stage.show(table)
    if not (ours.goal_reached and simple.goal_reached):
        who = "Breadth-first" if ours.goal_reached else "Not every order"
        verb = "had not come to" if ours.goal_reached else "came to"
        stage.say(f"{who} {verb} {goal_share(GOAL)} within {_AT_MOST:,} pages.")
        return
    ratio = simple.figures.n_done / ours.figures.n_done
    stage.say(
        f"Breadth-first, the simplest order, needs {ratio:.1f} times as many pages to know as much."
        if ratio >= 1.05
        else "Breadth-first was as good here."
    )


def refresh_again(stage: Stage) -> None:
    """Chapter 3: refresh the crawl, a week later."""
    from orienteer.cli.epoch_display import describe_unchanged, describe_visits
    from orienteer.ledger.revisiting import DAY_S
    from orienteer.live.session import refresh

    stage.begin("3. A week later")
    stage.say(
        "A refresh chooses new seeds from the known pages, and requests the pages that may have changed; a server may "
        "respond that a page has not. Pages that were known but not needed before count as new, too."
    )
    changes = stage.site.pass_a_week()
    with stage.working() as progress:
        in_a_week = time.time() + 7 * DAY_S
        report = refresh(
            stage.folder,
            now=in_a_week,
            budget=_AT_MOST,
            settings={"fetch": stage.fetch},
            watch=watching(progress, "refreshing"),
        )
    assert report.library is not None
    rows = facts_grid()
    n_new, n_edited, n_deleted = map(len, changes)
    changed = f"{n_new} pages are new, {n_edited} have changed, {n_deleted} are gone"
    add_fact(rows, "the web", changed)
    add_fact(rows, "the refresh", describe_visits(report.figures.visits))
    add_fact(rows, "", describe_unchanged(report.figures.visits, report.refresh))
    add_fact(rows, "the crawl now", describe_certificate(report.library))
    stage.show(rows)
    stage.line("")


def estimate_global_rank(stage: Stage) -> None:
    """Chapter 4: the rank of the town's pages in the whole web."""
    from orienteer.ledger.settings import EstimateSettings
    from orienteer.side_crawls.estimate import live_estimate

    stage.begin("4. Rank in the whole web")
    with stage.working() as progress:

        def watch(past: EstimateRound) -> None:
            progress("fetching outside", past.n_fetched, _BUDGET)

        settings = EstimateSettings(budget=_BUDGET, rounds=_ROUNDS)
        found = live_estimate(stage.folder, settings, fetch=stage.fetch, watch=watch)
    stage.say(
        f"What are the town's {len(found.pages):,} pages worth in the whole web? {found.n_fetched:,} pages outside "
        f"it were fetched, the most influential ones first. How accurate is that? {_capital(str(found.forecast))}."
    )
    _print_referrers(stage, found)
    more, less = found.view.largest_differences(len(found.pages))
    for title, page_ranks in (
        ("Valued more outside than inside", [page for page in more if page.position_outside < page.position_inside]),
        ("Valued less outside than inside", [page for page in less if page.position_outside > page.position_inside]),
    ):
        table = display.columns_table(title, ("place outside", True), ("inside", True), ("page", False))
        for rank in page_ranks[:_N_LISTED]:
            page = stage.short(found.urls[rank.page])
            table.add_row(f"{rank.position_outside:,}", f"{rank.position_inside:,}", page)
        stage.show(table)


def _print_referrers(stage: Stage, found: EstimateReport) -> None:
    title = "Top referrers outside"
    table = display.columns_table(title, ("brings in", True), ("links into the town", True), ("page outside", False))
    for page in found.view.referrers[:_N_LISTED]:
        share = f"{100 * page.impact:#.2g} %"
        table.add_row(share, f"{len(page.links)} of {page.n_links}", stage.short(found.urls[page.page]))
    stage.show(table)


def search_in_three_orders(stage: Stage) -> None:
    """Chapter 5: the same query ranked by words alone, with local rank, and with global rank."""
    from orienteer.search.indexing import update_index
    from orienteer.search.search_index import SearchIndex

    stage.begin("5. Search")
    with stage.working() as progress:
        # Pages this small are read faster than worker processes start.
        update_index(stage.folder, processes=1, progress=progress)
        links = _DemoLinks.of(stage)
    with SearchIndex.open(stage.folder) as index:
        stage.say(
            f"{index.n_pages:,} pages are indexed. Each search is ranked in three ways: by words alone, with the rank "
            "inside the town, and with the rank in the whole web."
        )
        for words in _QUERIES:
            _print_search(stage, index, words, links)


def _print_search(stage: Stage, index: SearchIndex, words: str, links: _DemoLinks) -> None:
    from rich.markup import escape

    best = {order: index.search(words, rank=order, n=_N_BEST).hits for order in _ORDERS}
    found = {hit.url: hit for hits in best.values() for hit in hits}
    title = f'"{words}": the best of {counted(index.search(words).total, "page")}'
    headings = [(name, True) for name in _ORDERS.values()]
    table = display.columns_table(title, *headings, ("page", False), ("host", False))
    for hit in sorted(found.values(), key=lambda hit: hit.positions["text"] or 0):
        places = [_place(hit, order) for order in _ORDERS]
        table.add_row(*places, escape(plain(hit.title, _TITLE_CHARS)), stage.short(hit.url).split(".")[0])
    stage.show(table)
    inside, outside = best["local"][0], best["global"][0]
    if inside.url == outside.url:
        stage.say("The same page comes first inside and outside.")
    else:
        stage.say(f"First inside: {links.describe(inside)}. First outside: {links.describe(outside)}.")


def _place(hit: Hit, order: str) -> str:
    place = hit.positions[order]
    return f"[bold]{place}[/bold]" if place == 1 else f"{place}"


class _DemoLinks:
    """The numbers of in-links of pages, from the town and from the pages fetched outside."""

    def __init__(self, from_town: dict[str, int], from_outside: dict[str, int]) -> None:
        self._from_town = from_town
        self._from_outside = from_outside

    @classmethod
    def of(cls, stage: Stage) -> _DemoLinks:
        from orienteer.fake_web.site import is_of_town
        from orienteer.inspect.snapshot import graph_of_crawl

        graph = graph_of_crawl(stage.folder / "outside")
        assert graph.urls is not None
        urls = list(graph.urls)
        counts: tuple[dict[str, int], dict[str, int]] = ({}, {})
        for source, url in enumerate(urls):
            side = counts[not is_of_town(url)]
            for target in graph.links(source).tolist():
                side[urls[target]] = side.get(urls[target], 0) + 1
        return cls(*counts)

    def describe(self, hit: Hit) -> str:
        from rich.markup import escape

        town, outside = self._from_town.get(hit.url, 0), self._from_outside.get(hit.url, 0)
        links = f"linked from {counted(town, 'page')} in town and {outside:,} outside"
        return f"[bold]{escape(plain(hit.title))}[/bold], {links}"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
