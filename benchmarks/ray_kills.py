"""Crawls on Ray that are killed: workers, nodes and the crawl itself, at random moments.

A cluster of three Ray nodes on this machine runs the workers of the real command; one of the nodes is lost now and then
with all that runs on it, and another one comes. A worker, and the process of the crawl, are killed by `kill -9`; the
crawl is then resumed by the same command. *Lost* are pages that were acknowledged when the crawl was killed and are
gone or changed later; *double* those that are in the archive twice; *differing* those that have another outcome than in
an undisturbed crawl; *requested again* is the number of additional requests, followed by the number in flight at kills.
"""

from __future__ import annotations

import os
import random
import signal
import tempfile
import time
from collections import Counter
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from benchmarks.measure import machine, table
from benchmarks.sizes import sized
from orienteer.graph.synthetic import synthetic_web
from tests.fake_web.faults import Faulty
from tests.fake_web.graph_site import GraphSite
from tests.fake_web.server import FakeWeb
from tests.faults.crawl_process import CrawlCommand, CrawlProcess, acknowledged, archived_urls, check_archive, outcomes
from tests.live.live_crawls import hub
from tests.workers.ray_nodes import RayNodes, environment

N_PAGES = sized(600, 60)
IN_FLIGHT = 24
KILLS_PER_CRAWL = sized(5, 1)
KINDS = ("worker", "node", "crawl")


class Ordeal:
    """One crawl, and what is killed on its way."""

    def __init__(self, command: CrawlCommand, nodes: RayNodes, rng: random.Random) -> None:
        self.command = command
        self.nodes = nodes
        self.rng = rng
        self.kills: Counter[str] = Counter()
        self.n_lost = 0
        self._safe: dict[str, tuple[Any, ...]] = {}
        nodes.add()

    def run(self, n_kills: int) -> None:
        process = self.command.started()
        while self.kills.total() < n_kills and self._lives_on(process):
            kind = self.rng.choice(KINDS)
            if kind == "crawl":
                process.kill()
                process.communicate()
                self._compare()
                process = self.command.started()
            elif not self._killed(kind):
                continue
            self.kills[kind] += 1
        with process:
            code, said = process.ended()
        assert code == 0, said
        self._compare()

    def close(self) -> None:
        self.nodes.remove()

    def _killed(self, kind: str) -> bool:
        if kind == "node":
            self.nodes.remove()
            self.nodes.add()
            return True
        there = self.nodes.actors()
        with suppress(ProcessLookupError):
            if there:
                os.kill(self.rng.choice(there), signal.SIGKILL)
                return True
        return False

    def _lives_on(self, process: CrawlProcess) -> bool:
        """Until some more pages are done: it is at work."""
        n_more = self.rng.randint(1, N_PAGES // (KILLS_PER_CRAWL + 2))
        n_before = len(archived_urls(self.command.folder)) if self.command.folder.exists() else 0
        while process.poll() is None:
            time.sleep(self.rng.uniform(0.1, 0.5))
            with suppress(Exception):  # the folder is being made
                if len(acknowledged(self.command.folder)) >= n_before + n_more:
                    return True
        return False

    def _compare(self) -> None:
        now = acknowledged(self.command.folder)
        self.n_lost += sum(now.get(url) != row for url, row in self._safe.items())
        self._safe = now


def run(n_kills: int = sized(50, 1), most_s: float = 900.0) -> str:
    os.environ |= environment()
    rng = random.Random(20)
    site = GraphSite(synthetic_web(N_PAGES, rng=7))
    kills: Counter[str] = Counter()
    sums: Counter[str] = Counter()
    off_by = 0.0
    with (
        tempfile.TemporaryDirectory(prefix="orienteer-benchmark-") as scratch,
        FakeWeb(Faulty(site, latency_s=(0.02, 0.2))) as web,
        closing(RayNodes(2)) as nodes,
    ):
        there = Path(scratch)
        whole = _command(web, site, there / "whole")
        whole.run()
        expected, truth = outcomes(whole.folder), whole.report()["figures"]["certificate"]
        started = time.monotonic()
        while kills.total() < n_kills and time.monotonic() - started < most_s:
            sums["crawls"] += 1
            n_before = len(web.requests)
            on = ["--cluster", nodes.address, "--processes", 4]
            command = _command(web, site, there / f"crawl-{sums['crawls']}", *on)
            with closing(Ordeal(command, nodes, rng)) as ordeal:
                ordeal.run(KILLS_PER_CRAWL)
            ended, in_archive = outcomes(command.folder), archived_urls(command.folder)
            check_archive(command.folder)
            kills += ordeal.kills
            sums["pages"] += len(ended)
            sums["lost"] += ordeal.n_lost
            sums["double"] += len(in_archive) - len(set(in_archive))
            sums["differing"] += sum(ended.get(url) != expected.get(url) for url in ended | expected)
            sums["asked again"] += len(web.requests) - n_before - len(ended)
            proved = command.report()["figures"]["certificate"]
            off_by = max(off_by, *(abs(proved[name] - truth[name]) for name in ("lower", "upper")))
    counts = [sums[name] for name in ("crawls", "pages", "lost", "double", "differing", "asked again")]
    row = [f"{kills[kind]}" for kind in KINDS] + [f"{n:,}" for n in counts]
    headings = [*(f"kills of a {kind}" for kind in KINDS), "crawls", "pages", "lost", "double", "differing",
                "asked again", "in hand at kills, at most", "bounds off by"]  # fmt: skip
    row += [f"{IN_FLIGHT * kills.total():,}", f"{off_by:.0e}"]
    return f"{machine('ray', 'pycurl')}\n\n{table(headings, [row])}"


def _command(web: FakeWeb, site: GraphSite, folder: Path, *options: object) -> CrawlCommand:
    tables = {"crawl": {"workers": IN_FLIGHT, "robots": False}, "fetch": {"timeout_s": 5.0}}
    return CrawlCommand(web.address, [hub(site)], folder, *options, **tables)
