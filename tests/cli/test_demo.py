from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from orienteer.cli.demo import print_next_steps
from tests.cli.run import orienteer, refused
from tests.fake_web.client import fetch
from tests.ready_process import TEST_TIMEOUT_S, ReadyPopen

pytestmark = pytest.mark.slow

HEADINGS = (
    "1. Where to start",
    "2. What to fetch next, and when to stop",
    "3. A week later",
    "4. Rank in the whole web",
    "5. Search",
    "6. See it in the browser",
)


def number(text: str) -> float:
    return float(text.replace(",", ""))


class DemoRun(NamedTuple):
    """The output of the demo, its crawl folder, and its process, which serves the pages."""

    printed: str
    folder: Path
    process: subprocess.Popen[str]


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DemoRun]:
    """It is not on a terminal."""
    folder = tmp_path_factory.mktemp("demo") / "demo-crawl"
    command = [sys.executable, "-m", "tests.forking", "orienteer", "demo", "--serve", "--output", str(folder)]
    environment = {**os.environ, "COLUMNS": "100"}
    with ReadyPopen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            assert process.stdout is not None
            printed = ""
            for line in process.stdout:
                printed += line
                if line.startswith("Ctrl-C"):
                    break
            yield DemoRun(printed, folder, process)
        finally:
            process.send_signal(signal.SIGINT)
        assert process.wait(TEST_TIMEOUT_S) == 0


def test_the_chapters_come_in_order(demo: DemoRun) -> None:
    places = [demo.printed.index(heading) for heading in HEADINGS]
    assert places == sorted(places)
    assert "\x1b" not in demo.printed


def test_a_killed_crawl_is_continued_to_its_goal(demo: DemoRun) -> None:
    killed, _, after = demo.printed.partition(f"$ orienteer crawl {demo.folder} --quiet")
    assert re.search(r"\nKilled, after \d+ requests\.\n", killed)
    words = " ".join(after.split())
    how = re.search(r"goal reached: a coverage of 98 % is (measured, with 99.9 % confidence|proved)", words)[1]
    lower, upper = map(number, re.search(r"proved: at least ([\d.]+) %, at most ([\d.]+) %", words).groups())
    assert (lower >= 98) == (how == "proved")
    assert 90 <= lower < upper < 100
    n_fetched, n_this_run = (number(re.search(pattern, words)[1]) for pattern in (r"([\d,]+) fetched", r"run ([\d,]+)"))
    assert n_this_run < n_fetched


def test_the_refresh_finds_what_changed(demo: DemoRun) -> None:
    words = " ".join(demo.printed.split())
    assert re.search(r"A week passes: \d+ pages are new, \d+ have changed, \d+ are gone", words)
    assert re.search(r"[\d,]+ checked: [\d,]+ new, [\d,]+ changed, [\d,]+ unchanged", words)


def test_the_links_of_the_whole_web_put_another_page_first_than_words(demo: DemoRun) -> None:
    first = dict(re.findall(r"--rank (\w+) -n 2\n.*?\n 1\. (.*?) *\n", demo.printed, re.DOTALL))
    assert first["text"] == "Bridge club"
    assert first["global"] == "The iron bridge"
    assert "local" in first  # the best page inside the town depends on which pages were fetched


def test_the_stored_crawl_can_be_searched(demo: DemoRun) -> None:
    assert "The iron bridge" in orienteer("search", demo.folder, "bridge", "--rank", "global").stdout


@pytest.mark.parametrize("has_output", [True, False])
def test_without_serve_it_prints_the_next_commands(
    has_output: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    print_next_steps("http://a.test/", tmp_path if has_output else None, serve=False)
    printed = capsys.readouterr().out
    assert HEADINGS[-1] in printed
    assert (f"orienteer serve {tmp_path} " in printed) == has_output
    assert ("orienteer demo --serve " in printed) != has_output


def test_a_folder_with_something_in_it_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    assert "not empty" in refused("demo", "--output", tmp_path)


def test_the_pages_stay_open(demo: DemoRun) -> None:
    town = re.search(r"The town itself: (\S+:(\d+)/)", demo.printed)
    pages = re.search(r"is served at http://127.0.0.1:(\d+)/", demo.printed)
    assert fetch(int(town[2]), town[1])[0] == 200
    status, _, body = fetch(int(pages[1]), f"http://127.0.0.1:{pages[1]}/?q=bridge&rank=global")
    assert status == 200
    assert b"The iron bridge" in body
    assert demo.process.poll() is None


def test_the_town_alone_can_be_crawled_as_it_says(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "orienteer", "demo", "--serve-only"]
    with ReadyPopen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            printed = [process.stdout.readline() for _ in range(3)]
            name, _, arguments = printed[-1].strip().partition(" ")
            assert name == "orienteer"
            assert arguments.endswith("-o town --allow-private --delay 0.01")
            options = arguments.replace("-o town", f"-o {tmp_path}/town --budget 20").split()
            report = orienteer(*options, code=3).stdout
            assert "stopped at your limit of 20 pages" in report
        finally:
            process.send_signal(signal.SIGINT)
        assert process.wait(TEST_TIMEOUT_S) == 0
        assert process.stderr is not None
        assert process.stderr.read() == ""


def test_the_town_alone_has_nothing_to_keep(tmp_path: Path) -> None:
    assert "--serve-only serves only the town" in refused("demo", "--serve-only", "--output", tmp_path / "town")
