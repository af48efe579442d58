"""A crawl with an empty kernel cache: it starts at once while a child process compiles."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from orienteer import kernel_folder
from orienteer.kernel_folder import folder
from orienteer.ledger.plan import CrawlPlan
from orienteer.live import warm_up
from orienteer.live.session import live_crawl, open_crawl
from orienteer.pages.stop_reason import StopReason
from orienteer.processes import child
from orienteer.processes.child import Child
from tests.cli.live_process import ended, options, started, wait_until
from tests.fake_web.fake_response import FakeResponse
from tests.fake_web.server import FakeWeb
from tests.fake_web.site import MadeSite
from tests.live.live_crawls import StoredCrawl

pytestmark = pytest.mark.slow

SEED = "http://a.test/"
PAGES = {SEED: "".join(f"<a href=/{k}>{k}</a>" for k in range(12))}
PAGES |= {f"http://a.test/{k}": f"<a href=/{(5 * k) % 12}>{k}</a><a href=/{k // 2}>x" for k in range(12)}


def children(pid: int) -> list[int]:
    """Return the child processes of a process."""
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def is_there(pid: int) -> bool:
    """Return whether a process runs; a zombie does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_crawl_does_not_wait_for_compilation(tmp_path: Path) -> None:
    cold = tmp_path / "cache"
    with FakeWeb(MadeSite(PAGES)) as web:
        with started("crawl", SEED, *options(web, "-o", "c"), cwd=tmp_path, NUMBA_CACHE_DIR=str(cold)) as process:
            done = ended(process)
        assert done.returncode == 0, done.stderr
        assert done.stderr == ""
    assert len(StoredCrawl(tmp_path / "c").fetched_urls()) == 13


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_the_child_ends_with_the_crawl(number: signal.Signals, tmp_path: Path) -> None:
    cold = str(tmp_path / "cache")
    with FakeWeb(MadeSite({SEED: FakeResponse(PAGES[SEED], delay_s=2.0)})) as web:
        with started("crawl", SEED, *options(web, "-o", "c"), cwd=tmp_path, NUMBA_CACHE_DIR=cold) as process:
            wait_until(lambda: web.count(SEED))
            (compiler,) = children(process.pid)
            assert "orienteer.processes.child" in Path(f"/proc/{compiler}/cmdline").read_text()
            process.send_signal(number)
            done = ended(process)
        assert done.returncode == (130 if number == signal.SIGINT else -number)
        wait_until(lambda: not is_there(compiler))


def test_the_crawl_loads_kernels_that_the_child_compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once the child has finished, nothing is left to compile, and no child is started."""
    plan = CrawlPlan.of_tables({"crawl": {"seeds": [SEED]}}, "here")
    process = warm_up._started(plan)
    assert process is not None
    assert process.wait() == 0
    process.close()
    assert folder() is not None
    assert warm_up._are_loaded(plan)
    monkeypatch.setattr(warm_up, "_started", None)
    with FakeWeb(MadeSite(PAGES)) as web:
        settings = {"fetch": {"connect_to": web.address}, "politeness": {"delay_s": 0.0}}
        assert live_crawl(SEED, tmp_path / "c", settings=settings).figures.n_fetched == 13


def test_without_a_child_process_kernels_are_compiled_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warm_up, "_are_loaded", lambda plan: False)
    monkeypatch.setattr(child.sys, "executable", "/nonexistent/python")
    with FakeWeb(MadeSite(PAGES)) as web:
        settings = {"fetch": {"connect_to": web.address}, "politeness": {"delay_s": 0.0}}
        assert live_crawl(SEED, tmp_path / "c", settings=settings).figures.n_fetched == 13


def test_a_crawl_continues_after_the_child_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warm_up, "_are_loaded", lambda plan: False)
    monkeypatch.setattr(child.sys, "executable", "/bin/false")
    with FakeWeb(MadeSite(PAGES)) as web:
        settings = {"fetch": {"connect_to": web.address}, "politeness": {"delay_s": 0.0}}
        assert live_crawl(SEED, tmp_path / "c", settings=settings).figures.n_fetched == 13


LARGE = SEED + "large"
REAL = {
    SEED: PAGES[SEED] + "<a href=/large>large</a>",
    LARGE: "<title>Large</title>" + "<p>word <a href=/1>x</a>" * 12_000,
}
REAL |= {url: page for url, page in PAGES.items() if url != SEED}


def compile_when_released(channel: Connection, policy: str, damping: float) -> None:
    """The compiling child, delayed until a file appears in the folder of the kernels, or for good."""
    folder = kernel_folder.folder()
    assert folder is not None
    while not (folder / "go").exists():
        time.sleep(0.01)
    warm_up._compile(channel, policy, damping)


@contextmanager
def compiler_held_up(cold: Path) -> Iterator[None]:
    """Start with an empty cache, and delay the compiler until a file `go` appears in it."""
    cold.mkdir(mode=0o700)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernel_folder, "_given", cold)
        kernel_folder.folder.cache_clear()
        patch.setattr(
            warm_up, "_started", lambda plan: Child(compile_when_released, plan.crawl.policy, plan.crawl.damping)
        )
        yield
    kernel_folder.folder.cache_clear()


def test_a_crawl_with_large_pages_does_not_wait_for_the_compiler(tmp_path: Path) -> None:
    """The compiler never ends. All pages are fetched and read, with the same links as with compiled kernels."""
    cold = tmp_path / "cache"
    with FakeWeb(MadeSite(REAL)) as web:
        settings = {"fetch": {"connect_to": web.address}, "politeness": {"delay_s": 0.0}}
        with compiler_held_up(cold):
            report = live_crawl(SEED, tmp_path / "plain", settings=settings)
        assert list(cold.iterdir()) == []
        live_crawl(SEED, tmp_path / "compiled", settings=settings)
    assert report.figures.n_fetched == len(REAL)
    assert outcomes(tmp_path / "plain") == {"ok"}
    assert links(tmp_path / "plain") == links(tmp_path / "compiled")


def outcomes(folder: Path) -> set[str]:
    """Return the outcomes of all fetches of pages."""
    lines = map(json.loads, (folder / "log.jsonl").read_text().splitlines())
    return {line["outcome"] for line in lines if line["event"] == "fetch"}


def links(folder: Path) -> dict[str, set[str]]:
    """Return the links of each page."""
    stored = StoredCrawl(folder)
    return {url: {stored.urls[link] for link in row.links} for url, row in stored.rows.items() if row is not None}


def test_after_the_child_fails_nothing_is_in_flight_while_the_crawl_compiles(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The child fails with requests in flight: these finish first, and no others start."""
    monkeypatch.setattr(warm_up, "_are_loaded", lambda plan: False)
    monkeypatch.setattr(warm_up, "_started", lambda plan: Child(wait_for_the_end))
    in_flight: list[int] = []
    pages = REAL | {f"{SEED}5": FakeResponse(PAGES[f"{SEED}5"], delay_s=0.5)}
    with FakeWeb(MadeSite(pages)) as web:
        settings = {"fetch": {"connect_to": web.address}, "politeness": {"delay_s": 0.0}, "scope": {"kind": "host"}}
        plan = CrawlPlan.of_tables({"crawl": {"seeds": [SEED]}} | settings, "here")
        with open_crawl(tmp_path / "c", plan) as live:
            kernels = live._kernels
            assert kernels is not None
            compile_here = kernels.compile_here

            def noted() -> None:
                in_flight.append(live.pool.n_in_flight)
                compile_here()

            def tick() -> None:
                if live.pool.n_in_flight and not in_flight:
                    kernels._process.kill()
                    kernels._process.wait()

            monkeypatch.setattr(kernels, "compile_here", noted)
            why = live.run(tick)
    assert why is StopReason.FRONTIER_EMPTY
    assert in_flight == [0]
    assert len(StoredCrawl(tmp_path / "c").fetched_urls()) == len(REAL)


def wait_for_the_end(channel: Connection) -> None:
    channel.poll(None)
