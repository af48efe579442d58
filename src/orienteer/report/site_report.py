"""Build the report on a crawled site.

Pages and links are read in two passes over the database, then the pages from the archive. Memory is bounded by the
numbers of URLs, faulty links and findings.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from orienteer.errors import InputError
from orienteer.exports.exported_crawl import parse_host
from orienteer.ledger.plan import CrawlPlan
from orienteer.progress import Progress, silent
from orienteer.report.checks import LinkTable, deep_findings, link_findings, page_findings, valued_findings
from orienteer.report.finding import KINDS, Finding, FindingDraft, LinkingPage, SiteReport
from orienteer.report.page_table import Hosts, PageReport, PageTable, pages_read
from orienteer.search.page_columns import CrawlRanks, crawl_ranks
from orienteer.store.folder_view import FolderView

DEEP, SLOW_S, MAX_PLACES = 5, 3.0, 20


def site_report(
    folder: str | Path,
    *,
    hosts: Sequence[str] | str = (),
    deep: int = DEEP,
    slow_s: float = SLOW_S,
    max_places: int | None = MAX_PLACES,
    processes: int | None = None,
    progress: Progress = silent,
) -> SiteReport:
    """Report the faults of a crawl folder, ordered by their cost to a random surfer; the crawl may be running.

    With `hosts`, only the pages of these hosts are covered. A page is deep if it is more than `deep` links from the
    start, and slow if the server took longer than `slow_s` seconds. Each finding lists the `max_places` costliest pages
    where it occurs, or all with None. Pages are read by this many `processes` (None: see `processes.parallelism`).
    """
    if deep < 0 or not slow_s >= 0 or (max_places is not None and max_places < 0):
        raise InputError(f"deep is {deep}, slow_s {slow_s} and max_places {max_places}; they must not be negative")
    selected = tuple(parse_host(name) for name in ([hosts] if isinstance(hosts, str) else hosts))
    with FolderView.open(Path(folder)) as crawl:
        return _ReportBuilder(crawl, selected, deep, slow_s, max_places, progress).report(processes)


class _ReportBuilder:
    """Builds one report."""

    def __init__(
        self,
        crawl: FolderView,
        hosts: tuple[str, ...],
        deep: int,
        slow_s: float,
        max_places: int | None,
        progress: Progress,
    ) -> None:
        self._crawl, self._database = crawl, crawl.database
        self._selected_hosts, self._deep, self._slow_s, self._max_places = hosts, deep, slow_s, max_places
        self._progress = progress
        self._plan = CrawlPlan.of_folder(crawl)
        self._ranks = _ranks(crawl, progress)
        self._table = PageTable(self._database, self._ranks, progress)
        self._hosts = Hosts(self._database, hosts)
        if hosts and not (self._table.is_page & self._hosts.is_selected).any():
            raise InputError(f"{crawl.path}: the crawl has no page of {', '.join(hosts)}")
        self._links = LinkTable(self._database, self._table, self._hosts.is_selected, progress)
        self._not_known: list[str] = []

    def report(self, processes: int | None) -> SiteReport:
        drafts = list(self._drafts())
        words = self._read_pages(drafts, processes)
        findings: dict[str, list[Finding]] = {kind: [] for kind in KINDS}
        # By cost; then by URL, so that the same crawl always makes the same report.
        finished = [(self._order(draft), self._finding(draft, words)) for draft in drafts]
        for _, finding in sorted(finished, key=lambda pair: (-pair[0], pair[1].url)):
            findings[finding.kind].append(finding)
        times = self._database.history.times()
        table, links = self._table, self._links
        return SiteReport(
            crawl=self._crawl.path.resolve().name,
            seeds=self._plan.crawl.seeds,
            hosts=self._selected_hosts,
            first_time=None if times is None else times[0],
            last_time=None if times is None else times[1],
            position=self._database.history.next_position(),
            n_pages=int((table.is_page & self._hosts.is_selected).sum()),
            n_links=links.n_links,
            n_checked=links.n_checked,
            clicks=links.clicks(),
            deep=self._deep,
            slow_s=self._slow_s,
            max_places=self._max_places,
            not_known=tuple(self._not_known),
            findings=findings,
        )

    def _drafts(self) -> Iterator[FindingDraft]:
        database, table, links, hosts = self._database, self._table, self._links, self._hosts
        seeds = range(min(len(self._plan.crawl.seeds), table.n_urls))
        yield from link_findings(database, table, links, hosts, self._max_places)
        yield from page_findings(database, table, links, hosts, seeds, self._max_places)
        yield from deep_findings(table, self._ranks, hosts, seeds, self._deep)
        valued = list(valued_findings(self._crawl.path, self._selected_hosts))
        if not valued:
            self._not_known.append("pages valued more by other sites: no estimate was made (`orienteer estimate`)")
        yield from valued

    def _read_pages(self, drafts: list[FindingDraft], processes: int | None) -> dict[tuple[int, str], str]:
        """Read the archived pages, and append their findings to `drafts`; return the texts of links by page and URL."""
        urls = {draft.page: self._database.urls.of(draft.page) for draft in drafts if draft.with_words}
        linked: dict[int, list[str]] = {}
        for draft in drafts:
            for source, _ in draft.places if draft.with_words else ():
                linked.setdefault(source, []).append(urls[draft.page])
        pages = self._table.is_page & self._hosts.is_selected & self._table.is_archived
        urls_by_page = {page: tuple(found) for page, found in linked.items()}
        words: dict[tuple[int, str], str] = {}
        n_read = n_timed = 0
        folder = self._crawl.archive.folder
        for page, read in pages_read(self._database, folder, pages, urls_by_page, processes, self._progress):
            words |= {(page, url): text for url, text in read.words.items()}
            if self._table.is_page[page] and self._table.is_html[page]:
                n_read += 1
                n_timed += read.duration_s is not None
                drafts += self._findings_of(page, read)
        self._note_unread(n_read, n_timed)
        return words

    def _findings_of(self, page: int, read: PageReport) -> Iterator[FindingDraft]:
        rank = float(self._table.rank[page])
        if not read.has_description and not self._table.is_noindex[page]:
            yield FindingDraft("undescribed", page, "", rank)
        if read.insecure:
            more = f" and {read.n_insecure - len(read.insecure):,} more" if read.n_insecure > len(read.insecure) else ""
            yield FindingDraft("mixed", page, ", ".join(read.insecure) + more, rank, value=float(read.n_insecure))
        seconds = read.duration_s
        if seconds is not None and seconds > self._slow_s:
            yield FindingDraft("slow", page, f"{seconds:.1f} s", rank, value=seconds, order=rank * seconds)

    def _note_unread(self, n_read: int, n_timed: int) -> None:
        pages = self._table.is_page & self._hosts.is_selected & self._table.is_html
        n_unread = int(pages.sum()) - n_read
        if n_unread > 0:
            facts = "the words of their links, descriptions, mixed content and response times"
            self._not_known.append(f"{n_unread:,} pages are not in the archive: {facts}")
        if n_timed < n_read:
            self._not_known.append(f"response times of {n_read - n_timed:,} pages: they were not recorded")
        crawl = self._plan.crawl
        if "off" in (crawl.duplicates, crawl.near_duplicates):
            self._not_known.append("duplicate pages: the crawl did not check for them")

    def _order(self, draft: FindingDraft) -> float:
        return draft.cost if draft.order is None else draft.order

    def _finding(self, draft: FindingDraft, words: dict[tuple[int, str], str]) -> Finding:
        database = self._database
        url = draft.url or database.urls.of(draft.page)
        places = [
            LinkingPage(place, words.get((source, url)) if draft.with_words else None, cost)
            for (source, cost), place in zip(draft.places, database.urls.of_all(_firsts(draft.places)), strict=True)
        ]
        leads_to = tuple(database.urls.of_all(draft.leads_to))
        return Finding(draft.kind, url, draft.why, draft.cost, leads_to, draft.value, draft.n_places, tuple(places))


def _firsts(pairs: Iterable[tuple[int, float]]) -> list[int]:
    return [first for first, _ in pairs]


def _ranks(crawl: FolderView, progress: Progress) -> CrawlRanks:
    progress("ranking", 0, 0)
    ranks = crawl_ranks(crawl.database, None)
    if not len(ranks.pages):
        raise InputError(f"{crawl.path}: the crawl has fetched no page yet, so there is nothing to report")
    return ranks
