"""Act on a crawl by its folder, without crawling: stop it, decide whether to resume it, upload its archive.

A stop sends SIGINT, like Ctrl-C, to the process that holds the lock of the folder. `library` resumes crawls as jobs.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from orienteer.crawl.goal import Goal
from orienteer.errors import CrawlFolderError, InputError
from orienteer.inspect.crawl_status import CrawlStatus
from orienteer.inspect.survey_progress import SurveyProgress
from orienteer.ledger.plan import remember_allowed
from orienteer.live.session import plan_of_folder
from orienteer.pages.stop_reason import StopReason
from orienteer.settings import stated
from orienteer.store.folder import CrawlFolder
from orienteer.store.lock import LOCK, has_open, holder_of, signaller
from orienteer.wording import counted, goal_share


def ask_to_stop(path: Path) -> int:
    """Make the crawl in this folder finish its requests in flight and end; return its process id.

    Only the process that holds the lock of this folder is signalled.
    """
    process = holder_of(path)
    if process is None:
        raise CrawlFolderError(f"{path}: no crawl is running there")
    if process == 0:
        raise CrawlFolderError(f"{path}: it is not known which process crawls there; stop it where it was started")
    if process == os.getpid():
        raise CrawlFolderError(f"{path}: the crawl runs in this process; stop it there")
    try:
        with signaller(process) as send:
            # From here on the id cannot be reused by another process, so the lock is checked again.
            if holder_of(path) != process or not has_open(process, path / LOCK):
                raise CrawlFolderError(f"{path}: process {process} does not run this crawl; no signal was sent")
            send(signal.SIGINT)
    except (ProcessLookupError, FileNotFoundError):
        raise CrawlFolderError(f"{path}: the crawl has already ended") from None
    except PermissionError:
        raise CrawlFolderError(f"{path}: process {process} belongs to another user; it cannot be stopped") from None
    return process


def resume_refusal(status: CrawlStatus, until: float | None = None, budget: int | None = None) -> str | None:
    """Return in one line why a resume with this goal would have no effect; None if it may have one."""
    if status.is_running:
        return "the crawl is running"
    if status.report is None or not status.report_is_current:
        return None
    why, before, settings = status.report.stopped_because, status.report.figures, status.plan.crawl
    if until == 1:  # everything that can be fetched, within the budget if one is given
        until = None
    else:
        until, budget = until or settings.until, budget or settings.budget
    is_alike = settings.goal().of_reachable or not before.of_reachable
    if until is not None and before.until is not None:
        # A lower goal than an impossible one may be possible, and not reached yet.
        walked = before.survey
        is_measured = walked is not None and _is_believed(walked, settings.goal()) and not walked.is_proved
        is_covered = why is StopReason.COVERAGE or (why is StopReason.MEASURED and is_measured)
        is_all_there_is = why is StopReason.REACHABLE and until == before.until
        if (is_covered and is_alike and until <= before.until) or is_all_there_is:
            share = goal_share(until, before.of_reachable or is_all_there_is)
            how = "measured" if is_measured else "proved"
            return f"a coverage of {share} is {how} already; ask for more (100 % for everything) to resume"
    if why is StopReason.BUDGET and budget is not None and before.budget is not None and budget <= before.budget:
        return f"the limit of {counted(budget, 'page')} is reached; allow more to resume"
    if why is StopReason.FRONTIER_EMPTY:
        return "nothing is left to fetch; `orienteer refresh DIR` fetches the pages again"
    return None


def _is_believed(walked: SurveyProgress, goal: Goal) -> bool:
    """Return whether a measured coverage has the confidence that the goal requires now."""
    confidence = None if walked.measured is None or not walked.is_reached else walked.measured.confidence
    return confidence is not None and goal.confidence is not None and goal.confidence <= confidence


@dataclass(frozen=True)
class UploadReport:
    """The result of an upload: of `n_files` archive files `n_stored` are in object storage, `n_uploaded` by this call.

    `problem` says in one line why `n_waiting` files are not.
    """

    folder: Path
    archive_to: str
    n_files: int
    n_stored: int
    n_uploaded: int
    n_waiting: int
    problem: str

    def as_dict(self) -> dict[str, Any]:
        return asdict(self) | {"folder": str(self.folder)}


def upload(
    folder: str | Path,
    *,
    archive_to: str | None = None,
    drop_local: bool | None = None,
    settings: Mapping[str, Mapping[str, Any]] | None = None,
    notify: Callable[[str], None] | None = None,
    is_stopped: Callable[[], bool] = lambda: False,
) -> UploadReport:
    """Upload the whole archive of a crawl folder to the object store of its settings, or to `archive_to`.

    The arguments are stored in crawl.toml. Files that are uploaded already are skipped. `notify` receives messages.
    """
    path = Path(folder)
    named = {"store": stated(archive_to=archive_to, drop_local=drop_local)}
    plan = plan_of_folder(path, settings or {}, named)
    if plan.store.archive_to is None:
        raise InputError(f"{path}: its settings name no object store; pass --archive-to s3://bucket/prefix")
    plan.store.expect_usable()
    with CrawlFolder.open(path) as crawl:
        crawl.write_settings(plan.to_toml())
        remember_allowed(path, plan)
        crawl.archive.seal()
        crawl.configure_archive(plan.store)
        assert crawl.uploads is not None
        crawl.uploads.report = notify or crawl.uploads.report
        crawl.uploads.finish(is_stopped)
        stored = crawl.archive.stored
        return UploadReport(
            folder=path,
            archive_to=plan.store.archive_to,
            n_files=len(crawl.archive.numbers()),
            n_stored=len(stored.files),
            n_uploaded=crawl.uploads.n_uploaded,
            n_waiting=crawl.uploads.n_waiting,
            problem=stored.problem if crawl.uploads.n_waiting else "",
        )
