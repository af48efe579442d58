"""A job: a command that was started on a crawl of the library, and its progress as a line of text and as a share.

For a crawl the progress is read from its folder; for other commands it is parsed from their output:
`reading pages: 24 %`, as they print without a terminal, or `1,200 of 5,000 pages fetched`, as an estimate prints.
"""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from orienteer.errors import OrienteerError
from orienteer.inspect.crawl_status import CrawlStatus
from orienteer.inspect.status_text import interval
from orienteer.library.job_record import JobFiles, JobRecord, last_lines
from orienteer.wording import counted, plain, time_left

if TYPE_CHECKING:
    from orienteer.library.library import Library

ALIVE = ("starting", "running", "stopping")
ENDED = ("done", "failed", "stopped", "killed")


@dataclass(frozen=True)
class Job:
    """One command, running or ended.

    `state` is one of `ALIVE` or `ENDED`: "done" succeeded; "stopped" was stopped by the user, or is a crawl that ended
    before its goal; "failed" has the reason in `line`; "killed" left no exit code. `process` is the id of the command's
    process while it is alive. `line` is the last line that it printed, as plain text; `share` is the share of its work
    done, between 0 and 1, None if unknown. `command` can be repeated in a shell. `result` is the file or folder of a
    complete export, `options` are the options of the job.
    """

    id: str
    kind: str
    crawl: str
    state: str
    began: float
    ended: float | None
    exit_code: int | None
    process: int | None
    line: str
    share: float | None
    command: tuple[str, ...]
    result: Path | None
    options: dict[str, Any]

    @property
    def is_alive(self) -> bool:
        return self.state in ALIVE

    def as_dict(self) -> dict[str, Any]:
        return asdict(self) | {"result": None if self.result is None else str(self.result)}


_PERCENT = re.compile(r"[^:]+: (\d{1,3}) %", re.ASCII)
_DONE_OF_ALL = re.compile(r"\b(\d[\d,]*) of (\d[\d,]*)\b", re.ASCII)
_MAX_CHARS = 300
_KILLED = "it was killed, or the machine went down; what was fetched is not lost"


def current_job(library: Library, record: JobRecord, state: str) -> Job:
    """Return a job with its present progress."""
    line, share = (record.line, 1.0 if state == "done" else None) if state not in ALIVE else _now(library, record)
    if state == "killed":
        line = f"{line}; what was fetched is not lost" if line else _KILLED
    if record.kind == "export":
        line = line.replace(f"{library.exports_path.resolve() / record.id}/", "")
    return Job(
        id=record.id,
        kind=record.kind,
        crawl=record.crawl,
        state=state,
        began=record.began,
        ended=record.ended,
        exit_code=record.exit_code,
        process=record.process if state in ALIVE else None,
        line=plain(line, _MAX_CHARS),
        share=share,
        command=record.command,
        result=_result(library, record) if state == "done" else None,
        options=dict(record.options),
    )


def _result(library: Library, record: JobRecord) -> Path | None:
    """Return the output of an export, if it exists. A name in the record that is a path is ignored."""
    if not record.result or record.result != Path(record.result).name or record.result.startswith("."):
        return None
    path = library.exports_path / record.id / record.result
    return path if path.exists() and not path.is_symlink() else None


def _now(library: Library, record: JobRecord) -> tuple[str, float | None]:
    lines = last_lines(JobFiles(library.job_folder.path, record.id).stderr)
    line = lines[-1].strip() if lines else ""
    if record.kind in ("crawl", "refresh"):
        try:
            status = library.status(record.crawl)
        except OrienteerError:  # the folder does not exist yet
            return line, None
        return (progress_line(status) or line), progress_share(status)
    return line, share_of_line(line)


def share_of_line(line: str) -> float | None:
    """Return the share of its work that a command has done, from a line that it printed; None if unknown.

    >>> [share_of_line(line) for line in ("reading pages: 25 %", "1,200 of 4,800 pages fetched outside", "preparing…")]
    [0.25, 0.25, None]
    """
    percent = _PERCENT.fullmatch(line)
    if percent is not None:
        return min(int(percent[1]), 100) / 100
    found = _DONE_OF_ALL.search(line)
    if found is None:
        return None
    done, total = (int(text.replace(",", "")) for text in found.groups())
    return min(done / total, 1.0) if total else None


def progress_share(status: CrawlStatus) -> float | None:
    """Return the share of its pages that a running crawl has done; None while unknown.

    The number of pages to come is the time left, which is unknown at first, multiplied by the present rate.
    """
    figures = status.figures
    if not status.is_running or figures is None or not figures.eta_s:  # 0 belongs to the previous run
        return None
    n_all = figures.n_done + figures.pages_per_s * figures.eta_s
    return figures.n_done / n_all if n_all > 0 else None


def progress_line(status: CrawlStatus) -> str:
    """Describe a running crawl in one line; empty before its first page."""
    figures = status.figures
    if not status.is_running or figures is None:
        return ""
    left = f"; {time_left(figures.eta_s)} left" if figures.eta_s else ""
    return f"{counted(status.n_fetched, 'page')} fetched; proved: {interval(figures.certificate)}{left}"
