"""Stop or resume a crawl from another process, by its folder.

Stopping asks the process that holds the folder's lock to come to its end, as Ctrl-C would. Going on starts the command
`orienteer crawl DIR` as a process of its own, which outlives the one that started it; so does making the search index.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from orienteer.crawl.goal import Goal
from orienteer.errors import CrawlFolderError
from orienteer.files.plain import expect_plain_folder, open_plain
from orienteer.hooks.hook_names import expect_installed
from orienteer.inspect.folder_status import FolderStatus
from orienteer.inspect.status_in_words import share_in_words
from orienteer.inspect.surveyed import Surveyed
from orienteer.live.session import expect_no_access, plan_of_folder
from orienteer.pages.stop_reason import StopReason
from orienteer.store.failures import explained
from orienteer.store.lock import INNER_FOLDERS, LOCK, holder_of
from orienteer.wording import counted, plain

INDEX_OUTPUT = "last-index.txt"
OUTPUT = "last-run.txt"  # in the crawl folder: what a crawl said that was started from another process
_READ_BYTES = 4096
_PROCESSES = Path("/proc")
# Exit codes of a crawl that did what it could: its goal was reached, or it stopped for another reason.
_GOOD_CODES = (0, 3)


def ask_to_stop(path: Path) -> int:
    """Ask the crawl in this folder to finish what is under way and end; the number of its process.

    Only the process that holds the lock of this very folder is ever asked.
    """
    process = holder_of(path)
    if process is None:
        raise CrawlFolderError(f"{path}: no crawl is running there")
    if process == 0:
        raise CrawlFolderError(f"{path}: it is not known which process crawls there; stop it where it was started")
    if process == os.getpid():
        raise CrawlFolderError(f"{path}: the crawl runs in this process; stop it there")
    try:
        with _signaller(process) as send:
            # From here on the number means this process, so it is looked at once more.
            if holder_of(path) != process or not _has_open(process, path / LOCK):
                raise CrawlFolderError(f"{path}: process {process} is not the one that crawls there; nothing was done")
            send(signal.SIGINT)
    except ProcessLookupError:
        raise CrawlFolderError(f"{path}: the crawl has ended meanwhile") from None
    except PermissionError:
        raise CrawlFolderError(f"{path}: process {process} belongs to somebody else; it cannot be stopped") from None
    return process


class StartedCommand:
    """A command on a crawl folder that was started from another process; it goes on when this process is gone."""

    def __init__(self, arguments: Sequence[str], output: Path, good_codes: Collection[int] = (0,)) -> None:
        """`output` is a file of the crawl folder: what the command says."""
        self._output, self._good_codes = output, good_codes
        self._name = arguments[0]
        with (
            explained(output),
            os.fdopen(open_plain(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "wb") as file,
        ):
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "orienteer", *arguments],
                stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
        # Its end is noted at once, whether or not somebody asks for it: nothing is left of it in the system.
        threading.Thread(target=self._process.wait, name=f"started {self._name}", daemon=True).start()

    @property
    def process(self) -> int:
        return self._process.pid

    @property
    def has_ended(self) -> bool:
        return self._process.poll() is not None

    def trouble(self) -> str | None:
        """Why it ended without having done its work, in one line; None if it did not."""
        code = self._process.poll()
        if code is None or code in self._good_codes:
            return None
        if code < 0:
            return f"the {self._name} was ended by signal {-code}"
        return self._last_line() or f"the {self._name} ended with exit code {code}"

    def _last_line(self) -> str:
        """What it said last."""
        try:
            with self._output.open("rb") as file:
                file.seek(max(0, file.seek(0, os.SEEK_END) - _READ_BYTES))
                lines = file.read().decode(errors="replace").strip().splitlines()
        except OSError:
            return ""
        return plain(lines[-1], 500).removeprefix("orienteer: ") if lines else ""


class StartedIndexing(StartedCommand):
    """The search index of a crawl folder is made, or brought up to date."""

    def __init__(self, path: Path) -> None:
        expect_plain_folder(path, alone=True, inner=INNER_FOLDERS)
        super().__init__(["index", str(path.resolve()), "--json"], path / INDEX_OUTPUT)


class StartedCrawl(StartedCommand):
    """A crawl that goes on."""

    def __init__(self, path: Path, until: float | None = None, budget: int | None = None) -> None:
        """Go on with the crawl in this folder, with another goal where one is given."""
        # What is wrong with the folder, the goal or the hooks is said here.
        expect_plain_folder(path, alone=True, inner=INNER_FOLDERS)
        plan = plan_of_folder(path, {"crawl": {"until": until, "budget": budget}})
        expect_installed(plan.crawl.hooks, str(path))
        expect_no_access(path, plan)
        goal = {"--until": until, "--budget": budget}
        options = [str(part) for pair in goal.items() if pair[1] is not None for part in pair]
        super().__init__(["crawl", str(path.resolve()), "--quiet", *options], path / OUTPUT, _GOOD_CODES)


def resume_refusal(found: FolderStatus, until: float | None = None, budget: int | None = None) -> str | None:
    """Why it would be of no use to go on with this goal, in one line; None if it may be."""
    if found.holder is not None:
        return "the crawl is running"
    if found.report is None or not found.report_is_current:
        return None
    why, figures, settings = found.report.get("stopped_because"), found.figures or {}, found.plan.crawl
    reached, spent = figures.get("until"), figures.get("budget")
    if until == 1:  # everything that can be fetched, within the budget if one is given
        until = None
    else:
        until, budget = until or settings.until, budget or settings.budget
    was_of_reachable = bool(figures.get("of_reachable"))
    is_alike = settings.of_reachable or not was_of_reachable
    if until is not None and isinstance(reached, float):
        # A lower goal than an impossible one may be possible, and not reached yet.
        walked = found.surveyed
        is_measured = walked is not None and _is_believed(walked, settings.goal()) and not walked.is_proved
        is_covered = why == StopReason.COVERAGE or (why == StopReason.MEASURED and is_measured)
        is_all_there_is = why == StopReason.REACHABLE and until == reached
        if (is_covered and is_alike and until <= reached) or is_all_there_is:
            share = share_in_words(until, was_of_reachable or is_all_there_is)
            how = "measured" if is_measured else "proved"
            return f"a coverage of {share} is {how} already; ask for more (100 % for everything) to resume"
    if why == StopReason.BUDGET and budget is not None and isinstance(spent, int) and budget <= spent:
        return f"the budget of {counted(budget, 'page')} is spent; allow more to resume"
    if why == StopReason.FRONTIER_EMPTY:
        return "nothing is left to fetch; `orienteer crawl DIR --refresh` fetches the pages again"
    return None


def _is_believed(walked: Surveyed, goal: Goal) -> bool:
    """Whether a measured coverage is as sure as the goal asks for now."""
    confidence = None if walked.measured is None or not walked.is_reached else walked.measured.confidence
    return confidence is not None and goal.confidence is not None and goal.confidence <= confidence


@contextmanager
def _signaller(process: int) -> Iterator[Callable[[int], None]]:
    """What sends signals to a process, and to no other that has its number later, where the system can tell them."""
    if not hasattr(os, "pidfd_open"):
        yield lambda number: os.kill(process, number)
        return
    descriptor = os.pidfd_open(process)
    try:
        yield lambda number: signal.pidfd_send_signal(descriptor, number)
    finally:
        os.close(descriptor)


def _has_open(process: int, path: Path) -> bool:
    """Whether a process has a file open; True where the system does not tell."""
    opened = _PROCESSES / str(process) / "fd"
    if not opened.parent.exists():
        return not (_PROCESSES / "self").exists()
    with explained(path):
        wanted = path.stat()
    for descriptor in opened.iterdir():
        try:
            found = descriptor.stat()
        except FileNotFoundError:  # closed just now
            continue
        if (found.st_dev, found.st_ino) == (wanted.st_dev, wanted.st_ino):
            return True
    return False
