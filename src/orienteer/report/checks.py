"""The findings of a report, apart from those for which archived pages are read.

Findings about links are broken links, redirects, blocked pages, hosts that do not answer. Links are weighed by their
shares of a random surfer's clicks. The surfer follows the links of a page with equal probability: the share of a link
from page p in all clicks is rank(p) / (number of links on p), divided by the sum of this over all links. The
probability to follow a link at all, instead of jumping to a random page, is the same on all pages and cancels out.
Equal links of a page count once, and links of a page to itself do not count."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orienteer.extract.links import SCRIPTED
from orienteer.graph.reach import distances
from orienteer.inspect.explain import host_problem
from orienteer.pages.outcome import Outcome
from orienteer.progress import Progress
from orienteer.report.finding import Clicks, FindingDraft
from orienteer.report.page_table import NO_TITLE, Hosts, LinkState, PageTable
from orienteer.search.page_columns import CrawlRanks
from orienteer.store.database import DatabaseView
from orienteer.store.failures import damaged
from orienteer.store.folder_view import ESTIMATE, estimate_of_folder
from orienteer.url import canonical_url, host_of

_STAGE = "following the links"
_PAGES_AT_ONCE = 1000
_FAULTY = (LinkState.BROKEN, LinkState.REFUSED, LinkState.HOST_GONE)
_NOTHING: NDArray[np.int64] = np.zeros(0, np.int64)
_PERMANENT = frozenset((301, 308))
_DESCRIPTIONS = {
    Outcome.ROBOTS: "robots.txt forbids it",
    Outcome.ROBOTS_UNREACHABLE: "the host's robots.txt could not be fetched",
    Outcome.NO_ADDRESS: "no such host",
    Outcome.LEADS_NOWHERE: "it redirects to no address of a page",
}


Mask = NDArray[np.bool_]


class LinkTable:
    """The broken, refused and redirected links of the `selected` pages: `sources`, `targets`, and their `shares`
    of all clicks on these pages, ordered by target, the largest share first.

    `is_linked` marks the URLs that any page links to, directly or by a redirect.
    """

    def __init__(
        self, database: DatabaseView, table: PageTable, selected: NDArray[np.bool_], progress: Progress
    ) -> None:
        self.is_linked = np.zeros(table.n_urls, np.bool_)
        self.n_links = 0
        self._clicks_by_state = np.zeros(len(LinkState))
        self._n_by_state = np.zeros(len(LinkState), np.int64)
        self._redirected = 0.0
        self._is_fine = np.isin(table.link_states, (LinkState.FINE, LinkState.NOT_CHECKED))
        self._is_faulty = np.isin(table.link_states, _FAULTY) | (table.hops > 0)
        found: list[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]] = []
        n_done, n_all = 0, int(table.is_page.sum())
        links_of_pages = (pair for pair in database.pages.links() if table.is_page[pair[0]])
        while batch := list(islice(links_of_pages, _PAGES_AT_ONCE)):
            found.append(self._count_links(table, selected, batch))
            n_done += len(batch)
            progress(_STAGE, n_done, n_all)
        sources, targets, shares = (np.concatenate(column) for column in zip(*found, strict=True))
        order = np.lexsort((sources, -shares, targets))
        self.sources, self.targets, self.shares = sources[order], targets[order], shares[order] / self.all_clicks

    def _count_links(
        self, table: PageTable, selected: NDArray[np.bool_], batch: list[tuple[int, NDArray[np.uint32]]]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """Count the links of some pages; return the faulty ones as sources, targets and shares."""
        pages = np.array([page for page, _ in batch], np.int64)
        places = np.repeat(np.arange(len(pages)), [len(links) for _, links in batch])
        targets = np.concatenate([links for _, links in batch]).astype(np.int64)
        is_other = targets != pages[places]
        places, targets = np.divmod(np.unique(places[is_other] * table.n_urls + targets[is_other]), table.n_urls)
        self.is_linked[targets] = True
        self.is_linked[table.ends[targets]] = True
        shares = (table.rank[pages] / np.maximum(np.bincount(places, minlength=len(pages)), 1))[places]
        is_here = selected[pages[places]]
        sources, targets, shares = pages[places[is_here]], targets[is_here], shares[is_here]
        link_states = table.link_states[targets]
        self.n_links += len(targets)
        self._n_by_state += np.bincount(link_states, minlength=len(LinkState))
        self._clicks_by_state += np.bincount(link_states, shares, len(LinkState))
        self._redirected += float(shares[(table.hops[targets] > 0) & self._is_fine[targets]].sum())
        is_faulty = self._is_faulty[targets]
        return sources[is_faulty], targets[is_faulty], shares[is_faulty]

    @property
    def all_clicks(self) -> float:
        return float(self._clicks_by_state.sum()) or 1.0

    @property
    def n_checked(self) -> int:
        """The number of links whose target is known to be a page or broken."""
        return int(self._n_by_state[[LinkState.FINE, LinkState.BROKEN]].sum())

    def clicks(self) -> Clicks:
        shares = self._clicks_by_state / self.all_clicks
        return Clicks(
            broken=float(shares[LinkState.BROKEN]),
            host_gone=float(shares[LinkState.HOST_GONE]),
            redirected=self._redirected / self.all_clicks,
            refused=float(shares[LinkState.REFUSED]),
            not_checked=float(shares[LinkState.NOT_CHECKED]),
        )

    def to(self, targets: NDArray[np.bool_]) -> list[tuple[int, slice]]:
        """Return the linked ones of these URLs, each with the slice of its links in the arrays."""
        if not len(self.targets):
            return []
        starts = np.flatnonzero(np.diff(self.targets, prepend=-1))
        ends = np.append(starts[1:], len(self.targets))
        return [
            (int(self.targets[start]), slice(int(start), int(end)))
            for start, end in zip(starts, ends, strict=True)
            if targets[self.targets[start]]
        ]


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
            url=canonical_url("/", database.urls.of(first)) or "",
        )  # fmt: skip


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
