"""Start from what others have crawled or listed: `import_crawl` makes a crawl folder of it, or a graph folder.

    WARC, WACZ                a crawl folder with everything: pages, links, archive
    WAT                       a crawl folder without texts: links and titles, nothing that could be searched
    sitemap, list of URLs     URLs that are known and not fetched: a crawl folder to go on with
    Scrapy JOBDIR             the same, from the requests that were pending
    edge list, GraphML, ...   a graph folder

Several sources make one crawl; a graph stands alone. The folder appears under its name when it is complete. There are
two passes: `collecting` reads the sources once, from beginning to end, and copies what is a page into the archive;
`telling` tells it to a crawl, from the seeds on. Memory is bounded by the URLs and links, whatever the files hold.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

from orienteer.errors import InputError
from orienteer.graph.link_graph import LinkGraph
from orienteer.hooks.hook_names import Hook, HookGiven, hooks_given, hooks_kept, names_of
from orienteer.imports.collecting import Collector
from orienteer.imports.collection import Collection, Spool
from orienteer.imports.import_report import ImportReport
from orienteer.imports.importer import Importer, Told
from orienteer.imports.listed import Listed
from orienteer.imports.reading_ahead import Answered, ToTell, answer_reading, how_to_read
from orienteer.imports.seeds import expect_known, guessed_seeds
from orienteer.imports.sources import Kind, Source, pages_listed_in, sources_of, stated_seeds
from orienteer.ledger.intake import Intake
from orienteer.ledger.ledger import Ledger
from orienteer.ledger.plan import CrawlPlan, canonical_seeds
from orienteer.ledger.scope import Scope
from orienteer.live.figures import Watch
from orienteer.live.session import Report, reported
from orienteer.live.warm_up import warm_up
from orienteer.pages.stop_reason import StopReason
from orienteer.processes.how_many import cpu_time_s, sensible_number
from orienteer.processes.pool import Pool, opened_pool
from orienteer.progress import Progress, silent
from orienteer.settings import merged
from orienteer.store.archive import Archive
from orienteer.store.database_view import IMPORTED_TIMES
from orienteer.store.failures import explained
from orienteer.store.folder import CrawlFolder, place_for_new_crawl
from orienteer.warc.files import archive_files
from orienteer.warc.page_lists import ListedPage
from orienteer.wording import counted

_ANY_PAGE = "https://example.org/"  # until the seeds are known

_Tables = Mapping[str, Mapping[str, Any]]
_Place = str | PathLike[str]


def import_crawl(
    sources: _Place | Sequence[_Place],
    folder: _Place,
    *,
    seeds: str | Sequence[str] = (),
    scope: str | None = None,
    kind: str | None = None,
    hooks: Sequence[HookGiven] | None = None,
    settings: _Tables | None = None,
    processes: int | None = None,
    progress: Progress = silent,
) -> ImportReport:
    """Make a crawl folder, or a graph folder, of what others have crawled.

    Seeds that are not named are those that the sources state, or one page of each host. The scope is `host`, if nothing
    else is said. `kind` says what the sources are, where their names do not: "archive", "graph", "urls" or "jobdir".
    `hooks` are run on each page that has its content, as in a crawl. `settings` are tables as in crawl.toml.
    Pages are read by this many `processes`, for which there is a sensible number; 1: none is started.
    """
    began, cpu = time.monotonic(), cpu_time_s()
    paths = [sources] if isinstance(sources, str | PathLike) else sources
    found = sources_of([Path(path) for path in paths], kind)
    named = [seeds] if isinstance(seeds, str) else list(seeds)
    if found[0].kind is Kind.GRAPH:
        if named or scope or settings or hooks:
            raise InputError(f"{found[0].path} is imported as a graph; seeds, scope, settings and hooks are for crawls")
        report = _import_graph(found[0].path, Path(folder), progress)
    else:
        given = None if hooks is None else hooks_given(hooks)
        tables = merged(settings or {}, {"scope": {"kind": scope}}, {"crawl": {"hooks": names_of(given)}})
        report = _Import(found, named, tables, given, processes, progress).run(Path(folder))
    return replace(report, elapsed_s=time.monotonic() - began, cpu_s=cpu_time_s() - cpu)


def _import_graph(source: Path, folder: Path, progress: Progress) -> ImportReport:
    graph = LinkGraph.load(source, progress=progress)
    graph.save(folder, "folder", progress=progress)
    return ImportReport(folder, "graph", n_known=graph.n_pages, n_links=graph.n_links)


class _Import:
    """One import of a crawl."""

    def __init__(
        self,
        sources: list[Source],
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
        self._first_plan = self._plan(self._named or (_ANY_PAGE,))  # what is wrong with settings is said at once
        self._hooks = hooks_kept(self._first_plan.crawl.hooks, "settings") if hooks is None else hooks
        self._listed = Listed(sources)
        self._files = [file for source in sources if source.kind is Kind.ARCHIVE for file in archive_files(source.path)]

    def run(self, path: Path) -> ImportReport:
        with (
            place_for_new_crawl(path) as place,
            explained(place),
            CrawlFolder.create(place, self._first_plan.to_toml()) as folder,
            tempfile.TemporaryFile(dir=place) as file,
        ):
            return self._run(folder, path, Spool(file))

    def _run(self, folder: CrawlFolder, path: Path, spool: Spool) -> ImportReport:
        collector = self._collect(folder.archive, spool)
        shown = collector.shown
        shown.take_listed(self._listed_pages(), collector.collection)
        seeds, are_guessed = self._seeds(collector)
        plan = self._plan(seeds)
        folder.write_settings(plan.to_toml())
        warm_up(plan)
        ledger = Ledger(folder, plan)
        intake = Intake(ledger, self._hooks)
        watch = Watch(intake)
        with self._pool(intake, len(collector.collection)) as pool:
            importer = Importer(intake, watch, collector.collection, shown, spool, pool, self._progress)
            told = importer.run(self._listed.urls)
        self._note(ledger, collector.collection)
        ended = replace(reported(ledger, watch, StopReason.IMPORTED), folder=path)
        folder.write_report(ended.as_dict())
        return replace(self._report(ended, collector, told), seeds=seeds, seeds_are_guessed=are_guessed)

    def _pool(self, intake: Intake, n_answers: int) -> AbstractContextManager[Pool[ToTell, Answered]]:
        """Who reads the answers."""
        n_processes = sensible_number(n_answers) if self._n_processes is None else self._n_processes
        return opened_pool(answer_reading, (intake.ledger.folder.archive.folder, *how_to_read(intake)), n_processes)

    def _plan(self, seeds: Sequence[str]) -> CrawlPlan:
        return CrawlPlan.of_tables(merged(self._tables, {"crawl": {"seeds": tuple(seeds)}}), "settings")

    def _collect(self, archive: Archive, spool: Spool) -> Collector:
        collector = Collector(archive, spool, self._first_plan.fetch)
        sizes = [file.size_bytes for file in self._files]
        n_before = 0
        for file, size in zip(self._files, sizes, strict=True):

            def tell(n_bytes: int, n_before: int = n_before) -> None:
                self._progress("reading records", n_before + n_bytes, sum(sizes))

            collector.read(file, tell)
            n_before += size
        collector.resolve()
        if not len(collector.collection) and not self._listed.urls:
            raise InputError(f"{self._sources[0].path}: {self._why_nothing(collector)}")
        return collector

    def _why_nothing(self, collector: Collector) -> str:
        reading = collector.reading
        if not self._files:
            return "; ".join(["no URLs to start from", *self._listed.notes])
        if not reading.n_records:
            return "no WARC records in it"
        if collector.n_broken_json:
            return f"no page could be read; {counted(collector.n_broken_json, 'record')} had broken JSON"
        if reading.n_gaps:
            return f"no page could be read; it is damaged ({reading.first_gap})"
        return f"{counted(reading.n_records, 'record')} in it, but no answer to a request for a page"

    def _listed_pages(self) -> Iterator[ListedPage]:
        for source in self._sources:
            if source.kind is Kind.ARCHIVE:
                yield from pages_listed_in(source)

    def _seeds(self, collector: Collector) -> tuple[tuple[str, ...], bool]:
        """The seeds, and whether they are guessed."""
        collection = collector.collection
        if self._named:
            expect_known(self._named, collection)
            return self._named, False
        stated = [seed for source in self._sources if source.kind is Kind.ARCHIVE for seed in stated_seeds(source)]
        if stated:
            return canonical_seeds(stated), False
        guessed = guessed_seeds(collection, collector.shown.parts_of(collection), self._listed.urls)
        if not guessed:
            raise InputError(f"{self._sources[0].path}: {len(collection):,} answers in it, but none is a page")
        inside = Scope(self._first_plan.scope, guessed).contains(guessed)
        if not inside.any():
            raise InputError(f"{self._sources[0].path}: no page of it is inside the scope (allow, deny)")
        return canonical_seeds([seed for seed, is_inside in zip(guessed, inside, strict=True) if is_inside]), True

    def _note(self, ledger: Ledger, collection: Collection) -> None:
        """What the folder is to know of where it comes from."""
        if len(collection):
            ledger.database.set(IMPORTED_TIMES, collection.time_span())
        paths = [str(source.path) for source in self._sources]
        ledger.database.add_event(time.time(), StopReason.IMPORTED, None, sources=paths)
        ledger.checkpoint()

    def _report(self, ended: Report, collector: Collector, told: Told) -> ImportReport:
        figures, reading = ended.figures, collector.reading
        return ImportReport(
            folder=ended.folder,
            made="crawl",
            n_known=figures.n_known,
            n_records=reading.n_records,
            n_damaged=reading.n_gaps + collector.n_broken_json + collector.n_unusable,
            first_damage=reading.first_gap or _other_damage(collector),
            n_too_large=reading.n_too_large,
            n_passing=collector.n_passing,
            n_unresolved=collector.n_unresolved,
            n_fetched=figures.n_fetched + figures.n_redirects,
            n_failed=figures.n_failed,
            n_skipped=figures.n_skipped,
            n_blocked=figures.n_blocked,
            n_unlinked=told.n_unlinked,
            n_outside=told.n_outside,
            n_listed=told.n_listed,
            n_parts=told.n_parts,
            n_frontier=figures.n_frontier,
            has_texts=any(not file.is_wat for file in self._files),
            certificate=figures.certificate,
            hook_failures=ended.hook_failures,
            notes=tuple(self._listed.notes),
        )


def _other_damage(collector: Collector) -> str:
    if collector.n_broken_json:
        return "broken JSON"
    return "a response that is none, or whose headers are too long" if collector.n_unusable else ""
