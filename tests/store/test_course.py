"""course.jsonl: true to the crawl, never long, never in the way."""

from __future__ import annotations

import errno
import itertools
import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orienteer.store import course as module
from orienteer.store.course import MAX_POINTS, Course, CoursePoint, read_course, thinned


def point(position: int, epoch: int = 0, **changed: Any) -> CoursePoint:
    values: dict[str, Any] = {
        "epoch": epoch, "position": position, "n_done": position, "lower": 0.25, "upper": 0.75, "blocked": 0.0,
        "pages_per_s": 9.5, "time": 1e9 + position,
    }  # fmt: skip
    return CoursePoint(**(values | changed))


def positions(path: Path) -> list[int]:
    return [found.position for found in read_course(path)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "course.jsonl"


def test_points_are_read_as_they_were_written(path: Path) -> None:
    course = Course(path, 0)
    points = [point(0), point(5, lower=1 / 3, upper=1 / 3), point(9, n_on_topic=4)]
    for each in points:
        course.add(each)
    assert read_course(path) == points
    assert Course(path, 9).points == points


def test_what_is_measured_stays_inside_and_older_files_have_none(path: Path) -> None:
    points = [point(0), point(5, measured=0.6), point(9, measured=0.61, claimed=0.5)]
    course = Course(path, 0)
    for each in points:
        course.add(each)
    assert read_course(path) == points
    older = [json.loads(line) for line in path.read_text().splitlines()]
    for values in older:
        del values["measured"], values["claimed"]
    path.write_text("".join(json.dumps(values) + "\n" for values in older))
    assert read_course(path) == [point(0), point(5), point(9)]
    path.write_text(point(3, measured=1.5).line() + point(4, claimed=-0.1).line() + point(5).line())
    assert positions(path) == [5]


@given(steps=st.lists(st.integers(1, 5000), min_size=1, max_size=1500))
def test_few_are_kept_of_many_from_the_first_to_the_last(steps: list[int]) -> None:
    points = [point(0)]
    for step in steps:
        points.append(point(points[-1].position + step))
    kept = thinned(points)
    assert len(kept) <= MAX_POINTS // 2 + 12
    assert kept == sorted(set(kept) & set(points), key=lambda each: each.position)
    assert (kept[0], kept[-1]) == (points[0], points[-1])
    assert thinned(kept) == kept
    if len(points) > 512:
        widest = max(after.position - before.position for before, after in itertools.pairwise(kept))
        assert widest <= 4 * (points[-1].position / 512) + max(steps), "no stretch is left out"


@given(n_points=st.lists(st.integers(1, 700), min_size=1, max_size=60))
def test_epochs_share_what_is_kept(n_points: list[int]) -> None:
    """The last has half of it, the others an equal part of the rest, and very old ones none."""
    positions = iter(range(sum(n_points)))
    points = [point(next(positions), epoch) for epoch, n in enumerate(n_points) for _ in range(n)]
    kept = thinned(points)
    assert len(kept) <= MAX_POINTS
    epochs = list(dict.fromkeys(each.epoch for each in kept))
    assert epochs == list(range(len(n_points)))[-len(epochs) :]
    assert len(epochs) == min(len(n_points), 31)
    for epoch in epochs:
        own, whole = ([each for each in some if each.epoch == epoch] for some in (kept, points))
        assert (own[0], own[-1]) == (whole[0], whole[-1])


def test_a_long_crawl_has_a_short_file(path: Path) -> None:
    course = Course(path, 0)
    for position in range(0, 300_000, 30):
        course.add(point(position))
    course.add(point(300_000), is_last=True)
    found = read_course(path)
    assert 200 < len(found) <= 512
    assert (found[0].position, found[-1].position) == (0, 300_000)
    assert len(path.read_text().splitlines()) <= 2 * MAX_POINTS
    assert path.stat().st_size < 400_000
    assert len(course.points) <= 2 * MAX_POINTS


def test_the_last_point_of_a_run_is_kept_and_the_next_run_goes_on(path: Path) -> None:
    course = Course(path, 0)
    for position in range(5_000):
        course.add(point(position))
    before = positions(path)[-1]
    course.add(point(5_001), is_last=True)
    assert before < positions(path)[-1] == 5_001
    again = Course(path, 5_001)
    again.add(point(5_001))
    assert positions(path)[-1] == 5_001
    again.add(point(5_900))
    assert positions(path)[-1] == 5_900


def test_what_was_not_acknowledged_is_taken_back(path: Path) -> None:
    """A crawl that was killed goes on before the last point."""
    course = Course(path, 0)
    for position in (0, 10, 20, 30):
        course.add(point(position))
    again = Course(path, 15)
    assert positions(path) == [0, 10, 20, 30], "nothing is written before there is something to say"
    again.add(point(17, lower=0.5))
    assert positions(path) == [0, 10, 17]


def test_a_later_line_takes_back_what_stood_behind_it(path: Path) -> None:
    path.write_text("".join(point(position).line() for position in (0, 10, 20, 15, 16)))
    assert positions(path) == [0, 10, 15, 16]


BAD = (
    "", "{", "[]", "null", "7", "{}", '{"epoch":0}', "\x00\xff", "[" * 900, "x" * 5000,
    point(7, lower=0.8, upper=0.2).line(), point(7, upper=1.5).line(), point(7, lower=-0.1).line(),
    point(-1).line(), point(7, time=float("nan")).line(), point(7, pages_per_s=float("inf")).line(),
    point(7, n_done="many").line(), point(7, lower="0.3").line(), point(7, time=10**400).line(),
)  # fmt: skip


@pytest.mark.parametrize("line", BAD)
def test_what_is_no_point_is_left_out(path: Path, line: str) -> None:
    path.write_bytes((point(3).line() + line.rstrip("\n") + "\n" + point(9).line()).encode("latin-1"))
    assert positions(path) == [3, 9]


def test_half_a_line_of_a_process_that_was_killed_costs_nothing_else(path: Path) -> None:
    whole = "".join(point(position).line() for position in (0, 10, 20))
    for n_bytes in range(len(whole)):
        path.write_text(whole[:n_bytes])
        n_whole = whole[:n_bytes].count("\n")
        assert len(positions(path)) in (n_whole, n_whole + 1), "the last may be whole but for its end"
        course = Course(path, 10)
        course.add(point(11))
        assert positions(path)[-1] == 11
        assert path.read_text().endswith("\n")


def test_where_it_cannot_be_written_nothing_else_happens(tmp_path: Path) -> None:
    course = Course(tmp_path / "nowhere" / "course.jsonl", 0)
    for position in range(2 * MAX_POINTS + 100):
        course.add(point(position))
    assert len(course.points) <= 2 * MAX_POINTS
    (tmp_path / "nowhere").mkdir()
    course.add(point(6000))
    found = positions(course.path)
    assert (found[0], found[-1]) == (0, 6000), "what could not be written then is written now"


def test_a_disk_that_is_full_for_a_while_leaves_no_half_line(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    course = Course(path, 0)
    course.add(point(0))
    course.add(point(1))
    write = os.write

    def half(descriptor: int, data: bytes) -> int:
        return write(descriptor, data[: len(data) // 2])

    def full(path: Path) -> Any:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", half)
        course.add(point(2))
        assert positions(path) == [0, 1]
        patch.setattr(module, "replaced_inside", full)
        course.add(point(3))
        assert positions(path) == [0, 1]
    course.add(point(4))
    assert positions(path) == [0, 1, 2, 3, 4]


def test_no_file_is_no_course(tmp_path: Path) -> None:
    assert read_course(tmp_path / "course.jsonl") == []
    assert read_course(tmp_path) == []
