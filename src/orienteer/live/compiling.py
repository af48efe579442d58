"""Compiles what a crawl needs in a process beside it, so that the crawl begins at once.

The process calls every kernel once, and each is in the cache as soon as it is compiled. When it has come to its end the
crawl takes the kernels from there; until then it runs them as plain Python. A crawl that ends earlier ends the process,
and what it has compiled by then is kept. Where the process fails, the crawl compiles what it calls itself.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection

from orienteer import kernel_folder
from orienteer.errors import ProcessError
from orienteer.kernel import standing_in
from orienteer.ledger.plan import CrawlPlan
from orienteer.live.warm_up import warm_up
from orienteer.processes.child import Child


@contextmanager
def ready_kernels(plan: CrawlPlan) -> Iterator[None]:
    """Inside, a crawl with this plan can run: its kernels are loaded, or are being compiled."""
    process = None if _are_loaded(plan) else _started(plan)
    if process is None:
        yield
        return
    try:
        with standing_in(process):
            yield
    finally:
        process.kill()
        process.close()


def _are_loaded(plan: CrawlPlan) -> bool:
    folder = kernel_folder.folder()
    if folder is None or not any(folder.iterdir()):
        return False
    from orienteer.kernel_cache import NotCompiled, only_loading

    try:
        with only_loading():
            warm_up(plan)
    except NotCompiled:
        return False
    return True


def _started(plan: CrawlPlan) -> Child | None:
    """The process; None where there can be none, and all is compiled here instead."""
    if kernel_folder.folder() is not None:
        with suppress(ProcessError):
            return Child(_compile, plan.crawl.policy, plan.crawl.damping)
    warm_up(plan)
    return None


def _compile(channel: Connection, policy: str, damping: float) -> None:
    warnings.filterwarnings("error", kernel_folder.NOT_KEPT)  # then there is no use in going on
    settings = {"seeds": ["http://a.example/"], "policy": policy, "damping": damping, "topic": True}
    warm_up(CrawlPlan.of_tables({"crawl": settings}, "crawl"))
