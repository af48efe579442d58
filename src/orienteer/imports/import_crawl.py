"""`import_crawl` makes a crawl folder or a graph folder from the files of other programs.

    WARC, WACZ                a complete crawl folder: pages, links, archive
    WAT                       a crawl folder without texts: links and titles, not searchable
    sitemap, list of URLs     URLs that are known and not fetched: a crawl folder to continue
    Scrapy JOBDIR             the same, from the pending requests
    edge list, GraphML, ...   a graph folder

Several sources make one crawl; a graph is imported alone. The folder is renamed to its final name when complete. There
are two passes: `collecting` reads the sources once and copies pages into the archive; `importer` replays them to a
crawl, starting from the seeds. Memory is bounded by the number of URLs and links, not by the size of the files.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Any

from orienteer.errors import InputError
from orienteer.graph.link_graph import LinkGraph
from orienteer.graph.proved import Certificate
from orienteer.hooks import (
    Hook,
    HookFailures,
    HookSource,
    hooks_from_arguments,
    hooks_from_settings,
    names_of,
)
from orienteer.imports.collecting import Collector
from orienteer.imports.collection import Collection, Spool, expect_known, guessed_seeds
from orienteer.imports.importer import AddedCounts, Importer, ReadResult, ReadTask, archive_reader, read_arguments
from orienteer.imports.sources import ImportSource, ListedUrls, SourceKind, pages_listed_in, sources_of, stated_seeds
from orienteer.inspect.run_report import Report
from orienteer.ledger.intake import Intake
from orienteer.ledger.ledger import Ledger
from orienteer.ledger.plan import CrawlPlan
from orienteer.ledger.scope import Scope
from orienteer.ledger.settings import canonical_seeds
from orienteer.live.figures import ProgressWatch
from orienteer.live.session import write_report
from orienteer.live.warm_up import warm_up
from orienteer.notebook import facts_html
from orienteer.pages.stop_reason import StopReason
from orienteer.processes.pool import ProcessPool, cpu_time_s, default_process_count, opened_pool
from orienteer.progress import Progress, silent
from orienteer.settings import merged, stated
from orienteer.store.archive import Archive
from orienteer.store.failures import map_disk_errors
from orienteer.store.folder import CrawlFolder, new_crawl_folder
from orienteer.store.history import IMPORTED_TIMES
from orienteer.warc.files import ListedPage, archive_files
from orienteer.wording import counted

_ANY_PAGE = "https://example.org/"  # a placeholder until the seeds are known

_Tables = Mapping[str, Mapping[str, Any]]
_Path = str | PathLike[str]


@dataclass(frozen=True)
class ImportReport:
    """The counts of an import. `made` is "crawl" or "graph".

    Records: `n_records` of any kind were read; `n_damaged` gaps could not be, the first of which is `first_damage`;
    `n_too_large` were skipped. `n_temporary` responses were temporary errors, and `n_unresolved` were revisits of
    records that are not in the sources: these pages wait in the frontier.

    Pages: `n_known` in all, of which `n_fetched` were fetched (redirects included), `n_failed` do not exist,
    `n_skipped` have a type that is not accepted, and `n_blocked` were refused. `n_unlinked` of them have no in-links;
    `n_outside` are outside the scope and left out. `n_listed` come from lists of URLs. `n_assets` are images, styles,
    scripts and frames. `has_texts`: there is text to search.
    """

    folder: Path
    made: str
    n_known: int = 0
    n_links: int = 0
    n_records: int = 0
    n_damaged: int = 0
    first_damage: str = ""
    n_too_large: int = 0
    n_temporary: int = 0
    n_unresolved: int = 0
    n_fetched: int = 0
    n_failed: int = 0
    n_skipped: int = 0
    n_blocked: int = 0
    n_unlinked: int = 0
    n_outside: int = 0
    n_listed: int = 0
    n_assets: int = 0
    n_frontier: int = 0
    has_texts: bool = False
    seeds: tuple[str, ...] = ()
    seeds_are_guessed: bool = False
    certificate: Certificate | None = None
    hook_failures: dict[str, HookFailures] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    elapsed_s: float = 0.0
    cpu_s: float = 0.0

    @property
    def n_done(self) -> int:
        return self.n_fetched + self.n_failed + self.n_skipped + self.n_blocked

    @property
    def pages_per_cpu_s(self) -> float:
        n_pages = self.n_known if self.made == "graph" else self.n_done
        return n_pages / self.cpu_s if self.cpu_s else 0.0

    def __repr__(self) -> str:
        if self.made == "graph":
            return f"<ImportReport: a graph of {self.n_known:,} pages, {self.n_links:,} links>"
        damage = f", {counted(self.n_damaged, 'gap')}" if self.n_damaged else ""
        return f"<ImportReport: {counted(self.n_fetched, 'page')} fetched, {self.n_frontier:,} in the frontier{damage}>"

    def _repr_html_(self) -> str:
        facts = [
            ("folder", self.folder),
            ("records", self.n_records),
            ("gaps", self.n_damaged),
            ("pages", self.n_known),
            ("fetched", self.n_fetched),
            ("in the frontier", self.n_frontier),
            ("left out", self.n_outside),
            ("certificate", self.certificate or ""),
        ]
        return facts_html(f"Import of a {self.made}", [(name, fact) for name, fact in facts if fact != 0])

    def as_dict(self) -> dict[str, Any]:
        facts = asdict(self) | {"folder": str(self.folder), "pages_per_cpu_s": self.pages_per_cpu_s}
        return facts | {"certificate": None if self.certificate is None else self.certificate.as_dict()}


def import_crawl(
    sources: _Path | Sequence[_Path],
    folder: _Path,
    *,
    seeds: str | Sequence[str] = (),
    scope: str | None = None,
    kind: str | None = None,
    hooks: Sequence[HookSource] | None = None,
    settings: _Tables | None = None,
    processes: int | None = None,
    progress: Progress = silent,
) -> ImportReport:
    """Make a crawl folder, or a graph folder, from archives, URL lists or graphs.

    The default seeds are those stated in the sources, or one page of each host. The default scope is `host`. `kind` is
    needed if the names of the sources do not show it: "archive", "graph", "urls" or "jobdir". `hooks` run on each page
    with content, as in a crawl. `settings` are tables as in crawl.toml. `processes` is the number of processes that
    parse pages; with 1 only this one, with None a suitable number.
    """
    began, cpu = time.monotonic(), cpu_time_s()
    paths = [sources] if isinstance(sources, str | PathLike) else sources
    import_sources = sources_of([Path(path) for path in paths], kind)
    first = import_sources[0]
    named = [seeds] if isinstance(seeds, str) else list(seeds)
    if first.kind is SourceKind.GRAPH:
        if named or scope or any((settings or {}).values()) or hooks:
            raise InputError(f"{first.path} is imported as a graph; seeds, scope, settings and hooks are for crawls")
        report = _import_graph(first.path, Path(folder), progress)
    else:
        given = None if hooks is None else hooks_from_arguments(hooks)
        tables = merged(settings or {}, {"scope": stated(kind=scope)}, {"crawl": stated(hooks=names_of(given))})
        report = _Import(import_sources, named, tables, given, processes, progress).run(Path(folder))
    return replace(report, elapsed_s=time.monotonic() - began, cpu_s=cpu_time_s() - cpu)


def _import_graph(source: Path, folder: Path, progress: Progress) -> ImportReport:
    graph = LinkGraph.load(source, progress=progress)
    graph.save(folder, "folder", progress=progress)
    return ImportReport(folder, "graph", n_known=graph.n_pages, n_links=graph.n_links)


class _Import:
    """One import of a crawl."""

    def __init__(
        self,
        sources: list[ImportSource],
        seeds: list[str],
        tables: _Tables,
        hooks: Sequence[Hook] | None,
        n_processes: int | None,
        progress: Progress,
    ) -> None:
        self._sources = sources
        self._named = canonical_seeds(seeds)
        self._tables = tables
        self._n_processes = n_processes
        self._progress = progress
        self._first_plan = self._plan(self._named or (_ANY_PAGE,))  # invalid settings raise an error at once
        self._hooks = hooks_from_settings(self._first_plan.crawl.hooks, "settings") if hooks is None else hooks
        self._listed = ListedUrls(sources)
        self._files = [
            file for source in sources if source.kind is SourceKind.ARCHIVE for file in archive_files(source.path)
        ]

    def run(self, path: Path) -> ImportReport:
        with (
            new_crawl_folder(path) as new_path,
            map_disk_errors(new_path),
            CrawlFolder.create(new_path, self._first_plan.to_toml()) as folder,
            tempfile.TemporaryFile(dir=new_path) as file,
        ):
            return self._run(folder, path, Spool(file))

    def _run(self, folder: CrawlFolder, path: Path, spool: Spool) -> ImportReport:
        collector = self._collect(folder.archive, spool)
        captures = collector.captures
        captures.add_listed(self._listed_pages(), collector.collection)
        seeds, are_guessed = self._seeds(collector)
        plan = self._plan(seeds)
        folder.write_settings(plan.to_toml())
        warm_up(plan)
        ledger = Ledger(folder, plan)
        intake = Intake(ledger, self._hooks)
        watch = ProgressWatch(intake)
        with self._pool(intake, len(collector.collection)) as pool:
            importer = Importer(intake, watch, collector.collection, captures, spool, pool, self._progress)
            added = importer.run(self._listed.urls)
        self._record_origin(ledger, collector.collection)
        ended = replace(write_report(ledger, watch, StopReason.IMPORTED), folder=path)
        folder.write_report(ended.as_dict())
        return replace(self._report(ended, collector, added), seeds=seeds, seeds_are_guessed=are_guessed)

    def _pool(self, intake: Intake, n_responses: int) -> AbstractContextManager[ProcessPool[ReadTask, ReadResult]]:
        """Return the pool of processes that parse responses, all of which must be in the archive's files."""
        intake.ledger.folder.archive.sync()
        n_processes = default_process_count(n_responses) if self._n_processes is None else self._n_processes
        return opened_pool(archive_reader, (intake.ledger.folder.archive.folder, *read_arguments(intake)), n_processes)

    def _plan(self, seeds: Sequence[str]) -> CrawlPlan:
        return CrawlPlan.of_tables(merged(self._tables, {"crawl": {"seeds": tuple(seeds)}}), "settings")

    def _collect(self, archive: Archive, spool: Spool) -> Collector:
        collector = Collector(archive, spool, self._first_plan.fetch)
        sizes = [file.size_bytes for file in self._files]
        n_before = 0
        for file, size in zip(self._files, sizes, strict=True):

            def on_read(n_bytes: int, n_before: int = n_before) -> None:
                self._progress("reading records", n_before + n_bytes, sum(sizes))

            collector.read(file, on_read)
            n_before += size
        collector.resolve()
        if not len(collector.collection) and not self._listed.urls:
            raise InputError(f"{self._sources[0].path}: {self._why_empty(collector)}")
        return collector

    def _why_empty(self, collector: Collector) -> str:
        counts = collector.counts
        if not self._files:
            return "; ".join(["no URLs to start from", *self._listed.notes])
        if not counts.n_records:
            return "no WARC records in it"
        if collector.n_broken_json:
            return f"no page could be read; {counted(collector.n_broken_json, 'record')} had broken JSON"
        if counts.n_gaps:
            return f"no page could be read; it is damaged ({counts.first_gap})"
        return f"{counted(counts.n_records, 'record')} in it, but no response to a request for a page"

    def _listed_pages(self) -> Iterator[ListedPage]:
        for source in self._sources:
            if source.kind is SourceKind.ARCHIVE:
                yield from pages_listed_in(source)

    def _seeds(self, collector: Collector) -> tuple[tuple[str, ...], bool]:
        """Return the seeds, and whether they are guessed."""
        collection = collector.collection
        if self._named:
            expect_known(self._named, collection)
            return self._named, False
        stated = [
            seed for source in self._sources if source.kind is SourceKind.ARCHIVE for seed in stated_seeds(source)
        ]
        if stated:
            return canonical_seeds(stated), False
        guessed = guessed_seeds(collection, collector.captures.asset_mask(collection), self._listed.urls)
        if not guessed:
            raise InputError(f"{self._sources[0].path}: {len(collection):,} responses in it, but no page")
        inside = Scope(self._first_plan.scope, guessed).contains(guessed)
        if not inside.any():
            raise InputError(f"{self._sources[0].path}: it has no page inside the scope (allow, deny)")
        return canonical_seeds([seed for seed, is_inside in zip(guessed, inside, strict=True) if is_inside]), True

    def _record_origin(self, ledger: Ledger, collection: Collection) -> None:
        """Store the time span of the responses and the names of the sources."""
        if len(collection):
            ledger.database.meta.set(IMPORTED_TIMES, collection.time_span())
        paths = [str(source.path) for source in self._sources]
        ledger.database.meta.add_event(time.time(), StopReason.IMPORTED, None, sources=paths)
        ledger.checkpoint()

    def _report(self, ended: Report, collector: Collector, added: AddedCounts) -> ImportReport:
        figures, counts = ended.figures, collector.counts
        return ImportReport(
            folder=ended.folder,
            made="crawl",
            n_known=figures.n_known,
            n_records=counts.n_records,
            n_damaged=counts.n_gaps + collector.n_broken_json + collector.n_unusable,
            first_damage=counts.first_gap or _other_damage(collector),
            n_too_large=counts.n_too_large,
            n_temporary=collector.n_temporary,
            n_unresolved=collector.n_unresolved,
            n_fetched=figures.n_fetched + figures.n_redirects,
            n_failed=figures.n_failed,
            n_skipped=figures.n_skipped,
            n_blocked=figures.n_blocked,
            n_unlinked=added.n_unlinked,
            n_outside=added.n_outside,
            n_listed=added.n_listed,
            n_assets=added.n_assets,
            n_frontier=figures.n_frontier,
            has_texts=any(not file.is_wat for file in self._files),
            certificate=figures.certificate,
            hook_failures=ended.hook_failures,
            notes=tuple(self._listed.notes),
        )


def _other_damage(collector: Collector) -> str:
    if collector.n_broken_json:
        return "broken JSON"
    return "an invalid response, or one with too long headers" if collector.n_unusable else ""
