"""Startup times: a crawl with an empty cache of compiled kernels, and small commands.

A crawl of 20 pages of a web on loopback, without a wait between requests: the time until its first request arrives, and
until it has ended, and how many fetches timed out. The pages are made up; *real* ones are those of Click's
documentation, of which one has 560 kB. *Cold* is a new cache of kernels, as after an installation; *warm* one with
all that a crawl needs. CPU time is that of the command with the process that compiles. The other rows are the least
CPU time of five runs. Each run is a process of its own; the files have been read before, and there is bytecode of them,
as pip leaves it.
"""

from __future__ import annotations

import compileall
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import orienteer
from benchmarks.debian_docs import Manual, pages_of
from benchmarks.measure import machine, table
from benchmarks.sizes import IS_TINY, sized
from tests.fake_web.server import FakeWeb
from tests.fake_web.site import MadeSite

N_PAGES = sized(20, 3)
N_KNOWN = 300
CLICK = Manual("click.test", "python-click-doc", "usr/share/doc/python-click-doc/html")
MADE, REAL = "http://a.test/0", "http://click.test/index.html"
ROUNDS = sized(5, 1)
ORIENTEER = ["-m", "orienteer"]
WARM = "crawl-warm"


class CrawlTimes(NamedTuple):
    """Of a crawl, in seconds from its start."""

    first_request_s: float
    end_s: float
    cpu_s: float
    n_timed_out: int


def run() -> str:
    compileall.compile_dir(Path(orienteer.__file__).parent, quiet=1)
    with tempfile.TemporaryDirectory(prefix="orienteer-startup-") as scratch, FakeWeb(_site()) as web:
        folder = Path(scratch)
        crawls = {
            name: _cold_crawl(web, folder, seed)
            for name, seed in sized({"cold": MADE, "cold, real pages": REAL}, {}).items()
        }
        _fill_cache(folder)
        crawls["warm"] = _crawl(web, folder, MADE, WARM)
        crawls["warm, real pages"] = _crawl(web, folder, REAL, "crawl-real")
        _cpu_s([*ORIENTEER, "index", WARM], folder)
        commands = {
            "orienteer --help": [*ORIENTEER, "--help"],
            "orienteer crawl --help": [*ORIENTEER, "crawl", "--help"],
            "orienteer --version": [*ORIENTEER, "--version"],
            "orienteer status": [*ORIENTEER, "status", WARM],
            "orienteer search": [*ORIENTEER, "search", WARM, "word7"],
            "scrapy --help": ["-m", "scrapy", "--help"],
            "python -c pass": ["-c", "pass"],
        }
        commands = sized(commands, {"orienteer --help": [*ORIENTEER, "--help"]})
        cpu = {name: min(_cpu_s(words, folder) for _ in range(ROUNDS)) for name, words in commands.items()}
    load = ", ".join(f"{figure:.1f}" for figure in os.getloadavg())
    crawl_rows = [
        [name, *(f"{figure:.1f}" for figure in times[:3]), str(times.n_timed_out)] for name, times in crawls.items()
    ]
    return (
        f"{machine('numba', 'typer', 'rich', 'scrapy')}. Load: {load}\n\n"
        f"{table(['cache', 'first request, s', 'end, s', 'CPU s', 'timed out'], crawl_rows)}\n"
        f"{table(['command', 'CPU s'], [[name, f'{seconds:.2f}'] for name, seconds in cpu.items()])}"
    )


def _site() -> MadeSite:
    """Pages of 1,600 words and 60 links, and those of a manual."""
    words = " ".join(f"word{k} and so on" for k in range(400))
    links = {n: "".join(f"<a href=/{(7 * n + k) % N_KNOWN}>{k}</a> " for k in range(60)) for n in range(N_KNOWN)}
    made = {f"http://a.test/{n}": f"<title>{n}</title>{links[n]}{words}" for n in range(N_KNOWN)}
    return MadeSite(made | {f"http://{name}": content for name, content in pages_of(CLICK)})


def _cold_crawl(web: FakeWeb, folder: Path, seed: str) -> CrawlTimes:
    shutil.rmtree(folder / "cache", ignore_errors=True)
    return _crawl(web, folder, seed, "crawl-cold")


def _crawl(web: FakeWeb, folder: Path, seed: str, output: str) -> CrawlTimes:
    shutil.rmtree(folder / output, ignore_errors=True)
    n_before, cpu_before = len(web.requests), _cpu_of_children()
    started = time.perf_counter()
    process = subprocess.Popen(
        _command(web, seed, output), cwd=folder, env=_environment(folder), stdout=subprocess.DEVNULL
    )
    while len(web.requests) == n_before and process.poll() is None:
        time.sleep(0.005)
    first = time.perf_counter() - started
    if process.wait() != 0:
        raise RuntimeError(f"the crawl {output} ended with {process.returncode}")
    end, n_timed_out = time.perf_counter() - started, (folder / output / "log.jsonl").read_text().count("timed out")
    return CrawlTimes(first, end, _cpu_of_children() - cpu_before, n_timed_out)


def _command(web: FakeWeb, seed: str, output: str) -> list[str]:
    goal = ["--budget", str(N_PAGES), "--delay", "0", "--quiet"]
    return [sys.executable, *ORIENTEER, "crawl", seed, "-o", output, "--connect-to", web.address, *goal]


def _fill_cache(folder: Path) -> None:
    """Compile all that these crawls need."""
    if IS_TINY:
        return
    made = "CrawlPlan.of_tables({'crawl': {'seeds': ['http://a.test/'], 'topic': True}}, 'here')"
    code = f"from orienteer.ledger.plan import CrawlPlan; from orienteer.live.warm_up import warm_up; warm_up({made})"
    subprocess.run([sys.executable, "-c", code], cwd=folder, env=_environment(folder), check=True)


def _environment(folder: Path) -> dict[str, str]:
    """The process's own with a new cache; a tiny run compiles nothing again."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return environment if IS_TINY else {**environment, "NUMBA_CACHE_DIR": str(folder / "cache")}


def _cpu_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _cpu_s(words: list[str], folder: Path) -> float:
    before = _cpu_of_children()
    subprocess.run([sys.executable, *words], check=True, capture_output=True, cwd=folder, env=_environment(folder))
    return _cpu_of_children() - before
