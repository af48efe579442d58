"""A command that was started on a crawl of the library."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

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
