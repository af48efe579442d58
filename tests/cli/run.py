"""Run `orienteer` as a person does: a real process, with its output and exit code."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from typing import NamedTuple

from tests.ready_process import ready


def orienteer(*arguments: object, code: int = 0, columns: int = 100) -> subprocess.CompletedProcess[str]:
    done = ready().run([str(argument) for argument in arguments], columns)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    return done


def refused(*arguments: object) -> str:
    """The one line that bad input is answered with."""
    done = orienteer(*arguments, code=2)
    return one_line(done.stdout, done.stderr)


def one_line(stdout: str, stderr: str) -> str:
    assert stdout == ""
    assert stderr.startswith("orienteer: ")
    assert stderr.count("\n") == 1
    return stderr


class Done(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


def orienteer_each(commands: Sequence[Sequence[object]]) -> list[subprocess.CompletedProcess[str]]:
    """Many commands, one after the other."""
    done = [ready().run([str(argument) for argument in command], columns=100) for command in commands]
    assert not any("Traceback" in one.stderr for one in done)
    return done
