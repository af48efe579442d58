"""How things are measured: each contender in a process of its own, CPU time, peak memory, best of several rounds.

CPU time counts all threads of the process. A contender is a function `prepare(*arguments)` that does what is not
measured (loading, compiling) and returns the function to measure; that one may return a result to be checked.

A peer that is not installed is left out, and the head of the result says so.
"""

from __future__ import annotations

import multiprocessing
import platform
import resource
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Any

from benchmarks.sizes import IS_TINY


class NotInstalledError(RuntimeError):
    """A contender that is not on this machine."""


@dataclass(frozen=True)
class Measurement:
    cpu_s: float
    wall_s: float
    peak_mib: float
    result: Any


def measured(prepare: Callable[..., Callable[[], Any]], *arguments: Any, rounds: int = 3) -> Measurement:
    """Run `prepare(*arguments)` in a new process and measure what it returns; once, and in a fork, if it is tiny."""
    context = multiprocessing.get_context("fork" if IS_TINY else "spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_child, args=(sender, prepare, arguments, 1 if IS_TINY else rounds))
    process.start()
    sender.close()
    try:
        answer = receiver.recv()
    except EOFError:
        answer = RuntimeError("the process died")
    process.join()
    if isinstance(answer, Exception):
        raise answer
    return Measurement(*answer)


def _child(sender: Any, prepare: Callable[..., Callable[[], Any]], arguments: tuple[Any, ...], rounds: int) -> None:
    try:
        run = prepare(*arguments)
        best: tuple[float, float] | None = None
        for _ in range(rounds):
            cpu, wall = time.process_time(), time.perf_counter()
            result = run()
            spent = time.process_time() - cpu, time.perf_counter() - wall
            best = min(best, spent) if best else spent
        assert best is not None
        peak_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        sender.send((*best, peak_mib, result))
    except ImportError as error:
        sender.send(NotInstalledError(str(error)))
    except Exception as error:
        sender.send(RuntimeError(f"{type(error).__name__}: {error}"))


def table(headings: list[str], rows: list[list[str]]) -> str:
    """A Markdown table; all columns but the first hold figures."""
    lines = ["| " + " | ".join(headings) + " |", "|---" + "|---:" * (len(headings) - 1) + "|"]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"


def machine(*packages: str) -> str:
    """The machine and the versions, for the head of a result."""
    with open("/proc/cpuinfo") as info:
        model = next((line.split(":")[1].strip() for line in info if line.startswith("model name")), "unknown")
    cores = multiprocessing.cpu_count()
    versions = ", ".join(f"{name} {_version(name)}" for name in packages)
    return f"{model}, {cores} cores, Python {platform.python_version()}, {versions}"


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def is_installed(module: str) -> bool:
    return find_spec(module) is not None
