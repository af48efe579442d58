"""Full disks and files that cannot grow, for tests of what happens then.

Python 3.11 does not notice when it could write only a part of a .pyc file, and the next process fails to import it. So
no interpreter writes bytecode under such a limit.
"""

from __future__ import annotations

import gc
import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

NO_BYTECODE = {"PYTHONDONTWRITEBYTECODE": "1"}  # the environment of processes whose files are limited


@contextmanager
def files_of_at_most(n_bytes: int) -> Iterator[None]:
    """In this process, no file grows beyond `n_bytes`."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    writes_no_bytecode, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        sys.dont_write_bytecode = writes_no_bytecode


def limit_files_of(pid: int, n_bytes: int) -> None:
    """From now on, no file of that process grows beyond `n_bytes`. It must have been started with `NO_BYTECODE`."""
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (n_bytes, n_bytes))


@contextmanager
def small_disk_at(folder: Path, size: str) -> Iterator[Path]:
    """A disk of so many bytes (`1m`) in memory, mounted at the folder, or a skip that says what is missing."""
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
        gc.collect()  # the traceback of an expected error may hold an open file
        subprocess.run(["umount", folder], check=True)
