"""Whether a certificate holds: everything it says is recomputed from the crawl folder, and compared.

A crawl that has gone on since is told anew up to the moment of the certificate. One that was refreshed since cannot be:
what pages were like then has been replaced, and only the archive can be compared.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from orienteer.certificates.archive_digests import archive_file
from orienteer.certificates.archived_pages import ArchivedPages, compared_pages
from orienteer.certificates.differences import differences
from orienteer.certificates.facts import ArchiveFile, Facts
from orienteer.certificates.gathering import (
    crawl_facts,
    measured_facts,
    moment_facts,
    page_counts,
    proved_facts,
    run_facts,
)
from orienteer.certificates.in_words import headline
from orienteer.certificates.page import page_problem, read_certificate
from orienteer.inspect.folder_status import folder_status
from orienteer.inspect.library_certificate import library_certificate
from orienteer.inspect.verify import Moment, recomputed
from orienteer.ledger.plan import CrawlPlan
from orienteer.progress import Progress, silent
from orienteer.store.folder_view import FolderView
from orienteer.wording import counted, plain

_FILE_NAME = re.compile(r"orienteer-(\d{5,9})\.warc\.gz")


@dataclass(frozen=True)
class CertificateCheck:
    """`problems` are where the certificate and the folder differ; `notes` what was not checked, or changed since."""

    certificate: Path
    folder: Path
    facts: Facts
    problems: tuple[str, ...]
    notes: tuple[str, ...]
    n_pages_read: int

    @property
    def holds(self) -> bool:
        return not self.problems

    def as_dict(self) -> dict[str, Any]:
        return {
            "certificate": str(self.certificate),
            "sha256": self.facts.digest,
            "folder": str(self.folder),
            "holds": self.holds,
            "problems": list(self.problems),
            "notes": list(self.notes),
            "n_pages_read": self.n_pages_read,
        }

    def __str__(self) -> str:
        """In one line what holds."""
        files = counted(len(self.facts.archive), "archive file")
        return (
            f"the certificate holds ({files}, {counted(self.n_pages_read, 'page')} read again): {headline(self.facts)}"
        )


def check_certificate(
    path: Path, folder: Path, quick: bool = False, read_stored: bool = False, progress: Progress = silent
) -> CertificateCheck:
    """Compare a certificate with a crawl folder; nothing is written.

    `quick` does not read every archived page again. `read_stored` also reads what is in object storage.
    """
    read = read_certificate(path)
    checking = _Checking(read.facts, folder, progress)
    if read.digest != read.facts.digest:
        checking.problems.append("the certificate was changed: its facts do not have the digest that it names")
    if read.text is not None and (problem := page_problem(read.text, read.facts)):
        checking.problems.append(problem)
    with FolderView.open(folder) as view:
        if checking.is_of_this_crawl(view):
            checking.compare_archive(view, read_stored)
            if checking.can_be_retold(view):
                checking.compare_figures(view)
                if not quick:
                    checking.compare_pages(view, read_stored)
    return CertificateCheck(
        path, folder, read.facts, tuple(checking.problems), tuple(checking.notes), checking.n_pages_read
    )


class _Checking:
    """What was found so far, of one certificate and one folder."""

    def __init__(self, facts: Facts, path: Path, progress: Progress) -> None:
        self.facts, self._path, self._progress = facts, path, progress
        self.problems: list[str] = []
        self.notes: list[str] = []
        self.n_pages_read = 0

    def is_of_this_crawl(self, view: FolderView) -> bool:
        """Whether it is one of this crawl, of a moment that the folder has seen."""
        own = crawl_facts(CrawlPlan.of_folder(view))
        if other := differences(self.facts.crawl, own, "crawl"):
            self.problems.append(f"this is a certificate of another crawl: {other[0]}")
            return False
        n_then, n_now = self.facts.moment.position, view.database.next_position()
        if n_now < n_then:
            self.problems.append(
                f"the folder is older than the certificate, or another copy: it holds {counted(n_now, 'event')}, the "
                f"certificate is of {n_then:,}"
            )
            return False
        if n_now > n_then:
            self.notes.append(
                f"the crawl has gone on since, from {n_then:,} to {counted(n_now, 'event')}; checked is that moment"
            )
        return True

    def can_be_retold(self, view: FolderView) -> bool:
        last_epoch = view.database.last_epoch()
        epoch = 0 if last_epoch is None else last_epoch.id
        has_gone_on = view.database.next_position() > self.facts.moment.position
        if epoch != self.facts.moment.epoch or (epoch and has_gone_on):
            self.problems.append(
                "the crawl was refreshed since the certificate was made: what was proved then cannot be recomputed "
                "(the files of the archive can be compared)"
            )
            return False
        return True

    def compare_archive(self, view: FolderView, read_stored: bool) -> None:
        """The files that it names, and whether they hold all pages that it counts."""
        sizes: dict[int, int] = {}
        for k, said in enumerate(self.facts.archive):
            name = _FILE_NAME.fullmatch(said.name)
            if name is None or said.size_bytes < 0:
                self.problems.append(f"no archive has a file such as {plain(said.name, 100)}")
                continue
            sizes[int(name[1])] = said.size_bytes
            found = archive_file(view.archive, int(name[1]), said.size_bytes, read_stored)
            self._compare_file(said, found)
            self._progress("reading the archive", k + 1, len(self.facts.archive))
        for number, end in view.database.archived_until(self.facts.moment.position).items():
            if end > sizes.get(number, 0):
                name_of_file = view.archive.path(number).name
                self.problems.append(f"{name_of_file}: it holds pages that the certificate counts, but does not name")

    def _compare_file(self, said: ArchiveFile, found: ArchiveFile) -> None:
        where = f"{self._path / 'archive' / said.name}"
        if not said.sha256:
            self.notes.append(f"{said.name}: the certificate has no digest of it ({plain(said.known_by, 200)})")
        elif not found.sha256 and "not read there" in found.known_by:
            self.problems.append(f"{where}: {found.known_by}; --read-stored reads it")
        elif not found.sha256:
            self.problems.append(f"{where}: {found.known_by}")
        elif found.sha256 != said.sha256:
            self.problems.append(
                f"{where}: it was changed: the SHA-256 of its first {said.size_bytes:,} bytes is another"
            )
        elif found.known_by != "read":
            self.notes.append(f"{said.name}: compared with what was {found.known_by}; --read-stored reads it again")

    def compare_figures(self, view: FolderView) -> None:
        """All figures, as they follow from the pages up to the moment."""
        facts, database = self.facts, view.database
        moment = facts.moment
        is_now = database.next_position() == moment.position
        found = recomputed(view, None if is_now else Moment(moment.position, moment.n_rounds))
        own_moment = moment_facts(database, moment.position, found.n_rounds)
        has_other_walks = own_moment.n_surveys != moment.n_surveys
        if has_other_walks:
            self.problems.append("its random walks cannot be checked: the crawl has begun others since")
        else:
            self.problems += found.problems
            self.problems += differences(facts.measured, measured_facts(found.walked), "measured")
        proved = library_certificate(database, CrawlPlan.of_folder(view)) if moment.epoch else found.certificate
        self.problems += differences(facts.proved, proved_facts(proved), "proved")
        walks = ("n_rounds", "n_surveys")
        own = {name: value for name, value in vars(own_moment).items() if name not in walks}
        self.problems += differences({name: getattr(moment, name) for name in own}, own, "moment")
        self._compare_counts(view, is_now)

    def _compare_counts(self, view: FolderView, is_now: bool) -> None:
        facts = self.facts
        status = folder_status(self._path, progress=self._progress)
        is_now = is_now and status.position == facts.moment.position
        n_known, n_hosts = (status.n_urls, status.n_hosts) if is_now else (facts.pages.n_known, facts.pages.n_hosts)
        own = page_counts(view.database, facts.moment.position, n_known, n_hosts)
        self.problems += differences(facts.pages, own, "pages")
        run: dict[str, Any] = vars(run_facts(status))
        if is_now:
            self.problems += differences(facts.run, run, "run")
            return
        changed = differences(facts.run, run | {"stopped": facts.run.stopped}, "run")
        self.notes += [f"settings may have changed since: {line}" for line in changed]
        self.notes.append("how many URLs and hosts had been seen, and why it stopped then, cannot be checked any more")
        if facts.pages.n_known > status.n_urls or facts.pages.n_hosts > status.n_hosts:
            self.problems.append("the certificate counts more URLs or hosts than the folder has seen until now")

    def compare_pages(self, view: FolderView, read_stored: bool) -> None:
        found: ArchivedPages = compared_pages(view, self._path, self.facts.moment.position, read_stored, self._progress)
        self.n_pages_read = found.n_read
        self.problems += found.differing
        if found.n_differing > len(found.differing):
            n_more = found.n_differing - len(found.differing)
            self.problems.append(f"{counted(n_more, 'more page')} are not as the archive holds them")
        if found.differing and self.facts.orienteer != _version():
            self.notes.append(
                f"the certificate is of Orienteer {plain(self.facts.orienteer, 40)}, which may read pages otherwise"
            )
        if found.n_elsewhere:
            pages = counted(found.n_elsewhere, "page")
            self.notes.append(f"{pages} in object storage not read again; --read-stored does so")
        if self.facts.pages.n_unarchived:
            pages = counted(self.facts.pages.n_unarchived, "page")
            self.notes.append(f"{pages} not in the archive: what the database says of them cannot be checked")


def _version() -> str:
    from orienteer import __version__

    return __version__
