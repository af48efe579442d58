"""Functions for child processes in tests; some of them crash."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from orienteer.errors import InputError, MissingExtraError
from orienteer.extract.documents import limited
from orienteer.processes.pool import CannotBeDoneError
from tests.ready_process import CHILD_NAME


@contextmanager
def doubling(plus: int) -> Iterator[Callable[[int], tuple[int, int]]]:
    """Return twice the number, and the pid of the process."""
    yield lambda number: (2 * number + plus, os.getpid())


@contextmanager
def meeting(folder: Path, n_processes: int) -> Iterator[Callable[[int], int]]:
    """Wait until so many processes have started."""
    (folder / str(os.getpid())).touch()

    def work(number: int) -> int:
        while len(list(folder.iterdir())) < n_processes:
            time.sleep(0.01)
        return number

    yield work


@contextmanager
def killing(numbers: set[int], log: Path) -> Iterator[Callable[[int], int]]:
    """Some numbers kill the process, after writing a line to the log."""

    def work(number: int) -> int:
        if number in numbers:
            with log.open("a") as file:
                file.write(f"{number}\n")
            os.kill(os.getpid(), signal.SIGKILL)
        return number

    yield work


@contextmanager
def partly_failing(every: int) -> Iterator[Callable[[int], int]]:
    """Some numbers cannot be processed."""

    def work(number: int) -> int:
        if number % every == 0:
            raise CannotBeDoneError(f"{number} is refused")
        return number

    yield work


@contextmanager
def out_of_memory() -> Iterator[Callable[[int], int]]:
    """The number 40 needs too much memory."""

    def work(number: int) -> int:
        if number == 40:
            raise MemoryError
        return number

    yield work


@contextmanager
def raising() -> Iterator[Callable[[int], int]]:
    def work(number: int) -> int:
        match number:
            case 100:
                raise InputError("100 is too much")
            case 101:
                raise MissingExtraError("counting that far", "abacus", "counting")
            case 102:
                raise KeyError("unexpected")
        return number

    yield work


@contextmanager
def long_texts(n_chars: int) -> Iterator[Callable[[str], str]]:
    """Items and results are larger than the buffer of a pipe."""
    yield lambda text: text[:1] * n_chars


@contextmanager
def refusing() -> Iterator[Callable[[int], int]]:
    raise InputError("there is nothing here to be read")
    yield


@contextmanager
def only_one(log: Path) -> Iterator[Callable[[int], int]]:
    """Only the first process gets ready; it waits for three others that crash at start."""
    try:
        log.mkdir()
    except FileExistsError:
        (log / str(os.getpid())).touch()
        os.kill(os.getpid(), signal.SIGKILL)

    def work(number: int) -> int:
        while number > 100 and len(list(log.iterdir())) < 3:
            time.sleep(0.01)
        return number

    yield work


def children(ancestor: int) -> list[int]:
    """Return the living `Child` processes that a process has started, and those that these have forked, without the one
    that parses documents, which stays alive."""
    parents: dict[int, int] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, IndexError):  # it has just ended
            state, parent = (folder / "stat").read_text().rpartition(")")[2].split()[:2]
            is_named = (folder / "comm").read_bytes().strip() == CHILD_NAME
            if state != "Z" and (is_named or b"orienteer.processes.child" in (folder / "cmdline").read_bytes()):
                parents[int(folder.name)] = int(parent)
    found = [pid for pid, parent in parents.items() if parent == ancestor]
    for pid in found:
        found += [forked for forked, parent in parents.items() if parent == pid]
    return [pid for pid in found if pid not in limited._reader.supervisor.pids]


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
