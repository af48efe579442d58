"""What is written down of a job: ID.json in the folder of jobs, beside what its command prints and its lock.

    ID.json    this record; replaced as a whole
    ID.txt     what the command says while it works (stderr)
    ID.out     what it says in the end (stdout)
    ID.lock    held by the runner and by the command, as long as either lives

Whoever starts a job writes the record; from then on its runner alone does. What it says of the end is true; that there
is no word of an end means nothing: see `job_folder`. The runner imports this, so it imports next to nothing.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from orienteer.files.durable import write_durably

ID = re.compile(r"\d{8}-\d{6}-[0-9a-f]{6}", re.ASCII)
_MAX_BYTES = 1 << 20
_READ_BYTES = 4096


@dataclass(frozen=True)
class JobRecord:
    """`result` is the name of what an export writes, "" for others. `process` is that of the command, once there is
    one; `stop_asked` when somebody asked it to stop. `line` is what it said in the end."""

    id: str
    kind: str
    crawl: str
    options: Mapping[str, Any]
    command: tuple[str, ...]
    began: float
    result: str = ""
    process: int | None = None
    stop_asked: float | None = None
    ended: float | None = None
    exit_code: int | None = None
    line: str = ""


class JobFiles:
    """The files of one job."""

    def __init__(self, folder: Path, id: str) -> None:
        if not ID.fullmatch(id):
            raise ValueError(f"{id!r} is no name of a job")
        self.record, self.said, self.told, self.lock = (
            folder / (id + ending) for ending in (".json", ".txt", ".out", ".lock")
        )

    def read(self) -> JobRecord | None:
        """None where there is none, or none that can be understood."""
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
        """The record first: without it there is no job."""
        for path in (self.record, self.said, self.told, self.lock):
            path.unlink(missing_ok=True)


def last_lines(path: Path, n_bytes: int = _READ_BYTES) -> list[str]:
    """The end of a file of text, without empty lines; nothing where it cannot be read."""
    return _lines(path, n_bytes, at_end=True)


def first_lines(path: Path, n_bytes: int = _READ_BYTES) -> list[str]:
    """Its beginning."""
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
    "result": (str,), "process": (int, type(None)), "stop_asked": (int, float, type(None)),
    "ended": (int, float, type(None)), "exit_code": (int, type(None)), "line": (str,),
}  # fmt: skip


def _record(values: dict[str, Any]) -> JobRecord:
    known = {field.name: values[field.name] for field in fields(JobRecord)}
    for name, value in known.items():
        if not isinstance(value, _TYPES[name]):
            raise TypeError(f"{name} is {value!r}")
    return JobRecord(**known | {"command": tuple(map(str, known["command"]))})
