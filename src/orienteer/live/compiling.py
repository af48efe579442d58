"""Compiles the kernels of a crawl in a child process, so that the crawl starts at once.

The child calls every kernel once; each is stored in the cache as soon as it is compiled. When the child has finished,
the crawl loads the kernels from the cache; until then it runs them as plain Python. While a folder is opened and there
is much to compute, the crawl waits for the child; with requests in flight it never waits. A crawl that ends earlier
kills the child, and the kernels compiled so far stay in the cache.

If the child fails, the crawl compiles the kernels itself, once none of its requests is in flight.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection

from orienteer import kernel_folder
from orienteer.errors import ProcessError
from orienteer.kernel import NotCompiled, compiled_here, only_loading, substituted
from orienteer.ledger.plan import CrawlPlan
from orienteer.live.warm_up import warm_up
from orienteer.processes.child import Child

_NICENESS = 10  # of the child: on a single core the crawl has priority


class KernelCompilation:
    """The kernels of a crawl while a child process compiles them."""

    def __init__(self, process: Child, plan: CrawlPlan) -> None:
        self._process = process
        self._plan = plan
        self._is_done = False

    def poll(self) -> bool | None:
        """Return True once they are compiled; None while they run as plain Python."""
        return True if self._is_done or self._process.poll() == 0 else None

    def wait(self) -> None:
        """Wait until they are compiled."""
        if self._process.wait() != 0:
            self.compile_here()

    @property
    def has_failed(self) -> bool:
        """Whether the child ended before they were compiled."""
        return not self._is_done and self._process.poll() not in (None, 0)

    def compile_here(self) -> None:
        """Compile them in this process, which blocks until they are ready."""
        with compiled_here():
            warm_up(self._plan)
        self._is_done = True


@contextmanager
def loaded_kernels(plan: CrawlPlan) -> Iterator[KernelCompilation | None]:
    """Prepare the kernels of a crawl with this plan: yields None if they are loaded, else their compilation."""
    process = None if _are_loaded(plan) else _started(plan)
    if process is None:
        yield None
        return
    kernels = KernelCompilation(process, plan)
    try:
        with substituted(kernels):
            yield kernels
    finally:
        process.kill()
        process.close()


def _are_loaded(plan: CrawlPlan) -> bool:
    folder = kernel_folder.folder()
    if folder is None or not any(folder.iterdir()):
        return False
    try:
        with only_loading():
            warm_up(plan)
    except NotCompiled:
        return False
    return True


def _started(plan: CrawlPlan) -> Child | None:
    """Start the child; without a cache or a process compile in this process and return None."""
    if kernel_folder.folder() is not None:
        with suppress(ProcessError):
            return Child(_compile, plan.crawl.policy, plan.crawl.damping)
    warm_up(plan)
    return None


def _compile(channel: Connection, policy: str, damping: float) -> None:
    os.nice(_NICENESS)
    warnings.filterwarnings("error", kernel_folder.NOT_STORED)  # without a cache the child is of no use
    settings = {"seeds": ["http://a.example/"], "policy": policy, "damping": damping, "topic": True}
    warm_up(CrawlPlan.of_tables({"crawl": settings}, "crawl"))
