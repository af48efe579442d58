"""A disk that is soon full: in memory, mounted for a test, and unmounted after it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def small_disk_at(folder: Path, size: str) -> Iterator[Path]:
    """A disk of so many bytes (`1m`) at the folder, or a skip that says what is missing."""
    if os.geteuid() != 0:
        pytest.skip("only root may mount a small disk")
    folder.mkdir(exist_ok=True)
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder]
    mounted = subprocess.run(command, capture_output=True, text=True)
    if mounted.returncode != 0:
        pytest.skip(f"a small disk cannot be mounted here: {mounted.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", folder], check=True)
