"""`orienteer` as a running process: signals, pipes, a terminal."""

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

from tests.cli.run import Done
from tests.fake_web.server import FakeWeb
from tests.ready_process import TEST_TIMEOUT_S, ReadyPopen

COMMAND = [sys.executable, "-m", "orienteer"]

_BUSY = re.compile(r"preparing( \(.*\))?…\n?")

# Control characters, except line ends.
CONTROLS = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]")


def options(web: FakeWeb, *more: object) -> list[str]:
    """Options of a fast crawl of the fake web."""
    polite = ["--connect-to", web.address, "--delay", "0", "--connections", "8", "--ignore-robots"]
    return polite + [str(option) for option in more]


@contextlib.contextmanager
def started(*arguments: object, cwd: Path, **environment: str) -> Iterator[subprocess.Popen[str]]:
    """Start the command; kill it if it outlives the `with` block."""
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
    """Wait until it ends by itself; return its output."""
    stdout, stderr = process.communicate(timeout=TEST_TIMEOUT_S)
    assert "Traceback" not in stderr
    assert "Exception ignored" not in stderr
    return Done(process.returncode, stdout, without_preparing(stderr))


def without_preparing(stderr: str) -> str:
    """Remove the line that a busy machine prints while preparing."""
    return _BUSY.sub("", stderr, count=1)


def wait_until(happened: Callable[[], Any]) -> None:
    deadline = time.monotonic() + TEST_TIMEOUT_S
    while not happened():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.02)


def signalled_until_it_ends(process: subprocess.Popen[str], at_most: int = 20) -> None:
    """Send Ctrl-C repeatedly: two in quick succession may count as one."""
    for _ in range(at_most):
        process.send_signal(signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(1.0)
            return
    raise AssertionError(f"it goes on after {at_most} signals")


class Terminal:
    """The command in its own terminal; `written` is all of its output."""

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
        """Read until it has written `expected`, after the previous match."""
        wait_until(lambda: expected in self.written[self._read_to :] or not self._read())
        assert expected in self.written[self._read_to :], f"it ended without {expected!r}:\n{self.written}"
        self._read_to = self.written.index(expected, self._read_to) + len(expected)

    def read_to_the_end(self) -> int:
        """Read until the process has ended; return its exit code."""
        while self._read():
            pass
        return self.process.wait(TEST_TIMEOUT_S)

    def press(self, keys: str) -> None:
        os.write(self._master, keys.encode())

    def hang_up(self) -> None:
        """Close the terminal window."""
        if self._master >= 0:
            os.close(self._master)
            self._master = -1

    def _read(self) -> bool:
        try:
            part = os.read(self._master, 1 << 16)
        except OSError:  # the other side is closed
            part = b""
        self.written += part.decode(errors="replace")
        return part != b""


_PIECES = re.compile(r"\x1b\[(\??[0-9;]*)([A-Za-z])|([\r\n])|([^\x1b\r\n]+)|(\x1b)")


def screen(written: str) -> list[str]:
    """Return the visible lines after this output. Only the escape sequences of Rich are supported.

    The line about preparing on a busy machine is removed.
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
