"""log.jsonl: the log of a crawl, one JSON object per line, for `jq` and other programs.

    {"time":"2026-01-31T17:05:09.123Z","event":"fetch","url":"http://a.test/","outcome":"ok","status":200,...}

Events are buffered until `flush`. A file that has reached `max_file_bytes` replaces log.1.jsonl. The log is never read
back, and a write error does not end the crawl: lost lines are counted, and their number is logged later.
"""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from orienteer.errors import CrawlFolderError
from orienteer.files.plain import append_whole, open_plain

MAX_FILE_BYTES = 100_000_000

_encoded = json.JSONEncoder(separators=(",", ":")).encode
_encoded_text = json.encoder.encode_basestring_ascii


class Log:
    """The log at `path`. Lines are appended."""

    def __init__(
        self, path: Path, max_file_bytes: int = MAX_FILE_BYTES, clock: Callable[[], float] = time.time
    ) -> None:
        self.path = path
        self._max_file_bytes = max_file_bytes
        self._clock = clock
        self._events: list[tuple[float, str, dict[str, Any]]] = []  # time, event, facts
        self._out: int | None = None  # descriptor
        self._n_lost = 0
        self._second, self._date = -1, ""  # of the last line, cached

    @property
    def old_path(self) -> Path:
        return self.path.with_stem(f"{self.path.stem}.1")

    def note(self, event: str, **facts: Any) -> None:
        """Log an event with the current time; `facts` must be JSON serializable."""
        self._events.append((self._clock(), event, facts))

    def flush(self) -> None:
        """Write the buffered events. Those that cannot be written are dropped and counted."""
        if not self._events:
            return
        lines = [self._line(*event) for event in self._events]
        self._events.clear()
        try:
            self._write(lines)
        except (OSError, CrawlFolderError):
            self._n_lost += len(lines)
            self._close_out()

    def close(self) -> None:
        self.flush()
        self._close_out()

    def _line(self, now: float, event: str, facts: Mapping[str, Any]) -> str:
        fields = [f'{{"time":"{self._stated(now)}","event":{_encoded_text(event)}']
        for name, fact in facts.items():
            # Most facts are texts or numbers, and there is a line for each page: an encoder takes four times as long.
            kind = type(fact)
            is_number = kind is int or (kind is float and math.isfinite(fact))
            text = _encoded_text(fact) if kind is str else fact if is_number else _encoded(fact)
            fields.append(f'"{name}":{text}')
        return ",".join(fields) + "}"

    def _stated(self, now: float) -> str:
        second = int(now)
        if second != self._second:
            self._second, self._date = second, datetime.fromtimestamp(second, UTC).isoformat().removesuffix("+00:00")
        return f"{self._date}.{int(1000 * (now - second)):03}Z"

    def _write(self, lines: list[str]) -> None:
        if self._out is None:
            self._open()
        assert self._out is not None
        if self._n_lost:
            lines = [self._line(self._clock(), "lines lost", {"n_lines": self._n_lost}), *lines]
        n_bytes = os.fstat(self._out).st_size
        text = ("\n".join(lines) + "\n").encode()
        append_whole(self._out, text, n_bytes)
        self._n_lost = 0
        if n_bytes + len(text) >= self._max_file_bytes:
            self._close_out()
            with suppress(OSError):  # on failure the file grows, and the next flush tries again
                self.path.replace(self.old_path)

    def _open(self) -> None:
        self._out = open_plain(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT)
        n_bytes = os.fstat(self._out).st_size
        if n_bytes and os.pread(self._out, 1, n_bytes - 1) != b"\n":
            os.write(self._out, b"\n")  # end the partial line of a killed process

    def _close_out(self) -> None:
        if self._out is not None:
            os.close(self._out)
            self._out = None


class NoLog(Log):
    """A log that discards everything."""

    def note(self, event: str, **facts: Any) -> None:
        pass
