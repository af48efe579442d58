"""Findings about pages from the database and the estimate of a crawl; those of `page_reading` need the archive."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orienteer.extract.links import SCRIPTED
from orienteer.graph.reach import distances
from orienteer.report.finding import FindingDraft
from orienteer.report.link_findings import LinkTable, ending
from orienteer.report.page_table import NO_TITLE, Hosts, LinkState, PageTable
from orienteer.search.page_columns import CrawlRanks
from orienteer.store.database import DatabaseView
from orienteer.store.failures import damaged
from orienteer.store.folder_view import ESTIMATE, estimate_of_folder
from orienteer.url import host_of

Mask = NDArray[np.bool_]


def page_findings(
    database: DatabaseView,
    table: PageTable,
    links: LinkTable,
    hosts: Hosts,
    seeds: Sequence[int],
    max_places: int | None,
) -> Iterator[FindingDraft]:
    """Yield all findings about pages except the deep ones, in any order."""
    pages = table.is_page & hosts.is_selected
    indexed = pages & table.is_html & ~table.is_noindex
    for page in np.flatnonzero(indexed & (table.titles == NO_TITLE)).tolist():
        yield FindingDraft("untitled", page, "", float(table.rank[page]))
    yield from _same_titles(database, table, indexed, hosts, max_places)
    yield from _repeated(database, table, indexed, max_places)
    for page in database.details.unknown_because(SCRIPTED):
        if page < table.n_urls and pages[page]:
            yield FindingDraft("scripts", page, "", float(table.rank[page]))
    yield from _named_by_sitemaps(database, table, ~links.is_linked & hosts.is_selected, seeds)


def deep_findings(
    table: PageTable, ranks: CrawlRanks, hosts: Hosts, seeds: Sequence[int], deep: int
) -> Iterator[FindingDraft]:
    """Yield pages that are more than `deep` links away from all start pages; redirects do not count as links."""
    places = {page: place for place, page in enumerate(ranks.pages.tolist())}
    starts = sorted({places[end] for end in table.ends[list(seeds)].tolist() if end in places})
    if not starts:
        return
    found = distances(ranks.graph, starts)
    for k in np.flatnonzero(found > deep).tolist():
        page = int(ranks.pages[k])
        if hosts.is_selected[page]:
            yield FindingDraft(
                "deep", page, f"{found[k]} links from the start", float(table.rank[page]), value=float(found[k])
            )


def _same_titles(
    database: DatabaseView, table: PageTable, indexed: Mask, hosts: Hosts, max_places: int | None
) -> Iterator[FindingDraft]:
    """Yield groups of pages of a host with the same title. Of duplicates only one counts, and pages that name another
    page as canonical do not count."""
    named = _names_another(database, table.n_urls)
    pages = np.flatnonzero(indexed & (table.titles != NO_TITLE) & ~named)
    _, firsts = np.unique(table.groups[pages], return_index=True)
    pages = pages[np.sort(firsts)]
    keys = np.stack([hosts.ids[pages].astype(np.uint64), table.titles[pages]], axis=1)
    _, which, counts = np.unique(keys, axis=0, return_inverse=True, return_counts=True)
    which = which.reshape(-1)
    yield from _groups("titles", database, table, pages, which, np.flatnonzero(counts > 1), max_places)


def _repeated(
    database: DatabaseView, table: PageTable, indexed: Mask, max_places: int | None
) -> Iterator[FindingDraft]:
    """Yield groups of duplicates, without pages that name another page as canonical."""
    pages = np.flatnonzero(indexed & ~_names_another(database, table.n_urls))
    _, which, counts = np.unique(table.groups[pages], return_inverse=True, return_counts=True)
    yield from _groups("duplicates", database, table, pages, which, np.flatnonzero(counts > 1), max_places)


def _groups(
    kind: str,
    database: DatabaseView,
    table: PageTable,
    pages: NDArray[np.int64],
    which: NDArray[np.int64],
    groups: NDArray[np.int64],
    max_places: int | None,
) -> Iterator[FindingDraft]:
    """Yield a finding for each group: its page of the highest rank, the others, and the visits of all as the cost."""
    order = np.lexsort((pages, -table.rank[pages], which))
    starts = np.searchsorted(which[order], groups)
    ends = np.searchsorted(which[order], groups, side="right")
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        first, *others = pages[order[start:end]].tolist()
        yield FindingDraft(
            kind,
            first,
            database.pages.titles([first])[0] if kind == "titles" else "",
            float(table.rank[[first, *others]].sum()),
            n_places=len(others),
            places=[(page, float(table.rank[page])) for page in others[:max_places]],
        )


def _names_another(database: DatabaseView, n_urls: int) -> Mask:
    """Return which pages name another page as canonical."""
    named = np.zeros(n_urls, np.bool_)
    named[[page for page, _ in database.details.canonicals()]] = True
    return named


def _named_by_sitemaps(
    database: DatabaseView, table: PageTable, unlinked: Mask, seeds: Sequence[int]
) -> Iterator[FindingDraft]:
    """Yield pages without incoming links, and entries of sitemaps that are no pages."""
    known = np.setdiff1d(database.history.known_without_link().astype(np.int64), list(seeds))
    for page in known[unlinked[known]].tolist():
        state, rank = table.link_states[page], float(table.rank[page])
        if table.is_page[page]:
            if table.is_html[page] and not table.is_noindex[page]:
                yield FindingDraft("orphans", page, "", rank)
        elif table.moved_to[page] >= 0 and state != LinkState.BROKEN:
            yield FindingDraft("sitemap", page, "it has moved", rank, leads_to=table.redirect_chain(page))
        elif state in (LinkState.BROKEN, LinkState.REFUSED):
            yield FindingDraft("sitemap", page, ending(table, page), rank)


def valued_findings(folder: Path, hosts: tuple[str, ...]) -> Iterator[FindingDraft]:
    """Yield these pages; none if no estimate was made."""
    document: Any = estimate_of_folder(folder)
    if document is None:
        return
    try:
        for page in document["valued_more"]:
            url, inside, outside = str(page["url"]), float(page["inside"]), float(page["outside"])
            places = int(page["position_outside"]), int(page["position_inside"])
            if not hosts or host_of(url) in hosts:
                why = f"place {places[0]:,} in the whole web, place {places[1]:,} by the links of the site"
                yield FindingDraft("valued", -1, why, outside, url=url, value=inside, order=outside - inside)
    except (KeyError, TypeError, ValueError) as error:
        raise damaged(folder / ESTIMATE, f"{error}; run `orienteer estimate` again") from None
