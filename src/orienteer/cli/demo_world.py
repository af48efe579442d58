"""Chapters 4 and 5 of the demo: the global rank of the town's pages, and searches in three orders."""

from __future__ import annotations

from typing import TYPE_CHECKING

from orienteer.cli import display
from orienteer.cli.demo_stage import Stage
from orienteer.cli.wording import counted, plain

if TYPE_CHECKING:
    from orienteer.graph.estimation.history import EstimateRound
    from orienteer.search.search_index import Hit, SearchIndex
    from orienteer.side_crawls.estimate import EstimateReport

_BUDGET, _ROUNDS = 700, 20  # pages fetched outside the town
_QUERIES = ("bridge", "opening hours", "lantern festival")
_ORDERS = {"text": "by words", "local": "inside", "global": "outside"}
_N_LISTED = 4  # of every kind
_N_BEST = 3  # of each order
_TITLE_CHARS = 44


def estimate_global_rank(stage: Stage) -> None:
    """Chapter 4: the rank of the town's pages in the whole web."""
    from orienteer.side_crawls.estimate import live_estimate
    from orienteer.side_crawls.estimate_rounds import EstimateSettings

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
        from orienteer.fake_web.community.site import is_of_town
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
