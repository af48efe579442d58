"""How long it takes until something happens: a crawl with nothing in the cache of compiled kernels, and small commands.

A crawl of 20 pages of a web on loopback, without a wait between requests: the time until its first request arrives, and
until it has ended. *Cold* is a new cache of kernels, as after an installation; *warm* one that an earlier crawl has
filled. CPU time is that of the command with the process that compiles beside it. The other rows are the least CPU time
of five runs. Each run is a process of its own; the files have been read before, and there is bytecode of them, as pip
leaves it.
"""

from __future__ import annotations

import compileall
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import orienteer
from benchmarks.measure import machine, table
from orienteer.fake_web.server import FakeWeb
from orienteer.fake_web.site import MadeSite

N_PAGES = 20
N_KNOWN = 300
SEED = "http://a.test/0"
ROUNDS = 5
ORIENTEER = ["-m", "orienteer"]


class Course(NamedTuple):
    """Of a crawl, in seconds from its start."""

    first_request_s: float
    end_s: float
    cpu_s: float


def run() -> str:
    compileall.compile_dir(Path(orienteer.__file__).parent, quiet=1)
    with tempfile.TemporaryDirectory(prefix="orienteer-startup-") as scratch, FakeWeb(_site()) as web:
        folder = Path(scratch)
        crawls = {"cold": _crawl(web, folder, "cold")}
        _fill_cache(web, folder)
        crawls["warm"] = _crawl(web, folder, "warm")
        _cpu_s([*ORIENTEER, "index", "crawl-warm"], folder)
        commands = {
            "orienteer --help": [*ORIENTEER, "--help"],
            "orienteer crawl --help": [*ORIENTEER, "crawl", "--help"],
            "orienteer --version": [*ORIENTEER, "--version"],
            "orienteer status": [*ORIENTEER, "status", "crawl-warm"],
            "orienteer search": [*ORIENTEER, "search", "crawl-warm", "word7"],
            "scrapy --help": ["-m", "scrapy", "--help"],
            "python -c pass": ["-c", "pass"],
        }
        cpu = {name: min(_cpu_s(words, folder) for _ in range(ROUNDS)) for name, words in commands.items()}
    load = ", ".join(f"{figure:.1f}" for figure in os.getloadavg())
    courses = [[name, *(f"{figure:.1f}" for figure in course)] for name, course in crawls.items()]
    return (
        f"{machine('numba', 'typer', 'rich', 'scrapy')}. Load: {load}\n\n"
        f"{table(['cache', 'first request, s', 'end, s', 'CPU s'], courses)}\n"
        f"{table(['command', 'CPU s'], [[name, f'{seconds:.2f}'] for name, seconds in cpu.items()])}"
    )


def _site() -> MadeSite:
    """Pages of 1,600 words and 60 links."""
    words = " ".join(f"word{k} and so on" for k in range(400))
    links = {n: "".join(f"<a href=/{(7 * n + k) % N_KNOWN}>{k}</a> " for k in range(60)) for n in range(N_KNOWN)}
    return MadeSite({f"http://a.test/{n}": f"<title>{n}</title>{links[n]}{words}" for n in range(N_KNOWN)})


def _crawl(web: FakeWeb, folder: Path, name: str, *more: str) -> Course:
    n_before, cpu_before = len(web.requests), _cpu_of_children()
    started = time.perf_counter()
    process = subprocess.Popen(
        _command(web, f"crawl-{name}", *more), cwd=folder, env=_environment(folder), stdout=subprocess.DEVNULL
    )
    while len(web.requests) == n_before and process.poll() is None:
        time.sleep(0.005)
    first = time.perf_counter() - started
    if process.wait() != 0:
        raise RuntimeError(f"the crawl {name} ended with {process.returncode}")
    return Course(first, time.perf_counter() - started, _cpu_of_children() - cpu_before)


def _command(web: FakeWeb, output: str, *more: str) -> list[str]:
    goal = ["--budget", str(N_PAGES), "--delay", "0", "--quiet", *more]
    return [sys.executable, *ORIENTEER, "crawl", SEED, "-o", output, "--connect-to", web.address, *goal]


def _fill_cache(web: FakeWeb, folder: Path) -> None:
    """By a crawl that lasts long enough for it: it waits for each page as it would for a stranger's."""
    while True:
        n_files = _n_files(folder)
        subprocess.run(
            _command(web, f"crawl-{n_files}", "--delay", "1"), cwd=folder, env=_environment(folder), check=True,
            stdout=subprocess.DEVNULL,
        )  # fmt: skip
        if _n_files(folder) == n_files:
            return


def _n_files(folder: Path) -> int:
    return sum(1 for _ in (folder / "cache").rglob("*"))


def _environment(folder: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "NUMBA_CACHE_DIR": str(folder / "cache")}


def _cpu_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _cpu_s(words: list[str], folder: Path) -> float:
    before = _cpu_of_children()
    subprocess.run([sys.executable, *words], check=True, capture_output=True, cwd=folder, env=_environment(folder))
    return _cpu_of_children() - before
