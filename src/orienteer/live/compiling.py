"""Compiles what a crawl needs in a process beside it, so that the crawl begins at once.

The process calls every kernel once, and each is in the cache as soon as it is compiled. When it has come to its end the
crawl takes the kernels from there; until then it runs them as plain Python. A crawl that ends earlier ends the process,
and what it has compiled by then is kept. Where the process fails, the crawl compiles what it calls itself.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from orienteer import kernel_folder
from orienteer.kernel import standing_in
from orienteer.ledger.plan import CrawlPlan
from orienteer.live.warm_up import warm_up


@contextmanager
def ready_kernels(plan: CrawlPlan) -> Iterator[None]:
    """Inside, a crawl with this plan can run: its kernels are loaded, or are being compiled."""
    process = None if _are_loaded(plan) else _started(plan)
    if process is None:
        yield
        return
    with process:
        try:
            with standing_in(process):
                yield
        finally:
            process.kill()


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


def _started(plan: CrawlPlan) -> subprocess.Popen[bytes] | None:
    """The process; None where there can be none, and all is compiled here instead."""
    folder = kernel_folder.folder()
    if folder is not None and sys.executable:
        # -P: what lies about in the current folder is not run. In a session of its own Ctrl-C does not end it.
        command = [sys.executable, "-P", "-m", __spec__.name, str(folder), plan.crawl.policy, str(plan.crawl.damping)]
        paths = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        nothing = subprocess.DEVNULL
        try:
            return subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=nothing, stderr=nothing, env=paths, start_new_session=True
            )
        except OSError:
            pass
    warm_up(plan)
    return None


def _leave_with_crawl() -> None:
    """The crawl holds the other end of stdin, which is closed when its process ends, however it does."""
    os.read(0, 1)
    os._exit(1)


def _compile(folder: str, policy: str, damping: str) -> None:
    warnings.filterwarnings("error", kernel_folder.NOT_KEPT)  # then there is no use in going on
    threading.Thread(target=_leave_with_crawl, daemon=True).start()
    kernel_folder.use_folder(Path(folder))
    settings = {"seeds": ["http://a.example/"], "policy": policy, "damping": float(damping), "topic": True}
    warm_up(CrawlPlan.of_tables({"crawl": settings}, "crawl"))


if __name__ == "__main__":
    _compile(*sys.argv[1:])
