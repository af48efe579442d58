"""How far a job is, in a line and as a share.

A crawl tells it by its folder; the other commands by what they print: `reading pages: 24 %`, as all do where there is
no terminal, or `1,200 of 5,000 pages fetched`, as an estimate does.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from orienteer.errors import OrienteerError
from orienteer.inspect.folder_status import FolderStatus
from orienteer.inspect.status_in_words import interval
from orienteer.library.job import ALIVE, Job
from orienteer.library.job_record import JobFiles, JobRecord, last_lines
from orienteer.wording import counted, plain, time_left

if TYPE_CHECKING:
    from orienteer.library.library import Library

_PERCENT = re.compile(r"[^:]+: (\d{1,3}) %", re.ASCII)
_DONE_OF_ALL = re.compile(r"\b(\d[\d,]*) of (\d[\d,]*)\b", re.ASCII)
_MAX_CHARS = 300
_KILLED = "it was killed, or the machine went down; what was fetched is not lost"


def shown(library: Library, record: JobRecord, state: str) -> Job:
    """A job as anybody sees it."""
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
    """What an export has written; the name in the record leads nowhere else."""
    if not record.result or record.result != Path(record.result).name or record.result.startswith("."):
        return None
    path = library.exports_path / record.id / record.result
    return path if path.exists() and not path.is_symlink() else None


def _now(library: Library, record: JobRecord) -> tuple[str, float | None]:
    said = last_lines(JobFiles(library.job_folder.path, record.id).said)
    line = said[-1].strip() if said else ""
    if record.kind in ("crawl", "refresh"):
        try:
            status = library.look(record.crawl)
        except OrienteerError:  # not yet there
            return line, None
        return (crawl_line(status) or line), crawl_share(status)
    return line, share_of_line(line)


def share_of_line(line: str) -> float | None:
    """How far a command is that prints such lines.

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


def crawl_share(status: FolderStatus) -> float | None:
    """How far a crawl is on its way to the goal that is nearest: its coverage, its budget, or all pages it knows."""
    if status.holder is None:
        return None
    figures = status.figures or {}
    n_done, budget, until = (figures.get(name) for name in ("n_done", "budget", "until"))
    shares = []
    proved = status.certificate
    if isinstance(until, float) and until > 0 and proved is not None:
        is_partial = figures.get("of_reachable") or figures.get("goal_is_impossible")
        shares.append((proved.of_reachable if is_partial else proved.lower) / until)
        walked = status.surveyed
        shares.append(0.0 if walked is None else walked.evidence)
    if isinstance(budget, int) and budget > 0 and isinstance(n_done, int):
        shares.append(n_done / budget)
    if not shares and isinstance(n_done, int):
        shares.append(_share_of_known(n_done, figures))
    return min(max(shares), 1.0) if shares else None


def _share_of_known(n_done: int, figures: Mapping[str, Any]) -> float:
    waiting = figures.get("n_frontier")
    known = n_done + (waiting if isinstance(waiting, int) else 0)
    return n_done / known if known else 0.0


def crawl_line(status: FolderStatus) -> str:
    """A crawl that is running, in a line; empty while nothing has come in."""
    figures, proved = status.figures or {}, status.certificate
    if status.holder is None or not figures:
        return ""
    left = figures.get("left_s")
    parts = [
        f"{counted(status.n_fetched, 'page')} fetched",
        "" if proved is None else f"proved: {interval(proved)}",
        f"{time_left(left)} left" if isinstance(left, float | int) and left else "",
    ]
    return "; ".join(part for part in parts if part)
