"""The site report of a crawl folder, made by a thread beside the requests, and kept until the crawl has gone on."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import NamedTuple

from orienteer.errors import OrienteerError
from orienteer.report.finding import SiteReport
from orienteer.report.site_report import site_report
from orienteer.store.database_view import DatabaseView

_PAUSE, _SHORTEST_PAUSE_S = 20.0, 30.0  # between two reports of a crawl that runs, in the time that one takes
_PATIENCE_S = 1.5  # most crawls are small: their report is there by then


class ReportState(NamedTuple):
    """The report that was made last; what is being done for the next one, or for the first; why there is none."""

    report: SiteReport | None
    doing: str = ""
    trouble: str = ""


class KeptReport:
    """`ending` is set when the server is to end."""

    def __init__(self, folder: Path, ending: threading.Event) -> None:
        self._folder, self._ending = folder, ending
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._report: SiteReport | None = None
        self._doing = self._trouble = ""
        self._next_s = 0.0  # until then it may be behind

    def current(self, patience_s: float = _PATIENCE_S) -> ReportState:
        """What there is; one that is being made is waited for, for a moment."""
        with self._lock:
            thread = self._thread
            if (thread is None or not thread.is_alive()) and self._is_behind():
                thread = self._thread = threading.Thread(target=self._make, name="site report", daemon=True)
                self._doing, self._trouble = "beginning", ""
                thread.start()
        if thread is not None and self._report is None:
            thread.join(patience_s)
        return ReportState(self._report, self._doing, self._trouble)

    def _is_behind(self) -> bool:
        if self._report is None:
            return True
        if time.monotonic() < self._next_s:
            return False
        with DatabaseView(self._folder / "crawl.db") as database:
            return database.next_position() != self._report.position

    def _make(self) -> None:
        started = time.monotonic()
        try:
            self._report = site_report(self._folder, progress=self._tell)
        except OrienteerError as error:
            self._trouble = str(error)
        except _EndedError:
            pass
        except Exception as error:
            self._trouble = f"the report cannot be made: {error!r}"
            raise
        finally:
            self._next_s = time.monotonic() + max(_PAUSE * (time.monotonic() - started), _SHORTEST_PAUSE_S)
            self._doing = ""

    def _tell(self, stage: str, done: int, total: int) -> None:
        if self._ending.is_set():
            raise _EndedError
        self._doing = f"{stage}, {done:,} of {total:,}" if total else stage


class _EndedError(Exception):
    """The server ends; nobody waits for the report any more."""
