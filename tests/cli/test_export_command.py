from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.run import orienteer, orienteer_each, refused
from tests.exports.crawls import plain_crawl


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return plain_crawl(tmp_path_factory.mktemp("plain") / "crawl").path


def test_export_says_what_it_wrote(crawl: Path, tmp_path: Path) -> None:
    done = orienteer("export", crawl, "--format", "edges", "-o", tmp_path / "links.csv")
    assert done.stdout.startswith(f"{tmp_path / 'links.csv'}: 12 pages, 11 links, ")
    assert done.stdout.endswith(" (edges)\n")


def test_export_for_machines(crawl: Path, tmp_path: Path) -> None:
    out = tmp_path / "pages.parquet"
    report = json.loads(orienteer("export", crawl, "-f", "parquet", "-o", out, "--json").stdout)
    assert report["files"] == [str(out), str(tmp_path / "pages.links.parquet")]
    assert (report["format"], report["n_pages"], report["n_links"], report["left_out"]) == ("parquet", 12, 11, {})
    assert report["size_bytes"] == sum(Path(path).stat().st_size for path in report["files"])


def test_options_reach_the_export(crawl: Path, tmp_path: Path) -> None:
    out = tmp_path / "map.xml"
    commands = [
        ["export", crawl, "-f", "sitemap", "-o", out, "--base-url", "http://b.org/", "--host", "a.org", "--all"],
        ["export", crawl, "-f", "sitemap", "-o", out, "--site", "a.org", "--force", "--json"],
        ["export", crawl, "-f", "sitemap", "-o", out, "--host", "nowhere.org", "--force"],
        ["export", crawl, "-f", "jsonl", "-o", tmp_path / "x.jsonl", "--on-topic"],
    ]
    first, second, third, fourth = orienteer_each(commands)
    assert (first.returncode, second.returncode, third.returncode, fourth.returncode) == (0, 0, 2, 2)
    assert "all 12 pages are on other hosts" in third.stderr
    assert "--on-topic is for crawls with a topic" in fourth.stderr


def test_bad_usage_is_one_line(crawl: Path, tmp_path: Path) -> None:
    assert "no export format named 'warcs'; did you mean 'warc'?" in refused("export", crawl, "--format", "warcs")
    assert "no such crawl folder" in refused("export", tmp_path / "none", "--format", "warc")
    (tmp_path / "x.jsonl").write_text("mine")
    printed = refused("export", crawl, "--format", "jsonl", "-o", tmp_path / "x.jsonl")
    assert printed.endswith("x.jsonl exists already; --force replaces it\n")
