"""The status of a crawl, from its folder alone: while another process crawls, and when it is over.

There is one `CrawlStatus`, with one JSON form: `orienteer status`, the pages in the browser and the HTTP API, the list
of a library, agents and certificates show it. The process that crawls computes the part that it alone knows, its
`CrawlFigures`, and stores it in the folder; its panel and its metrics show that part.
"""

from __future__ import annotations

import contextlib
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, NamedTuple

from orienteer.crawl.goal import Ending
from orienteer.extract.links import SCRIPTED
from orienteer.graph.proved import Certificate
from orienteer.inspect import status_text
from orienteer.inspect.figures import CrawlFigures, figures_of, with_present_keys
from orienteer.inspect.run_report import Report, read_report
from orienteer.inspect.snapshot import library_certificate
from orienteer.inspect.survey_progress import SurveyProgress
from orienteer.inspect.tallies import DONE, DoneTally, EpochStatus, HostPages, StoredArchive, epochs_of
from orienteer.ledger.plan import CrawlPlan
from orienteer.ledger.topic_reading import topic_threshold
from orienteer.pages.outcome import NO_ERRORS, Outcome
from orienteer.pages.states import PageState
from orienteer.progress import Progress, silent
from orienteer.settings import to_table
from orienteer.store.database import DatabaseView
from orienteer.store.folder_view import FolderView, size_on_disk
from orienteer.store.lock import holder_of
from orienteer.store.page_tables import StateGroup
from orienteer.store.rendering_tables import AssetFigures, RenderedTally
from orienteer.wording import JSON_VERSION, plain

_MAX_RECOMPUTED_URLS = 2_000_000  # of a crawl that was killed
_KINDS = ("fetched", "redirects", "skipped", "failed", "blocked")
_AS_THEY_ARE = (
    "phase", "is_running", "texts", "n_urls", "n_urls_outside", "n_on_topic", "n_duplicates", "n_near_duplicates",
    "n_suspect", "n_unarchived", "n_hosts", "n_hosts_known", "first_time", "last_time", "archive_bytes",
    "database_bytes", "folder_bytes", "figures_are_current", "report_is_current",
)  # fmt: skip
_NO_ERRORS = NO_ERRORS | {Outcome.UNWANTED_TYPE}


class ErrorKind(NamedTuple):
    """Pages that failed or are blocked for one reason; `n_in_run` counts the responses of the present or last run."""

    kind: str
    n_failed: int
    n_blocked: int
    n_in_run: int


@dataclass(frozen=True)
class CrawlStatus:
    """How a crawl is doing. Counts of pages are over all epochs; those of the `figures` are of the present one.

    `report` was written when the last run ended, `figures` then or since; `position` is that of the next event.
    `epochs` is empty while nothing was refreshed.

    `n_urls` URLs inside the scope are known, `n_urls_outside` are linked to and never fetched. `holder` is the process
    that is crawling now, 0 if its number is not known; None if there is none. `hosts` are the largest, `n_hosts` counts
    all that have a page done, `n_hosts_known` all that have a URL inside the scope. `archive_bytes` are on this
    machine; `stored` is the part of the archive in object storage. `folder_bytes` is what the whole folder takes on the
    disk. `n_suspect` pages may be made by scripts, `rendered` counts those rendered in a browser, `assets` the assets
    of pages. `recomputed` is the certificate of a crawl whose last run was killed and left no report. `transition` is
    what a server has asked for: starting or stopping.
    """

    folder: Path
    plan: CrawlPlan
    holder: int | None
    n_urls: int
    n_urls_outside: int
    position: int
    epochs: tuple[EpochStatus, ...]
    n_on_topic: int | None
    groups: tuple[StateGroup, ...]
    hosts: tuple[HostPages, ...]
    n_hosts: int
    n_hosts_known: int
    first_time: float | None
    last_time: float | None
    archive_bytes: int
    stored: StoredArchive | None
    database_bytes: int
    folder_bytes: int
    figures: CrawlFigures | None
    n_suspect: int
    rendered: RenderedTally
    assets: AssetFigures
    report: Report | None
    recomputed: Certificate | None = None
    transition: str = ""

    @property
    def is_running(self) -> bool:
        return self.holder is not None

    @property
    def phase(self) -> str:
        """New (nothing was fetched), starting, running, stopping, finished (its goal is reached), or stopped."""
        if self.is_running or self.transition:
            return self.transition or "running"
        if self.first_time is None:
            return "new"
        return "finished" if self.ending is not None and self.ending.goal_reached else "stopped"

    def outcomes(self, state: PageState) -> dict[str, int]:
        """Count the pages of this state by outcome, the most frequent first."""
        return {group.outcome: group.n_pages for group in self.groups if group.state == state}

    def n_pages(self, *states: PageState) -> int:
        return sum(group.n_pages for group in self.groups if group.state in states)

    @property
    def n_redirects(self) -> int:
        """The number of aliases of pages: redirects, and merged duplicates."""
        return sum(group.n_aliases for group in self.groups if group.state == PageState.FETCHED)

    @property
    def n_fetched(self) -> int:
        """The number of pages with their own content."""
        return self.n_pages(PageState.FETCHED) - self.n_redirects

    @property
    def n_skipped(self) -> int:
        """The number of files of a type that is not in the settings."""
        return self.n_pages(PageState.SKIPPED)

    @property
    def n_failed(self) -> int:
        return self.n_pages(PageState.FAILED)

    @property
    def n_blocked(self) -> int:
        return self.n_pages(PageState.BLOCKED)

    @property
    def n_duplicates(self) -> int:
        return sum(group.n_duplicates for group in self.groups)

    @property
    def n_near_duplicates(self) -> int:
        return sum(group.n_near_duplicates for group in self.groups)

    @property
    def n_unarchived(self) -> int:
        """The number of pages that were read but are not in the archive; 0 for a crawl without an archive."""
        if not self.plan.crawl.archive:
            return 0
        groups = (group for group in self.groups if group.state == PageState.FETCHED and group.outcome == Outcome.OK)
        return sum(group.n_unarchived for group in groups)

    @property
    def proved(self) -> Certificate | None:
        """The certificate of the crawl over all its epochs.

        During a refresh it is the certificate from before the refresh.
        """
        if self.recomputed is not None:
            return self.recomputed
        return self.library if self.epochs else self.certificate

    @property
    def library(self) -> Certificate | None:
        """The certificate over all epochs after the last refresh."""
        return None if self.report is None else self.report.library

    @property
    def certificate(self) -> Certificate | None:
        """The last stored certificate of the present epoch."""
        return None if self.figures is None else self.figures.certificate

    @property
    def survey(self) -> SurveyProgress | None:
        """The last stored progress of the survey; None if there is none."""
        return None if self.figures is None else self.figures.survey

    @property
    def epoch_number(self) -> int:
        """The number of the present epoch: 0 is the first crawl."""
        return self.epochs[-1].number if self.epochs else 0

    @property
    def shows_all_epochs(self) -> bool:
        """Whether the bounds to display are those over all epochs, not those of a running refresh."""
        return bool(self.epochs) and self.proved is not None and not self.is_running

    @property
    def ending(self) -> Ending | None:
        """The ending of the last run; None if there was none, or it left no report."""
        return self.report.ending if self.report is not None and self.report_is_current else None

    @property
    def report_is_current(self) -> bool:
        """Whether the report covers all events: a run that was killed has written none."""
        return self.report is not None and self._covers_all_events(self.report.figures)

    @property
    def figures_are_current(self) -> bool:
        return self.figures is not None and self._covers_all_events(self.figures)

    def _covers_all_events(self, figures: CrawlFigures) -> bool:
        # A refresh that was killed before its first page has the same position as the crawl before, so epochs count.
        return figures.position == self.position and figures.epoch == self.epoch_number

    @property
    def errors(self) -> tuple[ErrorKind, ...]:
        """The kinds of errors, most frequent first. Files of unwanted types are skipped, which is not an error."""
        failed, blocked = self.outcomes(PageState.FAILED), self.outcomes(PageState.BLOCKED)
        in_run = {} if self.figures is None else self.figures.outcomes
        kinds = [kind for kind in dict.fromkeys([*failed, *blocked, *in_run]) if kind not in _NO_ERRORS]
        found = [ErrorKind(kind, failed.get(kind, 0), blocked.get(kind, 0), in_run.get(kind, 0)) for kind in kinds]
        return tuple(sorted(found, key=lambda error: (-error.n_failed - error.n_blocked, -error.n_in_run, error.kind)))

    @property
    def texts(self) -> dict[str, str]:
        """The status in sentences; one that does not apply is empty."""
        return {
            "goal": status_text.describe_goal(self.plan.crawl),
            "stopped": status_text.describe_stopped(self),
            "result": status_text.describe_result(self),
            "impossible": status_text.describe_impossible_goal(self),
            "coverage": status_text.describe_coverage(self),
            "measured": status_text.describe_measured(self),
            "epoch": status_text.describe_epoch_coverage(self),
        }

    def __repr__(self) -> str:
        state = "running" if self.is_running else f"{self.n_failed:,} failed, {self.n_blocked:,} blocked"
        proved = "" if self.proved is None else f"; {self.proved}"
        return f"<CrawlStatus of {plain(str(self.folder), 60)}: {self.n_fetched:,} pages fetched, {state}{proved}>"

    def as_dict(self) -> dict[str, Any]:
        proved, figures, report = (
            None if part is None else part.as_dict() for part in (self.proved, self.figures, self.report)
        )
        return {
            "version": JSON_VERSION,
            "folder": str(self.folder),
            "process": self.holder or None,
            "settings": {table.name: to_table(getattr(self.plan, table.name)) for table in fields(self.plan)},
            "epochs": [epoch.as_dict() for epoch in self.epochs],
            "pages": {kind: getattr(self, f"n_{kind}") for kind in _KINDS},
            "outcomes": {state.name.lower(): self.outcomes(state) for state in DONE},
            "rendered": asdict(self.rendered),
            "assets": asdict(self.assets),
            "hosts": [asdict(host) for host in self.hosts],
            "stored": None if self.stored is None else asdict(self.stored),
            "proved": proved,
            "figures": figures,
            "report": report,
            **{name: getattr(self, name) for name in _AS_THEY_ARE},
        }


class FolderWatcher:
    """Polls a crawl folder: the first `status` reads all URLs and pages, later ones only what is new.

    It is not thread-safe. Nothing is written, and the database is open during a call only.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._tally: DoneTally | None = None
        self._file: int | None = None  # inode of the database: another crawl may replace this one
        self._recomputed: tuple[int, Certificate] | None = None  # with its position

    def status(self, max_hosts: int = 15, progress: Progress = silent) -> CrawlStatus:
        """Return the present status of the crawl."""
        with FolderView.open(self.path) as folder:
            database, plan = folder.database, CrawlPlan.of_folder(folder)
            holder = holder_of(self.path)  # before the report, which a crawl writes before it releases the folder
            report = read_report(folder.report_path)
            tally = self._updated_tally(plan, database, progress)
            hosts, n_hosts, n_hosts_known = tally.hosts(max_hosts)
            first, last = database.history.times() or (None, None)
            status = CrawlStatus(
                folder=self.path,
                plan=plan,
                holder=holder,
                n_urls=tally.n_inside,
                n_urls_outside=len(tally.seen) - tally.n_inside,
                position=database.history.next_position(),
                epochs=tuple(epochs_of(database, len(plan.crawl.seeds), first)),
                n_on_topic=database.pages.n_relevant(topic_threshold(folder)) if plan.crawl.topic else None,
                groups=tuple(tally.groups()),
                hosts=hosts,
                n_hosts=n_hosts,
                n_hosts_known=n_hosts_known,
                first_time=first,
                last_time=last,
                archive_bytes=_size_of(self.path / "archive", "*.warc.gz"),
                stored=StoredArchive.of(folder.archive, plan.store),
                database_bytes=_size_of(self.path, "crawl.db*"),
                folder_bytes=size_on_disk(self.path),
                n_suspect=database.details.n_unknown_because(SCRIPTED),
                rendered=database.rendered.tally(),
                assets=database.assets.figures(),
                figures=_newest_figures(report, database, is_running=holder is not None),
                report=report,
            )
            return replace(status, recomputed=self._recompute(status, database))

    def _recompute(self, status: CrawlStatus, database: DatabaseView) -> Certificate | None:
        """Compute the certificate of a crawl that was killed; None if it has a report, or is too large."""
        is_over = status.holder is None and status.first_time is not None
        if not is_over or status.report_is_current or status.n_urls > _MAX_RECOMPUTED_URLS:
            return None
        if self._recomputed is None or self._recomputed[0] != status.position:
            self._recomputed = status.position, library_certificate(database, status.plan)
        return self._recomputed[1]

    def _updated_tally(self, plan: CrawlPlan, database: DatabaseView, progress: Progress) -> DoneTally:
        file = database.path.stat().st_ino
        if self._tally is None or file != self._file or database.history.next_position() < self._tally.position:
            self._file, self._tally, self._recomputed = file, DoneTally(plan), None
        self._tally.catch_up(database, progress)
        return self._tally


def stored_certificate(path: Path) -> Certificate | None:
    """Return the last stored certificate of the crawl in this folder, over all epochs. Reads no pages."""
    with FolderView.open(path) as folder:
        report = read_report(folder.report_path)
        figures = _newest_figures(report, folder.database)
    library = None if report is None else report.library
    return library if library is not None or figures is None else figures.certificate


def crawl_status(path: Path, max_hosts: int = 15, progress: Progress = silent) -> CrawlStatus:
    """Return the status of the crawl in this folder. Reads all of its URLs and pages; nothing is written."""
    return FolderWatcher(path).status(max_hosts, progress)


def _newest_figures(report: Report | None, database: DatabaseView, is_running: bool = True) -> CrawlFigures | None:
    """Return the figures with the highest position: those of the report, or those stored since."""
    stored = figures_of(with_present_keys(database.meta.get("figures")))
    found = [figures for figures in (None if report is None else report.figures, stored) if figures is not None]
    newest = max(found, key=lambda figures: figures.position, default=None)
    return newest if newest is None or is_running else newest.ended()


def _size_of(folder: Path, pattern: str) -> int:
    n_bytes = 0
    for file in folder.glob(pattern):
        with contextlib.suppress(OSError):  # a crawl that ends deletes its write-ahead log
            n_bytes += file.stat().st_size
    return n_bytes
