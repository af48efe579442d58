"""course.jsonl: the history of the progress of a crawl, one point per line, for plots of the whole crawl.

    {"epoch":0,"position":812,"n_done":790,"lower":0.61,"upper":0.93,"blocked":0.01,"pages_per_s":9.5,"time":1769879109.1}

The file is only a cache: a write error does not end the crawl, and invalid lines are left out. Lines are appended. A
position that is not greater than the last one deletes all points from there on, since a killed crawl continues from the
acknowledged position. The number of points per epoch is limited: their spacing doubles as the epoch grows. The file is
rewritten when it holds twice as many lines as points.
"""

from __future__ import annotations

import json
import math
import os
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from orienteer.errors import CrawlFolderError
from orienteer.files.plain import append_whole, expect_plain, open_plain, replaced_inside

MAX_POINTS = 1_000
_OF_LAST_EPOCH = 512  # the earlier epochs share the others
_LEAST_OF_AN_EPOCH = 16
_MAX_EPOCHS = 1 + (MAX_POINTS - _OF_LAST_EPOCH) // _LEAST_OF_AN_EPOCH
_MAX_LINE_CHARS = 1_000


@dataclass(frozen=True)
class ProgressPoint:
    """The progress of a crawl at a moment; `time` is Unix time.

    `position` is that of the next event. `n_done` counts the pages of the epoch that were requested from a host.
    `n_on_topic` is None without a topic. `measured` is the coverage estimated by random walks, `claimed` the lower
    bound that they guarantee; both are None until they exist.
    """

    epoch: int
    position: int
    n_done: int
    lower: float
    upper: float
    blocked: float
    pages_per_s: float
    time: float
    n_on_topic: int | None = None
    measured: float | None = None
    claimed: float | None = None

    @classmethod
    def of_line(cls, line: str) -> ProgressPoint | None:
        """Parse a line; None if it is malformed or has impossible values."""
        if len(line) > _MAX_LINE_CHARS:
            return None
        try:
            values = json.loads(line)
            older = {"measured": None, "claimed": None}  # earlier versions did not write them
            point = cls(**{field.name: (older | values)[field.name] for field in fields(cls)})
            counts = (point.epoch, point.position, point.n_done, point.n_on_topic or 0)
            is_counted = all(isinstance(n, int) and n >= 0 for n in counts)
            is_finite = all(map(math.isfinite, (point.pages_per_s, point.time, point.blocked)))
            is_share = all(0 <= share <= 1 for share in (point.measured, point.claimed) if share is not None)
            is_point = is_counted and is_finite and is_share and 0 <= point.lower <= point.upper <= 1
            return point if is_point else None
        except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
            return None

    def line(self) -> str:
        return json.dumps(asdict(self), separators=(",", ":")) + "\n"


class ProgressHistory:
    """The history of a crawl that is being recorded; `next_position` is where the crawl continues."""

    def __init__(self, path: Path, next_position: int) -> None:
        self.path = path
        self.points = [point for point in read_progress(path) if point.position <= next_position]
        self._n_lines: int | None = None  # in the file; None if it must be rewritten

    def add(self, point: ProgressPoint, is_last: bool = False) -> None:
        """Add the current point. One too close to the previous point is left out unless `is_last`."""
        previous = self.points[-1] if self.points else None
        if previous is not None and previous.epoch == point.epoch and not is_last:
            spacing = _spacing([other for other in self.points if other.epoch == point.epoch], point)
            if previous.position // spacing == point.position // spacing:
                return
        _put(self.points, point)
        try:
            if self._n_lines is None or self._n_lines >= 2 * MAX_POINTS:
                self._rewrite()
            else:
                _append(self.path, point.line())
                self._n_lines += 1
        except (OSError, CrawlFolderError):
            self._n_lines = None

    def _rewrite(self) -> None:
        self.points = thinned(self.points)
        with replaced_inside(self.path) as new:
            new.write_text("".join(point.line() for point in self.points), encoding="ascii")
        self._n_lines = len(self.points)


def read_progress(path: Path) -> list[ProgressPoint]:
    """Return the points of a file in order, at most MAX_POINTS; none if there is no such file."""
    try:
        expect_plain(path, alone=False)
        text = path.read_text(encoding="ascii", errors="replace")
    except (OSError, CrawlFolderError):
        return []
    points: list[ProgressPoint] = []
    for line in text.split("\n"):
        point = ProgressPoint.of_line(line)
        if point is not None:
            _put(points, point)
    return thinned(points)


def thinned(points: list[ProgressPoint]) -> list[ProgressPoint]:
    """Reduce the points to at most MAX_POINTS: the first of every interval of each epoch, and its last."""
    epochs = list(dict.fromkeys(point.epoch for point in points))[-_MAX_EPOCHS:]
    selected: list[ProgressPoint] = []
    for epoch in epochs:
        own = [point for point in points if point.epoch == epoch]
        share = _OF_LAST_EPOCH if epoch == epochs[-1] else (MAX_POINTS - _OF_LAST_EPOCH) // (len(epochs) - 1)
        spacing = _spacing(own, own[-1], share)
        firsts = {point.position // spacing: point for point in reversed(own[:-1])}
        selected += [*reversed(firsts.values()), own[-1]]
    return selected


def _spacing(own: list[ProgressPoint], last: ProgressPoint, max_points: int = _OF_LAST_EPOCH) -> int:
    """Return the least power of two that divides the positions of an epoch into at most `max_points` intervals."""
    spacing = 1
    while last.position // spacing - own[0].position // spacing + 2 > max_points:
        spacing *= 2
    return spacing


def _put(points: list[ProgressPoint], point: ProgressPoint) -> None:
    """Append a point, and remove the points that do not precede it: they are obsolete."""
    while points and (points[-1].position, points[-1].epoch) >= (point.position, point.epoch):
        points.pop()
    points.append(point)


def _append(path: Path, line: str) -> None:
    out = open_plain(path, os.O_WRONLY | os.O_APPEND)
    try:
        append_whole(out, line.encode("ascii"), os.fstat(out).st_size)
    finally:
        os.close(out)
