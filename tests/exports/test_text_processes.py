"""Exports of texts do not depend on the number of processes."""

from __future__ import annotations

import json
import os
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from orienteer.errors import SkippedPageWarning
from orienteer.exports import page_texts
from orienteer.exports.export import export
from tests.exports.crawls import hostile_crawl
from tests.processes.jobs import children
from tests.search.deadly import deadly
from tests.search.small_webs import HandmadeCrawl, page
from tests.search.test_index_processes import filled

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("ready_child_processes")]


@pytest.fixture(scope="module")
def crawls(tmp_path_factory: pytest.TempPathFactory) -> list[HandmadeCrawl]:
    folder = tmp_path_factory.mktemp("crawls")
    return [filled(folder / "many", 60), hostile_crawl(folder / "hostile")]


def exported(crawl: HandmadeCrawl, format: str, out: Path, n_processes: int) -> dict[str, bytes]:
    """Return all files of an export."""
    report = export(crawl.path, format, out, processes=n_processes, all_pages=True)
    files = [path for path in report.files if path.is_file()] or sorted(out.rglob("*.*"))
    return {str(path.relative_to(out.parent))[1:]: path.read_bytes() for path in files if path.is_file()}


@pytest.mark.parametrize("format", ["jsonl", "markdown", "chunks", "parquet"])
def test_the_export_does_not_depend_on_processes(crawls: list[HandmadeCrawl], format: str, tmp_path: Path) -> None:
    suffix = {"markdown": "", "chunks": ".jsonl"}.get(format, f".{format}")
    for crawl in crawls:
        one, *others = (
            exported(crawl, format, tmp_path / f"{n}{crawl.path.name}{suffix}", n_processes=n) for n in (1, 3)
        )
        assert sum(map(len, one.values())) > 1_000
        assert others == [one]
    assert not children(os.getpid())


def test_a_page_that_crashes_its_reader_is_empty_and_warned_about(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    crawl = HandmadeCrawl(tmp_path / "crawl")
    urls = [f"http://a.org/{k}" for k in range(30)]
    urls[11] = "http://a.org/deadly"
    crawl.add({url: page(f"Title {k}", f"word{k}") for k, url in enumerate(urls)})
    monkeypatch.setattr(page_texts, "content_reader", partial(deadly, "orienteer.exports.page_texts:content_reader"))
    with pytest.warns(SkippedPageWarning, match=r"^http://a\.org/deadly: skipped, .*killed by SIGKILL"):
        report = export(crawl.path, "jsonl", tmp_path / "x.jsonl", processes=2)
    pages: list[dict[str, Any]] = [json.loads(line) for line in (tmp_path / "x.jsonl").read_text().splitlines()]
    assert report.n_pages == 30
    assert [one["url"] for one in pages] == urls
    assert [one["url"] for one in pages if not one["text"]] == ["http://a.org/deadly"]
