"""The supervisor: crashes are blamed on the task that caused them, limits hold, and restarts end."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest

from orienteer.errors import ProcessError
from orienteer.processes.child import TaskLimits
from orienteer.processes.supervisor import MAX_START_FAILURES, Crash, CrashRecord, ProcessTask, StartLimit, Supervisor
from tests.processes.jobs import is_alive

pytestmark = pytest.mark.usefixtures("ready_child_processes")

LIMITS = TaskLimits(memory_bytes=1 << 30, cpu_s=1, wall_s=600.0, file_bytes=1 << 20)


class Order(ProcessTask):
    def __init__(self, word: str) -> None:
        self.word = word

    def messages(self) -> tuple[bytes, ...]:
        return (self.word.encode(),)


def serve(channel: Connection, log: Path | None = None, limits: TaskLimits | None = None) -> None:
    """Obey orders; write down each before."""
    if limits is not None:
        limits.begin()
    channel.send_bytes(b"ready")
    while True:
        word = channel.recv_bytes().decode()
        if log is not None:
            with log.open("a") as file:
                file.write(word + "\n")
        if limits is not None:
            limits.begin_task()
        match word:
            case "die":
                os.kill(os.getpid(), signal.SIGKILL)
            case "compute":
                while True:
                    pass
            case "sleep":
                threading.Event().wait()
            case "allocate":
                bytearray(2 << 30)
            case "reply twice":
                channel.send_bytes(b"one")
        channel.send_bytes(word.encode())
        if word == "exit":
            os._exit(0)


def exit_at_once(channel: Connection) -> None:
    channel.send_bytes(b"ready")
    channel.recv_bytes()
    os._exit(0)


def die_at_start(channel: Connection, switch: Path) -> None:
    if not switch.exists():
        print("nothing works here", file=sys.stderr, flush=True)
        os._exit(1)
    serve(channel)


@contextmanager
def supervised(
    function: Callable[..., None], *arguments: Any, n_processes: int = 1, **settings: Any
) -> Iterator[Supervisor[Order]]:
    with closing(Supervisor[Order](function, arguments, n_processes, **settings)) as supervisor:
        yield supervisor


def words(log: Path) -> list[str]:
    return log.read_text().splitlines()


@pytest.mark.parametrize("max_in_flight", [1, 4])
def test_a_task_that_crashes_processes_fails_and_no_other_is_blamed(tmp_path: Path, max_in_flight: int) -> None:
    orders = [Order("die" if k == 5 else str(k)) for k in range(12)]
    with supervised(serve, tmp_path / "log", n_processes=2, max_in_flight=max_in_flight) as supervisor:
        for order in orders:
            supervisor.put(order)
        while not all(order.is_done for order in orders):
            supervisor.advance(None)
    assert orders[5].crash == Crash("killed by SIGKILL")
    assert [order.reply for order in orders if order is not orders[5]] == [
        order.word.encode() for order in orders if order is not orders[5]
    ]
    assert words(tmp_path / "log").count("die") == (2 if max_in_flight == 1 else 3)  # suspect at first, then alone


@pytest.mark.parametrize(("word", "limits", "why"), [
    ("compute", LIMITS, "it takes more than 1 s of CPU time"),
    ("sleep", TaskLimits(1 << 30, 10, 0.05, 1 << 20), "it takes more than 0 s"),
])  # fmt: skip
def test_a_task_that_exceeds_a_limit_fails_at_once(tmp_path: Path, word: str, limits: TaskLimits, why: str) -> None:
    with supervised(serve, tmp_path / "log", limits, limits=limits) as supervisor:
        assert supervisor.run(Order(word)).crash == Crash(why, exceeds_limit=True)
        assert supervisor.pids == []
    assert words(tmp_path / "log") == [word]


def test_memory_is_limited(tmp_path: Path) -> None:
    with supervised(serve, None, LIMITS, limits=LIMITS) as supervisor:
        assert supervisor.run(Order("allocate")).crash == Crash("MemoryError")
        assert supervisor.run(Order("next")).reply == b"next"


def test_a_process_may_exit_after_a_reply(tmp_path: Path) -> None:
    with supervised(serve, tmp_path / "log", max_in_flight=3) as supervisor:
        orders = [Order(word) for word in ("exit", "one", "exit", "two")]
        for order in orders:
            supervisor.put(order)
        while not all(order.is_done for order in orders):
            supervisor.advance(None)
        assert [order.crash for order in orders] == [None] * 4
        assert supervisor.n_started == 3


def test_processes_that_exit_without_a_reply_do_not_go_on_for_ever() -> None:
    with supervised(exit_at_once) as supervisor:
        assert supervisor.run(Order("any")).crash == Crash("ended with exit code 0")
        assert supervisor.n_started == 2


def test_a_reply_without_a_task_ends_the_process() -> None:
    """A process that an untrusted task controls cannot reply to the next task."""
    with supervised(serve) as supervisor:
        assert supervisor.run(Order("reply twice")).reply == b"one"
        while supervisor.pids:
            supervisor.advance(None)
        assert supervisor.run(Order("next")).reply == b"next"


def test_without_a_ready_process_a_task_raises_and_a_later_one_tries_again(tmp_path: Path) -> None:
    switch = tmp_path / "switch"
    with supervised(die_at_start, switch) as supervisor:
        for n_started in (MAX_START_FAILURES, MAX_START_FAILURES + 1):
            with pytest.raises(ProcessError, match="3 processes in a row crashed .*: nothing works here"):
                supervisor.run(Order("lost"))
            assert supervisor.n_started == n_started
        switch.touch()
        assert supervisor.run(Order("word")).reply == b"word"


def test_it_can_be_stopped_by_another_thread() -> None:
    with supervised(serve) as supervisor:
        supervisor.run(Order("begin"))
        [pid] = supervisor.pids
        timer = threading.Timer(0.05, supervisor.stop)
        timer.start()
        with pytest.raises(ProcessError, match="was stopped"):
            supervisor.run(Order("sleep"))
        timer.join()
        while is_alive(pid):
            time.sleep(0.01)


def test_an_item_is_suspect_before_it_is_refused() -> None:
    crashes = CrashRecord[str](suspect_after=2, refused_after=2)
    states = []
    for _ in range(4):
        states.append((crashes.is_suspect("page"), crashes.is_refused("page")))
        crashes.add("page")
    assert states == [(False, False), (False, False), (True, False), (True, False)]
    assert crashes.is_refused("page")
    assert not crashes.is_suspect("other")
    crashes.drop("page")
    assert not crashes.is_suspect("page")


def test_processes_that_crash_together_count_once() -> None:
    limit, before = StartLimit(), time.monotonic()
    for _ in range(5):
        limit.add_failure(before)
    assert not limit.is_reached
    for _ in range(MAX_START_FAILURES - 1):
        limit.add_failure(time.monotonic())
    assert limit.is_reached
    limit.allow_one()
    assert not limit.is_reached
    limit.add_failure(time.monotonic())
    assert limit.is_reached
    limit.reset()
    assert not limit.is_reached
