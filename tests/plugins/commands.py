"""Run `orienteer` where plug-ins are installed."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.plugins.packages import ROOT
from tests.ready_process import PYTHON, ReadyProcess

_READY: dict[str, ReadyProcess] = {}  # by where plug-ins are installed


def orienteer(
    environment: dict[str, str], *arguments: object, folder: Path, code: int = 0
) -> subprocess.CompletedProcess[str]:
    """A process of its own."""
    done = _ready(environment).run([str(argument) for argument in arguments], int(environment["COLUMNS"]), folder)
    assert done.returncode == code, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done


def contract_tests(environment: dict[str, str], *arguments: str) -> str:
    """What pytest says of tests of this checkout, which all pass."""
    command = [PYTHON, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
    command += ["-W", "ignore:Module already imported", *arguments]  # its own plug-ins may be, in a ready process
    done = _ready(environment).run(command, int(environment["COLUMNS"]), ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def _ready(environment: dict[str, str]) -> ReadyProcess:
    path = environment["PYTHONPATH"]
    here = _READY[path] = _READY.get(path) or ReadyProcess(environment=environment)
    return here
