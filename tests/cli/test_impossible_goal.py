"""`orienteer crawl` with a goal that robots.txt makes impossible, as a real process: killed, resumed, in a terminal."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import numpy as np
import pytest

from tests.cli.live_process import Terminal, ended, screen, started
from tests.cli.run import orienteer
from tests.fake_web.faults import Faulty
from tests.fake_web.graph_site import GraphSite
from tests.fake_web.server import FakeWeb
from tests.live.live_crawls import StoredCrawl, hub
from tests.live.test_impossible_goal import closed_site, done

pytestmark = pytest.mark.long

LINE = "90 % cannot be proved: up to "


@pytest.fixture
def site(rng: np.random.Generator) -> GraphSite:
    return closed_site(rng, 300)


def command(web: FakeWeb, site: GraphSite, folder: Path, *more: str) -> list[str]:
    polite = [
        "--connect-to",
        web.address,
        "--delay",
        "0",
        "--workers",
        "1",
        "--scope",
        "web",
        "--until",
        "0.9",
        "--stop-when",
        "proved",
    ]
    return ["crawl", hub(site), "-o", str(folder), *polite, *more]


def test_killed_after_it_was_said_it_ends_where_it_would_have(site: GraphSite, tmp_path: Path) -> None:
    with FakeWeb(Faulty(site, latency_s=(0.005, 0.01))) as web:
        with started(*command(web, site, tmp_path / "killed"), cwd=tmp_path) as process:
            assert process.stderr is not None
            assert any(line.startswith(LINE) for line in process.stderr), "it ended without having said it"
            process.send_signal(signal.SIGKILL)
            process.wait()
        n_before = len(done(StoredCrawl(tmp_path / "killed")))
        with started(*command(web, site, tmp_path / "killed"), cwd=tmp_path) as process:
            resumed = ended(process)
        with started(*command(web, site, tmp_path / "whole"), cwd=tmp_path) as process:
            whole = ended(process)
    assert resumed.returncode == whole.returncode == 3
    assert resumed.stderr.count(LINE) == whole.stderr.count(LINE) == 1
    assert done(StoredCrawl(tmp_path / "killed")) == done(StoredCrawl(tmp_path / "whole"))
    assert n_before < len(done(StoredCrawl(tmp_path / "whole")))
    status = json.loads(orienteer("status", tmp_path / "killed", "--json").stdout)
    assert status["report"]["stopped_because"] == "reachable"
    assert status["figures"]["goal_is_impossible"] is True


def test_the_goal_is_changed_by_options(site: GraphSite, tmp_path: Path) -> None:
    """A finished folder: the same goal of what is reachable is reached, and the other is as impossible as before."""
    codes, n_done = [], []
    with FakeWeb(site) as web:
        again = ["crawl", str(tmp_path / "c")]
        for words in (
            command(web, site, tmp_path / "c"),
            [*again, "--stop-when", "proved,reachable"],
            again,
            [*again, "--stop-when", "proved"],
            [*again, "--stop-when", "proved,reachable", "--until", "0.99"],
        ):
            with started(*words, cwd=tmp_path) as process:
                codes.append(ended(process).returncode)
            n_done.append(len(done(StoredCrawl(tmp_path / "c"))))
    assert codes == [3, 0, 0, 3, 0], "the goal is stored in crawl.toml"
    assert len(set(n_done[:4])) == 1
    assert n_done[4] > n_done[0]


def test_it_stands_above_the_panel_on_a_terminal(site: GraphSite, tmp_path: Path) -> None:
    with (
        FakeWeb(Faulty(site, latency_s=(0.005, 0.01))) as web,
        Terminal(*command(web, site, tmp_path / "c"), cwd=tmp_path) as terminal,
    ):
        terminal.read_until(LINE)
        terminal.read_until("90 % of everything cannot be proved: too much is unreachable")
        assert terminal.read_to_the_end() == 3
    seen = " ".join(" ".join(screen(terminal.written)).split())
    assert seen.count(LINE) == 1
    assert "is on blocked pages (robots.txt), or behind them; going on until 90 % of what is reachable" in seen
    assert "goal not reached: a coverage of 90 % of what is reachable is proved" in seen
