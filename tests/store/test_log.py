"""log.jsonl: every line is an object, its size is limited, and no crawl fails because of it."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from typing import Any

import pytest

from orienteer.store.log import Log, NoLog


def new_log(folder: Path, **settings: Any) -> Log:
    return Log(folder / "log.jsonl", clock=lambda: 1_769_879_109.1239, **settings)


def lines_of(path: Path) -> list[dict[str, Any]]:
    text = path.read_text(encoding="ascii")
    assert text.endswith("\n")
    return [json.loads(line) for line in text.split("\n")[:-1]]


def test_a_line_says_when_and_what(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    log.note("fetch", url="http://a.test/é\u2028\x1b\n", status=200, duration_s=0.5, seeds=("a", "b"), until=None)
    assert not log.path.exists(), "nothing is written yet"
    log.flush()
    assert lines_of(log.path) == [
        {
            "time": "2026-01-31T17:05:09.123Z", "event": "fetch", "url": "http://a.test/é\u2028\x1b\n", "status": 200,
            "duration_s": 0.5, "seeds": ["a", "b"], "until": None,
        }
    ]  # fmt: skip
    assert "\x1b" not in log.path.read_text(), "a terminal finds nothing to obey"
    log.close()


def test_it_is_appended_to(tmp_path: Path) -> None:
    for k in range(3):
        log = new_log(tmp_path)
        log.note("start", run=k)
        log.flush()
        log.flush()
        log.note("end", run=k)
        log.close()
    assert [(line["event"], line["run"]) for line in lines_of(log.path)] == [
        (event, run) for run in range(3) for event in ("start", "end")
    ]


def test_a_closed_log_is_continued(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    for k in range(2):
        log.note("x", k=k)
        log.close()
        log.close()
    assert [line["k"] for line in lines_of(log.path)] == [0, 1]


def test_a_partial_line_of_a_killed_process_stays(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    log.path.write_text('{"time":"2026-01-01T00:00:00.000Z","ev')
    log.note("start")
    log.close()
    half, whole, nothing = log.path.read_text().split("\n")
    assert half.endswith('"ev')
    assert json.loads(whole)["event"] == "start"
    assert nothing == ""


def test_a_file_that_is_full_becomes_the_old_one(tmp_path: Path) -> None:
    log = new_log(tmp_path, max_file_bytes=1000)
    for k in range(100):
        log.note("x", k=k)
        log.flush()
    log.close()
    assert {path.name for path in tmp_path.iterdir()} == {"log.jsonl", "log.1.jsonl"}
    old, new = (lines_of(path) for path in (log.old_path, log.path))
    assert [line["k"] for line in old + new] == list(range(100 - len(old + new), 100))
    assert 1000 <= log.old_path.stat().st_size < 1100
    assert log.path.stat().st_size < 1000


def test_write_errors_are_ignored(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    log.path.mkdir()
    for _ in range(3):
        log.note("x")
        log.note("y")
        log.flush()
    log.path.rmdir()
    log.note("z")
    log.close()
    lost, z = lines_of(log.path)
    assert (lost["event"], lost["n_lines"], z["event"]) == ("lines lost", 6, "z")


def test_a_disk_that_is_full_leaves_no_half_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = new_log(tmp_path)
    log.note("before")
    log.flush()
    write = os.write

    def full(descriptor: int, data: Any) -> int:
        if len(data) < 10:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(descriptor, data[: len(data) // 2])

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        log.note("lost")
        log.flush()
    log.note("after")
    log.close()
    assert [line["event"] for line in lines_of(log.path)] == ["before", "lines lost", "after"]


def test_a_log_that_cannot_be_rotated_grows(tmp_path: Path) -> None:
    log = new_log(tmp_path, max_file_bytes=100)
    log.old_path.mkdir()
    for k in range(5):
        log.note("x", k=k)
        log.flush()
    log.close()
    assert [line["k"] for line in lines_of(log.path)] == list(range(5))


def test_no_log_writes_no_file(tmp_path: Path) -> None:
    log = NoLog(tmp_path / "log.jsonl")
    log.note("x")
    log.flush()
    log.close()
    assert list(tmp_path.iterdir()) == []
