"""`orienteer seeds`: the pages to start from."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from orienteer.cli import display, order_file
from orienteer.cli.web_argument import hosted, loaded_web, url_of
from orienteer.cli.wording import counted, plain
from orienteer.errors import InputError

if TYPE_CHECKING:
    from rich.table import Table

    from orienteer.evaluate.cost import Cost
    from orienteer.evaluate.seed_compare import SeedComparison, Series
    from orienteer.graph.link_graph import LinkGraph
    from orienteer.live.page_values import PaperValues
    from orienteer.progress import Progress
    from orienteer.seeds.select import SeedSelection
    from orienteer.seeds.value import Value

_URL_CHARS = 200
_NONE = "–"


def seeds(
    graph: Path = typer.Argument(help="Graph folder or file, or crawl folder."),
    k: int = typer.Option(10, "--seeds", "-k", help="How many to choose."),
    hops: int = typer.Option(5, help="How many links a crawl will go from a seed."),
    method: str = typer.Option(
        "greedy",
        help="greedy (covers the most; exact up to 500,000 pages), sketched-greedy, max-weight, max-scc, root-scc, "
        "max-out, out-degree, pagerank, random, or one of a plug-in (orienteer plugins).",
    ),
    depth: int = typer.Option(2, help="How far max-weight, max-scc and root-scc look; at most the hops count."),
    per: str | None = typer.Option(
        None, help="host or site: split the graph, and share the seeds out by the value of the parts."
    ),
    per_site: bool = typer.Option(False, "--per-site", help="The same as --per site."),
    value: str | None = typer.Option(
        None,
        metavar="FILE|paper",
        help="What pages are worth: a FILE of numbers, one a page; or of lines `page value`, the others worth 1. Or "
        "the word paper: 1, spam -10, clicked 10, and up to 1 for each link to a page that was not crawled, less on "
        "sites with duplicates; in a graph that is not a crawl folder all pages count as crawled.",
    ),
    spam: Path | None = typer.Option(None, help="With --value paper: a FILE of pages that are spam, one a line."),
    clicked: Path | None = typer.Option(None, help="With --value paper: a FILE of pages that were clicked."),
    rng: int = typer.Option(0, help="For random and sketched-greedy: start of the random numbers."),
    compare: bool = typer.Option(False, "--compare", help="All methods, for 1 to SEEDS seeds and 1 to HOPS hops."),
    plot: Path | None = typer.Option(None, help="With --compare: write the curves to this .png or .svg."),
    out: Path | None = typer.Option(
        None, help="Write the seeds to this file, one a line: URLs, or else ids; --trust reads it."
    ),
    format: str | None = typer.Option(None, help="Format of GRAPH, if the name does not give it."),
    json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """Choose the pages to start from: those that reach the most value within a few links.

    Exit code 0: as many seeds as asked for, or all that add anything.

    Example: [bold]orienteer seeds web.npz -k 10 --hops 5 --method greedy --out seeds.txt[/bold]
    """
    from orienteer.seeds import make_method
    from orienteer.seeds.seed_method import checked_depth
    from orienteer.seeds.select import check_numbers

    # What can be wrong without looking at the graph is said before it is read.
    check_numbers(k, hops)
    checked_depth(depth)
    make_method(method)
    order_file.check_place(out)
    per = _division(per, per_site)
    worth = _Worth(value, spam, clicked)
    if compare:
        _refuse(out, "--out")
        _compare(graph, format, (k, hops, depth), per, worth, plot, json)
        return
    _refuse(plot, "--plot without --compare")
    with display.progress_bar() as progress:
        web, values = worth.of(graph, format, progress)
        found, cost = _measured(web, (k, hops, method, values, depth, per, rng), progress)
        if out is not None:
            _write(out, web, found)
    if json:
        facts = found.as_dict()
        for entry in facts["seeds"]:
            entry["url"] = url_of(web, entry["page"])
        display.print_json(facts | worth.facts() | {"cpu_s": round(cost.cpu_s, 4)})
    else:
        _print(web, found, worth, cost)


class _Worth:
    """`--value`, `--spam` and `--clicked`: what the pages are worth."""

    def __init__(self, value: str | None, spam: Path | None, clicked: Path | None) -> None:
        from orienteer.seeds.value import PAPER

        self.value, self.spam, self.clicked = value, spam, clicked
        self.is_paper = value == PAPER
        self.by_paper: PaperValues | None = None  # once the graph is read
        for name, path in (("--spam", spam), ("--clicked", clicked)):
            if path is not None and not self.is_paper:
                raise InputError(f"{name} {path}: goes with --value {PAPER} only")

    def of(self, graph: Path, format: str | None, progress: Progress) -> tuple[LinkGraph, Value]:
        """The graph, and the values of its pages."""
        if not self.is_paper:
            return loaded_web(graph, format, progress), self.value
        from orienteer.inspect.snapshot import web_at
        from orienteer.live.page_values import paper_values

        web = web_at(graph, format, progress)
        self.by_paper = paper_values(web, self.spam, self.clicked)
        return hosted(web.graph), self.by_paper.values

    def facts(self) -> dict[str, int]:
        """What the paper's rule found, if it was asked for."""
        if self.by_paper is None:
            return {}
        return {name: n for name, n in self.by_paper._asdict().items() if name != "values"}

    def __str__(self) -> str:
        if self.by_paper is None:
            return ""
        _, n_spam, n_clicked, n_links = self.by_paper
        parts = ["1 a page"]
        parts += [f"-10 for {counted(n_spam, 'spam page')}"] * (n_spam > 0)
        parts += [f"10 for {counted(n_clicked, 'clicked page')}"] * (n_clicked > 0)
        parts += [f"at most 1 more for each of {counted(n_links, 'link')} to pages not crawled"] * (n_links > 0)
        return f"Value by the paper: {', '.join(parts)}."


def _division(per: str | None, per_site: bool) -> str | None:
    if per_site and per not in (None, "site"):
        raise InputError(f"--per-site and --per {per} contradict each other")
    if per is not None:
        from orienteer.errors import unknown_name
        from orienteer.seeds.parts import PER

        if per not in PER:
            raise unknown_name("division of the graph", per, PER)
    return "site" if per_site else per


def _refuse(path: Path | None, what: str) -> None:
    if path is not None:
        raise InputError(f"{what} {path}: a comparison has plots, a selection has seeds to write")


def _measured(web: LinkGraph, wanted: tuple[Any, ...], progress: Progress) -> tuple[SeedSelection, Cost]:
    """Choose, and measure what it cost, without compiling."""
    from orienteer.evaluate.cost import measured
    from orienteer.graph.link_graph import LinkGraph
    from orienteer.seeds.select import seed_selection

    k, hops, method, value, depth, per, rng = wanted
    small = LinkGraph.from_links(3, [0, 1], [1, 2], hosts=[0, 0, 1])
    seed_selection(small, 2, 2, method, rng=rng, per="host" if per else None)
    with measured() as cost:
        found = seed_selection(web, k, hops, method, value, depth, per=per, rng=rng, progress=progress)
    return found, cost


def _print(web: LinkGraph, found: SeedSelection, worth: _Worth, cost: Cost) -> None:
    from rich.markup import escape

    out = display.console()
    # Where every page is worth 1, value is pages; where there are URLs, they tell the host.
    with_value = any(seed.value != seed.n_pages for seed in found.seeds)
    with_part = found.per is not None and web.urls is None
    names = [("", True), ("page", True), ("adds pages", True), ("value", True), ("share", True)]
    names = names if with_value else [name for name in names if name[0] != "value"]
    names += [(found.per or "", False)] * with_part + [("url", False)] * (web.urls is not None)
    table = display.columns_table(None, *names)
    for place, seed in enumerate(found.seeds, 1):
        row = [str(place), str(seed.page), f"{seed.n_pages:,}"]
        row += [_amount(seed.value)] * with_value + [display.share(seed.value, found.total_value)]
        row += [found.part_name(seed) or ""] * with_part
        row += [] if web.urls is None else [escape(plain(web.urls[seed.page], _URL_CHARS))]
        table.add_row(*row)
    looked = f", looking {counted(found.depth, 'link')} far" if found.depth is not None else ""
    out.print(f"{counted(len(found.seeds), 'seed')} by {found.method}{looked}; {counted(found.hops, 'hop')}.")
    if str(worth):
        out.print(str(worth))
    out.print(table)
    covered = f"{found.n_covered:,} of {counted(found.n_pages, 'page')}"
    valued = f", worth {_amount(found.value)} ({display.share(found.value, found.total_value)} of all value above 0)"
    out.print(
        f"Together they cover {covered} ({display.share(found.n_covered, found.n_pages)}){valued * with_value}; "
        f"{cost.cpu_s:.2f} s of CPU."
    )
    if len(found.seeds) < found.k:
        out.print(f"{found.k} were asked for; no further page that {found.method} names would add anything.")
    if found.approximation is not None:
        out.print(f"This is {found.approximation}.")


def _amount(value: float) -> str:
    return f"{value:,.10g}" if value == int(value) else f"{value:,.2f}"


def _write(path: Path, web: LinkGraph, found: SeedSelection) -> None:
    """One seed a line, by a name that `--trust` reads: its URL, or its id where a URL would not be taken for one."""
    order_file.write_lines(path, (_name(web, page) for page in found.pages.tolist()))


def _name(web: LinkGraph, page: int) -> str:
    from orienteer.graph.page_names import is_number

    url = url_of(web, page)
    if url is None or is_number(url) or url != url.strip() or not url or url.startswith("#"):
        return str(page)
    return str(page) if "\t" in url or len(url.splitlines()) > 1 else url


def _compare(
    graph: Path, format: str | None, sizes: tuple[int, int, int], per: str | None, worth: _Worth,
    plot: Path | None, json: bool,
) -> None:  # fmt: skip
    """The comparison of all methods, as tables, as JSON, as a plot."""
    from orienteer.evaluate.seed_compare import compare_seeds

    if plot is not None:
        from orienteer.evaluate import seed_plot
        from orienteer.evaluate.report import checked_target

        checked_target(plot)
    k, hops, depth = sizes
    with display.progress_bar() as progress:
        web, values = worth.of(graph, format, progress)
        found = compare_seeds(web, k, hops, values, depth, per=per, progress=progress)
        if plot is not None:
            seed_plot.write_seed_plot(found, plot)
    if json:
        display.print_json(found.as_dict() | worth.facts() | {"plots": [] if plot is None else [str(plot)]})
        return
    _print_comparison(found, worth)
    if plot is not None:
        print(plot)


def _print_comparison(found: SeedComparison, worth: _Worth) -> None:
    out = display.console()
    webs = f"mean of {counted(found.n_webs, found.per)}" if found.per else counted(found.n_pages, "page")
    out.print(f"Improvement over random seeds; {webs}.")
    if str(worth):
        out.print(str(worth))
    for measure in found.measures:
        title = f"{measure} covered, {counted(found.hops, 'hop')}, by seeds"
        out.print(_comparison_table(found, found.by_seeds, measure, title))
        title = f"{measure} covered, {counted(found.fixed_seeds, 'seed')}, by hops"
        out.print(_comparison_table(found, found.by_hops, measure, title))
    out.print(
        "random: the share that it covers itself. of greedy: of what the exact greedy covers, at the end. "
        f"{_NONE}: random covers nothing of value."
    )


def _comparison_table(found: SeedComparison, series: dict[str, Series], measure: str, title: str) -> Table:
    """A row for each method, the best at the end first; random is told by what it covers."""
    from orienteer.evaluate.seed_compare import RANDOM

    n_places = len(series[RANDOM].pages)
    headings = [("", False), *((str(place), True) for place in range(1, n_places + 1)), ("of greedy", True)]
    table = display.columns_table(title, *headings)
    for name in sorted(series, key=lambda name: -float(series[name].of(measure)[-1])):
        if name == RANDOM:
            shares = [display.share(float(one), 1) for one in series[name].of(measure)]
        else:
            shares = [_over(float(one)) for one in found.improvement(series, name, measure)]
        last = float(found.of_yardstick(series, name, measure)[-1])
        table.add_row(name, *shares, _NONE if math.isnan(last) else f"{last:.3f}")
    return table


def _over(share: float) -> str:
    return _NONE if math.isnan(share) else f"{100 * share:+,.0f} %"
