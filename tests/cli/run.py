"""Run `orienteer` as a person does: a real process, with its output and exit code."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from typing import NamedTuple


def orienteer(*arguments: object, code: int = 0, columns: int = 100) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "orienteer", *map(str, arguments)]
    environment = {**os.environ, "COLUMNS": str(columns)}
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment)
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


def orienteer_each(commands: Sequence[Sequence[object]]) -> list[Done]:
    """Many commands, one after the other in one process: most of a second each goes into imports."""
    texts = [[str(argument) for argument in command] for command in commands]
    script = [sys.executable, "-c", _RUN_EACH]
    done = subprocess.run(script, input=json.dumps(texts), capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stdout
    return [Done(*entry) for entry in json.loads(done.stdout)]


_RUN_EACH = """
import contextlib, io, json, sys
from orienteer.cli.main import run
ended = []
for arguments in json.load(sys.stdin):
    sys.argv = ["orienteer", *arguments]
    out, err, code = io.StringIO(), io.StringIO(), 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            run()
        except SystemExit as end:
            code = end.code or 0
    ended.append((code, out.getvalue(), err.getvalue()))
json.dump(ended, sys.stdout)
"""
