"""An index that may only be read is as good as any: as another user, without write access anywhere near it."""

from __future__ import annotations

import gc
import os
import sys
import tempfile
from pathlib import Path

import pytest

import orienteer as ori
from orienteer.search.search_index import SearchIndex
from tests.imports.collections_made import response, write

NOBODY = 65_534
A = "http://a.test"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    pages = [response(f"{A}/", "<title>Home</title>harbour <a href=/1>one</a>"), response(f"{A}/1", "lighthouse")]
    write(tmp_path / "x.warc", pages)
    ori.import_crawl(tmp_path / "x.warc", tmp_path / "crawl")
    ori.update_index(tmp_path / "crawl")
    return tmp_path / "crawl"


def test_an_index_in_a_read_only_folder_is_searched_and_leaves_nothing(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    temporary.chmod(0o777)
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    with SearchIndex.open(folder) as index:  # so that all modules are loaded: others may not read those, either
        assert index.search("lighthouse").total == 1
    before = sorted(path.name for path in (folder / "index").iterdir())
    for path in [*folder.rglob("*"), folder]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    try:
        found = _as_nobody(folder)
    finally:
        for path in [folder, *folder.rglob("*")]:
            path.chmod(0o755 if path.is_dir() else 0o644)
    assert found == f"{A}/1"
    assert sorted(path.name for path in (folder / "index").iterdir()) == before
    assert list(temporary.iterdir()) == []


def _as_nobody(folder: Path) -> str:
    """The first hit, found by somebody without rights; what is wrong instead, if something is."""
    if os.geteuid() != 0:
        return _first_hit(folder)
    read, written = os.pipe()
    for parent in folder.parents:  # pytest keeps its folders to the user
        if parent.stat().st_uid == 0 and str(parent).startswith("/tmp/"):
            parent.chmod(0o755)
    child = os.fork()
    if child == 0:
        try:
            os.setegid(NOBODY)
            os.seteuid(NOBODY)
            said = _first_hit(folder)
        except BaseException as error:
            said = f"{type(error).__name__}: {error}"
        os.write(written, said.encode())
        sys.stdout.flush()
        os._exit(0)
    os.close(written)
    os.waitpid(child, 0)
    with os.fdopen(read) as pipe:
        return pipe.read()


def _first_hit(folder: Path) -> str:
    with SearchIndex.open(folder) as index:
        url = index.search("lighthouse").hits[0].url
        index.reload()
    del index
    gc.collect()
    return url
