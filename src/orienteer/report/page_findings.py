"""What is wrong with pages, as far as the database of the crawl tells it; `page_reading` finds the rest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from orienteer.extract.links import SCRIPTED
from orienteer.graph.reach import distances
from orienteer.report.draft import Draft
from orienteer.report.fates import Fate
from orienteer.report.link_findings import ending
from orienteer.report.link_table import LinkTable
from orienteer.report.page_table import NO_TITLE, Hosts, PageTable
from orienteer.search.column_writing import CrawlRanks
from orienteer.store.database_view import DatabaseView

Mask = NDArray[np.bool_]


def page_findings(
    database: DatabaseView,
    table: PageTable,
    links: LinkTable,
    hosts: Hosts,
    seeds: Sequence[int],
    most_places: int | None,
) -> Iterator[Draft]:
    """All findings about pages but the deep ones, in any order."""
    pages = table.is_page & hosts.is_wanted
    shown = pages & table.is_html & ~table.is_noindex  # those that a search engine shows
    for page in np.flatnonzero(shown & (table.titles == NO_TITLE)).tolist():
        yield Draft("untitled", page, "", float(table.rank[page]))
    yield from _same_titles(database, table, shown, hosts, most_places)
    yield from _repeated(database, table, shown, most_places)
    for page in database.pages_unknown_because(SCRIPTED):
        if page < table.n_urls and pages[page]:
            yield Draft("scripts", page, "", float(table.rank[page]))
    yield from _named_by_sitemaps(database, table, ~links.is_linked & hosts.is_wanted, seeds)


def deep_findings(
    table: PageTable, ranks: CrawlRanks, hosts: Hosts, seeds: Sequence[int], deep: int
) -> Iterator[Draft]:
    """Pages that are more than `deep` links away from all start pages; redirects do not count as links."""
    places = {page: place for place, page in enumerate(ranks.pages.tolist())}
    starts = sorted({places[end] for end in table.ends[list(seeds)].tolist() if end in places})
    if not starts:
        return
    found = distances(ranks.graph, starts)
    for k in np.flatnonzero(found > deep).tolist():
        page = int(ranks.pages[k])
        if hosts.is_wanted[page]:
            yield Draft(
                "deep", page, f"{found[k]} links from the start", float(table.rank[page]), value=float(found[k])
            )


def _same_titles(
    database: DatabaseView, table: PageTable, shown: Mask, hosts: Hosts, most_places: int | None
) -> Iterator[Draft]:
    """Groups of pages of a host with one title; of pages that repeat one another one counts, and none that names
    another page as the one to show."""
    named = _names_another(database, table.n_urls)
    pages = np.flatnonzero(shown & (table.titles != NO_TITLE) & ~named)
    _, firsts = np.unique(table.groups[pages], return_index=True)
    pages = pages[np.sort(firsts)]
    keys = np.stack([hosts.ids[pages].astype(np.uint64), table.titles[pages]], axis=1)
    _, which, counts = np.unique(keys, axis=0, return_inverse=True, return_counts=True)
    which = which.reshape(-1)
    yield from _groups("titles", database, table, pages, which, np.flatnonzero(counts > 1), most_places)


def _repeated(database: DatabaseView, table: PageTable, shown: Mask, most_places: int | None) -> Iterator[Draft]:
    """Groups of pages that say the same, without those that name another page as the one to show."""
    pages = np.flatnonzero(shown & ~_names_another(database, table.n_urls))
    _, which, counts = np.unique(table.groups[pages], return_inverse=True, return_counts=True)
    yield from _groups("duplicates", database, table, pages, which, np.flatnonzero(counts > 1), most_places)


def _groups(
    kind: str,
    database: DatabaseView,
    table: PageTable,
    pages: NDArray[np.int64],
    which: NDArray[np.int64],
    groups: NDArray[np.int64],
    most_places: int | None,
) -> Iterator[Draft]:
    """One finding a group: its page of the highest rank, and the others; what it costs are the visits of all."""
    order = np.lexsort((pages, -table.rank[pages], which))
    starts = np.searchsorted(which[order], groups)
    ends = np.searchsorted(which[order], groups, side="right")
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        first, *others = pages[order[start:end]].tolist()
        yield Draft(
            kind,
            first,
            database.titles([first])[0] if kind == "titles" else "",
            float(table.rank[[first, *others]].sum()),
            n_places=len(others),
            places=[(page, float(table.rank[page])) for page in others[:most_places]],
        )


def _names_another(database: DatabaseView, n_urls: int) -> Mask:
    """Which pages name another one as the canonical one."""
    named = np.zeros(n_urls, np.bool_)
    named[[page for page, _ in database.canonicals()]] = True
    return named


def _named_by_sitemaps(
    database: DatabaseView, table: PageTable, unlinked: Mask, seeds: Sequence[int]
) -> Iterator[Draft]:
    """Pages that nothing links to, and what is no page though a sitemap names it."""
    known = np.setdiff1d(database.known_otherwise().astype(np.int64), list(seeds))
    for page in known[unlinked[known]].tolist():
        fate, rank = table.fates[page], float(table.rank[page])
        if table.is_page[page]:
            if table.is_html[page] and not table.is_noindex[page]:
                yield Draft("orphans", page, "", rank)
        elif table.moved_to[page] >= 0 and fate != Fate.BROKEN:
            yield Draft("sitemap", page, "it has moved", rank, leads_to=table.way(page))
        elif fate in (Fate.BROKEN, Fate.REFUSED):
            yield Draft("sitemap", page, ending(table, page), rank)
