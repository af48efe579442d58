"""The archive grows, is cut back to what was acknowledged, and says what is missing."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest

from orienteer.errors import CrawlFolderError
from orienteer.store.archive import Archive, ArchiveEnd, Position
from orienteer.store.record import warcinfo_record
from tests.store.small_crawls import html, response, url, warcio_responses


def filled(folder: Path, n_pages: int, **settings) -> Archive:
    archive = Archive(folder, **settings)
    for page in range(n_pages):
        archive.append(response(page))
    return archive


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def urls(archive: Archive) -> list[str]:
    return [url for path in sorted(archive.folder.iterdir()) for url, _ in warcio_responses(path)]


def test_a_page_is_read_at_its_position(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    positions = [archive.append(response(page)) for page in range(5)]
    for page in (3, 0, 4):
        found = archive.read(positions[page])
        assert (found.url, found.status, found.body) == (url(page), 200, html(page))
        assert found.time == 1.7e9 + page / 8
        assert found.headers == [("Content-Type", "text/html")]
    assert [position.offset for position in positions[1:]] == [sum(position[1:]) for position in positions[:-1]]
    assert archive.sync() == ArchiveEnd(0, archive.path(0).stat().st_size)
    archive.close()


def test_nothing_is_written_before_the_first_page(tmp_path: Path) -> None:
    archive = Archive(tmp_path / "archive")
    assert archive.sync() == ArchiveEnd(0, 0)
    archive.close()
    assert list(tmp_path.iterdir()) == []


def test_a_full_file_is_followed_by_a_new_one(tmp_path: Path) -> None:
    archive = filled(tmp_path, 7, max_file_bytes=1000)
    assert len(names(tmp_path)) > 1
    assert names(tmp_path)[:2] == ["orienteer-00000.warc.gz", "orienteer-00001.warc.gz"]
    assert urls(archive) == [url(page) for page in range(7)]
    assert all(path.stat().st_size >= 1000 for path in sorted(tmp_path.iterdir())[:-1])
    archive.close()


def test_reopened_at_its_end_it_goes_on(tmp_path: Path) -> None:
    for page in range(6):
        size = max(path.stat().st_size for path in tmp_path.iterdir()) if page else 0
        archive = Archive(tmp_path, ArchiveEnd(0, size))
        archive.append(response(page))
        archive.sync()
        archive.close()
    assert names(tmp_path) == ["orienteer-00000.warc.gz"]
    assert urls(archive) == [url(page) for page in range(6)]


@pytest.mark.parametrize("max_file_bytes", [1, 1000, 1 << 30])
@pytest.mark.parametrize("n_acknowledged", [0, 1, 4, 7])
def test_what_stands_behind_the_end_is_cut_off(tmp_path: Path, n_acknowledged: int, max_file_bytes: int) -> None:
    archive = filled(tmp_path, n_acknowledged, max_file_bytes=max_file_bytes)
    end = archive.sync()
    for page in range(n_acknowledged, 7):
        archive.append(response(page))
    if n_acknowledged < 7:  # the last record was not written to its end
        os.truncate(archive.path(archive.end.file), archive.end.size_bytes - 5)
    archive.close()

    again = Archive(tmp_path, end, max_file_bytes)
    assert again.end == end
    assert urls(again) == [url(page) for page in range(n_acknowledged)]
    again.append(response(99))
    assert urls(again) == [*(url(page) for page in range(n_acknowledged)), url(99)]
    again.close()


def test_files_of_others_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "other-00000.warc.gz").write_text("mine too")
    Archive(tmp_path).close()
    assert names(tmp_path) == ["notes.txt", "other-00000.warc.gz"]


def test_missing_bytes_are_counted(tmp_path: Path) -> None:
    archive = filled(tmp_path, 3)
    end = archive.sync()
    archive.close()
    os.truncate(archive.path(0), end.size_bytes - 7)
    with pytest.raises(CrawlFolderError, match=r"orienteer-00000.warc.gz: 7 bytes of acknowledged pages are missing"):
        Archive(tmp_path, end)
    assert archive.path(0).stat().st_size == end.size_bytes - 7


@pytest.mark.parametrize("gone", [0, 1])
def test_a_missing_file_is_named(tmp_path: Path, gone: int) -> None:
    archive = filled(tmp_path, 4, max_file_bytes=1000)
    end = archive.sync()
    archive.close()
    archive.path(gone).unlink()
    with pytest.raises(CrawlFolderError, match=f"orienteer-0000{gone}.warc.gz: the file is missing"):
        Archive(tmp_path, end)


def test_damage_is_told_in_one_line(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    position = archive.append(response(0))
    content = bytearray(archive.path(0).read_bytes())
    content[position.offset + 100] ^= 0xFF
    archive.path(0).write_bytes(content)
    for wrong in (position, position._replace(offset=0), position._replace(offset=10**12)):
        with pytest.raises(CrawlFolderError, match=r"^[^\n]*orienteer-00000.warc.gz: the file is damaged [^\n]*$"):
            archive.read(wrong)
    with pytest.raises(CrawlFolderError, match=r"orienteer-00007.warc.gz: No such file"):
        archive.read(Position(7, 0, 100))
    archive.close()


def test_for_reading_nothing_is_cut_off_or_written(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    position = archive.append(response(0))
    reader = Archive(tmp_path, ArchiveEnd(0, 0), read_only=True)
    assert reader.read(position).url == url(0)
    with pytest.raises(CrawlFolderError, match="reading only"):
        reader.append(response(1))
    reader.close()
    archive.close()
    assert urls(archive) == [url(0)]


def test_after_a_sync_that_failed_nothing_is_acknowledged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = Archive(tmp_path)
    archive.append(response(0))

    def fail(descriptor: int) -> None:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fail)
        with pytest.raises(CrawlFolderError, match="Input/output error"):
            archive.sync()
    # The system forgets what it could not write: a second fsync would succeed, and prove nothing.
    with pytest.raises(CrawlFolderError, match="Input/output error"):
        archive.sync()
    with pytest.raises(CrawlFolderError, match="Input/output error"):
        archive.append(response(1))
    archive.close()


def test_the_first_record_tells_who_wrote_the_file(tmp_path: Path) -> None:
    text = gzip.decompress(warcinfo_record("x.warc.gz")).decode()
    assert "WARC-Filename: x.warc.gz" in text
    assert "software: Orienteer/" in text
    assert "format: WARC File Format 1.1" in text
    assert "conformsTo: https://iipc.github.io/warc-specifications/" in text
