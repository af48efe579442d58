"""The crawl folder: creation, opening, locking, removal of unacknowledged pages."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from orienteer.errors import CrawlFolderError
from orienteer.store.database import Database
from orienteer.store.folder import CrawlFolder
from orienteer.store.folder_view import FolderView, settings_of_folder
from orienteer.store.record import ArchivedResponse
from tests.store.small_crawls import add_page, add_pages, check_pages

SETTINGS = "[crawl]\nname = 'é'\n"


def content(path: Path) -> dict[str, bytes]:
    """Return all files except SQLite's shared memory, which readers change."""
    files = (file for file in path.rglob("*") if file.is_file() and not file.name.endswith("-shm"))
    return {str(file.relative_to(path)): file.read_bytes() for file in files}


def test_a_crawl_is_continued(tmp_path: Path) -> None:
    for start in (0, 4, 8):
        with CrawlFolder.open_or_create(tmp_path / "a" / "b", SETTINGS) as folder:
            check_pages(folder, start)
            add_pages(folder, start, start + 4)
            assert folder.settings_text == SETTINGS
    with CrawlFolder.open(tmp_path / "a" / "b") as folder:
        check_pages(folder, 12)
    files = ["archive", "crawl.db", "crawl.lock", "crawl.toml"]
    assert sorted(path.name for path in (tmp_path / "a" / "b").iterdir()) == files


def test_closing_twice_closes_nothing_else(tmp_path: Path) -> None:
    folder = CrawlFolder.create(tmp_path / "a", SETTINGS)
    folder.close()
    with (tmp_path / "file").open("w") as other:  # may have got the number that the lock had
        folder.close()
        other.write("still open")


def test_unacknowledged_pages_are_removed(tmp_path: Path) -> None:
    with CrawlFolder.create(tmp_path, SETTINGS) as folder:
        add_page(folder, 0)
    with CrawlFolder.open(tmp_path) as folder:
        check_pages(folder, 0)
        add_pages(folder, 0, 3)
        add_page(folder, 3)
        folder.archive.sync()
    with CrawlFolder.open(tmp_path) as folder:
        check_pages(folder, 3)
    with CrawlFolder.open(tmp_path) as folder:
        check_pages(folder, 3)
        add_pages(folder, 3, 5)
        check_pages(folder, 5)


def test_acknowledging_nothing_writes_nothing(tmp_path: Path) -> None:
    with CrawlFolder.create(tmp_path, SETTINGS) as folder:
        add_pages(folder, 0, 2)
        before = content(tmp_path)
        folder.acknowledge()
        assert content(tmp_path) == before


def test_a_record_is_durable_before_its_row_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the power failed in between: a row must not refer to a missing record."""
    folder = CrawlFolder.create(tmp_path, SETTINGS)
    add_pages(folder, 0, 2)
    add_page(folder, 2)

    def fail(descriptor: int) -> None:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fail)
        with pytest.raises(CrawlFolderError, match="orienteer-00000.warc.gz: Input/output error"):
            folder.acknowledge()
    with pytest.raises(CrawlFolderError, match="Input/output error"):
        folder.acknowledge()
    folder.close()
    with CrawlFolder.open(tmp_path) as folder:
        check_pages(folder, 2)


# Making


def test_a_new_folder_is_empty_or_not_there(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    CrawlFolder.create(tmp_path / "empty", SETTINGS).close()
    with pytest.raises(CrawlFolderError, match="already holds a crawl"):
        CrawlFolder.create(tmp_path / "empty", SETTINGS)


@pytest.mark.parametrize("name", ["notes.txt", "crawl.db-wal", "archive/orienteer-00000.warc.gz", ".hidden"])
def test_a_foreign_folder_is_not_changed(tmp_path: Path, name: str) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("mine")
    refusal = f"not empty and not a crawl folder \\({name.split('/')[0]} is in it"
    for make in (CrawlFolder.create, CrawlFolder.open_or_create):
        with pytest.raises(CrawlFolderError, match=refusal):
            make(tmp_path, SETTINGS)
    assert content(tmp_path) == {name: b"mine"}


def test_a_file_is_not_a_folder(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("mine")
    with pytest.raises(CrawlFolderError, match="a file, not a crawl folder"):
        CrawlFolder.open_or_create(path, SETTINGS)
    with pytest.raises(CrawlFolderError, match="not a crawl folder"):
        CrawlFolder.open(path)
    with pytest.raises(CrawlFolderError, match="Not a directory"):
        CrawlFolder.create(path / "below", SETTINGS)


def test_opening_nothing(tmp_path: Path) -> None:
    with pytest.raises(CrawlFolderError, match="no such crawl folder"):
        CrawlFolder.open(tmp_path / "no")
    with pytest.raises(CrawlFolderError, match=r"not a crawl folder \(no crawl.db in it\)"):
        CrawlFolder.open(tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("step", ["crawl.lock", "crawl.toml", "the database under another name", "crawl.db"])
def test_a_half_created_folder_can_be_created_again(tmp_path: Path, step: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if killed after each step."""
    CrawlFolder.create(tmp_path / "whole", "old").close()
    steps = ["crawl.lock", "crawl.toml", "the database under another name", "crawl.db"]
    (tmp_path / "part").mkdir()
    for name in steps[: steps.index(step) + 1]:
        if name.startswith("crawl"):
            shutil.copy(tmp_path / "whole" / name, tmp_path / "part" / name)
        else:
            shutil.copy(tmp_path / "whole" / "crawl.db", tmp_path / "part" / ".new-1-crawl.db")
            (tmp_path / "part" / ".new-1-crawl.db-wal").write_text("half of")
    with CrawlFolder.open_or_create(tmp_path / "part", SETTINGS) as folder:
        assert folder.settings_text == ("old" if step == "crawl.db" else SETTINGS)
        add_pages(folder, 0, 3)
    with CrawlFolder.open(tmp_path / "part") as folder:
        check_pages(folder, 3)


def test_a_failed_creation_releases_the_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(Database, "create", lambda path: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            CrawlFolder.create(tmp_path, "old")
    assert settings_of_folder(tmp_path) is None
    CrawlFolder.create(tmp_path, SETTINGS).close()
    assert settings_of_folder(tmp_path) == SETTINGS


# One writer, many readers


def test_one_process_at_a_time_may_write(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from orienteer.store.folder import CrawlFolder\n"
        "folder = CrawlFolder.open(Path(sys.argv[1])); print('open', flush=True); sys.stdin.read()"
    )
    CrawlFolder.create(tmp_path, SETTINGS).close()
    command = [sys.executable, "-c", program, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "open\n"
        for attempt in (CrawlFolder.open, lambda path: CrawlFolder.open_or_create(path, SETTINGS)):
            with pytest.raises(
                CrawlFolderError,
                match=f"^{tmp_path} is in use by process {other.pid}; `orienteer stop {tmp_path}` stops it$",
            ):
                attempt(tmp_path)
        FolderView.open(tmp_path).close()
        other.kill()
    CrawlFolder.open(tmp_path).close()


def test_the_same_process_may_not_write_twice(tmp_path: Path) -> None:
    folder = CrawlFolder.create(tmp_path, SETTINGS)
    with pytest.raises(CrawlFolderError, match=f"in use by process {os.getpid()}"):
        CrawlFolder.open(tmp_path)
    folder.close()
    CrawlFolder.open(tmp_path).close()


def test_a_reader_sees_one_moment(tmp_path: Path) -> None:
    with CrawlFolder.create(tmp_path, SETTINGS) as writer:
        add_pages(writer, 0, 3)
        with FolderView.open(tmp_path) as reader:
            check_pages(reader, 3)
            add_page(writer, 3)
            writer.acknowledge()
            assert reader.database.history.next_position() == 3
            with pytest.raises(CrawlFolderError, match="may not be written"):
                add_page(reader, 4)
        with FolderView.open(tmp_path) as reader:
            check_pages(reader, 4)
        add_page(writer, 4)
        FolderView.open(tmp_path).close()  # must not cut off what the writer is about to acknowledge
        writer.acknowledge()
    with CrawlFolder.open(tmp_path) as folder:
        check_pages(folder, 5)


def test_a_read_only_folder_cannot_be_written(tmp_path: Path) -> None:
    with CrawlFolder.create(tmp_path, SETTINGS) as writer:
        add_pages(writer, 0, 3)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    writing = {name for name in dir(CrawlFolder) if name.startswith(("write", "acknowledge", "create"))}
    assert len(writing) > 6, "there are writing methods"
    assert not writing & set(dir(FolderView))
    with FolderView.open(tmp_path) as reader:
        check_pages(reader, 3)
        assert (reader.read_checkpoint(), reader.read_ranks(), reader.read_frontier()) == (None, None, None)
        with pytest.raises(CrawlFolderError):
            reader.database.meta.set("a", 1)
        with pytest.raises(CrawlFolderError):
            reader.archive.append(ArchivedResponse("http://a.org/", 0.0, b"HTTP/1.1 200 OK\r\n\r\n", b""))
    after = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert {path: after[path] for path in before} == before
    assert {path.name for path in after.keys() - before.keys()} <= {"crawl.db-shm", "crawl.db-wal"}, "SQLite's own"


# The other files


def test_settings_can_be_replaced(tmp_path: Path) -> None:
    with CrawlFolder.create(tmp_path, SETTINGS) as folder:
        folder.write_settings("new")
        assert folder.settings_text == "new"
    assert settings_of_folder(tmp_path) == "new"
    (tmp_path / "crawl.toml").write_bytes(b"\xff")
    with pytest.raises(CrawlFolderError, match="crawl.toml: the file is damaged"):
        settings_of_folder(tmp_path)
    (tmp_path / "crawl.toml").unlink()
    with pytest.raises(CrawlFolderError, match=r"crawl.toml: No such file"):
        settings_of_folder(tmp_path)


def test_a_report_replaces_the_last_one(tmp_path: Path) -> None:
    with CrawlFolder.create(tmp_path, SETTINGS) as folder:
        folder.write_report({"stopped_because": "budget"})
        folder.write_report({"stopped_because": "coverage", "lower": 0.98})
        assert json.loads(folder.report_path.read_text()) == {"stopped_because": "coverage", "lower": 0.98}
        assert not list(tmp_path.glob(".new-*"))


def test_a_checkpoint_is_read_back_or_none(tmp_path: Path) -> None:
    with CrawlFolder.create(tmp_path, SETTINGS) as folder:
        assert folder.read_checkpoint() is None
        folder.write_checkpoint({"old": np.arange(3)})
        folder.write_checkpoint({"policy.mass": np.arange(5) / 8, "position": np.array(7)})
        arrays = folder.read_checkpoint()
        assert arrays is not None
        assert set(arrays) == {"policy.mass", "position"}
        assert arrays["policy.mass"].tolist() == [0, 0.125, 0.25, 0.375, 0.5]
        assert int(arrays["position"]) == 7
        whole = folder.checkpoint_path.read_bytes()
        for damaged in (b"", b"rubbish", whole[:100], whole[:-30], whole[:90] + b"\xff" * 40 + whole[130:]):
            folder.checkpoint_path.write_bytes(damaged)
            assert folder.read_checkpoint() is None
        folder.checkpoint_path.write_bytes(whole)
        assert folder.read_checkpoint() is not None
