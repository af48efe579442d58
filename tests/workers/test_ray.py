"""Crawls with workers on Ray give the same result as in one process, also if actors, nodes or the crawl are killed.

All tests share one cluster of two nodes; it takes some seconds to start, and some hundred megabytes.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from orienteer.errors import ProcessError
from orienteer.fetch.settings import FetchSettings
from orienteer.graph.synthetic import synthetic_web
from orienteer.inspect.figures import CrawlFigures
from orienteer.inspect.run_report import Report
from orienteer.workers.fetch_result import ReadSettings
from orienteer.workers.ray_backend import RayCluster
from orienteer.workers.remote_workers import RemoteWorkers
from tests.fake_web.fake_response import FakeResponse
from tests.fake_web.graph_site import GraphSite
from tests.fake_web.server import FakeWeb
from tests.fake_web.site import RequestHeaders, Site
from tests.faults.crawl_process import CrawlCommand, acknowledged, check_archive
from tests.faults.gate import Gate
from tests.live.live_crawls import crawled, hub
from tests.live.test_processes import certified, results
from tests.ready_process import TEST_TIMEOUT_S
from tests.workers.ray_nodes import RayNodes, environment, free_port
from tests.workers.test_pool import finished, requests, urls

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("ray") is None, reason="workers on Ray need the extra: ray"),
]

N_PAGES = 300
TIMEOUT_S = 5.0  # of a fetch: requests of a lost node are retried after that


@pytest.fixture(scope="module")
def site() -> GraphSite:
    return GraphSite(synthetic_web(N_PAGES, rng=5))


@pytest.fixture(scope="module")
def nodes() -> Iterator[RayNodes]:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment().items():
            patch.setenv(name, value)
        with closing(RayNodes(2, client_port=free_port())) as nodes:
            yield nodes


@pytest.fixture(scope="module")
def undisturbed(site: GraphSite, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Report]:
    """The crawl by one process."""
    folder = tmp_path_factory.mktemp("one") / "crawl"
    with FakeWeb(site) as web:
        return folder, crawled(web, hub(site), folder, settings=settings(1))


def settings(processes: int, **fetch: Any) -> dict[str, dict[str, Any]]:
    crawl = {"processes": processes, "workers": 24, "commit_every_s": 0.05}
    return {"crawl": crawl, "fetch": {"timeout_s": TIMEOUT_S, **fetch}}


def expect_same(folder: Path, report: Report, undisturbed: tuple[Path, Report]) -> None:
    assert results(folder) == results(undisturbed[0])
    np.testing.assert_allclose(certified(report), certified(undisturbed[1]), atol=1e-9)
    check_archive(folder)


class SlowSite(Site):
    """A slow version of a site: a crawl does not end between two updates of its figures."""

    def __init__(self, site: Site) -> None:
        self._site = site

    def response(self, host: str, target: str, headers: RequestHeaders) -> FakeResponse:
        return replace(self._site.response(host, target, headers), delay_s=0.15)


class Once:
    """Calls each function once, when so many pages are done."""

    def __init__(self, *things: tuple[int, Callable[[CrawlFigures], None]]) -> None:
        self.left = list(things)

    def __call__(self, figures: CrawlFigures) -> None:
        while self.left and figures.n_done >= self.left[0][0]:
            self.left.pop(0)[1](figures)


def expect_work(cluster: RayCluster, settings: FetchSettings) -> None:
    with closing(RemoteWorkers(cluster.workers(settings, ReadSettings()), 1, 60.0, uses_network=True)) as pool:
        finished(pool, requests(urls(1)))


def until(happened: Callable[[], object]) -> None:
    give_up = time.monotonic() + TEST_TIMEOUT_S
    while not happened():
        assert time.monotonic() < give_up
        time.sleep(0.05)


def test_on_this_machine(site: GraphSite, tmp_path: Path, undisturbed: tuple[Path, Report]) -> None:
    with FakeWeb(site) as web:
        report = crawled(web, hub(site), tmp_path / "crawl", settings=settings(1), cluster="local-ray")
        assert max(web.max_in_flight_per_host.values()) <= 8
        assert len(web.requests) == report.figures.n_done
    expect_same(tmp_path / "crawl", report, undisturbed)
    assert [worker.n_responses for worker in report.figures.workers] == [report.figures.n_done]


def test_actors_are_killed_and_nodes_come_and_go(
    nodes: RayNodes, site: GraphSite, tmp_path: Path, undisturbed: tuple[Path, Report]
) -> None:
    """Workers of a lost machine are replaced, on any node. This crawl uses Ray Client; the other tests join as a
    node."""
    killed, n_workers = [], []

    def kill(figures: CrawlFigures) -> None:
        n_workers.append(len(figures.workers))
        actors = nodes.actors()
        killed.append(next(worker.process for worker in figures.workers if worker.process in actors))
        os.kill(killed[-1], signal.SIGKILL)

    with FakeWeb(SlowSite(site)) as web:
        watch = Once((30, kill), (90, lambda _: nodes.remove()), (150, lambda _: nodes.add()), (210, kill))
        on = f"ray://127.0.0.1:{nodes.client_port}"
        report = crawled(web, hub(site), tmp_path / "crawl", settings=settings(0), cluster=on, watch=watch)
        assert not watch.left
        assert len(web.requests) <= report.figures.n_done + 3 * 24  # requests in flight are retried
    assert len(set(killed)) == 2
    assert n_workers[0] == 2  # as many as the cluster has cores; later there may be an isolated one as well
    nodes.settle()
    until(lambda: not nodes.actors())
    expect_same(tmp_path / "crawl", report, undisturbed)


def test_the_crawl_is_killed_and_resumed(
    nodes: RayNodes, site: GraphSite, tmp_path: Path, undisturbed: tuple[Path, Report]
) -> None:
    """No acknowledged page is lost, and no actor is left."""
    gate = Gate(site)
    with FakeWeb(gate) as web:
        options = ["--cluster", nodes.address, "--processes", 1, "--ignore-robots"]
        command = CrawlCommand(web.address, [hub(site)], tmp_path / "crawl", *options, fetch={"timeout_s": TIMEOUT_S})
        gate.close_after(120)
        with command.started() as process:
            gate.kill_at(process)
        safe = acknowledged(tmp_path / "crawl")
        until(lambda: not nodes.actors())
        gate.open()
        command.run()
        after = acknowledged(tmp_path / "crawl")
    assert safe
    assert {url: after.get(url) for url in safe} == safe
    assert results(tmp_path / "crawl") == results(undisturbed[0])
    bounds = command.report()["figures"]["certificate"]
    np.testing.assert_allclose([bounds["lower"], bounds["upper"]], certified(undisturbed[1]), atol=1e-9)
    until(lambda: not nodes.actors())


def test_another_version_is_one_line(nodes: RayNodes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sitecustomize.py").write_text("import orienteer\norienteer.__version__ = '9.9'\n")
    monkeypatch.syspath_prepend(tmp_path)
    expected = r"and this crawl is run by 9\.9: all machines need the same$"
    with closing(RayCluster(nodes.address)) as cluster, pytest.raises(ProcessError, match=expected):
        expect_work(cluster, FetchSettings())


def test_workers_that_cannot_begin_say_why(nodes: RayNodes, tmp_path: Path) -> None:
    """Files that the settings name must exist on the other machine as well."""
    there = FetchSettings(ca_file=str(tmp_path / "none.pem"))
    expected = r"workers crash before they are ready: .*there is no such file"
    with closing(RayCluster(nodes.address)) as cluster, pytest.raises(ProcessError, match=expected):
        expect_work(cluster, there)


def test_a_cluster_that_is_lost_is_one_line(nodes: RayNodes) -> None:
    with closing(RayCluster(nodes.address)) as cluster:
        os.kill(cluster._child.pid, signal.SIGKILL)
        with pytest.raises(ProcessError, match=r"is lost \(killed by SIGKILL\); run the same command again to resume$"):
            expect_work(cluster, FetchSettings())


def test_a_cluster_that_cannot_be_joined_is_one_line(
    nodes: RayNodes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with FakeWeb(GraphSite(synthetic_web(5, rng=1))) as web:
        nowhere = CrawlCommand(web.address, ["http://a.example/"], tmp_path / "one", "--cluster", "127.0.0.1:1")
        assert "no Ray cluster answers there" in nowhere.refused()
        monkeypatch.setenv("RAY_AUTH_TOKEN", "cd" * 32)
        wrong = CrawlCommand(web.address, ["http://a.example/"], tmp_path / "two", "--cluster", nodes.address)
        assert "the cluster does not accept the token" in wrong.refused()
        monkeypatch.delenv("RAY_AUTH_TOKEN")
        monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
        open_to_all = CrawlCommand(
            web.address, ["http://a.example/"], tmp_path / "three", "--cluster", "192.0.2.77:6379"
        )
        assert "RAY_AUTH_MODE=token" in open_to_all.refused()
    assert not (tmp_path / "three").exists()
