"""Nothing is written through a link, a pipe or a device inside an untrusted folder."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from orienteer.errors import CrawlFolderError
from orienteer.files.plain import expect_plain_folder, make_plain_folder, open_plain, replaced_inside


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    path = tmp_path / "victim"
    path.write_text("of the user\n")
    return path


@pytest.fixture
def inside(tmp_path: Path) -> Path:
    (tmp_path / "folder").mkdir()
    return tmp_path / "folder"


def made(kind: str, path: Path, victim: Path) -> None:
    if kind == "symbolic link":
        path.symlink_to(victim)
    elif kind == "dangling link":
        path.symlink_to(victim.with_name("new"))
    elif kind == "hard link":
        os.link(victim, path)
    else:
        os.mkfifo(path)


KINDS = ("symbolic link", "dangling link", "hard link", "pipe")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("flags", [os.O_WRONLY | os.O_APPEND | os.O_CREAT, os.O_RDWR | os.O_TRUNC, os.O_RDWR])
def test_what_is_no_plain_file_is_not_opened(kind: str, flags: int, inside: Path, victim: Path) -> None:
    made(kind, inside / "file", victim)
    with pytest.raises(CrawlFolderError, match="nothing is written through links"):
        open_plain(inside / "file", flags)
    assert victim.read_text() == "of the user\n"
    assert not victim.with_name("new").exists()


def test_a_plain_file_is_opened_and_cut_only_then(inside: Path) -> None:
    (inside / "file").write_text("old")
    os.close(open_plain(inside / "file", os.O_WRONLY))
    assert (inside / "file").read_text() == "old"
    os.close(open_plain(inside / "file", os.O_WRONLY | os.O_TRUNC))
    assert (inside / "file").read_text() == ""


@pytest.mark.parametrize("kind", KINDS)
def test_what_takes_the_place_of_a_link_does_not_follow_it(kind: str, inside: Path, victim: Path) -> None:
    made(kind, inside / "file", victim)
    made(kind, inside / f".new-{os.getpid()}-file", victim)
    with replaced_inside(inside / "file") as new:
        new.write_text("new")
    assert (inside / "file").read_text() == "new"
    assert victim.read_text() == "of the user\n"
    assert [path.name for path in inside.iterdir()] == ["file"]


def test_a_folder_is_not_made_where_a_link_is(inside: Path, tmp_path: Path) -> None:
    (tmp_path / "target").mkdir()
    (inside / "archive").symlink_to(tmp_path / "target")
    with pytest.raises(CrawlFolderError, match="archive: a symbolic link"):
        make_plain_folder(inside / "archive")


@pytest.mark.parametrize("kind", KINDS)
def test_a_folder_is_looked_through(kind: str, inside: Path, victim: Path) -> None:
    (inside / "index" / "deep").mkdir(parents=True)
    (inside / "notes").mkdir()
    made(kind, inside / "notes" / "mine", victim)
    expect_plain_folder(inside, alone=True, inner=frozenset({"index"}))
    made(kind, inside / "index" / "deep" / "file", victim)
    if kind == "hard link":
        expect_plain_folder(inside, alone=False, inner=frozenset({"index"}))
    with pytest.raises(CrawlFolderError, match="index/deep/file"):
        expect_plain_folder(inside, alone=True, inner=frozenset({"index"}))
