"""Runs that do not need each other: one after the other in this process, or side by side in several."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from contextlib import contextmanager
from typing import Any


@contextmanager
def side_by_side(n_processes: int) -> Iterator[Executor]:
    """An executor for so many processes; with 1, what is submitted runs here and at once.

    When it ends, by Ctrl-C or an error too, what has not begun does not begin.
    """
    pool: Executor = _Here()
    if n_processes > 1:
        context = multiprocessing.get_context("spawn")
        pool = ProcessPoolExecutor(n_processes, context, initializer=_end_silently_at_ctrl_c)
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


class _Here(Executor):
    def submit(self, function: Callable[..., Any], /, *arguments: Any, **named: Any) -> Future[Any]:
        done: Future[Any] = Future()
        done.set_result(function(*arguments, **named))
        return done


def _end_silently_at_ctrl_c() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
