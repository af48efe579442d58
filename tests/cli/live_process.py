"""`orienteer` as a process that is watched while it runs: signals, pipes, a terminal."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from orienteer.fake_web.server import FakeWeb
from tests.cli.run import Done
from tests.ready_process import PATIENCE_S, ReadyPopen

COMMAND = [sys.executable, "-m", "orienteer"]

_BUSY = re.compile(r"preparing( \(.*\))?…\n?")

# Everything but line ends that a terminal would obey.
CONTROLS = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]")


def options(web: FakeWeb, *more: object) -> list[str]:
    """A crawl of the fake web that is in a hurry."""
    polite = ["--connect-to", web.address, "--delay", "0", "--connections", "8", "--ignore-robots"]
    return polite + [str(option) for option in more]


@contextlib.contextmanager
def started(*arguments: object, cwd: Path, **environment: str) -> Iterator[subprocess.Popen[str]]:
    """The command, under way; killed if it should outlive the with-statement."""
    process = ReadyPopen(
        [*COMMAND, *map(str, arguments)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, cwd=cwd, env={**os.environ, "COLUMNS": "100", **environment},
    )  # fmt: skip
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def ended(process: subprocess.Popen[str]) -> Done:
    """What it said, once it ends by itself."""
    stdout, stderr = process.communicate(timeout=PATIENCE_S)
    assert "Traceback" not in stderr
    assert "Exception ignored" not in stderr
    return Done(process.returncode, stdout, without_patience(stderr))


def without_patience(stderr: str) -> str:
    """What was said, but for the line that a busy machine is prepared slowly."""
    return _BUSY.sub("", stderr, count=1)


def wait_until(happened: Callable[[], Any]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not happened():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.02)


def signalled_until_it_ends(process: subprocess.Popen[str], at_most: int = 20) -> None:
    """Ctrl-C again and again: two that come close together may count as one."""
    for _ in range(at_most):
        process.send_signal(signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(1.0)
            return
    raise AssertionError(f"it goes on after {at_most} signals")


class Terminal:
    """The command in a terminal of its own; `written` is all that it has written there."""

    def __init__(self, *arguments: object, cwd: Path, rows: int = 40, columns: int = 100) -> None:
        self.written = ""
        self._read_to = 0
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        environment = {key: value for key, value in os.environ.items() if key not in ("COLUMNS", "LINES", "NO_COLOR")}
        self.process = ReadyPopen(
            [*COMMAND, *map(str, arguments)], stdin=slave, stdout=slave, stderr=slave, cwd=cwd,
            env={**environment, "TERM": "xterm-256color", "LANG": "C.UTF-8"}, start_new_session=True,
        )  # fmt: skip
        os.close(slave)

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        self.hang_up()

    def read_until(self, expected: str) -> None:
        """Read on until it has written that, behind what was read for before."""
        wait_until(lambda: expected in self.written[self._read_to :] or not self._read())
        assert expected in self.written[self._read_to :], f"it ended without {expected!r}:\n{self.written}"
        self._read_to = self.written.index(expected, self._read_to) + len(expected)

    def read_to_the_end(self) -> int:
        """Read until the process has ended; its exit code."""
        while self._read():
            pass
        return self.process.wait(PATIENCE_S)

    def press(self, keys: str) -> None:
        os.write(self._master, keys.encode())

    def hang_up(self) -> None:
        """The window is closed."""
        if self._master >= 0:
            os.close(self._master)
            self._master = -1

    def _read(self) -> bool:
        try:
            part = os.read(self._master, 1 << 16)
        except OSError:  # nobody holds the other side any more
            part = b""
        self.written += part.decode(errors="replace")
        return part != b""


_PIECES = re.compile(r"\x1b\[(\??[0-9;]*)([A-Za-z])|([\r\n])|([^\x1b\r\n]+)|(\x1b)")


def screen(written: str) -> list[str]:
    """The lines that are to be seen after all that was written; knows what Rich writes, and refuses the rest.

    Left out is that a busy machine is prepared slowly.
    """
    lines, row, column = [""], 0, 0
    for argument, order, end, text, unknown in _PIECES.findall(written):
        assert not unknown, "an escape sequence of a kind that is not known here"
        if end == "\n":
            row += 1
            lines += [""] * (row + 1 - len(lines))
        elif end == "\r":
            column = 0
        elif text:
            before = lines[row].ljust(column)
            lines[row] = before[:column] + text + before[column + len(text) :]
            column += len(text)
        elif order == "A":
            row = max(row - int(argument or 1), 0)
        elif order == "K":
            assert argument == "2"
            lines[row] = ""
        else:
            assert order == "m" or argument == "?25", f"what is {argument}{order}?"
    return [line.rstrip() for line in lines if not _BUSY.match(line)]
