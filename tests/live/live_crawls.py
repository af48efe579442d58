"""Live crawls of fake webs, and the contents of their folders."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import orienteer as ori
from orienteer.inspect.run_report import Report
from orienteer.live.session import live_crawl
from orienteer.pages.states import PageState
from orienteer.store.database import Database
from orienteer.store.history import DonePages
from tests.fake_web.graph_site import GraphSite
from tests.fake_web.server import FakeWeb

Tables = dict[str, dict[str, Any]]


def crawled(
    web: FakeWeb, seeds: str | list[str], folder: Path, *, settings: Tables | None = None, **named: Any
) -> Report:
    """Run a crawl without delays, browser or guessed sitemaps that stops by proof, unless `settings` differ."""
    tables: Tables = {
        "crawl": {"robots": False, "guess_sitemap": False, "workers": 8, "stop_when": "proved", "processes": 1},
        "politeness": {"delay_s": 0.0, "connections": 8},
        "fetch": {"connect_to": web.address, "timeout_s": 60.0},
        "render": {"mode": "never"},
        "retry": {"back_off_s": 0.01, "max_back_off_s": 0.05},
    }
    for name, table in (settings or {}).items():
        tables.setdefault(name, {}).update(table)
    return live_crawl(seeds, folder, **{"scope": "web", **named}, settings=tables)


def hub(site: GraphSite) -> str:
    """Return the page with the most links, from which much is reachable."""
    return site.url_of(int(np.argmax(site.graph.out_degrees())))


class StoredCrawl:
    """The URLs, rows and events in the database of a crawl folder."""

    def __init__(self, folder: Path) -> None:
        with Database.open(folder / "crawl.db", read_only=True) as database:
            blocks = b"\n".join(database.urls.blocks())
            self.urls = blocks.decode().split("\n")
            self.done = [events for events in database.history.pages_after() if isinstance(events, DonePages)]
            self.rows = {url: database.pages.row(page) for page, url in enumerate(self.urls)}

    @property
    def order(self) -> list[int]:
        """Pages in the order they were done, without those that were blocked."""
        return [
            int(page)
            for events in self.done
            for page, state in zip(events.pages, events.states, strict=True)
            if state != PageState.BLOCKED
        ]

    def fetched_urls(self) -> set[str]:
        return {self.urls[page] for page in self.order}

    def outcome(self, url: str) -> str | None:
        row = self.rows.get(url)
        return None if row is None else row.outcome


def renumbered(stored: StoredCrawl, site: GraphSite) -> ori.LinkGraph:
    """Return the whole graph of the site with the page ids of the crawl; unknown pages follow."""
    graph = site.graph
    found = [site.page_of(url) for url in stored.urls]
    assert None not in found, "the crawl knows a page that the site does not have"
    old_ids = np.array(found + sorted(set(range(graph.n_pages)) - set(found)), np.int64)
    new_ids = np.empty(graph.n_pages, np.int64)
    new_ids[old_ids] = np.arange(graph.n_pages)
    hosts = None if graph.hosts is None else graph.hosts[old_ids]
    return ori.LinkGraph.from_links(graph.n_pages, new_ids[graph.sources()], new_ids[graph.targets], hosts)


def true_rank(stored: StoredCrawl, seed_trust: list[float]) -> np.ndarray:
    """Return the rank of each page in the web of a complete crawl, whose seeds are the first pages.

    Links to redirects count as links to their targets.
    """
    urls, rows = stored.urls, stored.rows
    ends = np.arange(len(urls))
    for page, url in enumerate(urls):
        row = rows[url]
        while row is not None and row.redirect_to is not None:
            ends[page] = row.redirect_to
            row = rows[urls[row.redirect_to]]
    sources, targets = [], []
    for page, url in enumerate(urls):
        row = rows[url]
        if row is not None and row.redirect_to is None:
            targets.append(ends[row.links])
            sources.append(np.full(len(row.links), page))
    graph = ori.LinkGraph.from_links(len(urls), np.concatenate(sources), np.concatenate(targets))
    trust = np.bincount(ends[: len(seed_trust)], weights=seed_trust, minlength=len(urls)) / sum(seed_trust)
    return ori.pagerank(graph, trust, tolerance=1e-10)
