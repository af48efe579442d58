"""Run `orienteer` where plug-ins are installed."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.ready_process import ReadyProcess

_READY: dict[str, ReadyProcess] = {}  # by where plug-ins are installed


def orienteer(
    environment: dict[str, str], *arguments: object, folder: Path, code: int = 0
) -> subprocess.CompletedProcess[str]:
    """A process of its own."""
    path = environment["PYTHONPATH"]
    here = _READY[path] = _READY.get(path) or ReadyProcess(environment=environment)
    done = here.run([str(argument) for argument in arguments], int(environment["COLUMNS"]), folder)
    assert done.returncode == code, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done
