"""What processes of tests do: some do as they are told, some die of it."""

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
    """Twice the number, and who has worked it out."""
    yield lambda number: (2 * number + plus, os.getpid())


@contextmanager
def meeting(place: Path, n_processes: int) -> Iterator[Callable[[int], int]]:
    """Nobody begins before so many processes are there."""
    (place / str(os.getpid())).touch()

    def work(number: int) -> int:
        while len(list(place.iterdir())) < n_processes:
            time.sleep(0.01)
        return number

    yield work


@contextmanager
def deadly(numbers: set[int], mark: Path) -> Iterator[Callable[[int], int]]:
    """Some numbers kill; each time a line is written."""

    def work(number: int) -> int:
        if number in numbers:
            with mark.open("a") as file:
                file.write(f"{number}\n")
            os.kill(os.getpid(), signal.SIGKILL)
        return number

    yield work


@contextmanager
def incapable(every: int) -> Iterator[Callable[[int], int]]:
    """Some numbers cannot be done."""

    def work(number: int) -> int:
        if number % every == 0:
            raise CannotBeDoneError(f"{number} is refused")
        return number

    yield work


@contextmanager
def hungry() -> Iterator[Callable[[int], int]]:
    """There is not enough memory for the number 40."""

    def work(number: int) -> int:
        if number == 40:
            raise MemoryError
        return number

    yield work


@contextmanager
def complaining() -> Iterator[Callable[[int], int]]:
    def work(number: int) -> int:
        match number:
            case 100:
                raise InputError("100 is too much")
            case 101:
                raise MissingExtraError("counting that far", "abacus", "counting")
            case 102:
                raise KeyError("nobody expects this")
        return number

    yield work


@contextmanager
def long_texts(n_chars: int) -> Iterator[Callable[[str], str]]:
    """What goes in and what comes out is more than a channel holds."""
    yield lambda text: text[:1] * n_chars


@contextmanager
def refusing() -> Iterator[Callable[[int], int]]:
    raise InputError("there is nothing here to be read")
    yield


@contextmanager
def stillborn() -> Iterator[Callable[[int], int]]:
    os.kill(os.getpid(), signal.SIGKILL)
    yield lambda number: number


@contextmanager
def only_one(mark: Path) -> Iterator[Callable[[int], int]]:
    """The first process gets ready, and no other; it waits for five that do not."""
    try:
        mark.mkdir()
    except FileExistsError:
        (mark / str(os.getpid())).touch()
        os.kill(os.getpid(), signal.SIGKILL)

    def work(number: int) -> int:
        while number > 100 and len(list(mark.iterdir())) < 5:
            time.sleep(0.01)
        return number

    yield work


def children(parent: int) -> list[int]:
    """The processes that another one has started as `Child`, and that live; not the one of this process that reads
    documents, which waits for more of them."""
    apart, found = limited._reader._child, []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, IndexError):  # it has just ended
            state, parent_of_it = (folder / "stat").read_text().rpartition(")")[2].split()[:2]
            is_child = int(parent_of_it) == parent and state != "Z"
            is_named = (folder / "comm").read_bytes().strip() == CHILD_NAME
            if is_child and (is_named or b"orienteer.processes.child" in (folder / "cmdline").read_bytes()):
                found.append(int(folder.name))
    return [pid for pid in found if apart is None or pid != apart.pid]


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
