"""A read-only index can be searched, by another user without write access to the folder."""

from __future__ import annotations

import gc
import tempfile
from pathlib import Path

import pytest

import orienteer as ori
from orienteer.search.indexing import update_index
from orienteer.search.search_index import SearchIndex
from tests.imports.made_collections import response, write
from tests.unprivileged import run_without_privileges

A = "http://a.test"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    pages = [response(f"{A}/", "<title>Home</title>harbour <a href=/1>one</a>"), response(f"{A}/1", "lighthouse")]
    write(tmp_path / "x.warc", pages)
    ori.import_crawl(tmp_path / "x.warc", tmp_path / "crawl")
    update_index(tmp_path / "crawl")
    return tmp_path / "crawl"


def test_an_index_in_a_read_only_folder_is_searched_and_leaves_nothing(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    temporary.chmod(0o777)
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    with SearchIndex.open(folder) as index:  # loads all modules, which the other user may not be able to read
        assert index.search("lighthouse").total == 1
    before = sorted(path.name for path in (folder / "index").iterdir())
    for path in [*folder.rglob("*"), folder]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    try:
        found = run_without_privileges(lambda: _first_hit(folder))
    finally:
        for path in [folder, *folder.rglob("*")]:
            path.chmod(0o755 if path.is_dir() else 0o644)
    assert found == f"{A}/1"
    assert sorted(path.name for path in (folder / "index").iterdir()) == before
    assert list(temporary.iterdir()) == []


def _first_hit(folder: Path) -> str:
    with SearchIndex.open(folder) as index:
        url = index.search("lighthouse").hits[0].url
        index.reload()
    del index
    gc.collect()
    return url
