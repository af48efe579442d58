"""`orienteer seeds` and `orienteer compare-seeds`: the pages to start from, and the methods to choose them."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from orienteer.cli import display, graph_options
from orienteer.cli.command import GRAPHS, METHODS, RESEARCH, command
from orienteer.cli.graph_options import hosted, loaded_web, url_of
from orienteer.errors import InputError, unknown_name
from orienteer.wording import counted, plain

if TYPE_CHECKING:
    from rich.table import Table

    from orienteer.evaluate.metrics import Cost
    from orienteer.evaluate.seed_compare import SeedComparison, SeedSeries
    from orienteer.graph.link_graph import LinkGraph
    from orienteer.live.start_pages import PaperValues
    from orienteer.progress import Progress
    from orienteer.seeds.select import SeedSelection
    from orienteer.seeds.value import Value

_URL_CHARS = 200
_NONE = "–"


_GRAPH: Any = typer.Argument(help="Graph folder or file, or crawl folder.")
_DEPTH: Any = typer.Option(
    2, help="For max-weight, max-scc and root-scc: number of links that they follow, at most the hops."
)
_PER: Any = typer.Option(None, help="host or site: split the graph, and allot seeds by the value of each.")
_VALUE: Any = typer.Option(
    None,
    metavar="FILE|paper",
    help="Value of pages: a FILE of numbers, one per page, or of lines `page value` (other pages: 1). Or paper, "
    "for published values: 1, spam -10, clicked 10, and up to 1 for each link to a page that was not crawled, less on "
    "sites with duplicates; without a crawl folder all pages count as crawled.",
)
_SPAM: Any = typer.Option(None, help="With --value paper: FILE of spam pages, one per line.")
_CLICKED: Any = typer.Option(None, help="With --value paper: FILE of clicked pages, one per line.")
_FORMAT: Any = typer.Option(None, help="Format of GRAPH, if not clear from its name.")


@command(RESEARCH, plugins={"--method": METHODS, "--format": GRAPHS})
def seeds(
    graph: Path = _GRAPH,
    k: int = typer.Option(10, "--n-seeds", "-k", help="Number of seeds to choose."),
    hops: int = typer.Option(5, help="Choose pages that reach the most within this many links."),
    method: str = typer.Option(
        "greedy",
        help="Seed method: greedy (covers the most; exact up to 500,000 pages), sketched-greedy, max-weight, max-scc, "
        "root-scc, max-out, out-degree, pagerank, random, or a plug-in (orienteer plugins).",
    ),
    depth: int = _DEPTH,
    per: str | None = _PER,
    value: str | None = _VALUE,
    spam: Path | None = _SPAM,
    clicked: Path | None = _CLICKED,
    rng: int = typer.Option(0, help="For random and sketched-greedy: random seed."),
    output: Path | None = typer.Option(
        None, "--output", "-o", help="Write the seeds to this file, one URL (or id) per line, as --trust reads it."
    ),
    format: str | None = _FORMAT,
    json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """Choose start pages that reach the most value within a few links.

    Exit code 0: N seeds were chosen, or fewer if no other page adds value.

    Example: [bold]orienteer seeds web.npz -k 10 --hops 5 --method greedy --output seeds.txt[/bold]
    """
    from orienteer.seeds import make_method

    # Check everything that does not need the graph before reading it.
    _check(k, hops, depth, per)
    make_method(method)
    graph_options.check_place(output)
    worth = _Worth(value, spam, clicked)
    with display.progress_bar() as progress:
        web, values = worth.of(graph, format, progress)
        found, cost = _measured(web, (k, hops, method, values, depth, per, rng), progress)
        if output is not None:
            _write(output, web, found)
    if json:
        facts = found.as_dict()
        for entry in facts["seeds"]:
            entry["url"] = url_of(web, entry["page"])
        display.print_json(facts | worth.facts() | {"cpu_s": round(cost.cpu_s, 4)})
    else:
        _print(web, found, worth, cost)


@command(RESEARCH)
def compare_seeds(
    graph: Path = _GRAPH,
    k: int = typer.Option(10, "--n-seeds", "-k", help="Compare for 1 to this many seeds."),
    hops: int = typer.Option(5, help="Compare for 1 to this many links."),
    depth: int = _DEPTH,
    per: str | None = _PER,
    value: str | None = _VALUE,
    spam: Path | None = _SPAM,
    clicked: Path | None = _CLICKED,
    plot: Path | None = typer.Option(None, help="Write the curves to this .png or .svg."),
    format: str | None = _FORMAT,
    json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """Compare all seed methods: what their seeds cover, by the number of seeds and of links.

    Example: [bold]orienteer compare-seeds web.npz -k 10 --hops 5 --plot seeds.png[/bold]
    """
    from orienteer.evaluate.seed_compare import compare_seeds as compared
    from orienteer.evaluate.seed_compare import write_seed_plot

    _check(k, hops, depth, per)
    worth = _Worth(value, spam, clicked)
    if plot is not None:
        from orienteer.evaluate.report import checked_target

        checked_target(plot)
    with display.progress_bar() as progress:
        web, values = worth.of(graph, format, progress)
        found = compared(web, k, hops, values, depth, per=per, progress=progress)
        if plot is not None:
            write_seed_plot(found, plot)
    if json:
        display.print_json(found.as_dict() | worth.facts() | {"plots": [] if plot is None else [str(plot)]})
        return
    _print_comparison(found, worth)
    if plot is not None:
        print(plot)


def _check(k: int, hops: int, depth: int, per: str | None) -> None:
    """Check the options that do not need the graph."""
    from orienteer.seeds.seed_method import checked_depth
    from orienteer.seeds.select import PER, check_numbers

    check_numbers(k, hops)
    checked_depth(depth)
    if per is not None and per not in PER:
        raise unknown_name("division of the graph", per, PER)


class _Worth:
    """`--value`, `--spam` and `--clicked`: the values of pages."""

    def __init__(self, value: str | None, spam: Path | None, clicked: Path | None) -> None:
        from orienteer.seeds.value import PAPER

        self.value, self.spam, self.clicked = value, spam, clicked
        self.is_paper = value == PAPER
        self.by_paper: PaperValues | None = None  # once the graph is read
        for name, path in (("--spam", spam), ("--clicked", clicked)):
            if path is not None and not self.is_paper:
                raise InputError(f"{name} {path}: goes with --value {PAPER} only")

    def of(self, graph: Path, format: str | None, progress: Progress) -> tuple[LinkGraph, Value]:
        """Load the graph; return it with the values of its pages."""
        if not self.is_paper:
            return loaded_web(graph, format, progress), self.value
        from orienteer.inspect.snapshot import web_at
        from orienteer.live.start_pages import paper_values

        web = web_at(graph, format, progress)
        self.by_paper = paper_values(web, self.spam, self.clicked)
        return hosted(web.graph), self.by_paper.values

    def facts(self) -> dict[str, int]:
        """Return counts of the published values, if they are used."""
        if self.by_paper is None:
            return {}
        return {name: n for name, n in self.by_paper._asdict().items() if name != "values"}

    def __str__(self) -> str:
        if self.by_paper is None:
            return ""
        _, n_spam, n_clicked, n_links = self.by_paper
        rules = ["1 per page"]
        rules += [f"-10 for {counted(n_spam, 'spam page')}"] * (n_spam > 0)
        rules += [f"10 for {counted(n_clicked, 'clicked page')}"] * (n_clicked > 0)
        rules += [f"at most 1 more for each of {counted(n_links, 'link')} to pages not crawled"] * (n_links > 0)
        return f"Value by the paper: {', '.join(rules)}."


def _measured(web: LinkGraph, options: tuple[Any, ...], progress: Progress) -> tuple[SeedSelection, Cost]:
    """Choose seeds, and measure the cost without compilation."""
    from orienteer.evaluate.metrics import measured
    from orienteer.graph.link_graph import LinkGraph
    from orienteer.seeds.select import seed_selection

    k, hops, method, value, depth, per, rng = options
    small = LinkGraph.from_links(3, [0, 1], [1, 2], hosts=[0, 0, 1])
    seed_selection(small, 2, 2, method, rng=rng, per="host" if per else None)
    with measured() as cost:
        found = seed_selection(web, k, hops, method, value, depth, per=per, rng=rng, progress=progress)
    return found, cost


def _print(web: LinkGraph, found: SeedSelection, worth: _Worth, cost: Cost) -> None:
    from rich.markup import escape

    out = display.console()
    # If every page has the value 1, the value is the number of pages; URLs already contain the host.
    with_value = any(seed.value != seed.n_pages for seed in found.seeds)
    with_group = found.per is not None and web.urls is None
    names = [("", True), ("page", True), ("adds pages", True), ("value", True), ("share", True)]
    names = names if with_value else [name for name in names if name[0] != "value"]
    names += [(found.per or "", False)] * with_group + [("url", False)] * (web.urls is not None)
    table = display.columns_table(None, *names)
    for place, seed in enumerate(found.seeds, 1):
        row = [str(place), str(seed.page), f"{seed.n_pages:,}"]
        row += [_amount(seed.value)] * with_value + [display.share(seed.value, found.total_value)]
        row += [found.group_name(seed) or ""] * with_group
        row += [] if web.urls is None else [escape(plain(web.urls[seed.page], _URL_CHARS))]
        table.add_row(*row)
    depth = f", following {counted(found.depth, 'link')}" if found.depth is not None else ""
    out.print(f"{counted(len(found.seeds), 'seed')} by {found.method}{depth}; {counted(found.hops, 'hop')}.")
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
        out.print(f"{found.k} were requested; no further page that {found.method} proposes would add value.")
    if found.approximation is not None:
        out.print(f"This is {found.approximation}.")


def _amount(value: float) -> str:
    return f"{value:,.10g}" if value == int(value) else f"{value:,.2f}"


def _write(path: Path, web: LinkGraph, found: SeedSelection) -> None:
    """Write one seed per line, as `--trust` reads it: its URL, or its id if the URL would be misread."""
    graph_options.write_lines(path, (_name(web, page) for page in found.pages.tolist()))


def _name(web: LinkGraph, page: int) -> str:
    from orienteer.graph.page_names import is_number

    url = url_of(web, page)
    if url is None or is_number(url) or url != url.strip() or not url or url.startswith("#"):
        return str(page)
    return str(page) if "\t" in url or len(url.splitlines()) > 1 else url


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
        "random: the share that it covers. of greedy: final value relative to the exact greedy method. "
        f"{_NONE}: random covers nothing of value."
    )


def _comparison_table(found: SeedComparison, series: dict[str, SeedSeries], measure: str, title: str) -> Table:
    """Return a row per method, best final value first; the row of random has its own coverage."""
    from orienteer.evaluate.seed_compare import RANDOM

    n_places = len(series[RANDOM].pages)
    headings = [("", False), *((str(place), True) for place in range(1, n_places + 1)), ("of greedy", True)]
    table = display.columns_table(title, *headings)
    for name in sorted(series, key=lambda name: -float(series[name].of(measure)[-1])):
        if name == RANDOM:
            shares = [display.share(float(one), 1) for one in series[name].of(measure)]
        else:
            shares = [_difference_text(float(one)) for one in found.improvement(series, name, measure)]
        last = float(found.of_reference(series, name, measure)[-1])
        table.add_row(name, *shares, _NONE if math.isnan(last) else f"{last:.3f}")
    return table


def _difference_text(share: float) -> str:
    return _NONE if math.isnan(share) else f"{100 * share:+,.0f} %"
