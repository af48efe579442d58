"""What tests share: random webs of every shape, and where the real data is; and in which order they run.

Chance differs from run to run, and a failure can be had again: pytest says `--randomly-seed=N` at the beginning, and a
test that used `fresh_rng` says it where it failed. With that option it draws the same numbers. Hypothesis prints what
to add to a test for the same example; CI has the same examples every time.
"""

from __future__ import annotations

import ast
import atexit
import gc
import os
import random
import shutil
import signal
import sys
import tarfile
import tempfile
import threading
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import settings

from orienteer.graph.link_graph import LinkGraph
from tests import ready_process
from tests.ready_process import ready_children
from tests.window import NAMES, TIMEOUT_MS, browser_path

if TYPE_CHECKING:
    from playwright.sync_api import Browser

# Kernels compile on first call, which is no slow test; CI repeats the same examples every time. More examples by
# `--hypothesis-profile=thorough`.
settings.register_profile(
    "orienteer", deadline=None, print_blob=True, max_examples=30, derandomize=bool(os.environ.get("CI"))
)
settings.register_profile("thorough", settings.get_profile("orienteer"), max_examples=1000)
settings.load_profile("orienteer")

# The key that this user signs with: tests have one of their own, in whatever process they run.
_STATE = tempfile.mkdtemp(prefix="orienteer-state-")
atexit.register(shutil.rmtree, _STATE, ignore_errors=True)
os.environ["XDG_STATE_HOME"] = _STATE

# There is a test process for every core, and threads that wait for work in a loop would take turns with them. NumPy is
# loaded here already; the processes that run the tests have it from the environment.
for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

# Hundreds of processes are started, and without bytecode each would compile the whole package. Those that this one
# starts, and the modules that it imports from here on, keep theirs.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

if sys.version_info < (3, 12, 2):
    # Two threads that parse at the same time, for example for a traceback, raise a SystemError there (gh-106905).
    _parse, _is_parsing = ast.parse, threading.RLock()

    def _parse_alone(*arguments: Any, **options: Any) -> Any:
        with _is_parsing:
            return _parse(*arguments, **options)

    ast.parse = _parse_alone

gc.disable()  # until all tests are collected: what is made up to then stays
# Libraries complain where something of theirs is left in the end. Not sooner: before that pytest collects five times.
atexit.register(gc.unfreeze)

SHARED_DATA = Path(__file__).parents[2] / "shared" / "data"


def pytest_configure(config: pytest.Config) -> None:
    ready_process.at_start.update(os.environ)
    config.addinivalue_line("markers", "long: takes more than about five seconds; modules with such tests begin first")
    config.addinivalue_line("markers", "slow: the same, and only run by `make test TESTS=all`, as CI does")
    # A shell that starts tests in the background has Ctrl-C ignored, and all processes below would inherit that.
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) == signal.SIG_IGN:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)  # so has nohup


@pytest.hookimpl(optionalhook=True)  # xdist may be left out
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """One more than there are cores: many tests wait for servers and processes. Each collects all tests, and loads
    kernels, which takes as long as a thousand small tests."""
    return len(os.sched_getaffinity(0)) + 1 if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1) + 1


@pytest.hookimpl(trylast=True)  # once the order is random
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """No core is to wait in the end for another one that has just begun something long."""
    long = {item.path for item in items if item.get_closest_marker("long") or item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in long)


def pytest_collection_finish() -> None:
    """What is here now stays until the end: the collector need not look at a million things again and again."""
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.failed and "fresh_rng" in getattr(item, "fixturenames", ()):
        report.sections.append(("the same again", f"pytest --randomly-seed={_seed(item.config)} {item.nodeid!r}"))
    return report


def _seed(config: pytest.Config) -> int:
    return int(getattr(config.option, "randomly_seed", 0))


def shared_file(name: str) -> Path:
    """A file or folder of the real data, or a skip that says which is missing."""
    path = SHARED_DATA / name
    if not path.exists():
        pytest.skip(f"real data is missing: {path}")
    return path


def golden_folder(name: str, into: Path) -> Path:
    """A crawl folder that an earlier version has written, unpacked."""
    with tarfile.open(Path(__file__).parent / "golden" / "folders" / f"{name}.tar.xz") as packed:
        packed.extraction_filter = getattr(tarfile, "data_filter", None)  # Python 3.11.2 has none
        packed.extractall(into)
    return into / name


def random_web(rng: np.random.Generator, n_pages: int, mean_degree: float = 4.0, with_hosts: bool = False) -> LinkGraph:
    """A web with dangling pages, isolated pages, hubs, and repeated and self-links on the way in."""
    n_links = int(n_pages * mean_degree)
    weights = rng.pareto(1.0, n_pages) + 0.05
    sources = rng.choice(n_pages, n_links, p=_with_holes(rng, weights))
    targets = rng.choice(n_pages, n_links, p=_with_holes(rng, weights[::-1]))
    hosts = np.sort(rng.integers(0, max(1, n_pages // 5), n_pages)) if with_hosts else None
    return LinkGraph.from_links(n_pages, sources, targets, hosts=hosts)


def _with_holes(rng: np.random.Generator, weights: np.ndarray) -> np.ndarray:
    """Probabilities that leave about a third of the pages out, but never all."""
    holes = rng.random(len(weights)) < 0.3
    if holes.all():
        holes[0] = False
    weights = np.where(holes, 0.0, weights)
    return weights / weights.sum()


@pytest.fixture(scope="session", autouse=True)
def _valid_records() -> Iterator[None]:
    """No test archives a record that `warcio check` finds wrong."""
    from tests.valid_archives import every_record_checked

    with every_record_checked():
        yield


@pytest.fixture
def ready_child_processes() -> Iterator[None]:
    """Worker processes begin where all is imported; `tests/processes/test_child` has them begin at nothing."""
    with ready_children():
        yield


@pytest.fixture
def ready_jobs() -> Iterator[None]:
    """Jobs of a library begin where all is imported; `tests/library/test_jobs` has most of its own begin at nothing."""
    from tests.ready_jobs import place, ready_jobs

    with ready_jobs(place()):
        yield


@pytest.fixture
def fresh_rng(request: pytest.FixtureRequest) -> random.Random:
    """Random numbers that are others in every run, unless `--randomly-seed` says which."""
    return random.Random(f"{_seed(request.config)} {request.node.nodeid}")


@pytest.fixture
def rng() -> np.random.Generator:
    """Random numbers; the same in every run."""
    return np.random.default_rng(20260101)


@pytest.fixture(scope="session")
def changed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A crawl that was refreshed three times (see changing_crawl.py). Who changes the folder makes a copy of it."""
    from tests.changing_crawl import changed_crawl

    return changed_crawl(tmp_path_factory.mktemp("changed") / "town")


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One for all tests of a process: Playwright can be started there only once."""
    path = browser_path()
    if path is None:
        pytest.skip(f"no browser on this machine: {', '.join(NAMES)}")
    playwright_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    playwright_api.expect.set_options(timeout=TIMEOUT_MS)
    with playwright_api.sync_playwright() as playwright:
        # A tab that is emptied keeps its process: a new one takes longer than most pages.
        arguments = ["--no-sandbox", "--disable-gpu", "--renderer-process-limit=1"]
        browser = playwright.chromium.launch(executable_path=path, args=arguments)
        yield browser
        browser.close()
