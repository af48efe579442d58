"""Run `orienteer` as a person does: a real process, with its output and exit code."""

from __future__ import annotations

import os
import subprocess
import sys


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
    assert done.stdout == ""
    assert done.stderr.startswith("orienteer: ")
    assert done.stderr.count("\n") == 1
    return done.stderr
