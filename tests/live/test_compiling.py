"""A crawl for which nothing is compiled yet: it begins at once, and a process beside it compiles."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from orienteer.fake_web.answers import Answer
from orienteer.fake_web.server import FakeWeb
from orienteer.fake_web.site import MadeSite
from orienteer.kernel_folder import folder
from orienteer.ledger.plan import CrawlPlan
from orienteer.live import compiling
from orienteer.live.session import live_crawl
from orienteer.processes import child
from tests.cli.live_process import ended, options, started, wait_until
from tests.live.live_crawls import Told

SEED = "http://a.test/"
PAGES = {SEED: "".join(f"<a href=/{k}>{k}</a>" for k in range(12))}
PAGES |= {f"http://a.test/{k}": f"<a href=/{(5 * k) % 12}>{k}</a><a href=/{k // 2}>x" for k in range(12)}


def children(pid: int) -> list[int]:
    """The processes that a process has started."""
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def is_there(pid: int) -> bool:
    """Whether it runs; one that has ended and that nobody has waited for is there in name only."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_crawl_begins_and_ends_before_anything_is_compiled(tmp_path: Path) -> None:
    cold = tmp_path / "cache"
    with FakeWeb(MadeSite(PAGES)) as web:
        with started("crawl", SEED, *options(web, "-o", "c"), cwd=tmp_path, NUMBA_CACHE_DIR=str(cold)) as process:
            done = ended(process)
        assert done.returncode == 0, done.stderr
        assert done.stderr == ""
    assert len(Told(tmp_path / "c").fetched_urls()) == 13


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_the_process_ends_with_the_crawl_however_it_ends(number: signal.Signals, tmp_path: Path) -> None:
    cold = str(tmp_path / "cache")
    with FakeWeb(MadeSite({SEED: Answer(PAGES[SEED], delay_s=2.0)})) as web:
        with started("crawl", SEED, *options(web, "-o", "c"), cwd=tmp_path, NUMBA_CACHE_DIR=cold) as process:
            wait_until(lambda: web.count(SEED))
            (compiler,) = children(process.pid)
            assert "orienteer.processes.child" in Path(f"/proc/{compiler}/cmdline").read_text()
            process.send_signal(number)
            done = ended(process)
        assert done.returncode == (3 if number == signal.SIGINT else -number)
        wait_until(lambda: not is_there(compiler))


def test_what_the_process_has_compiled_the_crawl_loads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once it has come to its end, nothing is left to compile, and no process is started."""
    plan = CrawlPlan.of_tables({"crawl": {"seeds": [SEED]}}, "here")
    process = compiling._started(plan)
    assert process is not None
    assert process.wait() == 0
    process.close()
    assert folder() is not None
    assert compiling._are_loaded(plan)
    monkeypatch.setattr(compiling, "_started", None)
    with FakeWeb(MadeSite(PAGES)) as web:
        settings = {"fetch": {"connect_to": web.address}, "politeness": {"delay_s": 0.0}}
        assert live_crawl(SEED, tmp_path / "c", settings=settings).figures.n_fetched == 13


def test_where_no_process_can_be_started_all_is_compiled_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling, "_are_loaded", lambda plan: False)
    monkeypatch.setattr(child.sys, "executable", "/nonexistent/python")
    with FakeWeb(MadeSite(PAGES)) as web:
        settings = {"fetch": {"connect_to": web.address}, "politeness": {"delay_s": 0.0}}
        assert live_crawl(SEED, tmp_path / "c", settings=settings).figures.n_fetched == 13


def test_a_crawl_goes_on_where_the_process_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling, "_are_loaded", lambda plan: False)
    monkeypatch.setattr(child.sys, "executable", "/bin/false")
    with FakeWeb(MadeSite(PAGES)) as web:
        settings = {"fetch": {"connect_to": web.address}, "politeness": {"delay_s": 0.0}}
        assert live_crawl(SEED, tmp_path / "c", settings=settings).figures.n_fetched == 13
