"""How a crawl stands, told from its folder alone: while another process crawls, and when it is over."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from orienteer.extract.links import SCRIPTED
from orienteer.graph.proved import Certificate
from orienteer.inspect.done_tally import DONE, DoneTally, HostPages
from orienteer.inspect.epoch_status import EpochStatus, epochs_of
from orienteer.inspect.stored_archive import StoredArchive
from orienteer.inspect.surveyed import Surveyed, surveyed
from orienteer.ledger.plan import CrawlPlan
from orienteer.ledger.topic_reading import topic_threshold
from orienteer.pages.outcome import Outcome
from orienteer.pages.states import PageState
from orienteer.progress import Progress, silent
from orienteer.settings import to_table
from orienteer.store.database_view import DatabaseView, Group
from orienteer.store.folder_view import FolderView
from orienteer.store.lock import holder_of
from orienteer.store.shown_tables import PartFigures, RenderedTally


@dataclass(frozen=True)
class FolderStatus:
    """What a crawl folder tells. `report` was written when the last run ended, `figures` then or since; `position` is
    that of the next event. `epochs` is empty while nothing was refreshed.

    `holder` is the process that is crawling now, 0 if its number is not known; None if there is none. `hosts` are the
    largest, `n_hosts` counts all that have a page done, `n_hosts_known` all that were seen. `archive_bytes` are here;
    `stored` tells what of the archive is in object storage. `n_suspect` pages may be made by scripts, `rendered` are
    those that a browser has shown. `parts` are what pages are shown with.
    """

    folder: Path
    plan: CrawlPlan
    holder: int | None
    n_urls: int
    position: int
    epochs: tuple[EpochStatus, ...]
    n_on_topic: int | None
    groups: tuple[Group, ...]
    hosts: tuple[HostPages, ...]
    n_hosts: int
    n_hosts_known: int
    first_time: float | None
    last_time: float | None
    archive_bytes: int
    stored: StoredArchive | None
    database_bytes: int
    figures: Mapping[str, Any] | None
    n_suspect: int
    rendered: RenderedTally
    parts: PartFigures
    report: Mapping[str, Any] | None

    def outcomes(self, state: PageState) -> dict[str, int]:
        """How many pages of this state had which outcome, the most frequent first."""
        return {group.outcome: group.n_pages for group in self.groups if group.state == state}

    def n_pages(self, *states: PageState) -> int:
        return sum(group.n_pages for group in self.groups if group.state in states)

    @property
    def n_redirects(self) -> int:
        """Other names of pages: redirects, and duplicates where these are merged."""
        return sum(group.n_other_names for group in self.groups if group.state == PageState.FETCHED)

    @property
    def n_fetched(self) -> int:
        """Pages with a content of their own."""
        return self.n_pages(PageState.FETCHED) - self.n_redirects

    @property
    def n_skipped(self) -> int:
        """Files of a type that nobody asked for."""
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
        """Pages that were read, and are not in the archive of a crawl that keeps one."""
        if not self.plan.crawl.archive:
            return 0
        groups = (group for group in self.groups if group.state == PageState.FETCHED and group.outcome == Outcome.OK)
        return sum(group.n_unarchived for group in groups)

    @property
    def certificate(self) -> Certificate | None:
        """The last one that was written down."""
        values = (self.figures or {}).get("certificate")
        return _certificate(values) if isinstance(values, Mapping) else None

    @property
    def surveyed(self) -> Surveyed | None:
        """What random walks say of the coverage, as it was written down last; None where there are none."""
        return surveyed(self.figures)

    @property
    def report_is_current(self) -> bool:
        """Whether the report is of all that is here: a run that was killed has written none."""
        figures = (self.report or {}).get("figures")
        return isinstance(figures, Mapping) and _position(figures) == self.position

    @property
    def figures_are_current(self) -> bool:
        return self.figures is not None and _position(self.figures) == self.position

    @property
    def library(self) -> Certificate | None:
        """What was proved after the last refresh of all that the crawl has."""
        values = (self.report or {}).get("library")
        return _certificate(values) if isinstance(values, Mapping) else None

    def as_dict(self) -> dict[str, Any]:
        return {
            "folder": str(self.folder),
            "is_running": self.holder is not None,
            "process": self.holder or None,
            "settings": {part.name: to_table(getattr(self.plan, part.name)) for part in fields(self.plan)},
            "n_urls": self.n_urls,
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
            "parts": self.parts._asdict(),
            "n_hosts": self.n_hosts,
            "n_hosts_known": self.n_hosts_known,
            "hosts": [asdict(host) for host in self.hosts],
            "first_time": self.first_time,
            "last_time": self.last_time,
            "archive_bytes": self.archive_bytes,
            "stored": None if self.stored is None else asdict(self.stored),
            "database_bytes": self.database_bytes,
            "figures": self.figures,
            "figures_are_current": self.figures_are_current,
            "report": self.report,
            "report_is_current": self.report_is_current,
        }


class FolderWatcher:
    """Looks at a crawl folder again and again: the first time it reads through all URLs and pages, then what is new.

    One thread may use it. Nothing is written, and the database is held for the time of a look only.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._tally = DoneTally()
        self._file: int | None = None  # of the database: another crawl may take the place of this one

    def look(self, max_hosts: int = 15, progress: Progress = silent) -> FolderStatus:
        """How the crawl stands now."""
        with FolderView.open(self.path) as folder:
            survey = folder.database
            plan = CrawlPlan.of_folder(folder)
            report = _report(folder.report_path)
            self._catch_up(survey, progress)
            hosts, n_hosts, n_hosts_known = self._tally.hosts(max_hosts)
            first, last = survey.times() or (None, None)
            return FolderStatus(
                folder=self.path,
                plan=plan,
                holder=holder_of(self.path),
                n_urls=survey.n_urls(),
                position=survey.next_position(),
                epochs=tuple(epochs_of(survey, len(plan.crawl.seeds), first)),
                n_on_topic=survey.n_relevant(topic_threshold(folder)) if plan.crawl.topic else None,
                groups=tuple(self._tally.groups()),
                hosts=hosts,
                n_hosts=n_hosts,
                n_hosts_known=n_hosts_known,
                first_time=first,
                last_time=last,
                archive_bytes=_size_of(self.path / "archive", "*.warc.gz"),
                stored=StoredArchive.of(folder.archive, plan.store),
                database_bytes=_size_of(self.path, "crawl.db*"),
                n_suspect=survey.n_unknown_because(SCRIPTED),
                rendered=survey.rendered_tally(),
                parts=survey.part_figures(),
                figures=_newest((report or {}).get("figures"), survey.get("figures")),
                report=report,
            )

    def _catch_up(self, survey: DatabaseView, progress: Progress) -> None:
        file = survey.path.stat().st_ino
        if file != self._file or survey.next_position() < self._tally.position:
            self._file, self._tally = file, DoneTally()
        self._tally.catch_up(survey, progress)


def folder_status(path: Path, max_hosts: int = 15, progress: Progress = silent) -> FolderStatus:
    """How the crawl in this folder stands. Reads through all of its URLs and pages; nothing is written."""
    return FolderWatcher(path).look(max_hosts, progress)


def _report(path: Path) -> dict[str, Any] | None:
    """The report of the last run; None where there is none, or none that can be read: it is never the truth."""
    try:
        report = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return report if isinstance(report, dict) else None


def _newest(*written: Any) -> Mapping[str, Any] | None:
    """The figures of the latest moment; the first of equals."""
    return max((figures for figures in written if isinstance(figures, Mapping)), key=_position, default=None)


def _certificate(values: Mapping[str, Any]) -> Certificate | None:
    older = {"unknown": 0.0}  # versions before 0.2 did not tell it
    try:
        return Certificate(**{part.name: float((older | dict(values))[part.name]) for part in fields(Certificate)})
    except (KeyError, TypeError, ValueError):
        return None


def _position(figures: Mapping[str, Any]) -> int:
    """The moment that figures are of; -1 where they do not tell it."""
    position = figures.get("position")
    return position if isinstance(position, int) else -1


def _size_of(folder: Path, pattern: str) -> int:
    n_bytes = 0
    for file in folder.glob(pattern):
        with contextlib.suppress(OSError):  # a crawl that ends takes its write-ahead log with it
            n_bytes += file.stat().st_size
    return n_bytes
