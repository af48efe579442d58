"""A crawl folder with symbolic links in it is refused with a one-line error, before anything is written."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import orienteer as ori
from orienteer.errors import CrawlFolderError
from orienteer.library.crawl_jobs import CrawlJobs
from orienteer.repair.repair import repair
from orienteer.search.indexing import update_index
from orienteer.search.search_index import search
from orienteer.store.folder import CrawlFolder
from orienteer.store.folder_view import FolderView, read_signed_arrays, write_signed_arrays
from orienteer.store.request_folder import RequestFolder
from tests.imports.made_collections import response, write

A = "http://a.test"
FILES = (
    "crawl.db", "crawl.db-wal", "crawl.db-shm", "crawl.db-journal", "crawl.toml", "crawl.lock", "crawl.allowed",
    "log.jsonl", "log.1.jsonl", "course.jsonl", "frontier.json", "report.json", "estimate.json", "ranks.npz",
    "jobs/jobs.lock", "topic.toml", "topic.npz", "policy.npz", "checkpoints/latest.npz", "repair.json",
    "archive/orienteer-00000.warc.gz", "archive/orienteer-00001.warc.gz", "index/crawl.lock", "index/pages.db",
    "index/pages.db-wal", "index/columns.npz", "index/meta.json", "index/.managed.json", "index/.tantivy-meta.lock",
)  # fmt: skip
FOLDERS = ("archive", "checkpoints", "index", "outside")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("strange")
    write(folder / "x.warc", [response(f"{A}/", "<a href=/1>words"), response(f"{A}/1", "more words")])
    ori.import_crawl(folder / "x.warc", folder / "crawl")
    update_index(folder / "crawl")
    return folder / "crawl"


@pytest.fixture
def place(whole: Path, tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "start").write_text("of the user\n")
    shutil.copytree(whole, tmp_path / "crawl")
    return tmp_path


WRITERS: dict[str, Callable[[Path], object]] = {
    "open": CrawlFolder.open,
    "index": update_index,
    "repair": repair,
    "resume": lambda folder: CrawlJobs.of_folder(folder).resume(),
}


def link(kind: str, path: Path, target: Path) -> None:
    path.unlink(missing_ok=True)
    if kind == "hard":
        os.link(target, path)
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to(target if kind == "symbolic" else target.with_name("new"))


def state_of(home: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in home.rglob("*")}


@pytest.mark.parametrize("kind", ["symbolic", "dangling", "hard", "pipe"])
def test_links_to_files_are_refused(place: Path, whole: Path, kind: str) -> None:
    before = state_of(place / "home")
    for name in FILES:
        folder = place / name.replace("/", "-")
        shutil.copytree(whole, folder)
        (folder / name).parent.mkdir(exist_ok=True)
        link(kind, folder / name, place / "home" / "start")
        for what in ("index",) if name.startswith("index") and kind == "hard" else ("open", "repair"):
            try:
                with pytest.raises(CrawlFolderError) as error:
                    WRITERS[what](folder)
            except Exception:
                print(name, what)
                raise
            assert name.split("/")[-1].removesuffix("-wal").removesuffix("-shm") in str(error.value), (name, what)
        assert state_of(place / "home") == before, name
        shutil.rmtree(folder)


@pytest.mark.parametrize("name", FOLDERS)
@pytest.mark.parametrize("what", WRITERS)
def test_links_to_folders_are_refused(place: Path, name: str, what: str) -> None:
    folder = place / "crawl"
    shutil.rmtree(folder / name, ignore_errors=True)
    (folder / name).symlink_to(place / "home")
    before = state_of(place / "home")
    with pytest.raises(CrawlFolderError, match=f"{name}: a symbolic link"):
        WRITERS[what](folder)
    assert state_of(place / "home") == before


def test_readers_refuse_links_too(place: Path) -> None:
    folder = place / "crawl"
    link("dangling", folder / "crawl.db-wal", place / "home" / "start")
    with pytest.raises(CrawlFolderError, match="crawl.db-wal: a symbolic link"):
        FolderView.open(folder)
    assert sorted(path.name for path in (place / "home").iterdir()) == ["start"]


def test_the_folder_itself_may_be_reached_by_a_link(place: Path) -> None:
    (place / "shortcut").symlink_to(place / "crawl")
    CrawlFolder.open(place / "shortcut").close()
    assert update_index(place / "shortcut").n_pages == 2


def test_a_folder_of_requests(place: Path) -> None:
    (place / "requests").mkdir()
    (place / "requests" / "requests.db").symlink_to(place / "home" / "start")
    with pytest.raises(CrawlFolderError, match=r"requests.db: a symbolic link"):
        RequestFolder(place / "requests", "spider")
    assert (place / "home" / "start").read_text() == "of the user\n"


def test_arrays_are_compressed_where_that_is_worth_it(place: Path, rng: np.random.Generator) -> None:
    path = place / "arrays.npz"
    empty, full, transposed = np.zeros(1 << 20), rng.random(1 << 18), np.arange(6).reshape(2, 3).T
    write_signed_arrays(path, {"empty": empty, "full": full, "number": np.array(5), "transposed": transposed})
    assert full.nbytes < path.stat().st_size < full.nbytes + 100_000
    found = read_signed_arrays(path)
    assert found is not None
    assert found["number"].shape == ()
    for name, array in (("empty", empty), ("full", full), ("transposed", transposed)):
        assert np.array_equal(found[name], array), name


def test_only_arrays_signed_by_this_user_are_read(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = place / "arrays.npz"
    write_signed_arrays(path, {"a": np.arange(5), "b": np.zeros(0)})
    found = read_signed_arrays(path)
    assert found is not None
    assert found["a"].tolist() == [0, 1, 2, 3, 4]
    content = bytearray(path.read_bytes())
    for place_of_byte in (0, len(content) // 2, len(content) - 1):
        spoilt = bytearray(content)
        spoilt[place_of_byte] ^= 1
        path.write_bytes(spoilt)
        assert read_signed_arrays(path) is None
    np.savez(path, a=np.arange(5))
    assert read_signed_arrays(path) is None
    path.write_bytes(content)
    assert read_signed_arrays(path) is not None
    monkeypatch.setenv("XDG_STATE_HOME", str(place / "another user"))
    assert read_signed_arrays(path) is None


@pytest.mark.parametrize(
    "spoil",
    [
        {"local": np.zeros(1)},
        {"group": np.array(["x", "y"])},
        {"pages": np.array([1, 0])},
        {"pages": np.array([0, 1], object)},
        {"targets": np.array([9], np.uint32), "offsets": np.array([0, 1, 1])},
        {"offsets": np.array([0, 5, 1])},
        {"source_offsets": np.array([0])},
    ],
)
def test_columns_of_an_index_are_checked(place: Path, spoil: dict[str, np.ndarray]) -> None:
    path = place / "crawl" / "index" / "columns.npz"
    with np.load(path) as saved:
        arrays = dict(saved)
    np.savez(path, **arrays | spoil, allow_pickle=True)
    with pytest.raises(CrawlFolderError, match="the search index is damaged"):
        search(place / "crawl", "words", n_related=3)
