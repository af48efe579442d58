"""Orienteer, called as a library."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from typing import Any

from benchmarks.crawlers.task import CONNECTIONS, CONNECTIONS_PER_HOST, Task, peak_mib
from orienteer.live.session import live_crawl

Tables = dict[str, dict[str, Any]]

SAME_WORK: Tables = {
    "crawl": {
        "robots": False, "sitemaps": False, "feeds": False, "languages": False, "duplicates": "off",
        "near_duplicates": "off", "log": False,
    },
    "render": {"mode": "never"},
}  # fmt: skip
DEFAULTS: Tables = {}
_WARM_UP_PAGES = 50


def settings_of(task: Task, work: Tables, in_flight: int, processes: int) -> Tables:
    tables: Tables = {
        "crawl": {"workers": in_flight, "processes": processes},
        "politeness": {"delay_s": 0.0, "connections": CONNECTIONS_PER_HOST},
        "fetch": {"connect_to": task.address, "allow_private": True},
    }
    return {name: tables.get(name, {}) | work.get(name, {}) for name in tables | work}


def prepare(task: Task, work: Tables) -> Callable[[], float]:
    """Some pages are crawled beforehand, which compiles the kernels."""
    settings = settings_of(task, work, CONNECTIONS, 1)
    with tempfile.TemporaryDirectory(prefix="orienteer-benchmark-") as folder:
        live_crawl(task.seeds, folder, settings=settings, budget=_WARM_UP_PAGES)

    def run() -> float:
        live_crawl(task.seeds, task.folder, settings=settings)
        return peak_mib()

    return run
