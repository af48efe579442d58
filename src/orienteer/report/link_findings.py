"""What is wrong with links: broken ones, old addresses, blocked pages, hosts that do not answer."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from orienteer.inspect.explain import host_trouble
from orienteer.pages.outcome import Outcome
from orienteer.report.draft import Draft
from orienteer.report.fates import Fate
from orienteer.report.link_table import LinkTable
from orienteer.report.page_table import Hosts, PageTable
from orienteer.store.database_view import DatabaseView
from orienteer.url import canonical_url

_NOTHING: NDArray[np.int64] = np.zeros(0, np.int64)
_FOR_GOOD = frozenset((301, 308))
_IN_WORDS = {
    Outcome.ROBOTS: "robots.txt forbids it",
    Outcome.ROBOTS_OUT_OF_REACH: "the host's robots.txt could not be had",
    Outcome.NO_ADDRESS: "no such host",
    Outcome.LEADS_NOWHERE: "it redirects to no address of a page",
}


def link_findings(
    database: DatabaseView, table: PageTable, links: LinkTable, hosts: Hosts, most_places: int | None
) -> Iterator[Draft]:
    """All findings about links, in any order."""
    fates, hops = table.fates, table.hops
    is_there = np.isin(fates, (Fate.FINE, Fate.NOT_CHECKED))
    kinds = {
        "broken": fates == Fate.BROKEN,
        "blocked": fates == Fate.REFUSED,
        "redirects": is_there & (hops == 1),
        "chains": is_there & (hops > 1),
    }
    for kind, targets in kinds.items():
        for page, span in links.to(targets):
            way = table.way(page)
            why = _moved(table, [page, *way[:-1]]) if kind in ("redirects", "chains") else ending(table, page)
            yield Draft(
                kind,
                page,
                why,
                float(links.shares[span].sum()),
                leads_to=way,
                value=float(len(way)) if kind == "chains" else None,
                n_places=span.stop - span.start,
                places=_places(links, span, most_places),
                with_words=True,
            )
    yield from _given_up(database, table, links, hosts, most_places)


def ending(table: PageTable, page: int) -> str:
    """Why somebody who goes there finds no page, such as `http 404`."""
    end = int(table.ends[page])
    if table.moved_to[end] >= 0:
        return str(Outcome.REDIRECT_LOOP)
    outcome = table.outcome(end)
    return next((words for known, words in _IN_WORDS.items() if outcome == known), outcome)


def _moved(table: PageTable, pages: list[int]) -> str:
    """How redirects say that a page has moved."""
    said = []
    for page in pages:
        status = int(table.status[page])
        how = "by a script" if status < 300 else "for good" if status in _FOR_GOOD else "for now"
        said.append(f"moved {how} ({status})" if status >= 300 else f"moved {how}")
    return ", ".join(said)


def _places(links: LinkTable, span: slice, most: int | None) -> list[tuple[int, float]]:
    sources, shares = links.sources[span][:most], links.shares[span][:most]
    return list(zip(sources.tolist(), shares.tolist(), strict=True))


def _given_up(
    database: DatabaseView, table: PageTable, links: LinkTable, hosts: Hosts, most_places: int | None
) -> Iterator[Draft]:
    """One finding a host, with the links to all its pages; also where nobody links to them, such as a seed."""
    gone = np.flatnonzero((table.own_fates == Fate.HOST_GONE) & (table.moved_to < 0))
    spans = links.to(table.fates == Fate.HOST_GONE)
    by_host: dict[int, list[slice]] = {}
    for page, span in spans:
        by_host.setdefault(int(hosts.ids[table.ends[page]]), []).append(span)
    for host in np.unique(hosts.ids[gone]).tolist():
        first = int(gone[hosts.ids[gone] == host][0])
        if host not in by_host and not hosts.is_wanted[first]:
            continue
        at = np.concatenate([np.arange(span.start, span.stop) for span in by_host.get(host, [])] or [_NOTHING])
        at = at[np.argsort(-links.shares[at], kind="stable")]
        yield Draft(
            "hosts",
            first,
            host_trouble(database, first) or "",
            float(links.shares[at].sum()),
            value=float((hosts.ids[gone] == host).sum()),
            n_places=len(at),
            places=list(zip(links.sources[at][:most_places].tolist(), links.shares[at][:most_places].tolist(),
                            strict=True)),
            url=canonical_url("/", database.url(first)) or "",
        )  # fmt: skip
