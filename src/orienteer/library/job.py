"""A job as anybody sees it: a command that was started on a crawl of the library."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

ALIVE = ("starting", "running", "stopping")
OVER = ("done", "failed", "stopped", "killed")


@dataclass(frozen=True)
class Job:
    """One command, running or over.

    `state` is one of `ALIVE` or `OVER`: "done" is what it was asked to do, "stopped" is by somebody who asked it to
    stop, or a crawl that ended before its goal; "failed" says why in `line`; "killed" left no exit code behind.
    `process` is that of the command while it is alive. `line` is what it said last, in one plain line; `share` how far
    it is, between 0 and 1, None where nobody knows. `command` can be repeated in a shell. `result` is the file or
    folder of an export that is complete, `options` what it was started with.
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
