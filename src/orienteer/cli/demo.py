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

    from orienteer.fake_web.changing import ChangingSite
    from orienteer.fake_web.graph_site import GraphSite
    from orienteer.graph.link_graph import LinkGraph
    from orienteer.progress import Progress

_GOAL = 0.98
_HOST_PAGES = 400


def demo(
    pages: int = typer.Option(20_000, "--pages", "-n", min=100, help="Number of pages of the demo's web."),
) -> None:
    """Generate a small web, serve it on loopback, crawl it until enough is proved, refresh it, rank and search a part.

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
        _serve(web, personal, Path(folder))


def _serve(web: LinkGraph, rank: NDArray[np.float64], folder: Path) -> None:
    """Parts 5 to 7: the web on loopback, and what is done with it."""
    from orienteer.fake_web.changing import ChangingSite
    from orienteer.fake_web.graph_site import GraphSite
    from orienteer.fake_web.server import FakeWeb

    out = display.console()
    site = GraphSite(web)
    changing = ChangingSite(site)
    with FakeWeb(changing) as server:
        settings: dict[str, dict[str, Any]] = {
            "politeness": {"delay_s": 0.0, "connections": 4},
            "fetch": {"connect_to": server.address},
        }
        _crawl(site, rank, folder / "crawl", settings)
        out.print(
            "[bold]6. A week later[/bold]: pages were edited, added and deleted. A refresh chooses new seeds from what "
            "is known, and asks for the pages that may have changed.\n"
        )
        _refresh(changing, folder / "crawl")
        out.print(
            "[bold]7. One host, as the world sees it[/bold]: a host is crawled, some pages around it are looked at, "
            "and its pages can be searched by what they are worth inside and outside.\n"
        )
        _estimate_and_search(site, folder / "host", settings)


def _refresh(site: ChangingSite, folder: Path) -> None:
    """Part 6: the crawl looked at again."""
    import time

    import numpy as np

    from orienteer.cli.epoch_display import visits_in_words
    from orienteer.crawl.revisiting import DAY_S
    from orienteer.crawl.session import refresh
    from orienteer.fake_web.changing import next_epoch

    next_epoch(np.random.default_rng(0), site, share_new=0.005, share_edited=0.02, share_deleted=0.005)
    site.begin_epoch()
    report = refresh(folder, now=time.time() + 7 * DAY_S)
    assert report.library is not None
    display.console().print(
        f"{visits_in_words(report.figures.visits)}. What is missing is kept for some days: it may be an outage. All "
        f"that the crawl has now: {report.library} of what a surfer from the home page sees.\n"
    )


def _estimate_and_search(site: GraphSite, folder: Path, settings: dict[str, dict[str, Any]]) -> None:
    """Part 7: the global rank of a host, and a search in it."""
    import numpy as np

    from orienteer.cli.estimate_display import print_view
    from orienteer.crawl.estimate import live_estimate
    from orienteer.crawl.rounds import EstimateSettings
    from orienteer.crawl.session import live_crawl
    from orienteer.search.indexing import update_index
    from orienteer.search.search_index import SearchIndex

    out = display.console()
    hosts = site.graph.hosts
    assert hosts is not None
    sizes = np.bincount(hosts)
    pages = np.flatnonzero(hosts == np.argmax(np.where(sizes <= _HOST_PAGES, sizes, 0)))
    home = site.url_of(int(pages[np.argmax(site.graph.out_degrees()[pages])]))
    crawled = live_crawl(home, folder, settings=settings)
    found = live_estimate(folder, EstimateSettings(budget=crawled.figures.n_done, rounds=20))
    out.print(
        f"{crawled.figures.n_done:,} pages of {home.split('/')[2]} were crawled, and {found.n_fetched:,} pages around "
        f"them were looked at. How sure is that? {found.outlook}.\n"
    )
    print_view(found.view, found.urls.get, 3)
    update_index(folder)
    with SearchIndex.open(folder) as index:
        word = index.search("host:" + home.split("/")[2], rank="global").hits[0].title.split()[0].lower()
        out.print(f"A search for [bold]{word}[/bold], in three orders:\n")
        columns = [index.search(word, rank=order, n=5).hits for order in ("text", "local", "global")]
    table = display.columns_table(None, ("by words", False), ("seen from inside", False), ("seen from outside", False))
    for row in zip(*columns, strict=False):
        table.add_row(*(hit.title for hit in row))
    out.print(table)


def _crawl(site: GraphSite, rank: NDArray[np.float64], folder: Path, settings: dict[str, dict[str, Any]]) -> None:
    """Part 5: a live crawl in two runs, and what is on the disk afterwards."""
    from orienteer.crawl.session import live_crawl
    from orienteer.store.database import Database

    out = display.console()
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
