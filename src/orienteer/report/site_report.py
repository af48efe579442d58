"""The report about a site that was crawled: the way in.

What is known of pages and links is read in two sweeps of the database, then the pages are looked at in the archive. In
memory are some numbers of each URL, the links that lead to trouble, and the findings.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from orienteer.errors import InputError
from orienteer.exports.exported_crawl import host_in
from orienteer.ledger.plan import CrawlPlan
from orienteer.progress import Progress, silent
from orienteer.report.draft import Draft
from orienteer.report.finding import Finding, Place, SiteReport
from orienteer.report.kinds import KINDS
from orienteer.report.link_findings import link_findings
from orienteer.report.link_table import LinkTable
from orienteer.report.page_findings import deep_findings, page_findings
from orienteer.report.page_reading import Read, pages_read
from orienteer.report.page_table import Hosts, PageTable
from orienteer.report.valued import valued_findings
from orienteer.search.column_writing import CrawlRanks, crawl_ranks
from orienteer.store.folder_view import FolderView

DEEP, SLOW_S, MOST_PLACES = 5, 3.0, 20


def site_report(
    folder: str | Path,
    *,
    hosts: Sequence[str] | str = (),
    deep: int = DEEP,
    slow_s: float = SLOW_S,
    most_places: int | None = MOST_PLACES,
    processes: int | None = None,
    progress: Progress = silent,
) -> SiteReport:
    """What is wrong with the pages of a crawl folder, ordered by what it costs a surfer; the crawl may be running.

    With `hosts`, only what stands on pages of these hosts. A page is deep that is more than `deep` links from the
    start, and slow if the server took longer than `slow_s` seconds. Of each finding the costliest `most_places` places
    are told, or all with None. Pages are read by this many `processes`, for which there is a sensible number.
    """
    if deep < 0 or not slow_s >= 0 or (most_places is not None and most_places < 0):
        raise InputError("deep, slow and places are numbers that are not negative")
    wanted = tuple(host_in(name) for name in ([hosts] if isinstance(hosts, str) else hosts))
    with FolderView.open(Path(folder)) as crawl:
        return _Making(crawl, wanted, deep, slow_s, most_places, progress).report(processes)


class _Making:
    """A report while it is made."""

    def __init__(
        self,
        crawl: FolderView,
        hosts: tuple[str, ...],
        deep: int,
        slow_s: float,
        most_places: int | None,
        progress: Progress,
    ) -> None:
        self._crawl, self._database = crawl, crawl.database
        self._wanted, self._deep, self._slow_s, self._most_places = hosts, deep, slow_s, most_places
        self._progress = progress
        self._plan = CrawlPlan.of_folder(crawl)
        self._ranks = _ranks(crawl, progress)
        self._table = PageTable(self._database, self._ranks, progress)
        self._hosts = Hosts(self._database, hosts)
        if hosts and not (self._table.is_page & self._hosts.is_wanted).any():
            raise InputError(f"{crawl.path}: the crawl has no page of {', '.join(hosts)}")
        self._links = LinkTable(self._database, self._table, self._hosts.is_wanted, progress)
        self._not_known: list[str] = []

    def report(self, processes: int | None) -> SiteReport:
        drafts = list(self._drafts())
        words = self._looked_at(drafts, processes)
        findings: dict[str, list[Finding]] = {kind: [] for kind in KINDS}
        # By cost; then by URL, so that the same crawl always makes the same report.
        finished = [(self._order(draft), self._finding(draft, words)) for draft in drafts]
        for _, finding in sorted(finished, key=lambda pair: (-pair[0], pair[1].url)):
            findings[finding.kind].append(finding)
        times = self._database.times()
        table, links = self._table, self._links
        return SiteReport(
            crawl=self._crawl.path.resolve().name,
            seeds=self._plan.crawl.seeds,
            hosts=self._wanted,
            first_time=None if times is None else times[0],
            last_time=None if times is None else times[1],
            position=self._database.next_position(),
            n_pages=int((table.is_page & self._hosts.is_wanted).sum()),
            n_links=links.n_links,
            n_checked=links.n_checked,
            clicks=links.clicks(),
            deep=self._deep,
            slow_s=self._slow_s,
            most_places=self._most_places,
            not_known=tuple(self._not_known),
            findings=findings,
        )

    def _drafts(self) -> Iterator[Draft]:
        database, table, links, hosts = self._database, self._table, self._links, self._hosts
        seeds = range(min(len(self._plan.crawl.seeds), table.n_urls))
        yield from link_findings(database, table, links, hosts, self._most_places)
        yield from page_findings(database, table, links, hosts, seeds, self._most_places)
        yield from deep_findings(table, self._ranks, hosts, seeds, self._deep)
        valued = list(valued_findings(self._crawl.path, self._wanted))
        if not valued:
            self._not_known.append("what the world values: no estimate was made (`orienteer estimate`)")
        yield from valued

    def _looked_at(self, drafts: list[Draft], processes: int | None) -> dict[tuple[int, str], str]:
        """Look at the pages themselves: findings are added. The words of links by page and address."""
        urls = {draft.page: self._database.url(draft.page) for draft in drafts if draft.with_words}
        linked: dict[int, list[str]] = {}
        for draft in drafts:
            for source, _ in draft.places if draft.with_words else ():
                linked.setdefault(source, []).append(urls[draft.page])
        pages = self._table.is_page & self._hosts.is_wanted & self._table.is_archived
        wanted = {page: tuple(found) for page, found in linked.items()}
        words: dict[tuple[int, str], str] = {}
        n_read = n_timed = 0
        folder = self._crawl.archive.folder
        for page, read in pages_read(self._database, folder, pages, wanted, processes, self._progress):
            words |= {(page, url): text for url, text in read.words.items()}
            if self._table.is_page[page] and self._table.is_html[page]:
                n_read += 1
                n_timed += read.duration_s is not None
                drafts += self._findings_of(page, read)
        self._note_unread(n_read, n_timed)
        return words

    def _findings_of(self, page: int, read: Read) -> Iterator[Draft]:
        rank = float(self._table.rank[page])
        if not read.has_description and not self._table.is_noindex[page]:
            yield Draft("undescribed", page, "", rank)
        if read.parts:
            more = f" and {read.n_parts - len(read.parts):,} more" if read.n_parts > len(read.parts) else ""
            yield Draft("mixed", page, ", ".join(read.parts) + more, rank, value=float(read.n_parts))
        seconds = read.duration_s
        if seconds is not None and seconds > self._slow_s:
            yield Draft("slow", page, f"{seconds:.1f} s", rank, value=seconds, order=rank * seconds)

    def _note_unread(self, n_read: int, n_timed: int) -> None:
        pages = self._table.is_page & self._hosts.is_wanted & self._table.is_html
        n_unread = int(pages.sum()) - n_read
        if n_unread > 0:
            what = "the words of their links, descriptions, mixed content and response times"
            self._not_known.append(f"{n_unread:,} pages are not in the archive: {what}")
        if n_timed < n_read:
            self._not_known.append(f"how long the server took for {n_read - n_timed:,} pages: it was not noted")
        crawl = self._plan.crawl
        if "off" in (crawl.duplicates, crawl.near_duplicates):
            self._not_known.append("which pages repeat another: the crawl did not look")

    def _order(self, draft: Draft) -> float:
        return draft.cost if draft.order is None else draft.order

    def _finding(self, draft: Draft, words: dict[tuple[int, str], str]) -> Finding:
        database = self._database
        url = draft.url or database.url(draft.page)
        places = [
            Place(place, words.get((source, url)) if draft.with_words else None, cost)
            for (source, cost), place in zip(draft.places, database.urls(_firsts(draft.places)), strict=True)
        ]
        leads_to = tuple(database.urls(draft.leads_to))
        return Finding(draft.kind, url, draft.why, draft.cost, leads_to, draft.value, draft.n_places, tuple(places))


def _firsts(pairs: Iterable[tuple[int, float]]) -> list[int]:
    return [first for first, _ in pairs]


def _ranks(crawl: FolderView, progress: Progress) -> CrawlRanks:
    progress("ranking", 0, 0)
    ranks = crawl_ranks(crawl.database, None)
    if not len(ranks.pages):
        raise InputError(f"{crawl.path}: the crawl has fetched no page yet, so there is nothing to report")
    return ranks
