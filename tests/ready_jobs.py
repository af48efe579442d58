"""Jobs of a library whose processes have everything imported: they are forked, as those of `ready_process`.

    python -m tests.ready_jobs SOCKET COMMAND...               `orienteer COMMAND` whose jobs begin so
    python -m tests.ready_jobs --runner FOLDER ID COMMAND...  the runner of a job; its input is the lock

`ready_jobs` is for applications in this process. A job is as ever: it has a runner and a command, with numbers, locks
and signals of their own. But who stops it before its runner has begun may kill the runner; `tests/library` starts jobs
as people do.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from orienteer.cli.main import run
from orienteer.library import job_folder, job_runner
from tests.ready_process import ending_quickly, forked, forked_by, ready, starting_by, take

_RUNNER = "--runner"


def place() -> str:
    """Where the one of this test process listens."""
    return ready().place


@contextmanager
def ready_jobs(place: str) -> Iterator[None]:
    """The jobs that this process starts are forked by the process that listens there."""

    class Runner(subprocess.Popen[bytes]):
        def _execute_child(self, args: Any, *others: Any) -> None:  # type: ignore[override]
            (lock,), folder, pipes = others[3], others[4], others[9:15]
            where, id, _, *command = args[4:]
            arguments = [__spec__.name, _RUNNER, where, id, *command]
            streams = [lock, pipes[3], pipes[5]]
            take(self, forked_by(place, arguments, str(folder), dict(os.environ), streams, in_session=True), pipes)

    with starting_by(job_folder, Runner):
        yield


class _ForkedCommand(subprocess.Popen[bytes]):
    """The command of a job, forked from the runner, which has but one thread."""

    def _execute_child(self, args: Any, *others: Any) -> None:  # type: ignore[override]
        prepare, pipes = others[1], others[9:15]
        streams = [pipes[0], pipes[3], pipes[5]]
        take(self, forked(_become_the_command, args[4:], prepare, streams), pipes)


def _become_the_command(arguments: list[str], prepare: Callable[[], None], streams: list[int]) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    prepare()
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    with ending_quickly():
        sys.argv = ["orienteer", *arguments]
        run()


def _run_runner(folder: str, id: str, *command: str) -> None:
    lock = os.dup(0)
    with open(os.devnull) as nothing:
        os.dup2(nothing.fileno(), 0)
    with starting_by(job_runner, _ForkedCommand):
        job_runner.run(Path(folder), id, lock, list(command))


def main(first: str, *arguments: str) -> None:
    if first == _RUNNER:
        _run_runner(*arguments)
    else:
        sys.argv = ["orienteer", *arguments]
        with ready_jobs(first):
            run()


if __name__ == "__main__":
    main(*sys.argv[1:])
