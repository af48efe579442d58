"""`orienteer crawl` in a terminal, and interrupted: by signals, by closing the terminal, before it has begun."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.cli.live_process import (
    CONTROLS,
    Terminal,
    ended,
    options,
    screen,
    signalled_until_it_ends,
    started,
    wait_until,
)  # fmt: skip
from tests.cli.run import orienteer
from tests.fake_web.fake_response import FakeResponse
from tests.fake_web.server import FakeWeb
from tests.fake_web.site import MadeSite, RequestHeaders
from tests.live.live_crawls import StoredCrawl
from tests.ready_process import TEST_TIMEOUT_S

pytestmark = pytest.mark.long

SEED = "http://a.test/"
SLOW = [f"http://a.test/slow{k}" for k in range(3)]
SITEMAP = "<urlset><url><loc>http://a.test/x</loc></url></urlset>"
LATER = [f"http://a.test/later{k}" for k in range(3)]


class Web(FakeWeb):
    """A page, three that come once they are released, and one behind each of them."""

    def __init__(self) -> None:
        self._released = threading.Event()
        links = "".join(f"<a href={url}>slow</a>" for url in SLOW)
        places = {SEED: links} | dict.fromkeys(SLOW, self.slow) | dict.fromkeys(LATER, "here at last")
        super().__init__(MadeSite(places))

    def slow(self, host: str, target: str, _: RequestHeaders) -> FakeResponse:
        return FakeResponse(f"<a href={target.replace('slow', 'later')}>later</a>", held_until=self._released)

    def release(self) -> None:
        self._released.set()

    def all_are_awaited(self) -> bool:
        return all(self.count(url) for url in SLOW)


def report_of(folder: Path) -> dict[str, object]:
    report: dict[str, object] = json.loads((folder / "report.json").read_text())
    return report


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_after_the_end_of_a_command_is_too_late(number: signal.Signals) -> None:
    """It comes while Python ends."""
    script = (
        "import atexit, os, sys\n"
        "from orienteer.cli.main import run\n"
        f"atexit.register(os.kill, os.getpid(), {int(number)})\n"
        "sys.argv = ['orienteer', '--version']\n"
        "run()"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=TEST_TIMEOUT_S)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""


def test_what_is_started_after_a_command_can_be_ended() -> None:
    script = (
        "import subprocess, sys\n"
        "from orienteer.cli.main import run\n"
        "sys.argv = ['orienteer', '--version']\n"
        "try:\n"
        "    run()\n"
        "except SystemExit:\n"
        "    pass\n"
        "sleeping = subprocess.Popen(['sleep', '30'])\n"
        "sleeping.terminate()\n"
        "print(sleeping.wait())"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=TEST_TIMEOUT_S)
    assert done.stdout.splitlines()[-1] == str(-signal.SIGTERM), done.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_one_signal_finishes_what_is_under_way(number: signal.Signals, tmp_path: Path) -> None:
    with (
        Web() as web,
        started("crawl", SEED, *options(web, "-o", "c", "--set", "fetch.timeout_s=3000"), cwd=tmp_path) as process,
    ):
        wait_until(web.all_are_awaited)
        process.send_signal(number)
        web.release()
        done = ended(process)
        assert done.returncode == 128 + number
        assert "stopped by you. Resume any time" in done.stdout
        assert "orienteer crawl c" in done.stdout
        stored = StoredCrawl(tmp_path / "c")
        assert stored.fetched_urls() == {SEED, *SLOW}
        assert not any(web.count(url) for url in LATER)
        assert report_of(tmp_path / "c")["stopped_because"] == "interrupted"
        orienteer("crawl", tmp_path / "c")
        assert StoredCrawl(tmp_path / "c").fetched_urls() == {SEED, *SLOW, *LATER}
        assert all(web.count(url) == 1 for url in (SEED, *SLOW, *LATER))


def test_a_second_signal_ends_it_at_once(tmp_path: Path) -> None:
    with (
        Web() as web,
        started("crawl", SEED, *options(web, "-o", "c", "--set", "fetch.timeout_s=3000"), cwd=tmp_path) as process,
    ):
        wait_until(web.all_are_awaited)
        signalled_until_it_ends(process)
        done = ended(process)
        assert done.returncode in (130, -signal.SIGINT)  # the last signal may come when Python is leaving already
        assert "stopped by you" in done.stdout
        assert StoredCrawl(tmp_path / "c").fetched_urls() == {SEED}
        web.release()
        orienteer("crawl", tmp_path / "c")
        assert StoredCrawl(tmp_path / "c").fetched_urls() == {SEED, *SLOW, *LATER}
        assert web.count(SEED) == 1
        log = [json.loads(line) for line in (tmp_path / "c" / "log.jsonl").read_text().splitlines()]
        assert sum(line.get("outcome") == "cancelled" for line in log) == 3


def test_nohup_keeps_the_crawl_running(tmp_path: Path) -> None:
    """As with nohup: a SIGHUP that was ignored before stays ignored."""
    with Web() as web:
        command = ["nohup", "setsid", "-w", *_command(web)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path) as process:
            wait_until(web.all_are_awaited)
            holder = int((tmp_path / "c" / "crawl.lock").read_text())
            subprocess.run(["kill", "-HUP", str(holder)], check=True)
            web.release()
            process.communicate(timeout=TEST_TIMEOUT_S)
        assert process.returncode == 0
        assert StoredCrawl(tmp_path / "c").fetched_urls() == {SEED, *SLOW, *LATER}


def _command(web: FakeWeb) -> list[str]:
    from tests.cli.live_process import COMMAND

    return [*COMMAND, "crawl", SEED, *options(web, "-o", "c", "--set", "fetch.timeout_s=3000")]


@pytest.mark.slow
def test_a_crawl_calls_only_kernels_that_were_compiled_for_it(tmp_path: Path) -> None:
    """Compile the kernels first; compiling during the test would delay the signal handlers."""
    script = """
import gc, os, sys
from pathlib import Path
from numba.core.registry import CPUDispatcher
from orienteer.live.figures import ProgressWatch
from orienteer.ledger.plan import CrawlPlan
from orienteer.live.session import open_crawl, write_report
from orienteer.live.warm_up import warm_up
def compiled():
    kernels = [thing for thing in gc.get_objects() if isinstance(thing, CPUDispatcher)]
    return {(kernel.__module__, kernel.__name__, str(types)) for kernel in kernels for types in kernel.signatures}
def crawled(path):
    plan = CrawlPlan.parse(path.read_text(), str(path))
    warm_up(plan)
    with open_crawl(path.with_suffix(""), plan) as live:
        before = compiled()
        watch = ProgressWatch(live.intake, live)
        report = write_report(live.ledger, watch, live.run(watch.update))
        assert report.figures.n_done >= 8, report.figures
        print(path.stem, *sorted(f"{module}.{name}" for module, name, _ in compiled() - before), flush=True)
assert not compiled()
for path in map(Path, sys.argv[1:]):  # each in a process where nothing is compiled, but all is imported
    if os.fork() == 0:
        crawled(path)
        os._exit(0)
    assert os.wait()[1] == 0
"""
    words = " ".join(f"word{k} and so on" for k in range(100))
    site = MadeSite(
        {
            SEED: "".join(f"<a href=/{k}>{k}</a>" for k in range(6)) + words,
            "http://a.test/0": FakeResponse(status=301, headers=(("Location", "/5"),)),
            "http://a.test/1": f"<meta charset=latin1><a href=/3>{words}",
            "http://a.test/2": f"<a href=/deeper>{words} and nearly nothing else",
            "http://a.test/4": FakeResponse("no", status=403),
            "http://a.test/map.xml": FakeResponse(SITEMAP, content_type="text/xml"),
            "http://a.test/x": "<a href=/y>",
        },
        robots={"a.test": "User-agent: *\nDisallow: /5\nSitemap: http://a.test/map.xml\nCrawl-delay: 0.01"},
    )  # fmt: skip
    policies = ["certified", "windowed-rankmass", "pagerank"]
    with FakeWeb(site) as web:
        for policy in policies:
            (tmp_path / f"{policy}.toml").write_text(
                f'[crawl]\nseeds = ["{SEED}"]\npolicy = "{policy}"\n'
                f'[fetch]\nconnect_to = "{web.address}"\n[politeness]\ndelay_s = 0\n'
            )
        done = orienteer_script(script, *(tmp_path / f"{policy}.toml" for policy in policies))
    assert done.splitlines() == policies


def orienteer_script(script: str, *arguments: Path) -> str:
    import sys

    command = [sys.executable, "-c", script, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TEST_TIMEOUT_S)
    assert done.returncode == 0, done.stderr
    return done.stdout


# -- in a terminal ----------------------------------------------------------------------------------------------


def test_in_a_terminal_a_panel_comes_and_goes(tmp_path: Path) -> None:
    with (
        Web() as web,
        Terminal("crawl", SEED, *options(web, "-o", "c", "--set", "fetch.timeout_s=3000"), cwd=tmp_path) as terminal,
    ):
        terminal.read_until("3 in flight")
        terminal.read_until("╯")
        displayed = screen(terminal.written)
        assert any("Ctrl-C finishes the requests in flight" in line for line in displayed)
        assert any(line.startswith("╭─ c ─") for line in displayed)
        web.release()
        assert terminal.read_to_the_end() == 0
    left = screen(terminal.written)
    assert left[0].startswith("result    everything reachable is fetched; at least 100.00 % covered")
    assert not any(sign in line for line in left for sign in "╭│╰█")
    assert not any(CONTROLS.search(line) for line in left)
    assert terminal.written.rindex("\x1b[?25h") > terminal.written.rindex("\x1b[?25l"), "the cursor is back"


def test_keys_in_a_terminal(tmp_path: Path) -> None:
    """Ctrl-C, and again."""
    with (
        Web() as web,
        Terminal("crawl", SEED, *options(web, "-o", "c", "--set", "fetch.timeout_s=3000"), cwd=tmp_path) as terminal,
    ):
        terminal.read_until("3 in flight")
        terminal.press("\x03")
        terminal.read_until("Ctrl-C again stops at once")
        terminal.press("\x03")
        assert terminal.read_to_the_end() == 130
    left = [line for line in screen(terminal.written) if line.replace("^C", "").strip()]
    assert left[0].replace("^C", "").startswith("result    stopped by you. Resume any time")
    assert StoredCrawl(tmp_path / "c").fetched_urls() == {SEED}


def test_a_terminal_that_is_closed(tmp_path: Path) -> None:
    with (
        Web() as web,
        Terminal("crawl", SEED, *options(web, "-o", "c", "--set", "fetch.timeout_s=3000"), cwd=tmp_path) as terminal,
    ):
        terminal.read_until("3 in flight")
        terminal.hang_up()
        web.release()
        assert terminal.process.wait(TEST_TIMEOUT_S) == 128 + signal.SIGHUP
    assert StoredCrawl(tmp_path / "c").fetched_urls() == {SEED, *SLOW}
    assert report_of(tmp_path / "c")["stopped_because"] == "interrupted"
