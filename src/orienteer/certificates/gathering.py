"""The facts of a crawl folder for a certificate, recomputed from its pages, for now or an earlier moment."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict
from pathlib import Path

from orienteer import __version__
from orienteer.certificates.facts import (
    NOTED,
    READ,
    SEEDS_NAMED,
    CertifiedFile,
    CheckedFacts,
    CrawlFacts,
    Facts,
    MeasuredFacts,
    MomentFacts,
    PageCounts,
    ProvedFacts,
    RunFacts,
)
from orienteer.certificates.page import LAYOUT
from orienteer.errors import CrawlFolderError, OrienteerError
from orienteer.graph.proved import Certificate
from orienteer.inspect.archive_check import CheckedBounds
from orienteer.inspect.crawl_status import CrawlStatus
from orienteer.inspect.status_text import describe_stopped
from orienteer.inspect.survey_progress import SurveyProgress
from orienteer.inspect.tallies import DONE
from orienteer.inspect.verify import verify
from orienteer.ledger.plan import CrawlPlan
from orienteer.pages.outcome import Outcome
from orienteer.pages.states import PageState
from orienteer.progress import Progress, silent
from orienteer.store.archive import Archive
from orienteer.store.database import DatabaseView
from orienteer.store.folder_view import FolderView
from orienteer.store.page_tables import StateGroup
from orienteer.wording import SAME_RESPONSES, plain

_BLOCK_BYTES = 1 << 20
MISSING = "the file is missing"


def archive_files(
    archive: Archive, read_stored: bool = False, progress: Progress = silent
) -> tuple[CertifiedFile, ...]:
    """Return all files up to the acknowledged end. With `read_stored`, those in object storage are read, too."""
    end = archive.end
    n_files = end.file + (end.size_bytes > 0)
    files = []
    for number in range(n_files):
        size_bytes = end.size_bytes if number == end.file else _size_of(archive, number)
        files.append(archive_file(archive, number, size_bytes, read_stored))
        progress("reading the archive", number + 1, n_files)
    return tuple(files)


def archive_file(archive: Archive, number: int, size_bytes: int, read_stored: bool = False) -> CertifiedFile:
    """Return the digest of the first bytes of a file; or an empty digest and the reason."""
    name, sha256, known_by = archive.path(number).name, "", MISSING
    stored = archive.stored.files.get(number)
    try:
        if archive.path(number).exists():
            sha256, known_by = _digest(_local_blocks(archive, number), size_bytes), READ
        elif stored is not None and read_stored:
            archive.stored.expect_allowed(number)
            blocks = archive.remote.store_of(stored.location).blocks(name)
            sha256, known_by = _digest(blocks, size_bytes), READ
        elif stored is not None and archive.stored.is_ours and stored.size_bytes == size_bytes:
            sha256, known_by = stored.sha256, NOTED
        elif stored is not None:
            known_by = "it is in object storage, and was not read there"
    except (OSError, OrienteerError) as error:
        known_by = plain(str(error), 300)
    if known_by == READ and not sha256:
        known_by = f"it is shorter than {size_bytes:,} bytes"
    return CertifiedFile(name, size_bytes, sha256, known_by)


def _digest(blocks: Iterator[bytes], size_bytes: int) -> str:
    """Return the digest of the first bytes; "" if there are fewer."""
    digest, n_left = hashlib.sha256(), size_bytes
    with closing(blocks):  # type: ignore[type-var]  # generators can be closed
        for block in blocks:
            digest.update(block[:n_left])
            n_left -= min(n_left, len(block))
            if not n_left:
                break
    return "" if n_left else digest.hexdigest()


def _local_blocks(archive: Archive, number: int) -> Iterator[bytes]:
    descriptor = os.open(archive.path(number), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        while block := file.read(_BLOCK_BYTES):
            yield block


def _size_of(archive: Archive, number: int) -> int:
    path, stored = archive.path(number), archive.stored.files.get(number)
    if path.exists():
        return path.stat().st_size
    return 0 if stored is None else stored.size_bytes


def facts_of_folder(path: Path, read_stored: bool = False, progress: Progress = silent) -> Facts:
    """Gather the facts of a crawl; a CrawlFolderError while it runs, or if its figures do not follow from its pages."""
    verification = verify(path, progress, read_stored=read_stored)
    status = verification.status
    if status.holder is not None:
        raise CrawlFolderError(
            f"{path}: the crawl is running; a certificate is made when it has stopped (orienteer stop {path})"
        )
    if status.first_time is None:
        raise CrawlFolderError(f"{path}: there is nothing to certify yet: no page was fetched")
    if verification.problems:
        raise CrawlFolderError(
            f"{path}: no certificate is made, since the claims of the folder do not hold: {verification.problems[0]}"
        )
    with FolderView.open(path) as folder:
        files = archive_files(folder.archive, read_stored, progress)
        missing = next((file for file in files if not file.sha256 and file.known_by == MISSING), None)
        if missing is not None:
            raise CrawlFolderError(f"{path / 'archive' / missing.name}: {MISSING}; acknowledged pages are in it")
        position, database = folder.database.history.next_position(), folder.database
        if position != status.position:
            raise CrawlFolderError(f"{path}: the crawl went on while its certificate was made; try again")
        return Facts(
            crawl=crawl_facts(status.plan),
            run=run_facts(status),
            moment=moment_facts(database, position, verification.n_rounds),
            proved=proved_facts(verification.certificate),
            checked=checked_facts(verification.checked),
            measured=measured_facts(verification.survey),
            pages=page_counts(database, position, status.n_urls, status.n_hosts, status.rendered.anchors),
            archive=files,
            made_at=float(int(time.time())),
            orienteer=__version__,
            layout=LAYOUT,
        )


def crawl_facts(plan: CrawlPlan) -> CrawlFacts:
    crawl, scope = plan.crawl, plan.scope
    trust = tuple(crawl.seed_trust().tolist())
    pairs = json.dumps(list(zip(crawl.seeds, trust, strict=True)), separators=(",", ":"))
    return CrawlFacts(
        seeds=crawl.seeds[:SEEDS_NAMED],
        trust=trust[:SEEDS_NAMED],
        n_seeds=len(crawl.seeds),
        seeds_sha256=hashlib.sha256(pairs.encode()).hexdigest(),
        scope=scope.kind,
        allow=scope.allow,
        deny=scope.deny,
        max_depth=scope.max_depth,
        policy=crawl.policy,
        damping=crawl.damping,
        topic=crawl.topic,
        hooks=crawl.hooks,
    )


def run_facts(status: CrawlStatus) -> RunFacts:
    plan = status.plan
    crawl = plan.crawl
    return RunFacts(
        until=crawl.until,
        budget=crawl.budget,
        of_reachable=plan.goal().of_reachable,
        robots=crawl.robots,
        sitemaps=crawl.sitemaps,
        render=plan.render.mode,
        duplicates=crawl.duplicates,
        near_duplicates=crawl.near_duplicates,
        user_agent=plan.fetch.user_agent,
        archive=crawl.archive,
        stopped=describe_stopped(status),
    )


def moment_facts(database: DatabaseView, position: int, n_rounds: int) -> MomentFacts:
    last_epoch = database.epochs.last()
    epoch = 0 if last_epoch is None else last_epoch.id
    first, last = database.history.times_until(position) or (0.0, 0.0)
    n_surveys = database.surveys.count(epoch)
    return MomentFacts(position, n_rounds, n_surveys, epoch, first, last)


def proved_facts(proved: Certificate) -> ProvedFacts:
    return ProvedFacts(**asdict(proved), of_reachable=proved.of_reachable)


def checked_facts(checked: CheckedBounds) -> CheckedFacts:
    return CheckedFacts(**asdict(checked))


def measured_facts(survey: SurveyProgress | None) -> MeasuredFacts | None:
    if survey is None or survey.measured is None:
        return None
    verification = survey.measured
    return MeasuredFacts(
        until=survey.until,
        is_reached=survey.is_reached,
        of_reachable=survey.of_reachable,
        estimate=verification.estimate,
        confidence=verification.confidence,
        assumes=SAME_RESPONSES,
        n_walks=verification.n_walks,
        n_probes=verification.n_probes,
    )


def page_counts(
    database: DatabaseView, position: int, n_known: int, n_hosts: int, anchors: tuple[str, ...]
) -> PageCounts:
    groups = database.pages.groups_until(position)

    def n_pages(state: PageState) -> int:
        return sum(group.n_pages for group in groups if group.state == state)

    n_redirects = sum(group.n_aliases for group in groups if group.state == PageState.FETCHED)
    return PageCounts(
        n_known=n_known,
        n_hosts=n_hosts,
        n_fetched=n_pages(PageState.FETCHED) - n_redirects,
        n_redirects=n_redirects,
        n_skipped=n_pages(PageState.SKIPPED),
        n_failed=n_pages(PageState.FAILED),
        n_blocked=n_pages(PageState.BLOCKED),
        n_unarchived=sum(group.n_unarchived for group in groups if _is_read(group)),
        outcomes={state.name.lower(): _outcomes(groups, state) for state in DONE},
        unknown_links=database.details.unknown_until(position),
        anchors=anchors,
    )


def _is_read(group: StateGroup) -> bool:
    return group.state == PageState.FETCHED and group.outcome == Outcome.OK


def _outcomes(groups: list[StateGroup], state: PageState) -> dict[str, int]:
    return {group.outcome: group.n_pages for group in groups if group.state == state}
