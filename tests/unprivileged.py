"""What an ordinary user sees: a forked process without the rights of root."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from pathlib import Path

_CAPABILITY_VERSION_3 = 0x20080522  # of Linux, with two words of 32 bits for each set


def run_without_privileges(function: Callable[[], str]) -> str:
    """What the function returns in a process that may write only what file modes allow, or the error that it raises.

    The process keeps its user, so it can reach whatever folder the tests are in.
    """
    read, written = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            _drop_capabilities()
            answer = function()
        except BaseException as error:
            answer = f"{type(error).__name__}: {error}"
        os.write(written, answer.encode())
        os._exit(0)
    os.close(written)
    os.waitpid(child, 0)
    with os.fdopen(read) as pipe:
        return pipe.read()


def _drop_capabilities() -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    if libc.capset(header, (ctypes.c_uint32 * 6)()) != 0:
        raise OSError(ctypes.get_errno(), "capset")
    assert all(int(line.split()[1], 16) == 0 for line in _status() if line.startswith("CapEff:"))


def _status() -> list[str]:
    return Path("/proc/self/status").read_text().splitlines()
