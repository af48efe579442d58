"""The site report of a crawl folder, made in a background thread and cached until the crawl changes."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import NamedTuple

from orienteer.errors import OrienteerError
from orienteer.report.finding import SiteReport
from orienteer.report.site_report import site_report
from orienteer.store.database import DatabaseView

_PAUSE, _SHORTEST_PAUSE_S = (
    20.0,
    30.0,
)  # between two reports: in multiples of the time for one, in seconds
_TIMEOUT_S = 1.5  # most crawls are small, and their report is ready by then


class ReportState(NamedTuple):
    """The last report, the progress of the next one, and the reason if there is none."""

    report: SiteReport | None
    doing: str = ""
    problem: str = ""


class CachedReport:
    """The cached report of a crawl folder. `ending` is set when the server shuts down."""

    def __init__(self, folder: Path, ending: threading.Event) -> None:
        self._folder, self._ending = folder, ending
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._report: SiteReport | None = None
        self._doing = self._problem = ""
        self._next_s = 0.0  # until then the report may be out of date

    def current(self, timeout_s: float = _TIMEOUT_S) -> ReportState:
        """Return the last report; wait up to `timeout_s` for the first one."""
        with self._lock:
            thread = self._thread
            if (thread is None or not thread.is_alive()) and self._is_behind():
                thread = self._thread = threading.Thread(target=self._make, name="site report", daemon=True)
                self._doing, self._problem = "starting", ""
                thread.start()
        if thread is not None and self._report is None:
            thread.join(timeout_s)
        return ReportState(self._report, self._doing, self._problem)

    def _is_behind(self) -> bool:
        if self._report is None:
            return True
        if time.monotonic() < self._next_s:
            return False
        with DatabaseView(self._folder / "crawl.db") as database:
            return database.history.next_position() != self._report.position

    def _make(self) -> None:
        started = time.monotonic()
        try:
            self._report = site_report(self._folder, progress=self._update)
        except OrienteerError as error:
            self._problem = str(error)
        except _EndedError:
            pass
        except Exception as error:
            self._problem = f"the report cannot be made: {error!r}"
            raise
        finally:
            self._next_s = time.monotonic() + max(_PAUSE * (time.monotonic() - started), _SHORTEST_PAUSE_S)
            self._doing = ""

    def _update(self, stage: str, done: int, total: int) -> None:
        if self._ending.is_set():
            raise _EndedError
        self._doing = f"{stage}, {done:,} of {total:,}" if total else stage


class _EndedError(Exception):
    """The server shuts down, so the report is abandoned."""
