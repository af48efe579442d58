"""course.jsonl: how a crawl went, a point a line, so that it can be drawn from its beginning on, also afterwards.

    {"epoch":0,"position":812,"n_done":790,"lower":0.61,"upper":0.93,"blocked":0.01,"pages_per_s":9.5,"time":1769879109.1}

It is derived, and never the truth: no crawl ends because it cannot be written, and lines that cannot be read are left
out. Lines are appended; a position that is not behind all others takes back what was said from there on, since a crawl
that was killed goes on from what was acknowledged. Of each epoch so many points are kept as are worth looking at: the
spacing between them doubles as it grows. The file is written anew when it holds twice as many lines as that.
"""

from __future__ import annotations

import json
import math
import os
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from orienteer.errors import CrawlFolderError
from orienteer.files.plain import expect_plain, open_plain, replaced_inside

MAX_POINTS = 1_000
_OF_LAST_EPOCH = 512  # the epochs before it share the rest
_LEAST_OF_AN_EPOCH = 16
_MAX_EPOCHS = 1 + (MAX_POINTS - _OF_LAST_EPOCH) // _LEAST_OF_AN_EPOCH
_MAX_LINE_CHARS = 1_000


@dataclass(frozen=True)
class CoursePoint:
    """Where a crawl stood at a moment, in seconds since 1970.

    `position` is that of the next event. `n_done` counts the pages of the epoch that a host was asked for. `n_on_topic`
    is None where the crawl has no topic. `measured` is the coverage as random walks estimate it, None before they have;
    `claimed` what they say is covered at least, None while they do not.
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
    def of_line(cls, line: str) -> CoursePoint | None:
        """None for what is no point, or none that can be."""
        if len(line) > _MAX_LINE_CHARS:
            return None
        try:
            values = json.loads(line)
            older = {"measured": None, "claimed": None}  # earlier versions did not tell it
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


class Course:
    """The course of a crawl, to be added to; `next_position` is where the crawl goes on."""

    def __init__(self, path: Path, next_position: int) -> None:
        self.path = path
        self.points = [point for point in read_course(path) if point.position <= next_position]
        self._n_lines: int | None = None  # in the file; None where it must be written anew

    def add(self, point: CoursePoint, is_last: bool = False) -> None:
        """The crawl stands here now. One too close to the point before is left out, unless it may be the last."""
        before = self.points[-1] if self.points else None
        if before is not None and before.epoch == point.epoch and not is_last:
            spacing = _spacing([other for other in self.points if other.epoch == point.epoch], point)
            if before.position // spacing == point.position // spacing:
                return
        _put(self.points, point)
        try:
            if self._n_lines is None or self._n_lines >= 2 * MAX_POINTS:
                self._write_anew()
            else:
                _append(self.path, point.line())
                self._n_lines += 1
        except (OSError, CrawlFolderError):
            self._n_lines = None  # half a line may stand there

    def _write_anew(self) -> None:
        self.points = thinned(self.points)
        with replaced_inside(self.path) as new:
            new.write_text("".join(point.line() for point in self.points), encoding="ascii")
        self._n_lines = len(self.points)


def read_course(path: Path) -> list[CoursePoint]:
    """The points of a course in order, at most MAX_POINTS; none where there is no such file."""
    try:
        expect_plain(path, alone=False)
        text = path.read_text(encoding="ascii", errors="replace")
    except (OSError, CrawlFolderError):
        return []
    points: list[CoursePoint] = []
    for line in text.split("\n"):
        point = CoursePoint.of_line(line)
        if point is not None:
            _put(points, point)
    return thinned(points)


def thinned(points: list[CoursePoint]) -> list[CoursePoint]:
    """As many of the points as are kept: of each epoch the first of every stretch, and the last."""
    epochs = list(dict.fromkeys(point.epoch for point in points))[-_MAX_EPOCHS:]
    kept: list[CoursePoint] = []
    for epoch in epochs:
        own = [point for point in points if point.epoch == epoch]
        share = _OF_LAST_EPOCH if epoch == epochs[-1] else (MAX_POINTS - _OF_LAST_EPOCH) // (len(epochs) - 1)
        spacing = _spacing(own, own[-1], share)
        firsts = {point.position // spacing: point for point in reversed(own[:-1])}
        kept += [*reversed(firsts.values()), own[-1]]
    return kept


def _spacing(own: list[CoursePoint], last: CoursePoint, n_wanted: int = _OF_LAST_EPOCH) -> int:
    """The least power of two that divides the positions of an epoch into few enough stretches."""
    spacing = 1
    while last.position // spacing - own[0].position // spacing + 2 > n_wanted:
        spacing *= 2
    return spacing


def _put(points: list[CoursePoint], point: CoursePoint) -> None:
    """Add a point behind those that come before it; the others are not true any more."""
    while points and (points[-1].position, points[-1].epoch) >= (point.position, point.epoch):
        points.pop()
    points.append(point)


def _append(path: Path, line: str) -> None:
    out = open_plain(path, os.O_WRONLY | os.O_APPEND)
    try:
        if os.write(out, line.encode("ascii")) < len(line):
            raise OSError("there is no room for the whole line")
    finally:
        os.close(out)
