"""course.jsonl: correct, of limited size, and no crawl fails because of it."""

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

from orienteer.store import progress_points as module
from orienteer.store.progress_points import MAX_POINTS, ProgressHistory, ProgressPoint, read_progress, thinned


def point(position: int, epoch: int = 0, **changed: Any) -> ProgressPoint:
    values: dict[str, Any] = {
        "epoch": epoch, "position": position, "n_done": position, "lower": 0.25, "upper": 0.75, "blocked": 0.0,
        "pages_per_s": 9.5, "time": 1e9 + position,
    }  # fmt: skip
    return ProgressPoint(**(values | changed))


def positions(path: Path) -> list[int]:
    return [found.position for found in read_progress(path)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "course.jsonl"


def test_points_are_read_as_they_were_written(path: Path) -> None:
    progress_points = ProgressHistory(path, 0)
    points = [point(0), point(5, lower=1 / 3, upper=1 / 3), point(9, n_on_topic=4)]
    for added in points:
        progress_points.add(added)
    assert read_progress(path) == points
    assert ProgressHistory(path, 9).points == points


def test_measurements_are_validated_and_optional(path: Path) -> None:
    points = [point(0), point(5, measured=0.6), point(9, measured=0.61, claimed=0.5)]
    progress_points = ProgressHistory(path, 0)
    for added in points:
        progress_points.add(added)
    assert read_progress(path) == points
    older = [json.loads(line) for line in path.read_text().splitlines()]
    for values in older:
        del values["measured"], values["claimed"]
    path.write_text("".join(json.dumps(values) + "\n" for values in older))
    assert read_progress(path) == [point(0), point(5), point(9)]
    path.write_text(point(3, measured=1.5).line() + point(4, claimed=-0.1).line() + point(5).line())
    assert positions(path) == [5]


@given(steps=st.lists(st.integers(1, 5000), min_size=1, max_size=1500))
def test_thinning_keeps_the_first_and_the_last_point(steps: list[int]) -> None:
    points = [point(0)]
    for step in steps:
        points.append(point(points[-1].position + step))
    selected = thinned(points)
    assert len(selected) <= MAX_POINTS // 2 + 12
    assert selected == sorted(set(selected) & set(points), key=lambda added: added.position)
    assert (selected[0], selected[-1]) == (points[0], points[-1])
    assert thinned(selected) == selected
    if len(points) > 512:
        widest = max(after.position - before.position for before, after in itertools.pairwise(selected))
        assert widest <= 4 * (points[-1].position / 512) + max(steps), "no interval is left out"


@given(n_points=st.lists(st.integers(1, 700), min_size=1, max_size=60))
def test_epochs_share_the_limit(n_points: list[int]) -> None:
    """The last epoch has half of the points, the others share the other half, and very old ones have none."""
    positions = iter(range(sum(n_points)))
    points = [point(next(positions), epoch) for epoch, n in enumerate(n_points) for _ in range(n)]
    selected = thinned(points)
    assert len(selected) <= MAX_POINTS
    epochs = list(dict.fromkeys(added.epoch for added in selected))
    assert epochs == list(range(len(n_points)))[-len(epochs) :]
    assert len(epochs) == min(len(n_points), 31)
    for epoch in epochs:
        own, whole = ([added for added in some if added.epoch == epoch] for some in (selected, points))
        assert (own[0], own[-1]) == (whole[0], whole[-1])


def test_a_long_crawl_has_a_short_file(path: Path) -> None:
    progress_points = ProgressHistory(path, 0)
    for position in range(0, 300_000, 30):
        progress_points.add(point(position))
    progress_points.add(point(300_000), is_last=True)
    found = read_progress(path)
    assert 200 < len(found) <= 512
    assert (found[0].position, found[-1].position) == (0, 300_000)
    assert len(path.read_text().splitlines()) <= 2 * MAX_POINTS
    assert path.stat().st_size < 400_000
    assert len(progress_points.points) <= 2 * MAX_POINTS


def test_the_last_point_of_a_run_is_written(path: Path) -> None:
    progress_points = ProgressHistory(path, 0)
    for position in range(5_000):
        progress_points.add(point(position))
    before = positions(path)[-1]
    progress_points.add(point(5_001), is_last=True)
    assert before < positions(path)[-1] == 5_001
    again = ProgressHistory(path, 5_001)
    again.add(point(5_001))
    assert positions(path)[-1] == 5_001
    again.add(point(5_900))
    assert positions(path)[-1] == 5_900


def test_unacknowledged_points_are_removed(path: Path) -> None:
    """A killed crawl continues before the last point."""
    progress_points = ProgressHistory(path, 0)
    for position in (0, 10, 20, 30):
        progress_points.add(point(position))
    again = ProgressHistory(path, 15)
    assert positions(path) == [0, 10, 20, 30], "nothing is written before the next point"
    again.add(point(17, lower=0.5))
    assert positions(path) == [0, 10, 17]


def test_a_smaller_position_removes_later_points(path: Path) -> None:
    path.write_text("".join(point(position).line() for position in (0, 10, 20, 15, 16)))
    assert positions(path) == [0, 10, 15, 16]


BAD = (
    "", "{", "[]", "null", "7", "{}", '{"epoch":0}', "\x00\xff", "[" * 900, "x" * 5000,
    point(7, lower=0.8, upper=0.2).line(), point(7, upper=1.5).line(), point(7, lower=-0.1).line(),
    point(-1).line(), point(7, time=float("nan")).line(), point(7, pages_per_s=float("inf")).line(),
    point(7, n_done="many").line(), point(7, lower="0.3").line(), point(7, time=10**400).line(),
)  # fmt: skip


@pytest.mark.parametrize("line", BAD)
def test_invalid_lines_are_left_out(path: Path, line: str) -> None:
    path.write_bytes((point(3).line() + line.rstrip("\n") + "\n" + point(9).line()).encode("latin-1"))
    assert positions(path) == [3, 9]


def test_a_partial_line_of_a_killed_process_is_ignored(path: Path) -> None:
    whole = "".join(point(position).line() for position in (0, 10, 20))
    for n_bytes in range(len(whole)):
        path.write_text(whole[:n_bytes])
        n_whole = whole[:n_bytes].count("\n")
        assert len(positions(path)) in (n_whole, n_whole + 1), "the last may be whole but for its end"
        progress_points = ProgressHistory(path, 10)
        progress_points.add(point(11))
        assert positions(path)[-1] == 11
        assert path.read_text().endswith("\n")


def test_write_errors_are_ignored(tmp_path: Path) -> None:
    progress_points = ProgressHistory(tmp_path / "nowhere" / "course.jsonl", 0)
    for position in range(2 * MAX_POINTS + 100):
        progress_points.add(point(position))
    assert len(progress_points.points) <= 2 * MAX_POINTS
    (tmp_path / "nowhere").mkdir()
    progress_points.add(point(6000))
    found = positions(progress_points.path)
    assert (found[0], found[-1]) == (0, 6000), "earlier points are written now"


def test_a_full_disk_leaves_no_partial_line(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    progress_points = ProgressHistory(path, 0)
    progress_points.add(point(0))
    progress_points.add(point(1))
    write = os.write

    def half(descriptor: int, data: bytes) -> int:
        if len(data) < 50:  # the other half
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(descriptor, data[:-20])

    def full(path: Path) -> Any:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", half)
        progress_points.add(point(2))
        assert positions(path) == [0, 1]
        patch.setattr(module, "replaced_inside", full)
        progress_points.add(point(3))
        assert positions(path) == [0, 1]
    progress_points.add(point(4))
    assert positions(path) == [0, 1, 2, 3, 4]


def test_a_missing_file_has_no_points(tmp_path: Path) -> None:
    assert read_progress(tmp_path / "course.jsonl") == []
    assert read_progress(tmp_path) == []
