"""Run `orienteer` where plug-ins are installed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def orienteer(
    environment: dict[str, str], *arguments: object, folder: Path, code: int = 0, options: tuple[str, ...] = ()
) -> subprocess.CompletedProcess[str]:
    """A new process, with these `options` of Python's."""
    command = [sys.executable, *options, "-m", "orienteer", *map(str, arguments)]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == code, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done
