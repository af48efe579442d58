"""Run `orienteer` where plug-ins are installed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.ready_process import PATIENCE_S, ReadyProcess

_READY: dict[str, ReadyProcess] = {}  # by where plug-ins are installed


def orienteer(
    environment: dict[str, str], *arguments: object, folder: Path, code: int = 0, options: tuple[str, ...] = ()
) -> subprocess.CompletedProcess[str]:
    """A process of its own; with `options` of Python's it is a new one from its first import on."""
    if options:
        command = [sys.executable, *options, "-m", "orienteer", *map(str, arguments)]
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=PATIENCE_S)
    else:
        path = environment["PYTHONPATH"]
        here = _READY[path] = _READY.get(path) or ReadyProcess(environment=environment)
        done = here.run([str(argument) for argument in arguments], int(environment["COLUMNS"]), folder)
    assert done.returncode == code, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done
