"""Crawl folders of webs that would take long to crawl: they are written down as if they had been fetched."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from orienteer.graph.link_graph import LinkGraph
from orienteer.ledger.plan import CrawlPlan
from orienteer.ledger.settings import CrawlSettings
from orienteer.pages.states import PageState
from orienteer.store.folder import CrawlFolder
from orienteer.store.page_row import PageRow

_WORDS = ("archive", "garden", "museum", "river", "theatre", "bakery", "school", "harbour", "library", "orchestra")


def host_name(host: int) -> str:
    """`garden1.test`: a word, and a number once the words are used up."""
    return f"{_WORDS[host % len(_WORDS)]}{host // len(_WORDS) or ''}.test"


def urls_of_hosts(hosts: np.ndarray) -> list[str]:
    """The pages of each host in a row: its home page, then pages in three folders."""
    first = np.searchsorted(hosts, np.arange(int(hosts.max(initial=-1)) + 1))
    return [_url(int(host), page - int(first[host])) for page, host in enumerate(hosts.tolist())]


def _url(host: int, k: int) -> str:
    return f"http://{host_name(host)}/" + (f"{('news', 'people', 'works')[k % 3]}/{k}" if k else "")


def many_hosts(rng: np.random.Generator, n_hosts: int) -> LinkGraph:
    """Some hosts have many pages and most have few; links stay on the host, or in a neighbourhood, or go anywhere."""
    sizes = np.minimum(rng.pareto(1.0, n_hosts) * 2 + 1, 300).astype(np.int64)
    hosts = np.repeat(np.arange(n_hosts), sizes)
    first = np.cumsum(sizes) - sizes
    n_links = 5 * len(hosts)
    sources = rng.integers(0, len(hosts), n_links)
    anywhere = rng.choice(n_hosts, n_links, p=sizes / sizes.sum())
    near = (hosts[sources] // 40 * 40 + (rng.random(n_links) ** 3 * 40).astype(np.int64)) % n_hosts
    how = rng.random(n_links)
    to = np.where(how < 0.6, hosts[sources], np.where(how < 0.9, near, anywhere))
    targets = first[to] + (rng.random(n_links) ** 3 * sizes[to]).astype(np.int64)
    return LinkGraph.from_links(len(hosts), sources, targets, hosts=hosts, urls=urls_of_hosts(hosts))


def written_crawl(folder: Path, graph: LinkGraph) -> Path:
    """A crawl folder that has fetched all pages of a graph with URLs, in their order; nothing is in its archive."""
    assert graph.urls is not None
    plan = CrawlPlan(CrawlSettings(seeds=(graph.urls[0],)))
    with CrawlFolder.create(folder, plan.to_toml()) as crawl:
        crawl.database.urls.add(0, graph.urls[:])
        for page in range(graph.n_pages):
            crawl.database.pages.add(PageRow(page, page, PageState.FETCHED, "ok", 200, links=graph.links(page)))
        crawl.acknowledge()
    return folder
