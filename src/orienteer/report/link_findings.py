"""Findings about links: broken links, redirects, blocked pages, hosts that do not answer."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from orienteer.inspect.explain import host_problem
from orienteer.pages.outcome import Outcome
from orienteer.report.draft import FindingDraft
from orienteer.report.link_states import LinkState
from orienteer.report.link_table import LinkTable
from orienteer.report.page_table import Hosts, PageTable
from orienteer.store.database_view import DatabaseView
from orienteer.url import canonical_url

_NOTHING: NDArray[np.int64] = np.zeros(0, np.int64)
_PERMANENT = frozenset((301, 308))
_DESCRIPTIONS = {
    Outcome.ROBOTS: "robots.txt forbids it",
    Outcome.ROBOTS_UNREACHABLE: "the host's robots.txt could not be fetched",
    Outcome.NO_ADDRESS: "no such host",
    Outcome.LEADS_NOWHERE: "it redirects to no address of a page",
}


def link_findings(
    database: DatabaseView, table: PageTable, links: LinkTable, hosts: Hosts, max_places: int | None
) -> Iterator[FindingDraft]:
    """Yield all findings about links, in any order."""
    link_states, hops = table.link_states, table.hops
    is_there = np.isin(link_states, (LinkState.FINE, LinkState.NOT_CHECKED))
    kinds = {
        "broken": link_states == LinkState.BROKEN,
        "blocked": link_states == LinkState.REFUSED,
        "redirects": is_there & (hops == 1),
        "chains": is_there & (hops > 1),
    }
    for kind, targets in kinds.items():
        for page, span in links.to(targets):
            chain = table.redirect_chain(page)
            why = _moved(table, [page, *chain[:-1]]) if kind in ("redirects", "chains") else ending(table, page)
            yield FindingDraft(
                kind,
                page,
                why,
                float(links.shares[span].sum()),
                leads_to=chain,
                value=float(len(chain)) if kind == "chains" else None,
                n_places=span.stop - span.start,
                places=_places(links, span, max_places),
                with_words=True,
            )
    yield from _abandoned(database, table, links, hosts, max_places)


def ending(table: PageTable, page: int) -> str:
    """Return why a link leads to no page, such as `http 404`."""
    end = int(table.ends[page])
    if table.moved_to[end] >= 0:
        return str(Outcome.REDIRECT_LOOP)
    outcome = table.outcome(end)
    return next((words for known, words in _DESCRIPTIONS.items() if outcome == known), outcome)


def _moved(table: PageTable, pages: list[int]) -> str:
    """Describe the redirects of these pages."""
    texts = []
    for page in pages:
        status = int(table.status[page])
        how = "by a script" if status < 300 else "permanently" if status in _PERMANENT else "temporarily"
        texts.append(f"moved {how} ({status})" if status >= 300 else f"moved {how}")
    return ", ".join(texts)


def _places(links: LinkTable, span: slice, most: int | None) -> list[tuple[int, float]]:
    sources, shares = links.sources[span][:most], links.shares[span][:most]
    return list(zip(sources.tolist(), shares.tolist(), strict=True))


def _abandoned(
    database: DatabaseView, table: PageTable, links: LinkTable, hosts: Hosts, max_places: int | None
) -> Iterator[FindingDraft]:
    """Yield a finding for each abandoned host, with the links to all its pages; hosts of seeds may have none."""
    abandoned = np.flatnonzero((table.own_link_states == LinkState.HOST_GONE) & (table.moved_to < 0))
    spans = links.to(table.link_states == LinkState.HOST_GONE)
    by_host: dict[int, list[slice]] = {}
    for page, span in spans:
        by_host.setdefault(int(hosts.ids[table.ends[page]]), []).append(span)
    for host in np.unique(hosts.ids[abandoned]).tolist():
        first = int(abandoned[hosts.ids[abandoned] == host][0])
        if host not in by_host and not hosts.is_selected[first]:
            continue
        at = np.concatenate([np.arange(span.start, span.stop) for span in by_host.get(host, [])] or [_NOTHING])
        at = at[np.argsort(-links.shares[at], kind="stable")]
        yield FindingDraft(
            "hosts",
            first,
            host_problem(database, first) or "",
            float(links.shares[at].sum()),
            value=float((hosts.ids[abandoned] == host).sum()),
            n_places=len(at),
            places=list(zip(links.sources[at][:max_places].tolist(), links.shares[at][:max_places].tolist(),
                            strict=True)),
            url=canonical_url("/", database.url(first)) or "",
        )  # fmt: skip
