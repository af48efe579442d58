"""The stored record of a job.

    ID.json    the record; replaced atomically
    ID.txt     stderr of the command: its progress
    ID.out     stdout of the command: its results
    ID.lock    held by the runner and by the command while either is alive

The process that starts a job writes the first record; from then on only its runner does. A record with an end is
reliable; one without an end may belong to a killed job, see `job_folder`. The runner imports this module, so it imports
almost nothing.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from orienteer.files.plain import write_durably

ID = re.compile(r"\d{8}-\d{6}-[0-9a-f]{6}", re.ASCII)
_MAX_BYTES = 1 << 20
_READ_BYTES = 4096


@dataclass(frozen=True)
class JobRecord:
    """The stored state of a job.

    `result` is the file name of an export, "" for other kinds. `process` is the id of the command's process, once it
    runs; `stop_requested` the time of the first request to stop. `line` summarizes how the command ended."""

    id: str
    kind: str
    crawl: str
    options: Mapping[str, Any]
    command: tuple[str, ...]
    began: float
    result: str = ""
    process: int | None = None
    stop_requested: float | None = None
    ended: float | None = None
    exit_code: int | None = None
    line: str = ""


class JobFiles:
    """The files of one job."""

    def __init__(self, folder: Path, id: str) -> None:
        if not ID.fullmatch(id):
            raise ValueError(f"{id!r} is not the id of a job")
        self.record, self.stderr, self.stdout, self.lock = (
            folder / (id + ending) for ending in (".json", ".txt", ".out", ".lock")
        )

    def read(self) -> JobRecord | None:
        """Return the record; None if it is missing or cannot be parsed."""
        try:
            descriptor = os.open(self.record, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
            with os.fdopen(descriptor, "rb") as file:
                values = json.loads(file.read(_MAX_BYTES))
            return _record(values) if values["id"] == self.record.stem else None
        except (OSError, ValueError, TypeError, KeyError, RecursionError):
            return None

    def write(self, record: JobRecord) -> None:
        write_durably(self.record, json.dumps(asdict(record), indent=1))

    def remove(self) -> None:
        """Delete the files. The record is the first: without it the job does not exist."""
        for path in (self.record, self.stderr, self.stdout, self.lock):
            path.unlink(missing_ok=True)


def last_lines(path: Path, n_bytes: int = _READ_BYTES) -> list[str]:
    """Return the last lines of a text file that are not empty; none if it cannot be read."""
    return _lines(path, n_bytes, at_end=True)


def first_lines(path: Path, n_bytes: int = _READ_BYTES) -> list[str]:
    """Return the first lines of a text file that are not empty; none if it cannot be read."""
    return _lines(path, n_bytes, at_end=False)


def _lines(path: Path, n_bytes: int, at_end: bool) -> list[str]:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            if at_end:
                file.seek(max(0, file.seek(0, os.SEEK_END) - n_bytes))
            text = file.read(n_bytes).decode(errors="replace")
    except OSError:
        return []
    return [line for line in text.splitlines() if line.strip()]


_TYPES: dict[str, tuple[type, ...]] = {
    "id": (str,), "kind": (str,), "crawl": (str,), "options": (dict,), "command": (list,), "began": (int, float),
    "result": (str,), "process": (int, type(None)), "stop_requested": (int, float, type(None)),
    "ended": (int, float, type(None)), "exit_code": (int, type(None)), "line": (str,),
}  # fmt: skip


def _record(values: dict[str, Any]) -> JobRecord:
    if "stop_asked" in values:  # its name in records of version 0.2
        values = {"stop_requested": values["stop_asked"]} | values
    entries = {field.name: values[field.name] for field in fields(JobRecord)}
    for name, value in entries.items():
        if not isinstance(value, _TYPES[name]):
            raise TypeError(f"{name} is {value!r}")
    return JobRecord(**entries | {"command": tuple(map(str, entries["command"]))})
