"""`--processes`: accepted by all commands that read pages, refused if none is read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.run import orienteer, refused
from tests.imports.made_collections import response, write
from tests.tables import over_rows

A = "http://a.test"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A crawl that was imported by two processes, indexed by two, and exported by two."""
    place = tmp_path_factory.mktemp("processes")
    home = "".join(f"<a href=/{k}>to {k}</a>" for k in range(30))
    records = [response(f"{A}/", home), *(response(f"{A}/{k}", f"<title>T{k}</title><p>word{k}") for k in range(30))]
    source = write(place / "x.warc.gz", records)
    orienteer("import", source, "-o", place / "crawl", "--seed", f"{A}/", "--processes", "2")
    return place / "crawl"


def test_commands_take_it(folder: Path) -> None:
    report = json.loads(orienteer("index", folder, "--processes", "2", "--json").stdout)
    assert (report["n_read"], report["n_skipped"]) == (31, 0)
    exported = orienteer("export", folder, "-f", "jsonl", "-o", folder.parent / "x.jsonl", "--processes", "2").stdout
    assert "31 pages" in exported
    topic = folder.parent / "topic.toml"
    topic.write_text('[topic]\nkind = "keywords"\nwords = ["word7"]\nthreshold = 0.1\n')
    asked = ["topic", "compare", folder, "--topic", topic, "--policies", "scent", "--json"]
    found = [json.loads(orienteer(*asked, "--processes", n).stdout) for n in ("1", "2")]
    assert [one["n_targets"] for one in found] == [1, 1]


@over_rows("number", ["0", "-1", "two"])
@over_rows("command", [["index", "crawl"], ["export", "crawl", "-f", "jsonl"], ["import", "x", "-oy"]])
def test_it_is_a_number_from_one(command: list[str], number: str) -> None:
    assert "--processes" in refused(*command, "--processes", number)


def test_where_no_page_is_read_it_is_refused(folder: Path) -> None:
    assert "--processes goes with --topic" in refused(
        "topic", "compare", folder, "--labels", folder, "--processes", "2"
    )
