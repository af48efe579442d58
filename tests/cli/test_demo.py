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

from orienteer.cli.demo import _say_how_to_see_it
from orienteer.cli.demo_stage import Stage
from orienteer.fake_web.server import FakeWeb
from tests.cli.run import orienteer, refused
from tests.docs.small_town import small_town
from tests.fake_web.client import fetch
from tests.ready_process import PATIENCE_S, ReadyPopen

pytestmark = pytest.mark.long

PARTS = (
    "1. Where to start",
    "2. What to fetch next, and when to stop",
    "3. A week later",
    "4. What the world makes of it",
    "5. Search",
    "6. See it in the browser",
)


def number(text: str) -> float:
    return float(text.replace(",", ""))


class Told(NamedTuple):
    """What the demo has said, the crawl that it leaves, and its process, which keeps the pages open."""

    said: str
    folder: Path
    process: subprocess.Popen[str]


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Told]:
    """At 80 columns and not on a terminal."""
    folder = tmp_path_factory.mktemp("demo") / "kept"
    command = [sys.executable, "-m", "orienteer", "demo", "--serve", "--keep", str(folder)]
    environment = {**os.environ, "COLUMNS": "80"}
    with ReadyPopen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            assert process.stdout is not None
            said = ""
            for line in process.stdout:
                said += line
                if line.startswith("Ctrl-C"):
                    break
            yield Told(said, folder, process)
        finally:
            process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE_S) == 0


def test_the_demo_tells_its_story_in_order_and_in_lines_that_fit(told: Told) -> None:
    said = told.said
    places = [said.index(part) for part in PARTS]
    assert places == sorted(places)
    assert all(len(line) <= 80 for line in said[: places[-1]].split("\n"))
    assert "\x1b" not in said


def test_the_seeds_reach_more_than_random_pages(told: Told) -> None:
    words = " ".join(told.said.split())
    chosen, by_chance = re.search(r"within 3 links: ([\d.]+) % .* at random reach (\d+) %", words).groups()
    assert number(chosen) > 90 > number(by_chance)


def test_enough_is_known_in_fewer_pages_than_breadth_first_needs(told: Told) -> None:
    words = " ".join(told.said.split())
    how = re.search(r"goal a coverage of 98 % is (measured, with 99.9 % confidence|proved), after asking for", words)[1]
    lower, upper = map(number, re.search(r"proved: at least ([\d.]+) %, at most ([\d.]+) %", words).groups())
    assert (lower >= 98) == (how == "proved")
    assert 90 <= lower < upper < 100
    known = r" +([\d,]+) +([\d,]+) +(?:measured|proved)"
    found = {name: re.search(rf"{name}{known}", told.said) for name in ("certified", "breadth-first")}
    (ours, trapped), (simple, simple_trapped) = (map(number, found[name].groups()) for name in found)
    assert ours < simple
    assert trapped < simple_trapped
    ratio = number(re.search(r"needs ([\d.]+) times as many", words)[1])
    assert ratio == pytest.approx(simple / ours, abs=0.051)
    assert re.search(
        r"by kill -9, with \d+ pages stored; another run resumed it, and fetched no page of these again", words
    )
    assert re.search(r"robots.txt forbids \d+ pages: up to 0\.\d\d % is out of reach", words)


def test_the_refresh_finds_what_changed(told: Told) -> None:
    words = " ".join(told.said.split())
    assert re.search(r"\d+ pages are new, \d+ say something else, \d+ are gone", words)
    assert re.search(r"[\d,]+ looked at: [\d,]+ new, [\d,]+ changed, [\d,]+ unchanged", words)


def test_the_world_sees_other_pages_first(told: Told) -> None:
    """For each search: what is first by words, inside and outside; and the sentences say what the tables show."""
    said = told.said
    first = {}
    for query in ("bridge", "opening hours", "lantern festival"):
        table = said[said.index(f'"{query}": ') :].split("First inside:")[0]
        rows = re.findall(r"^ +(\d+) +(\d+) +(\d+) +(.*?)  +(\w+) *$", table, re.MULTILINE)
        first[query] = [next(row[3] for row in rows if row[order] == "1") for order in range(3)]
    assert {query: outside for query, (_, _, outside) in first.items()} == {
        "bridge": "The iron bridge",
        "opening hours": "Opening hours of the observatory",
        "lantern festival": "The lantern festival",
    }
    words = " ".join(said.split())
    for query, (_, inside, outside) in first.items():
        assert inside != outside
        part = words[words.index(f'"{query}": ') :]
        assert re.search(rf"First inside: {inside}, linked .*? First outside: {outside}, linked", part)


def test_the_crawl_that_is_kept_can_be_searched(told: Told) -> None:
    assert "The iron bridge" in orienteer("search", told.folder, "bridge", "--rank", "global").stdout


@pytest.mark.parametrize("is_kept", [True, False])
def test_without_serve_it_says_how_to_see_it(is_kept: bool, tmp_path: Path) -> None:
    folder, site, out = tmp_path / "kept", small_town(), io.StringIO()
    with FakeWeb(site) as web:
        stage = Stage(site, web, tmp_path, folder, Console(file=out, width=200))
        _say_how_to_see_it(stage, folder if is_kept else None, serve=False)
    assert PARTS[-1] in out.getvalue()
    assert (f"orienteer serve {folder} " in out.getvalue()) == is_kept
    assert ("orienteer demo --serve " in out.getvalue()) != is_kept


def test_a_folder_with_something_in_it_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    assert "there is something already" in refused("demo", "--keep", tmp_path)


def test_the_pages_stay_open(told: Told) -> None:
    town = re.search(r"The town itself: (\S+:(\d+)/)", told.said)
    pages = re.search(r"is shown at http://127.0.0.1:(\d+)/", told.said)
    assert fetch(int(town[2]), town[1])[0] == 200
    status, _, body = fetch(int(pages[1]), f"http://127.0.0.1:{pages[1]}/?q=bridge&rank=global")
    assert status == 200
    assert b"The iron bridge" in body
    assert told.process.poll() is None


def test_the_town_alone_can_be_crawled_as_it_says(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "orienteer", "demo", "--town"]
    with ReadyPopen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            said = [process.stdout.readline() for _ in range(3)]
            name, _, arguments = said[-1].strip().partition(" ")
            assert name == "orienteer"
            assert arguments.endswith("-o town --allow-private --delay 0.01")
            options = arguments.replace("-o town", f"-o {tmp_path}/town --budget 20").split()
            report = orienteer(*options, code=3).stdout
            assert "the budget of 20 pages is spent" in report
        finally:
            process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE_S) == 0
        assert process.stderr is not None
        assert process.stderr.read() == ""


def test_the_town_alone_has_nothing_to_keep(tmp_path: Path) -> None:
    assert "--town serves the town alone" in refused("demo", "--town", "--keep", tmp_path / "town")
