"""`orienteer demo`: what Orienteer can do so far, end to end, on a small generated web served on loopback."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from orienteer.cli import display, graph_info

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from orienteer.graph.link_graph import LinkGraph
    from orienteer.progress import Progress

_GOAL = 0.98


def demo(
    pages: int = typer.Option(20_000, "--pages", "-n", min=100, help="Number of pages of the demo's web."),
) -> None:
    """Generate a small web, look at it, rank it, serve it on loopback, crawl it until enough is proved to be fetched.

    Example: [bold]orienteer demo[/bold]
    """
    import numpy as np

    from orienteer.graph.facts import graph_facts
    from orienteer.graph.hosts import host_graph
    from orienteer.graph.link_graph import LinkGraph
    from orienteer.graph.pagerank import pagerank
    from orienteer.graph.synthetic import synthetic_web

    out = display.console()
    with tempfile.TemporaryDirectory(prefix="orienteer-demo-") as folder, display.progress_bar() as progress:
        out.print(f"[bold]1. A small web[/bold] of {pages:,} pages is generated and saved as a graph folder.\n")
        synthetic_web(pages, with_urls=True, progress=progress).save(Path(folder) / "web")
        web = LinkGraph.load(Path(folder) / "web")
        graph_info.print_facts(graph_facts(web, progress))

        out.print("[bold]2. What the pages are worth[/bold]: PageRank, proven to be within 1e-6 of the truth in L1.\n")
        rank = pagerank(web, progress=progress)
        graph_info.print_top_pages(graph_info.top_pages(web, rank, 8))
        by_rank = np.sort(rank)[::-1]
        out.print(
            f"The top 1 % of the pages hold {by_rank[: pages // 100].sum():.0%} of all rank, "
            f"the top 10 % hold {by_rank[: pages // 10].sum():.0%}: this is why the order of a crawl matters.\n"
        )

        out.print("[bold]3. A trusted start[/bold]: the same web as seen by a surfer who starts at one home page.\n")
        personal = pagerank(web, trust=[0], progress=progress)
        graph_info.print_top_pages(graph_info.top_pages(web, personal, 5))
        hosts, _ = host_graph(web)
        n_seen = int((personal > 0).sum())
        out.print(f"That surfer can reach {n_seen:,} of {pages:,} pages on {hosts.n_pages:,} hosts.\n")

        out.print(
            f"[bold]4. What to fetch next, and when to stop[/bold]: crawls from that home page, until {_GOAL:.0%} of "
            "what its surfer sees is proved to be fetched. They know only the links of the pages they have fetched.\n"
        )
        _simulate(web, personal, progress)

        out.print(
            "[bold]5. The same for real[/bold]: that web is served on loopback, and crawled through sockets into a "
            "crawl folder, interrupted half-way and resumed.\n"
        )
        _crawl(web, personal, Path(folder) / "crawl")


def _crawl(web: LinkGraph, rank: NDArray[np.float64], folder: Path) -> None:
    """Part 5: a live crawl in two runs, and what is on the disk afterwards."""
    from orienteer.crawl.session import live_crawl
    from orienteer.fake_web.graph_site import GraphSite
    from orienteer.fake_web.server import FakeWeb
    from orienteer.store.database import Database

    out = display.console()
    site = GraphSite(web)
    with FakeWeb(site) as server:
        settings: dict[str, dict[str, Any]] = {
            "politeness": {"delay_s": 0.0, "connections": 4},
            "fetch": {"connect_to": server.address},
        }
        home = site.url_of(0)
        first = live_crawl(home, folder, scope="web", budget=400, settings=settings)
        report = live_crawl(home, folder, scope="web", until=_GOAL, settings=settings)
    with Database.open(folder / "crawl.db", read_only=True) as database:
        urls = b"\n".join(database.url_blocks()).decode().split("\n")
        stored = [site.page_of(url) or 0 for page, url in enumerate(urls) if database.page(page) is not None]
    archive_bytes = sum(file.stat().st_size for file in (folder / "archive").iterdir())
    figures = report.figures
    out.print(
        f"The first run fetched {first.figures.n_done:,} pages, then its {first.stopped_because} was spent. The second "
        f"went on where it was and fetched {figures.n_done - first.figures.n_done:,} more until {_GOAL:.0%} was "
        f"proved: {figures.certificate}. The truth is {rank[stored].sum():.2%}. The crawl folder holds "
        f"{archive_bytes / 1e6:.1f} MB of WARC files and a database of {figures.n_known:,} URLs; [bold]orienteer "
        "crawl[/bold] does the same with the web outside.\n"
    )


def _simulate(web: LinkGraph, rank: NDArray[np.float64], progress: Progress) -> None:
    """Part 4: three crawls to the same goal, beside the truth that they cannot know."""
    from orienteer.crawl.simulate import simulate

    out = display.console()
    ours = simulate(web, "certified", [0], until=_GOAL, progress=progress)
    paper = simulate(web, "rankmass", [0], until=_GOAL, progress=progress)
    simple = simulate(web, "breadth-first", [0], until=_GOAL, progress=progress)
    table = display.columns_table(None, ("order", False), ("stopped by", False), ("pages fetched", True))
    for trace, reason in ((ours, "the certificate"), (paper, "its own guarantee"), (simple, "the certificate")):
        table.add_row(trace.policy, reason, f"{trace.n_fetched:,}")
    out.print(table)
    out.print(
        f"After {ours.n_fetched:,} pages the certificate says: {ours.certificate}. The truth, which only a simulation "
        f"knows, is {rank[ours.order].sum():.2%}. RankMass's own guarantee takes "
        f"{_more(paper.n_fetched, ours.n_fetched)} to say so, breadth-first "
        f"{_more(simple.n_fetched, ours.n_fetched)}.\n"
    )


def _more(n_pages: int, than: int) -> str:
    return f"{n_pages / than - 1:.0%} more pages" if n_pages >= than else f"{1 - n_pages / than:.0%} fewer pages"
