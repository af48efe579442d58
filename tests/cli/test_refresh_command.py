"""`orienteer refresh DIR`, and the output about epochs."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from orienteer.cli.crawl_display import panel, print_report, progress_line
from orienteer.cli.epoch_display import describe_savings, describe_unchanged, describe_visits, epochs_table
from orienteer.graph.proved import Certificate
from orienteer.inspect.run_report import Report
from orienteer.inspect.tallies import EpochStatus
from orienteer.ledger.settings import RefreshSettings
from orienteer.pages.stop_reason import StopReason
from tests.cli.run import orienteer, orienteer_each, refused
from tests.cli.test_crawl_display import FIGURES, FOLDER, one_line, rendered
from tests.fake_web.changing import ChangingSite
from tests.fake_web.server import FakeWeb
from tests.fake_web.site import MadeSite

SEED = "http://a.test/"
PLACES = {
    SEED: "<title>Home</title><a href=/b>b</a><a href=/c>c</a><a href=/gone>gone</a>",
    "http://a.test/b": "<a href=/c>c</a><a href=/d>d</a>",
    "http://a.test/c": "<a href=/>home</a>",
    "http://a.test/d": "the end",
}
VISITS = {"new": 5, "changed": 7, "unchanged": 27, "not modified": 101, "carried": 4020, "missing": 2, "left": 3}


@pytest.fixture
def site() -> ChangingSite:
    return ChangingSite(MadeSite(PLACES))


@pytest.fixture
def web(site: ChangingSite) -> Iterator[FakeWeb]:
    with FakeWeb(site) as web:
        yield web


def test_a_refresh_from_the_command_to_the_table(site: ChangingSite, web: FakeWeb, tmp_path: Path) -> None:
    folder = tmp_path / "crawl"
    orienteer("crawl", SEED, "-o", folder, "--connect-to", web.address, "--delay", 0, "--ignore-robots", "--quiet")
    site.edit("http://a.test/b", "<a href=/new>new</a><a href=/d>d</a>")
    site.add("http://a.test/new", "new")
    site.delete("http://a.test/d")
    printed = " ".join(orienteer("refresh", folder, "--quiet").stdout.split())
    assert "1 new, 1 changed, 3 unchanged (2 of them not sent again), 1 missing" in printed
    assert "http://a.test/d: http 404, missing since 2" in printed
    status = orienteer("status", folder).stdout
    assert status.count("\n    1  2") == 1
    assert "2 of the 3 times that a page was the same, it was not sent again" in status
    facts = json.loads(orienteer("status", folder, "--json").stdout)
    assert [epoch["n_requested"] for epoch in facts["epochs"]] == [5, 6]
    assert facts["report"]["library"]["lower"] > 0.99
    explained = orienteer("explain", folder, "http://a.test/d").stdout
    assert "0 times, found changed 0 times; missing since" in explained
    assert "(http 404), its last version stays" in " ".join(explained.split())
    listed = orienteer("changes", folder).stdout
    assert listed.startswith(
        "1 page is missing now; last copies are stored:\n  http://a.test/d: http 404, missing since 2"
    )
    assert "1 new, 1 changed, 1 missing, 0 gone" in listed
    assert "  missing  http://a.test/d  (http 404)" in listed
    assert orienteer("changes", folder, "--kind", "missing").stdout.count("http://a.test/d") == 2
    as_data = json.loads(orienteer("changes", folder, "--json").stdout)
    (missing,) = as_data["missing"]
    assert (missing["url"], missing["outcome"], missing["n_times"]) == ("http://a.test/d", "http 404", 1)
    again = orienteer("refresh", folder, "--quiet").stdout
    assert "1 missing" in again
    assert "\n  http://a.test/d: http 404, missing since 2" in again
    (crawl,) = json.loads(orienteer("refresh", folder, "--json").stdout)["crawls"]
    assert [(page["url"], page["outcome"]) for page in crawl["missing"]] == [("http://a.test/d", "http 404")]
    report = json.loads(orienteer("report", folder, "--json").stdout)
    (broken,) = [one for one in report["findings"]["broken"] if one["url"] == "http://a.test/d"]
    assert broken["why"].startswith("http 404, missing since 2")
    assert [place["url"] for place in broken["places"]] == ["http://a.test/b"]
    few = ("--set", "refresh.n_seeds=1", "--set", "refresh.hops=0")
    (crawl,) = json.loads(orienteer("refresh", folder, "--json", *few).stdout)["crawls"]
    assert crawl["report"]["figures"]["epoch"] == crawl["epoch"] == 4
    assert "everything reachable is fetched" in crawl["report"]["headline"]
    assert "hops = 0" in (folder / "crawl.toml").read_text()


def test_what_a_refresh_needs_is_said_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    place = tmp_path / "empty"
    commands = [
        (["refresh"], "no crawl given"),
        (["refresh", tmp_path / "none"], "no such crawl folder"),
        (["refresh", place], "not a crawl folder"),
        (["refresh", SEED], "no such crawl folder"),
        (["refresh", place, "--seeds-from", place], "No such option: --seeds-from"),
    ]
    for (_, expected), done in zip(commands, orienteer_each([command for command, _ in commands]), strict=True):
        assert done.returncode == 2
        assert done.stderr.startswith("orienteer: ")
        assert done.stderr.count("\n") == 1
        assert expected in done.stderr


def test_an_empty_crawl_cannot_be_refreshed(tmp_path: Path) -> None:
    from orienteer.ledger.plan import CrawlPlan
    from orienteer.ledger.settings import CrawlSettings
    from orienteer.store.folder import CrawlFolder

    CrawlFolder.create(tmp_path / "crawl", CrawlPlan(CrawlSettings(seeds=(SEED,))).to_toml()).close()
    assert "nothing to refresh" in refused("refresh", tmp_path / "crawl", "--quiet")


def test_visits_in_a_sentence() -> None:
    assert describe_visits(VISITS) == (
        "142 checked: 5 new, 7 changed, 128 unchanged (101 of them not sent again), 2 missing; 4,020 not due; "
        "3 postponed, too many links away"
    )
    assert describe_visits({}) == "0 checked: 0 new, 0 changed, 0 unchanged"
    assert describe_visits({"nothing": 2}) == "2 checked: 0 new, 0 changed, 0 unchanged, 2 new links lead to no page"


def test_stored_last_copies_are_reported() -> None:
    assert describe_unchanged({"changed": 3}, RefreshSettings()) == ""
    text = describe_unchanged({"missing": 1, "unreachable": 2}, RefreshSettings(gone_after=1, gone_after_days=0.5))
    assert text.startswith(
        "3 pages are missing or unreachable; a last copy is stored until the page is missing in 1 refresh over 0.5"
    )


def test_epochs_fit_a_terminal() -> None:
    epochs = [
        EpochStatus(0, 1.7e9, None, 1, 0, {"new": 12_345}, 0),
        EpochStatus(12, 1.7e9, 1.8e9, 10, 123_456, VISITS | {"gone": 34, "unreachable": 345}, 1_234_567),
    ]
    lines = rendered(epochs_table(epochs))
    assert len(lines) == 3
    assert all(len(line) <= 80 for line in lines)
    assert lines[2].split() == ["12", lines[1].split()[1], "521", "5", "7", "128", "4,020", "2", "34", "345"]
    assert describe_savings(epochs).endswith("it was not sent again: 1.2 MB.")
    assert describe_savings(epochs[:1]) == ""


def test_the_display_of_an_epoch(capsys: pytest.CaptureFixture[str]) -> None:
    figures = dataclasses.replace(FIGURES, epoch=3, visits=VISITS)
    assert "142 checked: 5 new" in one_line(rendered(panel(FOLDER, figures)))
    assert "142 checked: 5 new" in progress_line(FOLDER, figures)
    library = Certificate(0.99, 0.995)
    print_report(Report(FOLDER, StopReason.FRONTIER_EMPTY, figures, library=library))
    text = " ".join(capsys.readouterr().out.split())
    assert "at least 99.00 %, at most 99.50 % of a surfer's time is on pages fetched" in text
    assert "epoch 3 at least 91.34 %, at most 97.01 % of a surfer's time, from this epoch's seeds" in text
