from __future__ import annotations

import io
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from rich.console import Console

from orienteer.cli.demo import Stage, _print_next_steps
from orienteer.fake_web.server import TownServer
from tests.cli.run import orienteer, refused
from tests.docs.small_town import small_town
from tests.fake_web.client import fetch
from tests.ready_process import TEST_TIMEOUT_S, ReadyPopen

pytestmark = pytest.mark.long

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
    """At 80 columns and not on a terminal."""
    folder = tmp_path_factory.mktemp("demo") / "demo-crawl"
    command = [sys.executable, "-m", "orienteer", "demo", "--serve", "--output", str(folder)]
    environment = {**os.environ, "COLUMNS": "80"}
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


def test_the_chapters_come_in_order_and_lines_fit(demo: DemoRun) -> None:
    printed = demo.printed
    places = [printed.index(heading) for heading in HEADINGS]
    assert places == sorted(places)
    assert all(len(line) <= 80 for line in printed[: places[-1]].split("\n"))
    assert "\x1b" not in printed


def test_the_seeds_reach_more_than_random_pages(demo: DemoRun) -> None:
    words = " ".join(demo.printed.split())
    chosen, by_chance = re.search(r"within 3 links: ([\d.]+) % .* at random reach (\d+) %", words).groups()
    assert number(chosen) > 90 > number(by_chance)


def test_enough_is_known_in_fewer_pages_than_breadth_first_needs(demo: DemoRun) -> None:
    words = " ".join(demo.printed.split())
    how = re.search(
        r"goal reached: a coverage of 98 % is (measured, with 99.9 % confidence|proved), after asking for", words
    )[1]
    lower, upper = map(number, re.search(r"proved: at least ([\d.]+) %, at most ([\d.]+) %", words).groups())
    assert (lower >= 98) == (how == "proved")
    assert 90 <= lower < upper < 100
    known = r" +([\d,]+) +([\d,]+) +(?:measured|proved)"
    found = {name: re.search(rf"{name}{known}", demo.printed) for name in ("certified", "breadth-first")}
    (ours, trapped), (simple, _) = (map(number, found[name].groups()) for name in found)
    assert ours < simple
    calendar = re.search(r"([\d,]+) pages of the calendar were fetched, ([\d,]+) more wait, and they never end", words)
    fetched, waiting = map(number, calendar.groups())
    assert fetched == trapped
    assert waiting > 0
    assert trapped < 0.15 * ours, "the walks of a survey go as deep into it as a surfer, but no crawl is lost in it"
    ratio = number(re.search(r"needs ([\d.]+) times as many", words)[1])
    assert ratio == pytest.approx(simple / ours, abs=0.051)
    assert re.search(
        r"by kill -9, with \d+ pages stored; another run resumed it, and fetched no page of these again", words
    )
    assert re.search(r"robots.txt forbids \d+ pages: up to 0\.\d\d % is unreachable", words)


def test_the_refresh_finds_what_changed(demo: DemoRun) -> None:
    words = " ".join(demo.printed.split())
    assert re.search(r"\d+ pages are new, \d+ have changed, \d+ are gone", words)
    assert re.search(r"[\d,]+ checked: [\d,]+ new, [\d,]+ changed, [\d,]+ unchanged", words)


def test_global_rank_orders_results_differently(demo: DemoRun) -> None:
    """For each search: what is first by words, inside and outside; and the sentences say what the tables show."""
    printed = demo.printed
    first = {}
    for query in ("bridge", "opening hours", "lantern festival"):
        table = printed[printed.index(f'"{query}": ') :].split("First inside:")[0]
        rows = re.findall(r"^ +(\d+) +(\d+) +(\d+) +(.*?)  +(\w+) *$", table, re.MULTILINE)
        first[query] = [next(row[3] for row in rows if row[order] == "1") for order in range(3)]
    assert {query: outside for query, (_, _, outside) in first.items()} == {
        "bridge": "The iron bridge",
        "opening hours": "Opening hours of the observatory",
        "lantern festival": "The lantern festival",
    }
    words = " ".join(printed.split())
    for query, (_, inside, outside) in first.items():
        assert inside != outside
        section = words[words.index(f'"{query}": ') :]
        assert re.search(rf"First inside: {inside}, linked .*? First outside: {outside}, linked", section)


def test_the_stored_crawl_can_be_searched(demo: DemoRun) -> None:
    assert "The iron bridge" in orienteer("search", demo.folder, "bridge", "--rank", "global").stdout


@pytest.mark.parametrize("has_output", [True, False])
def test_without_serve_it_prints_the_next_commands(has_output: bool, tmp_path: Path) -> None:
    folder, site, out = tmp_path / "demo-crawl", small_town(), io.StringIO()
    with TownServer(site) as web:
        stage = Stage(site, web, tmp_path, folder, Console(file=out, width=200))
        _print_next_steps(stage, folder if has_output else None, serve=False)
    assert HEADINGS[-1] in out.getvalue()
    assert (f"orienteer serve {folder} " in out.getvalue()) == has_output
    assert ("orienteer demo --serve " in out.getvalue()) != has_output


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
