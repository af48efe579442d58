"""Verify a certificate: recompute all its facts from the crawl folder, and compare them.

A crawl that has continued since is replayed up to the moment of the certificate. A crawl that was refreshed since
cannot be replayed, since its rows have been replaced; only the archive is compared.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, is_dataclass, replace
from pathlib import Path
from typing import Any

from orienteer.certificates.certificate_text import headline, utc
from orienteer.certificates.facts import READ, CertifiedFile, CheckedFacts, Facts
from orienteer.certificates.gathering import (
    archive_file,
    checked_facts,
    crawl_facts,
    measured_facts,
    moment_facts,
    page_counts,
    proved_facts,
    run_facts,
)
from orienteer.certificates.page import page_problem, read_certificate
from orienteer.graph.proved import Certificate
from orienteer.inspect.archive_check import NOT_READ, ArchiveCheck, check_archive, checked_bounds, pages_in_files
from orienteer.inspect.crawl_status import crawl_status
from orienteer.inspect.snapshot import library_certificate
from orienteer.inspect.verify import Moment, Recomputed, ending_problems, recomputed
from orienteer.ledger.plan import CrawlPlan
from orienteer.progress import Progress, silent
from orienteer.store.folder_view import FolderView
from orienteer.wording import counted, plain

_ROUNDING = 1e-6  # sums may differ by this much on another machine
_MAX_LINES = 6
_TIMES = ("first_time", "last_time")
_NAMES = {
    "crawl.n_seeds": "the number of seeds",
    "crawl.seeds_sha256": "the digest of all seeds",
    "moment.first_time": "the first response",
    "moment.last_time": "the last response",
    "proved.lower": "what is proved at least",
    "proved.upper": "what is proved at most",
    "proved.blocked": "the share that is blocked",
    "proved.unknown": "the share behind unknown links",
    "proved.frontier": "the share of known pages that were not fetched",
    "checked.lower": "what the archive proves at least",
    "checked.upper": "what the archive proves at most",
    "measured.estimate": "what is measured",
    "measured.n_walks": "the number of walks",
    "measured.is_reached": "whether the measured goal is reached",
    "pages.n_fetched": "the number of pages fetched",
    "pages.n_blocked": "the number of pages blocked",
    "pages.n_failed": "the number of pages that are not there",
    "pages.n_skipped": "the number of pages skipped",
    "run.stopped": "why the crawl stopped",
}
_FILE_NAME = re.compile(r"orienteer-(\d{5,9})\.warc\.gz")


def differences(claimed: Any, actual: Any, name: str) -> list[str]:
    """Return a line for each of the first values that differ; numbers may differ by rounding."""
    lines = [
        f"{_NAMES.get(path, path)} is {_display(path, one)} in the certificate, {_display(path, other)} by the folder"
        for path, one, other in _differing(name, _plain(claimed), _plain(actual))
    ]
    more = len(lines) - _MAX_LINES
    return [*lines[:_MAX_LINES], f"{more} more values of '{name}' differ"] if more > 0 else lines


def _differing(path: str, claimed: Any, actual: Any) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(claimed, Mapping) and isinstance(actual, Mapping):
        for key in dict.fromkeys([*claimed, *actual]):
            yield from _differing(f"{path}.{key}", claimed.get(key), actual.get(key))
    elif not _same(claimed, actual):
        yield path, claimed, actual


def _same(claimed: Any, actual: Any) -> bool:
    if isinstance(claimed, float) and isinstance(actual, float):
        return abs(claimed - actual) <= _ROUNDING * max(1.0, abs(actual)) if claimed == claimed else False
    if isinstance(claimed, list | tuple) and isinstance(actual, list | tuple):
        return len(claimed) == len(actual) and all(map(_same, claimed, actual))
    return bool(claimed == actual)


def _plain(value: Any) -> Any:
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else value


def _display(path: str, value: Any) -> str:
    if isinstance(value, float) and path.endswith(_TIMES):
        return utc(value)
    if isinstance(value, float) and path.startswith(("proved.", "checked.", "measured.")):
        return f"{100 * value:.6g} %"
    if isinstance(value, list | tuple):
        return plain(", ".join(map(str, value)), 150) or "empty"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return plain(str(value), 150) if value is not None else "missing"


@dataclass(frozen=True)
class CertificateCheck:
    """The result of a check: `problems` are differences from the folder; `notes` what was not checked, or has changed.

    `checked` has the bounds that the archive proves now; None if it was not read. The lower bound is below that of the
    certificate if some files were not read again.
    """

    certificate: Path
    folder: Path
    facts: Facts
    problems: tuple[str, ...]
    notes: tuple[str, ...]
    n_pages_read: int
    checked: CheckedFacts | None

    @property
    def holds(self) -> bool:
        return not self.problems

    @property
    def headline(self) -> str:
        """The headline of the certificate, with what was proved now."""
        return headline(self.facts if self.checked is None else replace(self.facts, checked=self.checked))

    def as_dict(self) -> dict[str, Any]:
        return {
            "certificate": str(self.certificate),
            "sha256": self.facts.digest,
            "folder": str(self.folder),
            "holds": self.holds,
            "problems": list(self.problems),
            "headline": self.headline,
            "notes": list(self.notes),
            "n_pages_read": self.n_pages_read,
        }

    def __str__(self) -> str:
        """Return what was verified, in one line."""
        files = counted(len(self.facts.archive), "archive file")
        return f"the certificate holds ({files}, {counted(self.n_pages_read, 'page')} read again): {self.headline}"


def check_certificate(
    path: Path, folder: Path, quick: bool = False, read_stored: bool = False, progress: Progress = silent
) -> CertificateCheck:
    """Compare a certificate with a crawl folder; nothing is written.

    `quick` does not read every archived page again. `read_stored` also reads what is in object storage.
    """
    read = read_certificate(path)
    checking = _Checking(read.facts, folder, progress)
    if read.digest != read.facts.digest:
        checking.problems.append("the certificate was changed: its digest is not that of its facts")
    if read.text is not None and (problem := page_problem(read.text, read.facts)):
        checking.problems.append(problem)
    with FolderView.open(folder) as view:
        if checking.is_of_this_crawl(view):
            checking.compare_archive(view, read_stored)
            if checking.can_be_replayed(view):
                proved = checking.compare_figures(view)
                if quick:
                    checking.notes.append("the archive was not read, so it was not checked which figures it confirms")
                else:
                    checking.compare_pages(view, proved, read_stored)
    return CertificateCheck(
        path, folder, read.facts, tuple(checking.problems), tuple(checking.notes), checking.n_pages_read,
        checking.checked,
    )  # fmt: skip


class _Checking:
    """The check of one certificate with one folder, with its results so far."""

    def __init__(self, facts: Facts, path: Path, progress: Progress) -> None:
        self.facts, self._path, self._progress = facts, path, progress
        self.problems: list[str] = []
        self.notes: list[str] = []
        self.n_pages_read = 0
        self.checked: CheckedFacts | None = None

    def is_of_this_crawl(self, view: FolderView) -> bool:
        """Whether it is a certificate of this crawl, at a moment that the folder has reached."""
        own = crawl_facts(CrawlPlan.of_folder(view))
        if other := differences(self.facts.crawl, own, "crawl"):
            self.problems.append(f"this is a certificate of another crawl: {other[0]}")
            return False
        n_then, n_now = self.facts.moment.position, view.database.history.next_position()
        if n_now < n_then:
            self.problems.append(
                f"the folder is older than the certificate, or another copy: it holds {counted(n_now, 'event')}, the "
                f"certificate is of {n_then:,}"
            )
            return False
        if n_now > n_then:
            self.notes.append(
                f"the crawl has continued since, from {n_then:,} to {counted(n_now, 'event')}; its state at the time "
                "of the certificate was checked"
            )
        return True

    def can_be_replayed(self, view: FolderView) -> bool:
        """Whether the folder still has the rows of that moment; if not, add a problem."""
        last_epoch = view.database.epochs.last()
        epoch = 0 if last_epoch is None else last_epoch.id
        has_continued = view.database.history.next_position() > self.facts.moment.position
        if epoch != self.facts.moment.epoch or (epoch and has_continued):
            self.problems.append(
                "the crawl was refreshed since the certificate was made: what was proved then cannot be recomputed "
                "(the files of the archive can be compared)"
            )
            return False
        return True

    def compare_archive(self, view: FolderView, read_stored: bool) -> None:
        """Compare the files of the archive, and check that the certificate lists all with pages that it counts."""
        sizes: dict[int, int] = {}
        for k, claimed in enumerate(self.facts.archive):
            name = _FILE_NAME.fullmatch(claimed.name)
            if name is None or claimed.size_bytes < 0:
                self.problems.append(f"no archive has a file such as {plain(claimed.name, 100)}")
                continue
            sizes[int(name[1])] = claimed.size_bytes
            found = archive_file(view.archive, int(name[1]), claimed.size_bytes, read_stored)
            self._compare_file(claimed, found)
            self._progress("reading the archive", k + 1, len(self.facts.archive))
        for number, end in view.database.pages.archive_ends(self.facts.moment.position).items():
            if end > sizes.get(number, 0):
                name_of_file = view.archive.path(number).name
                self.problems.append(f"{name_of_file}: the certificate counts pages in it, but does not list it")

    def _compare_file(self, claimed: CertifiedFile, found: CertifiedFile) -> None:
        where = f"{self._path / 'archive' / claimed.name}"
        if not claimed.sha256:
            self.notes.append(f"{claimed.name}: the certificate has no digest of it ({plain(claimed.known_by, 200)})")
        elif not found.sha256 and "not read there" in found.known_by:
            self.problems.append(f"{where}: {found.known_by}; --read-remote reads it")
        elif not found.sha256:
            self.problems.append(f"{where}: {found.known_by}")
        elif found.sha256 != claimed.sha256:
            self.problems.append(
                f"{where}: it was changed: the SHA-256 of its first {claimed.size_bytes:,} bytes differs"
            )
        elif found.known_by != "read":
            self.notes.append(f"{claimed.name}: compared with what was {found.known_by}; --read-remote reads it again")

    def compare_figures(self, view: FolderView) -> Certificate:
        """Compare all figures with those of the pages up to the moment; return what is proved then."""
        facts, database = self.facts, view.database
        moment = facts.moment
        is_now = database.history.next_position() == moment.position
        found = recomputed(view, None if is_now else Moment(moment.position, moment.n_rounds))
        own_moment = moment_facts(database, moment.position, found.n_rounds)
        has_other_walks = own_moment.n_surveys != moment.n_surveys
        if has_other_walks:
            self.problems.append("its random walks cannot be checked: the crawl has begun a new survey since")
        else:
            self.problems += found.problems
            self.problems += differences(facts.measured, measured_facts(found.survey), "measured")
        proved = library_certificate(database, CrawlPlan.of_folder(view)) if moment.epoch else found.certificate
        self.problems += differences(facts.proved, proved_facts(proved), "proved")
        walks = ("n_rounds", "n_surveys")
        own = {name: value for name, value in vars(own_moment).items() if name not in walks}
        self.problems += differences({name: getattr(moment, name) for name in own}, own, "moment")
        self._compare_counts(view, is_now, found)
        return proved

    def _compare_counts(self, view: FolderView, is_now: bool, found: Recomputed) -> None:
        facts = self.facts
        status = crawl_status(self._path, progress=self._progress)
        is_now = is_now and status.position == facts.moment.position
        n_seen = status.n_urls + status.n_urls_outside
        n_known, n_hosts, anchors = facts.pages.n_known, facts.pages.n_hosts, facts.pages.anchors
        if is_now:
            n_known, n_hosts, anchors = status.n_urls, status.n_hosts, status.rendered.anchors
        if facts.pages.n_known == n_seen:  # certificates of version 0.2 counted the URLs outside the scope, too
            n_known = n_seen
        own = page_counts(view.database, facts.moment.position, n_known, n_hosts, anchors)
        self.problems += differences(facts.pages, own, "pages")
        run: dict[str, Any] = vars(run_facts(status))
        if is_now:
            self.problems += differences(facts.run, run, "run")
            if status.report is not None and status.report_is_current:
                self.problems += ending_problems(status.report, status.plan, found)
            return
        changed = differences(facts.run, run | {"stopped": facts.run.stopped}, "run")
        self.notes += [f"settings may have changed since: {line}" for line in changed]
        self.notes.append("the numbers of URLs and hosts, and why the crawl had stopped, cannot be checked any more")
        if facts.pages.n_known > n_seen or facts.pages.n_hosts > status.n_hosts:
            self.problems.append("the certificate counts more URLs or hosts than the folder has seen until now")

    def compare_pages(self, view: FolderView, proved: Certificate, read_stored: bool) -> None:
        """Compare the rows with the archive, and the bounds that the archive supports."""
        position, database = self.facts.moment.position, view.database
        found = check_archive(view, position, read_stored, self._progress)
        self.n_pages_read = found.n_read
        self.problems += found.problems
        self.problems += [
            f"the certificate omits an assumption of the archive: routes with other values of {plain(anchor, 100)} are "
            "one page"
            for anchor in sorted(found.anchors.difference(self.facts.pages.anchors))[:_MAX_LINES]
        ]
        plan = CrawlPlan.of_folder(view)

        def bounds(unchecked: dict[str, tuple[int, ...]]) -> CheckedFacts:
            return checked_facts(checked_bounds(database, plan, proved, unchecked, position))

        self.checked = bounds(found.unchecked)
        self._compare_checked(view, found, bounds)
        if found.problems and self.facts.orienteer != _version():
            self.notes.append(
                f"the certificate is of Orienteer {plain(self.facts.orienteer, 40)}, which may parse pages differently"
            )
        if found.note:
            self.notes.append(found.note)

    def _compare_checked(
        self, view: FolderView, found: ArchiveCheck, bounds: Callable[[dict[str, tuple[int, ...]]], CheckedFacts]
    ) -> None:
        """Compare the bounds that the archive supports.

        The certificate may be based on files that are not read now, or on fewer; their digests are compared anyway.
        """
        position, claimed = self.facts.moment.position, self.facts.checked
        was_read = {
            int(name[1])
            for file in self.facts.archive
            if (name := _FILE_NAME.fullmatch(file.name)) is not None and file.known_by == READ and file.sha256
        }
        with_pages = set(view.database.pages.archive_ends(position))
        unread = set(pages_in_files(view.database, position, with_pages - was_read))
        unread_now = set(found.unchecked.get(NOT_READ, ())) - unread
        others = {why: pages for why, pages in found.unchecked.items() if why != NOT_READ}
        expected_unchecked = {why: tuple(page for page in pages if page not in unread) for why, pages in others.items()}
        expected = bounds(expected_unchecked | {NOT_READ: tuple(sorted(unread))})
        if not unread_now:
            self.problems += differences(claimed, expected, "checked")
            return
        # Pages of files that are not read now may have been unchecked then, so it may claim less, but not more.
        n_unchecked = {why: max(n, claimed.unchecked.get(why, 0)) for why, n in expected.unchecked.items()}
        allowed = CheckedFacts(
            lower=min(claimed.lower, expected.lower),
            upper=max(claimed.upper, expected.upper),
            unchecked=claimed.unchecked | n_unchecked,
        )
        self.problems += differences(claimed, allowed, "checked")


def _version() -> str:
    from orienteer import __version__

    return __version__
