"""Hosts that are broken, endless, slow or many: what they cost a live crawl, against the same crawl without them.

*Broken pages*: the home page of a host links to three broken pages first, then to sixty good ones. *Wildcard hosts*: on
the site of a good host, each page of a trap links to ten new hosts of that site. *Dripping hosts*: the home page links
to 200 hosts that send a byte a second, each of which takes a worker until its time is up. *Many hosts*: 400 hosts, and
a limit on open files (`ulimit -n`) that allows fewer connections.

All are served on loopback by another process, and crawled by the real command over sockets; retries are those by
default. Delays between requests are shorter than those by default, so that it does not take all day.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from hashlib import blake2b
from pathlib import Path
from typing import Any

from benchmarks.measure import machine, table
from benchmarks.sizes import sized
from tests.fake_web.fake_response import NOT_FOUND, FakeResponse, redirect_to
from tests.fake_web.process import FakeWebProcess
from tests.fake_web.site import RequestHeaders, Site

N_GOOD, N_BROKEN = sized(60, 5), 3
BUDGET, TRAP_DELAY_S = sized(400, 20), 0.02
N_DRIPPING, DRIP_DELAY_S, DRIP_S = sized(200, 5), 0.05, sized(32.0, 0.5)
N_HOSTS = sized(400, 5)
GOOD = "www.example.test"
KINDS = (("none", ""), ("three, 500", "500"), ("three, redirect to mailto:", "mailto"))  # of broken pages


class BrokenPages(Site):
    def __init__(self, kind: str) -> None:
        self.kind = kind

    def response(self, host: str, target: str, headers: RequestHeaders) -> FakeResponse:
        if target == "/":
            broken = range(N_BROKEN if self.kind else 0)
            return FakeResponse(
                "".join([f"<a href=/broken{k}>" for k in broken] + [f"<a href=/{k}>" for k in range(N_GOOD)])
            )
        if target.startswith("/broken"):
            return (
                redirect_to("mailto:someone@example.test", 302) if self.kind == "mailto" else FakeResponse(status=500)
            )
        return FakeResponse("<p>good") if target[1:].isdecimal() else NOT_FOUND


class Wildcard(Site):
    """A good host of many pages; with the trap, any other name of the site answers, too."""

    def __init__(self, has_trap: bool) -> None:
        self.has_trap = has_trap

    def response(self, host: str, target: str, headers: RequestHeaders) -> FakeResponse:
        if target == "/robots.txt":
            return NOT_FOUND
        if host != GOOD:
            names = (blake2b(f"{host}{k}".encode(), digest_size=5).hexdigest() for k in range(10))
            return FakeResponse("".join(f"<a href=http://x{name}.example.test/>" for name in names))
        number = int(target[1:] or 0)
        trap = "<a href=http://x.example.test/>" if self.has_trap and number == 0 else ""
        return FakeResponse(trap + "".join(f"<a href=/{(7 * number + k) % 5000}>" for k in range(1, 11)))


class Dripping(Site):
    """Each page of the good host links to the next ones; with the others, the home page links to these first."""

    def __init__(self, n_dripping: int) -> None:
        self.n_dripping = n_dripping

    def response(self, host: str, target: str, headers: RequestHeaders) -> FakeResponse:
        if host != GOOD:
            return FakeResponse("<p>" + 1000 * "drip ", bytes_per_s=1.0, drips_head=True)
        if target == "/robots.txt":
            return NOT_FOUND
        number = int(target[1:] or 0)
        others = range(self.n_dripping if number == 0 else 0)
        links = [f"<a href=http://drip{k}.test/>" for k in others] + [f"<a href=/{number + k}>" for k in (1, 2, 3)]
        return FakeResponse("".join(links))


class ManyHosts(Site):
    def response(self, host: str, target: str, headers: RequestHeaders) -> FakeResponse:
        links = range(N_HOSTS) if host == "h0.test" else ()
        return FakeResponse("".join(f"<a href=http://h{k}.test/>" for k in links))


class Crawled:
    """The command, run to its end, or stopped after some time."""

    def __init__(
        self, site: type[Site], argument: Any, seed: str, *options: object, stop_after_s: float | None = None,
        n_files: int | None = None,
    ) -> None:  # fmt: skip
        arguments = () if argument is None else (argument,)
        with tempfile.TemporaryDirectory(prefix="orienteer-benchmark-") as scratch:
            with FakeWebProcess(site, *arguments) as web:
                folder = Path(scratch) / "crawl"
                command = [sys.executable, "-m", "orienteer", "crawl", seed, "-o", str(folder), "--quiet"]
                command += ["--connect-to", web.address, *map(str, options)]
                if n_files is not None:
                    command = ["bash", "-c", 'ulimit -n "$0" && exec "$@"', str(n_files), *command]
                self.code, self.said = _ended(command, folder, stop_after_s)
            log = folder / "log.jsonl"
            events = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
        self.took_s = sum(event["elapsed_s"] for event in events if event["event"] == "end")
        fetches = [event for event in events if event["event"] == "fetch"]
        self.n_asked = Counter(event["url"].split("/")[2] for event in fetches)
        self.n_ok = Counter(event["url"].split("/")[2] for event in fetches if event["outcome"] == "ok")


def _ended(command: list[str], folder: Path, stop_after_s: float | None) -> tuple[int, str]:
    """Exit code and stderr. The time counts from the first entry of the log, when all is compiled and loaded."""
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        if stop_after_s is not None:
            while process.poll() is None and not (folder / "log.jsonl").exists():
                time.sleep(0.02)
            time.sleep(stop_after_s)
            for _ in range(2):
                process.send_signal(signal.SIGINT)
                time.sleep(0.1)
        _, said = process.communicate(timeout=300)
        return process.returncode, said.strip()


def broken_pages() -> str:
    rows = []
    alone = 0.0
    for name, kind in sized(KINDS, KINDS[:2]):
        crawled = Crawled(BrokenPages, kind, f"http://{GOOD}/", "--delay", 0.02, "--policy", "breadth-first")
        alone = alone or crawled.took_s
        n_good = crawled.n_ok[GOOD]
        rows.append([name, f"{n_good} of {N_GOOD + 1}", f"{crawled.took_s:.1f}", f"{crawled.took_s / alone:.2f}",
                     str(crawled.code)])  # fmt: skip
    return table(["broken pages", "good pages fetched", "s", "x without", "exit code"], rows)


def wildcard_hosts() -> str:
    rows = []
    for policy in sized(("certified", "breadth-first"), ("certified",)):
        alone = 0
        for has_trap in (False, True):
            options = ("--scope", "site", "--budget", BUDGET, "--delay", TRAP_DELAY_S, "--policy", policy)
            crawled = Crawled(Wildcard, has_trap, f"http://{GOOD}/", *options)
            n_good, n_all = crawled.n_ok[GOOD], crawled.n_ok.total()
            alone = alone or n_good
            rows.append([f"{policy}, {'with' if has_trap else 'without'} the trap", f"{n_all:,}", f"{n_good:,}",
                         f"{100 * (1 - n_good / n_all):.1f} %", f"{n_good / alone:.2f}",
                         f"{crawled.took_s:.1f}"])  # fmt: skip
    return table(["wildcard hosts", "pages", "of the good host", "wasted", "x without", "s"], rows)


def dripping_hosts() -> str:
    rows = []
    alone = 0
    for n_dripping in (0, N_DRIPPING):
        options = ("--scope", "web", "--delay", DRIP_DELAY_S, "--workers", 32, "--ignore-robots")
        crawled = Crawled(Dripping, n_dripping, f"http://{GOOD}/", *options, stop_after_s=DRIP_S)
        n_good = crawled.n_ok[GOOD]
        alone = alone or n_good
        n_others = crawled.n_asked.total() - crawled.n_asked[GOOD]
        rows.append([f"{n_dripping} hosts", f"{n_good:,}", f"{n_good / alone:.2f}", f"{n_others:,}"])
    return table(["dripping", f"pages of the good host in {DRIP_S:.0f} s", "x without", "answers of the others"], rows)


def many_hosts() -> str:
    rows = []
    for n_files in sized((20_000, 256, 64, 16, 8), (64,)):
        options = ("--scope", "web", "--delay", 0.02, "--ignore-robots")
        crawled = Crawled(ManyHosts, None, "http://h0.test/", *options, n_files=n_files)
        n_ok = crawled.n_ok.total()
        rows.append([f"ulimit -n {n_files}", f"{n_ok} of {N_HOSTS}", str(crawled.code), crawled.said or "nothing"])
    return table(["open files", "hosts fetched", "exit code", "said"], rows)


def run() -> str:
    texts = [broken_pages(), wildcard_hosts(), dripping_hosts(), many_hosts()]
    return "\n".join([f"{machine('numpy', 'numba', 'pycurl')}\n", *texts])


if __name__ == "__main__":
    print(run())
