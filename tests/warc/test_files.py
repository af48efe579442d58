"""The files of an archive."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from orienteer.errors import InputError
from orienteer.warc.files import ArchiveFile, archive_files, warc_files
from tests.imports.made_collections import response, write, write_wacz

PAGE = response("http://a.test/", "x")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path / "b.warc.gz", [PAGE])
    write(tmp_path / "a.WARC", [PAGE])
    write(tmp_path / "c.wat.gz", [PAGE])
    write_wacz(tmp_path / "d.wacz", {"archive/2.warc": PAGE, "archive/1.warc.gz": PAGE, "pages/pages.jsonl": b""})
    (tmp_path / "b.warc.gz.part").write_bytes(b"")
    (tmp_path / "notes.txt").write_bytes(b"")
    return tmp_path


def test_the_archives_of_a_folder(folder: Path) -> None:
    inside = [ArchiveFile(folder / "d.wacz", f"archive/{name}") for name in ("2.warc", "1.warc.gz")]
    plain = [ArchiveFile(folder / name) for name in ("a.WARC", "b.warc.gz")]
    assert warc_files(folder) == plain + inside
    assert archive_files(folder) == [*plain, ArchiveFile(folder / "c.wat.gz"), *inside]
    assert warc_files(folder / "d.wacz") == inside
    assert warc_files(folder / "notes.txt") == [
        ArchiveFile(folder / "notes.txt")
    ]  # a file that is named explicitly is accepted


def test_the_archive_subfolder_of_a_folder(tmp_path: Path) -> None:
    (tmp_path / "archive").mkdir()
    write(tmp_path / "archive" / "x.warc", [PAGE])
    write(tmp_path / "other.warc", [PAGE])
    assert warc_files(tmp_path) == [ArchiveFile(tmp_path / "archive" / "x.warc")]


def test_folders_without_archives(tmp_path: Path) -> None:
    (tmp_path / "x.wat").write_bytes(b"")
    with pytest.raises(InputError, match="no WARC files in it"):
        warc_files(tmp_path)
    with pytest.raises(InputError, match="no such file or folder"):
        warc_files(tmp_path / "absent")
    os.remove(tmp_path / "x.wat")
    with pytest.raises(InputError, match="no WARC, WACZ or WAT files in it"):
        archive_files(tmp_path)
