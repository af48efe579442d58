"""A network partition of a minute during a crawl on two machines.

Three network namespaces represent three machines: the crawl with a Ray node, another Ray node, and the web. While the
crawl runs, the link between the two nodes carries nothing for 60 s; both still reach the web. The crawl is to go on
with the worker that it can reach. Requests in flight at the other one are sent again, but not before they have surely
ended: no host ever has two requests at once. Its late results are dropped. In the end the crawl is the same as an
undisturbed one by one process.

Needs Linux and root, for the namespaces; all of them are removed at the end.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from benchmarks.measure import machine, table
from benchmarks.sizes import sized
from orienteer.graph.synthetic import synthetic_web
from tests.fake_web.faults import Faulty
from tests.fake_web.graph_site import GraphSite
from tests.fake_web.server import FakeWeb
from tests.faults.crawl_process import check_archive, log_of, outcomes
from tests.live.live_crawls import hub
from tests.workers.ray_nodes import environment

N_PAGES = sized(3000, 60)
LATENCY_S = sized((0.1, 0.5), (0.01, 0.05))
CUT_S = sized(60.0, 2.0)
CUT_AFTER = sized(100, 10)  # pages
TIMEOUT_S = 5.0
IN_FLIGHT = 24
CRAWL_TIMEOUT_S = 540.0

_SWITCH, _CRAWL, _NODE, _WEB = "orienteer-switch", "orienteer-crawl", "orienteer-node", "orienteer-web"
_RAY, _HTTP = "ray", "http"  # the two networks
_ADDRESSES = {
    (_CRAWL, _RAY): "10.88.1.1", (_NODE, _RAY): "10.88.1.2",
    (_CRAWL, _HTTP): "10.88.2.1", (_NODE, _HTTP): "10.88.2.2", (_WEB, _HTTP): "10.88.2.3",
}  # fmt: skip
_CLUSTER = f"{_ADDRESSES[_CRAWL, _RAY]}:6379"
_WEB_AT = f"{_ADDRESSES[_WEB, _HTTP]}:8000"


def site() -> GraphSite:
    return GraphSite(synthetic_web(N_PAGES, rng=11))


def run() -> str:
    if os.geteuid() != 0 or shutil.which("ip") is None:
        return "Not run: network namespaces need root and the command `ip`."
    os.environ |= environment() | {"RAY_AUTH_TOKEN": secrets.token_hex(32)}
    with tempfile.TemporaryDirectory(prefix="orienteer-benchmark-") as scratch, ExitStack() as stack:
        stack.enter_context(_machines())
        web = stack.enter_context(_role(_WEB, "web"))
        stack.enter_context(_role(_NODE, "node"))
        crawler = stack.enter_context(_role(_CRAWL, "coordinator", scratch))
        crawled = json.loads(crawler.communicate(timeout=CRAWL_TIMEOUT_S)[0].splitlines()[-1])
        served = json.loads(web.communicate("end\n", timeout=60)[0].splitlines()[-1])
        alone, folder = Path(scratch) / "alone", Path(scratch) / "cut"
        with FakeWeb(site()) as quick:
            _crawl(alone, quick.address, processes=1)
        check_archive(folder)
        ended, expected = outcomes(folder), outcomes(alone)
        n_lost = sum(event.get("outcome") == "lost" for event in log_of(folder))
    n_differing = sum(ended.get(url) != expected.get(url) for url in ended | expected)
    rows = [
        ["pages of the crawl", f"{len(ended):,}"],
        ["done when the link was cut, when it was back, in the end", ", ".join(f"{n:,}" for n in crawled["n_done"])],
        ["s without the link; of the whole crawl", f"{crawled['cut_s']:.0f}; {crawled['crawl_s']:.0f}"],
        ["requests in the hands of who was cut off", f"{n_lost:,}"],
        ["pages asked for twice", f"{served['n_twice']:,}"],
        ["requests to a host at once, at most", f"{served['most_at_once']}"],
        ["pages lost, double or differing", f"{n_differing}"],
    ]
    return f"{machine('ray', 'pycurl')}\n\n{table(['', ''], rows)}"


# -- machines -----------------------------------------------------------------------------------------------------


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True)


@contextmanager
def _machines() -> Iterator[None]:
    names = [_SWITCH, _CRAWL, _NODE, _WEB]
    _remove(names)
    try:
        for name in names:
            _ip("netns", "add", name)
            _ip("-n", name, "link", "set", "lo", "up")
        for network in (_RAY, _HTTP):
            _ip("-n", _SWITCH, "link", "add", network, "type", "bridge")
            _ip("-n", _SWITCH, "link", "set", network, "up")
        for (name, network), address in _ADDRESSES.items():
            port = _port(name, network)
            _ip("-n", _SWITCH, "link", "add", port, "type", "veth", "peer", "name", network, "netns", name)
            _ip("-n", _SWITCH, "link", "set", port, "master", network, "up")
            _ip("-n", name, "addr", "add", f"{address}/24", "dev", network)
            _ip("-n", name, "link", "set", network, "up")
        yield
    finally:
        _remove(names)


def _port(name: str, network: str) -> str:
    return f"{name.removeprefix('orienteer-')}-{network}"


def _remove(names: list[str]) -> None:
    """What runs there ends, and they are gone."""
    for name in names:
        if not Path("/run/netns", name).exists():
            continue
        for _ in range(3):  # those that are ended may have started others
            pids = subprocess.run(["ip", "netns", "pids", name], capture_output=True, text=True, check=True).stdout
            for pid in pids.split():
                with suppress(ProcessLookupError):
                    os.kill(int(pid), 9)
        _ip("netns", "del", name)


@contextmanager
def _role(name: str, *role: str) -> Iterator[subprocess.Popen[str]]:
    """One of the functions below, on that machine."""
    command = ["ip", "netns", "exec", name, sys.executable, "-m", "benchmarks.partition", *role]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


# -- what they do -------------------------------------------------------------------------------------------------


def web() -> None:
    with FakeWeb(Faulty(site(), latency_s=LATENCY_S), 8000, interface=_ADDRESSES[_WEB, _HTTP]) as web:
        sys.stdin.readline()
        counts = Counter((host, target) for _, host, target in web.requests)
        facts = {
            "n_twice": sum(n > 1 for n in counts.values()),
            "most_at_once": max(web.max_in_flight_per_host.values()),
        }
        print(json.dumps(facts), flush=True)


def _ray_node(*options: str) -> subprocess.Popen[bytes]:
    """`ray start`; what it keeps in /tmp is seen by this machine alone."""
    Path("/tmp/ray").mkdir(exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "none", "/tmp/ray"], check=True)
    command = [sys.executable, "-m", "ray.scripts.scripts", "start", "--block", "--num-cpus=1",
               "--object-store-memory=100000000", "--disable-usage-stats", "--include-log-monitor=false",
               *options]  # fmt: skip
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def node() -> None:
    host, _, port = _CLUSTER.partition(":")
    while True:  # the head comes first
        with suppress(OSError), socket.create_connection((host, int(port)), timeout=1):
            break
        time.sleep(0.2)
    _ray_node(f"--address={_CLUSTER}", f"--node-ip-address={_ADDRESSES[_NODE, _RAY]}").wait()


def coordinator(scratch: str) -> None:
    from orienteer.workers.ray_backend import RayCluster

    address = f"--node-ip-address={_ADDRESSES[_CRAWL, _RAY]}"
    _ray_node("--head", "--port=6379", address, "--include-dashboard=false", "--no-monitor")
    give_up, n_cpus = time.monotonic() + 600, 0
    while n_cpus < 2 and time.monotonic() < give_up:
        time.sleep(5)  # joining takes some CPU seconds
        with suppress(Exception), closing(RayCluster(_CLUSTER)) as cluster:
            n_cpus = cluster.n_cpus
    assert n_cpus == 2, "the other node has not come"
    cut = Cut()
    started = time.monotonic()
    report = _crawl(Path(scratch) / "cut", _WEB_AT, processes=2, cluster=_CLUSTER, watch=cut)
    n_done = [cut.n_done_then, cut.n_done_back, report.figures.n_done]
    print(json.dumps({"n_done": n_done, "cut_s": cut.lasted_s, "crawl_s": time.monotonic() - started}), flush=True)


class Cut:
    """Takes the link away when some pages are done, and gives it back."""

    def __init__(self) -> None:
        self.began: float | None = None
        self.lasted_s = 0.0
        self.n_done_then = self.n_done_back = 0

    def __call__(self, figures: Any) -> None:
        port, now = _port(_NODE, _RAY), time.monotonic()
        if self.began is None and figures.n_done >= CUT_AFTER and len(figures.workers) == 2:
            self.began, self.n_done_then = now, figures.n_done
            _ip("-n", _SWITCH, "link", "set", port, "nomaster")
        elif self.began is not None and not self.lasted_s and now - self.began >= CUT_S:
            self.lasted_s, self.n_done_back = now - self.began, figures.n_done
            _ip("-n", _SWITCH, "link", "set", port, "master", _RAY)


def _crawl(folder: Path, connect_to: str, processes: int, **more: Any) -> Any:
    from orienteer.live.session import live_crawl

    settings = {
        "crawl": {"robots": False, "workers": IN_FLIGHT, "processes": processes, "stop_when": "proved"},
        "politeness": {"delay_s": 0.0, "connections": 1},
        "fetch": {"connect_to": connect_to, "timeout_s": TIMEOUT_S, "allow_private": True},
    }
    return live_crawl(hub(site()), folder, scope="web", settings=settings, **more)


if __name__ == "__main__":
    {"web": web, "node": node, "coordinator": coordinator}[sys.argv[1]](*sys.argv[2:])
