"""Jobs of a library whose processes have everything imported: they are forked, as those of `ready_process`.

    python -m tests.ready_jobs SOCKET COMMAND...               `orienteer COMMAND` whose jobs begin so
    python -m tests.ready_jobs --runner FOLDER ID COMMAND...   the process beside a job; its input is the lock

`ready_jobs` is for applications in this process. A job is as ever: it has a runner and a command, with numbers, locks
and signals of their own. But who stops it before its runner has begun may kill the runner; `tests/library` starts jobs
as people do.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest.mock import patch

from orienteer.cli.main import run
from orienteer.library import job_folder, job_runner
from tests.ready_process import ReadyProcess, _ending_quickly, ready

_RUNNER = "--runner"


class _There(ReadyProcess):
    """The one that listens at a place, and that another process has started."""

    def __init__(self, place: str) -> None:
        self._place = place


def place() -> str:
    """Where the one of this test process listens."""
    return ready()._place


@contextmanager
def ready_jobs(place: str) -> Iterator[None]:
    """The jobs that this process starts are forked by the process that listens there."""

    class Runner(subprocess.Popen[bytes]):
        def _execute_child(self, args: Any, *others: Any) -> None:  # type: ignore[override]
            (lock,), folder, pipes = others[3], others[4], others[9:15]
            where, id, _, *command = args[4:]
            arguments = [__spec__.name, _RUNNER, where, id, *command]
            streams = [lock, pipes[3], pipes[5]]
            self.pid = _There(place).fork(arguments, str(folder), dict(os.environ), streams, in_session=True)
            self._child_created = True
            self._close_pipe_fds(*pipes)  # type: ignore[attr-defined]

    with _starting_by(job_folder, Runner):
        yield


class _ForkedCommand(subprocess.Popen[bytes]):
    """The command of a job, forked from the runner, which has but one thread."""

    def _execute_child(self, args: Any, *others: Any) -> None:  # type: ignore[override]
        prepare, pipes = others[1], others[9:15]
        self.pid = os.fork()
        if self.pid == 0:
            try:
                _become_the_command(args[4:], prepare, [pipes[0], pipes[3], pipes[5]])
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(1)
        self._child_created = True
        self._close_pipe_fds(*pipes)  # type: ignore[attr-defined]


def _become_the_command(arguments: list[str], prepare: Callable[[], None], streams: list[int]) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    prepare()
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    with _ending_quickly():
        sys.argv = ["orienteer", *arguments]
        run()


def _run_beside(folder: str, id: str, *command: str) -> None:
    lock = os.dup(0)
    with open(os.devnull) as nothing:
        os.dup2(nothing.fileno(), 0)
    with _starting_by(job_runner, _ForkedCommand):
        job_runner.run(Path(folder), id, lock, list(command))


@contextmanager
def _starting_by(module: ModuleType, popen: type[subprocess.Popen[bytes]]) -> Iterator[None]:
    with patch.object(module, "subprocess", SimpleNamespace(**{**vars(subprocess), "Popen": popen})):
        yield


def main(first: str, *arguments: str) -> None:
    if first == _RUNNER:
        _run_beside(*arguments)
    else:
        sys.argv = ["orienteer", *arguments]
        with ready_jobs(first):
            run()


if __name__ == "__main__":
    main(*sys.argv[1:])
