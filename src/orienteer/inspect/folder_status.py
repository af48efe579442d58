"""The status of a crawl from its folder alone: while another process crawls, and when it is over."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from orienteer.crawl.goal import Ending, Goal
from orienteer.errors import InputError
from orienteer.extract.links import SCRIPTED
from orienteer.graph.proved import Certificate
from orienteer.inspect.done_tally import DONE, DoneTally, HostPages
from orienteer.inspect.epoch_status import EpochStatus, epochs_of
from orienteer.inspect.library_certificate import library_certificate
from orienteer.inspect.stored_archive import StoredArchive
from orienteer.inspect.survey_progress import SurveyProgress, survey_of_figures
from orienteer.ledger.plan import CrawlPlan
from orienteer.ledger.topic_reading import topic_threshold
from orienteer.pages.outcome import Outcome
from orienteer.pages.states import PageState
from orienteer.pages.stop_reason import StopReason
from orienteer.progress import Progress, silent
from orienteer.settings import to_table
from orienteer.store.database import DatabaseView
from orienteer.store.folder_files import size_on_disk
from orienteer.store.folder_view import FolderView
from orienteer.store.lock import holder_of
from orienteer.store.page_tables import StateGroup
from orienteer.store.rendering_tables import AssetFigures, RenderedTally
from orienteer.wording import plain

_MAX_RECOMPUTED_URLS = 2_000_000  # of a crawl that was killed
# The keys of reports and figures that version 0.2 wrote, and their present names.
_FORMER_KEYS = {
    "left_s": "eta_s", "n_under_way": "n_in_flight", "n_hosts_resting": "n_hosts_backing_off",
    "n_hosts_given_up": "n_hosts_abandoned", "n_workers_died": "n_workers_crashed", "n_parts": "n_assets",
    "n_parts_failed": "n_assets_failed", "n_parts_waiting": "n_assets_waiting", "parts_bytes": "assets_bytes",
    "n_in_hand": "n_in_flight", "n_answers": "n_responses", "answers_per_s": "responses_per_s",
    "supposes": "assumes", "upper_supposes": "upper_assumes",
    "parts": "assets", "n_wanted": "n_pending", "lost_seeds": "failed_seeds", "n_given_up": "n_abandoned",
    "trouble": "problem", "n_in_trouble": "n_incomplete",
}  # fmt: skip
_FORMER_KEYS_OF_RENDERED = _FORMER_KEYS | {"n_parts": "n_requests"}
_KEYED_BY_DATA = frozenset(("outcomes", "visits", "hook_failures", "failed_seeds", "failures"))
_MAX_NESTING = 4  # of a key in a report: figures, workers, a worker


@dataclass(frozen=True)
class FolderStatus:
    """The status of a crawl folder. `report` was written when the last run ended, `figures` then or since; `position`
    is that of the next event. `epochs` is empty while nothing was refreshed.

    `n_urls` URLs inside the scope are known, `n_urls_outside` are linked to and never fetched. `holder` is the process
    that is crawling now, 0 if its number is not known; None if there is none. `hosts` are the largest, `n_hosts` counts
    all that have a page done, `n_hosts_known` all that have a URL inside the scope. `archive_bytes` are on this
    machine; `stored` is the part of the archive in object storage. `folder_bytes` is what the whole folder takes on the
    disk. `n_suspect` pages may be made by scripts, `rendered` counts those rendered in a browser, `assets` the assets
    of pages. `recomputed` is the certificate of a crawl whose last run was killed and left no report.
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
    figures: Mapping[str, Any] | None
    n_suspect: int
    rendered: RenderedTally
    assets: AssetFigures
    report: Mapping[str, Any] | None
    recomputed: Certificate | None = None

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
    def epoch_number(self) -> int:
        """The number of the present epoch: 0 is the first crawl."""
        return self.epochs[-1].number if self.epochs else 0

    @property
    def certificate(self) -> Certificate | None:
        """The last stored certificate of the present epoch."""
        values = (self.figures or {}).get("certificate")
        return _certificate(values) if isinstance(values, Mapping) else None

    @property
    def survey(self) -> SurveyProgress | None:
        """The last stored progress of the survey; None if there is none."""
        return survey_of_figures(self.figures)

    @property
    def report_is_current(self) -> bool:
        """Whether the report covers all events: a run that was killed has written none."""
        figures = (self.report or {}).get("figures")
        return isinstance(figures, Mapping) and self._covers_all_events(figures)

    @property
    def goal_of_last_run(self) -> Goal:
        """The goal as it was in the last run: the settings may have been changed since."""
        figures, now = self.figures or {}, self.plan.crawl.goal()
        try:
            until, budget = figures.get("until", now.until), figures.get("budget", now.budget)
            return Goal(until, budget, of_reachable=bool(figures.get("of_reachable")))
        except (InputError, TypeError):  # figures that were edited
            return now

    @property
    def ending(self) -> Ending | None:
        """The ending of the last run; None if there was none, or it left no report."""
        if self.report is None or not self.report_is_current:
            return None
        try:
            why = StopReason(str(self.report.get("stopped_because")))
        except ValueError:
            return Ending.MISSED
        n_done, n_abandoned = (self.figures or {}).get("n_done"), self.report.get("n_abandoned")
        n_done, n_abandoned = (n if isinstance(n, int) else 0 for n in (n_done, n_abandoned))
        return self.goal_of_last_run.ending(why, n_done, n_abandoned, self.report.get("has_pages") is not False)

    @property
    def figures_are_current(self) -> bool:
        return self.figures is not None and self._covers_all_events(self.figures)

    def _covers_all_events(self, figures: Mapping[str, Any]) -> bool:
        # A refresh that was killed before its first page has the same position as the crawl before, so epochs count.
        return _position(figures) == self.position and figures.get("epoch", 0) == self.epoch_number

    @property
    def library(self) -> Certificate | None:
        """The certificate over all epochs after the last refresh."""
        values = (self.report or {}).get("library")
        return _certificate(values) if isinstance(values, Mapping) else None

    def __repr__(self) -> str:
        state = "running" if self.holder is not None else f"{self.n_failed:,} failed, {self.n_blocked:,} blocked"
        proved = "" if self.proved is None else f"; {self.proved}"
        return f"<FolderStatus of {plain(str(self.folder), 60)}: {self.n_fetched:,} pages fetched, {state}{proved}>"

    def as_dict(self) -> dict[str, Any]:
        return {
            "folder": str(self.folder),
            "is_running": self.holder is not None,
            "process": self.holder or None,
            "settings": {table.name: to_table(getattr(self.plan, table.name)) for table in fields(self.plan)},
            "n_urls": self.n_urls,
            "n_urls_outside": self.n_urls_outside,
            "epochs": [epoch.as_dict() for epoch in self.epochs],
            "pages": {
                "fetched": self.n_fetched,
                "redirects": self.n_redirects,
                "skipped": self.n_skipped,
                "failed": self.n_failed,
                "blocked": self.n_blocked,
            },
            "outcomes": {state.name.lower(): self.outcomes(state) for state in DONE},
            "n_on_topic": self.n_on_topic,
            "n_duplicates": self.n_duplicates,
            "n_near_duplicates": self.n_near_duplicates,
            "n_suspect": self.n_suspect,
            "rendered": self.rendered._asdict(),
            "n_unarchived": self.n_unarchived,
            "assets": asdict(self.assets),
            "n_hosts": self.n_hosts,
            "n_hosts_known": self.n_hosts_known,
            "hosts": [asdict(host) for host in self.hosts],
            "first_time": self.first_time,
            "last_time": self.last_time,
            "archive_bytes": self.archive_bytes,
            "stored": None if self.stored is None else asdict(self.stored),
            "database_bytes": self.database_bytes,
            "folder_bytes": self.folder_bytes,
            "proved": None if self.proved is None else self.proved.as_dict(),
            "figures": self.figures,
            "figures_are_current": self.figures_are_current,
            "report": self.report,
            "report_is_current": self.report_is_current,
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

    def status(self, max_hosts: int = 15, progress: Progress = silent) -> FolderStatus:
        """Return the present status of the crawl."""
        with FolderView.open(self.path) as folder:
            database = folder.database
            plan = CrawlPlan.of_folder(folder)
            report = _report(folder.report_path)
            tally = self._updated_tally(plan, database, progress)
            hosts, n_hosts, n_hosts_known = tally.hosts(max_hosts)
            first, last = database.history.times() or (None, None)
            status = FolderStatus(
                folder=self.path,
                plan=plan,
                holder=holder_of(self.path),
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
                figures=_newest((report or {}).get("figures"), _with_present_keys(database.meta.get("figures"))),
                report=report,
            )
            return replace(status, recomputed=self._recompute(status, database))

    def _recompute(self, status: FolderStatus, database: DatabaseView) -> Certificate | None:
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
        report, figures = _report(folder.report_path) or {}, folder.database.meta.get("figures")
    proved = report.get("library") or (_newest(report.get("figures"), figures) or {}).get("certificate")
    return _certificate(proved) if isinstance(proved, Mapping) else None


def folder_status(path: Path, max_hosts: int = 15, progress: Progress = silent) -> FolderStatus:
    """Return the status of the crawl in this folder. Reads all of its URLs and pages; nothing is written."""
    return FolderWatcher(path).status(max_hosts, progress)


def _report(path: Path) -> dict[str, Any] | None:
    """Read the report of the last run, with present keys; None if it is missing or invalid.

    Its figures are in the database, too.
    """
    try:
        report = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return _with_present_keys(report) if isinstance(report, dict) else None


def _with_present_keys(values: Any, names: Mapping[str, str] = _FORMER_KEYS, depth: int = _MAX_NESTING) -> Any:
    """Return a report or figures with present names for the keys of version 0.2, also in nested tables."""
    if depth == 0:
        return values
    if isinstance(values, list):
        return [_with_present_keys(value, names, depth - 1) for value in values]
    if not isinstance(values, dict):
        return values
    present: dict[str, Any] = {}
    for key, value in values.items():
        name = names.get(key, key)
        inner = _FORMER_KEYS_OF_RENDERED if name == "rendered" else names
        present[name] = value if name in _KEYED_BY_DATA else _with_present_keys(value, inner, depth - 1)
    return present


def _newest(*written: Any) -> Mapping[str, Any] | None:
    """Return the figures with the highest position; the first of several."""
    return max((figures for figures in written if isinstance(figures, Mapping)), key=_position, default=None)


def _certificate(values: Mapping[str, Any]) -> Certificate | None:
    defaults = {"unknown": 0.0}  # missing before version 0.2
    try:
        known = defaults | dict(values)
        return Certificate(**{bound.name: float(known[bound.name]) for bound in fields(Certificate)})
    except (KeyError, TypeError, ValueError):
        return None


def _position(figures: Mapping[str, Any]) -> int:
    """Return the position of figures; -1 if it is missing."""
    position = figures.get("position")
    return position if isinstance(position, int) else -1


def _size_of(folder: Path, pattern: str) -> int:
    n_bytes = 0
    for file in folder.glob(pattern):
        with contextlib.suppress(OSError):  # a crawl that ends deletes its write-ahead log
            n_bytes += file.stat().st_size
    return n_bytes
