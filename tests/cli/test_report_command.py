"""`orienteer report`: what it prints and writes, and its exit codes."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from tests.cli.run import orienteer, refused
from tests.report.handmade import GONE, HOME, handmade_crawl


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return handmade_crawl(tmp_path_factory.mktemp("report") / "crawl")


def test_on_the_screen(folder: Path) -> None:
    done = orienteer("report", folder, columns=200)
    assert "of a surfer's clicks end at a broken link" in done.stdout
    assert f"{GONE}  http 404" in done.stdout
    assert "\x1b" not in done.stdout


def test_as_files(folder: Path, tmp_path: Path) -> None:
    page, table = tmp_path / "r.html", tmp_path / "r.csv"
    assert f"written to {page}" in orienteer("report", folder, "-o", page, columns=300).stdout
    assert page.read_text().startswith("<!DOCTYPE html>")
    facts = json.loads(orienteer("report", folder, "-o", table, "--json").stdout)
    assert facts["counts"]["broken"] == 1
    assert facts["file"] == str(table)
    with table.open(newline="") as file:
        assert next(csv.DictReader(file))["url"] == GONE
    printed = orienteer("report", folder, "--format", "json").stdout
    assert printed == orienteer("report", folder, "--json").stdout
    assert json.loads(printed)["findings"]["mixed"][0]["url"] == HOME


def test_exit_codes(folder: Path, tmp_path: Path) -> None:
    done = orienteer("report", folder, "--fail-on", "chains,broken", "-o", tmp_path / "r.json", code=3)
    assert done.stderr == "orienteer: the report has 1 broken (--fail-on)\n"
    assert json.loads((tmp_path / "r.json").read_text())["counts"]["broken"] == 1
    assert orienteer("report", folder, "--fail-on", "chains, orphans").stderr == ""
    assert orienteer("report", folder, "--fail-on", "any", "--json", code=3).stdout.startswith("{")
    assert orienteer("report", folder, "--fail-on", "slow", "--slow-after", "10").stderr == ""


def test_what_is_wrong_is_said_in_one_line(folder: Path, tmp_path: Path) -> None:
    assert "did you mean 'broken'?" in refused("report", folder, "--fail-on", "brokn")
    assert "no kind of fault named ''" in refused("report", folder, "--fail-on", "")
    assert "no such crawl folder" in refused("report", tmp_path / "none")
    assert "has no page of b.test" in refused("report", folder, "--host", "b.test")
    assert "choose one of them" in refused("report", folder, "--json", "--format", "csv")
    assert "inside the crawl folder" in refused("report", folder, "-o", folder / "r.html")
    assert "name it .html, .csv or .json" in refused("report", folder, "-o", tmp_path / "r.txt")
    assert "not be negative" in refused("report", folder, "--deep-after", "-1")
