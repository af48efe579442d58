"""Cards, rename and delete: true, refused while something works on a crawl, and whole after a race or a kill."""

from __future__ import annotations

import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from orienteer.errors import LibraryError, NotInLibraryError, OrienteerError
from orienteer.library.library import Library, default_library
from orienteer.search.indexing import update_index
from orienteer.store.folder import CrawlFolder
from orienteer.store.folder_view import size_on_disk
from orienteer.store.lock import FolderLock
from orienteer.store.page_texts import index_folder


def test_where_it_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert default_library() == tmp_path / "orienteer" / "crawls"
    monkeypatch.setenv("XDG_DATA_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert default_library() == tmp_path / "home" / ".local" / "share" / "orienteer" / "crawls"
    library = Library(default_library())
    assert (library.cards(), library.job_folder.records()) == ([], [])
    assert not library.path.exists(), "reading creates nothing"
    library.make()
    assert library.path.stat().st_mode & 0o777 == 0o700


def test_a_card_describes_the_state_of_a_crawl(library: Library) -> None:
    (card,) = library.cards()
    assert (card.name, card.seeds, card.phase) == ("a.test", ("http://a.test/",), "stopped")
    assert card.sentence == "it was imported; to continue it: orienteer crawl"
    assert card.status is not None
    assert (card.status.n_fetched, card.status.n_urls) == (2, 2)
    assert (card.is_indexed, card.job, card.problem) == (False, None, None)
    assert card.n_bytes == size_on_disk(library.path / "a.test")
    update_index(library.path / "a.test")
    assert library.card("a.test").is_indexed
    assert library.card("a.test").n_bytes > card.n_bytes
    with CrawlFolder.open(library.path / "a.test"):
        assert library.card("a.test").phase == "running"
    assert library.card("a.test").phase == "stopped"


def test_damaged_crawls_are_listed(library: Library) -> None:
    shutil.copytree(library.path / "a.test", library.path / "b.test")
    (library.path / "b.test" / "crawl.db").write_bytes(b"no database at all")
    (library.path / "c.test").mkdir()
    (library.path / "c.test" / "crawl.toml").write_text("[crawl]\n")
    cards = {card.name: card for card in library.cards()}
    assert [card.phase for card in cards.values()] == ["stopped", "damaged", "damaged"]
    assert "crawl.db: the file is damaged" in (cards["b.test"].problem or "")
    assert "no crawl.db in it" in (cards["c.test"].problem or "")
    for name in ("b.test", "c.test"):
        library.delete(name)
    assert library.names() == ["a.test"]


def test_a_changed_crawl_is_read_again(library: Library, tiny: Path) -> None:
    assert library.card("a.test").problem is None
    (library.path / "a.test" / "crawl.toml").write_text("damaged [")
    assert library.card("a.test").phase == "damaged"
    shutil.copy(tiny / "crawl.toml", library.path / "a.test")
    assert library.card("a.test").problem is None


def test_rename_and_delete(library: Library) -> None:
    library.rename("a.test", "Harbour 2")
    assert library.names() == ["Harbour 2"]
    assert library.status("Harbour 2").n_fetched == 2
    shutil.copytree(library.path / "Harbour 2", library.path / "b.test")
    with pytest.raises(LibraryError, match="the library already contains b.test"):
        library.rename("Harbour 2", "b.test")
    with pytest.raises(NotInLibraryError):
        library.rename("a.test", "c.test")
    library.delete("b.test")
    assert library.names() == ["Harbour 2"]
    assert not (library.path / ".deleted").exists()


@pytest.mark.parametrize("inner", ["", "index"])
def test_a_crawl_in_use_is_neither_renamed_nor_deleted(library: Library, inner: str) -> None:
    path = library.path / "a.test" if not inner else index_folder(library.path / "a.test")
    path.mkdir(exist_ok=True)
    lock = FolderLock(path)
    try:
        for attempt in (lambda: library.rename("a.test", "b.test"), lambda: library.delete("a.test")):
            with pytest.raises(LibraryError, match=f"running there .process {os.getpid()}.; stop it first"):
                attempt()
    finally:
        lock.release()
    library.rename("a.test", "b.test")
    assert library.names() == ["b.test"]


def test_no_link_is_followed_when_a_crawl_is_deleted(library: Library, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "file").touch()
    (library.path / "a.test" / "archive" / "link").symlink_to(tmp_path / "mine")
    library.delete("a.test")
    assert (tmp_path / "mine" / "file").exists()
    (library.path / ".deleted").symlink_to(tmp_path / "mine")
    shutil.copytree(tmp_path / "mine", library.path / "b.test")
    (library.path / "b.test" / "crawl.toml").touch()
    with pytest.raises(OrienteerError, match="a symbolic link"):
        library.delete("b.test")
    assert sorted(os.listdir(tmp_path / "mine")) == ["file"]


def test_what_a_kill_left_of_a_deleted_crawl_goes_with_the_next(library: Library) -> None:
    shutil.copytree(library.path / "a.test", library.path / ".deleted" / "20260101-000000-abcdef")
    assert library.names() == ["a.test"]
    library.delete("a.test")
    assert library.names() == []
    assert not (library.path / ".deleted").exists()


def test_of_concurrent_renames_and_deletes_one_wins(library: Library, tiny: Path) -> None:
    def attempt(number: int) -> str:
        try:
            if number % 4:
                Library(library.path).rename("a.test", f"b{number}")
                return f"b{number}"
            Library(library.path).delete("a.test")
        except OrienteerError as error:
            assert "\n" not in str(error)
            return "refused"
        return ""

    for _ in range(5):
        with ThreadPoolExecutor(8) as pool:
            won = [name for name in pool.map(attempt, range(8)) if name != "refused"]
        assert len(won) == 1
        assert library.names() == [name for name in won if name]
        for name in library.names():
            assert library.status(name).n_fetched == 2
            library.delete(name)
        shutil.copytree(tiny, library.path / "a.test")
