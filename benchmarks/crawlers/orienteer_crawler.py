"""Orienteer, called as a library."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from typing import Any

from benchmarks.crawlers.task import CONNECTIONS, CONNECTIONS_PER_HOST, Task, peak_mib
from orienteer.live.session import live_crawl

SAME_WORK = {"robots": False, "sitemaps": False, "duplicates": "off", "near_duplicates": "off", "log": False}
DEFAULTS: dict[str, Any] = {}
_WARM_UP_PAGES = 50


def prepare(task: Task, crawl_settings: dict[str, Any]) -> Callable[[], float]:
    """`crawl_settings` are for the [crawl] table. Some pages are crawled beforehand, which compiles the kernels."""
    settings = {
        "crawl": {"workers": CONNECTIONS, "processes": 1} | crawl_settings,
        "politeness": {"delay_s": 0.0, "connections": CONNECTIONS_PER_HOST},
        "fetch": {"connect_to": task.address, "allow_private": True},
    }
    with tempfile.TemporaryDirectory(prefix="orienteer-benchmark-") as folder:
        live_crawl(task.seeds, folder, settings=settings, budget=_WARM_UP_PAGES)

    def run() -> float:
        live_crawl(task.seeds, task.folder, settings=settings)
        return peak_mib()

    return run
