"""`orienteer replay` as a real process."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from tests.cli.run import orienteer, orienteer_each
from tests.fake_web.server import FakeWeb
from tests.fake_web.site import MadeSite
from tests.inspect.test_replay import FOREIGN, write_warc
from tests.live.live_crawls import StoredCrawl, crawled

PLACES = {f"http://a.test/{k}": f"<a href=/{2 * k}><a href=/{2 * k + 1}>" for k in range(1, 16)}
SEED = "http://a.test/1"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("crawls") / "c"
    with FakeWeb(MadeSite(PLACES)) as web:
        crawled(web, SEED, folder, budget=20, settings={"crawl": {"workers": 1}})
    return folder


def test_the_same_again(folder: Path, tmp_path: Path) -> None:
    done = orienteer("replay", folder, "--json", "--order-out", tmp_path / "order.gz")
    facts = json.loads(done.stdout)
    assert facts["policy"] == "certified"
    assert (facts["n_fetched"], facts["n_missing"], facts["goal_reached"]) == (20, 11, True)
    assert (facts["n_blocked"], facts["certificate"]["blocked"]) == (0, 0)
    assert done.stderr == ""
    stored = StoredCrawl(folder)
    lines = gzip.decompress((tmp_path / "order.gz").read_bytes()).decode().splitlines()
    assert lines == [f"{page}\t{stored.urls[page]}" for page in stored.order]


def test_another_policy_for_people(folder: Path) -> None:
    done = orienteer(
        "replay", folder, "--policy", "fractional", "--until", "0.999", "--stop-when", "proved,certificate", code=3
    )
    printed = " ".join(done.stdout.split())
    assert "policy fractional" in printed
    assert "never fetched 11 blocked in the crawl 0" in printed
    assert "stopped because frontier empty, before its goal" in printed
    assert "certificate at least" in printed


def test_an_archive_of_another_program(tmp_path: Path) -> None:
    write_warc(tmp_path / "x.warc.gz", FOREIGN)
    done = orienteer("replay", tmp_path / "x.warc.gz", "--seed", "http://x.test/", "--budget", "3", "--json")
    assert json.loads(done.stdout)["n_fetched"] == 3


def test_a_damaged_archive_is_reported_in_one_line(tmp_path: Path) -> None:
    write_warc(tmp_path / "x.warc.gz", FOREIGN)
    data = (tmp_path / "x.warc.gz").read_bytes()
    (tmp_path / "x.warc.gz").write_bytes(data[:-30])
    done = orienteer("replay", tmp_path / "x.warc.gz", "--seed", "http://x.test/", "--budget", "3", "--json")
    assert json.loads(done.stdout)["n_fetched"] == 3
    printed = f"after {len(FOREIGN)} records the archive is damaged; 1 gap was skipped"
    assert done.stderr == f"orienteer: warning: {tmp_path / 'x.warc.gz'}: {printed}\n"


def test_bad_input_is_one_line(folder: Path, tmp_path: Path) -> None:
    write_warc(tmp_path / "x.warc.gz", FOREIGN)
    data = (tmp_path / "x.warc.gz").read_bytes()
    (tmp_path / "cut.warc.gz").write_bytes(data[:30])
    (tmp_path / "empty").mkdir()
    seed = ["--seed", "http://x.test/"]
    refused = {
        "no WARC records in it that can be read": ["replay", tmp_path / "cut.warc.gz", *seed],
        "name the pages to start from": ["replay", tmp_path / "x.warc.gz"],
        "no WARC files in it": ["replay", tmp_path / "empty", *seed],
        "none: no such file or folder": ["replay", tmp_path / "none", *seed],
        "has its own seeds": ["replay", folder, *seed],
        "did you mean 'opic'?": ["replay", folder, "--policy", "opik"],
        "until is 2.0": ["replay", folder, "--until", "2"],
        "budget is 0": ["replay", folder, "--budget", "0"],
        "does not exist": ["replay", folder, "--order-out", tmp_path / "no" / "order"],
    }
    for (printed, command), done in zip(refused.items(), orienteer_each(list(refused.values())), strict=True):
        assert done.returncode == 2, (command, done)
        assert done.stdout == ""
        assert done.stderr.startswith("orienteer: ")
        assert done.stderr.count("\n") == 1
        assert printed in done.stderr
