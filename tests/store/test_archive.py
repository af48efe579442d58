"""The archive: appending, truncation to the acknowledged end, and errors about missing data."""

from __future__ import annotations

import gzip
import hashlib
import os
import warnings
from pathlib import Path

import numpy as np
import pytest
from warcio.archiveiterator import ArchiveIterator
from warcio.cli import main as warcio

from orienteer.errors import CrawlFolderError
from orienteer.graph.formats.warc import ArchivedState, read_archives
from orienteer.graph.link_graph import LinkGraph
from orienteer.inspect.replay import replay
from orienteer.store.archive import Archive, ArchiveEnd, Position
from orienteer.store.record import ArchivedResponse, EarlierRecord, Resource, resource_record, warcinfo_record
from orienteer.warc.files import ArchiveFile
from tests.store.small_crawls import html, response, url, warcio_responses


def filled(folder: Path, n_pages: int, **settings) -> Archive:
    archive = Archive(folder, **settings)
    for page in range(n_pages):
        archive.append(response(page))
    archive.sync()
    return archive


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def urls(archive: Archive) -> list[str]:
    archive.sync()
    return [url for path in sorted(archive.folder.iterdir()) for url, _ in warcio_responses(path)]


def test_a_page_is_read_at_its_position(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    positions = [archive.append(response(page)) for page in range(5)]
    for page in (3, 0, 4):
        found = archive.read(positions[page])
        assert (found.url, found.status, found.body) == (url(page), 200, html(page))
        assert found.time == 1.7e9 + page / 8
        assert found.headers.items() == (("Content-Type", "text/html"),)
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


def test_a_reopened_archive_is_continued(tmp_path: Path) -> None:
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
def test_data_after_the_end_is_truncated(tmp_path: Path, n_acknowledged: int, max_file_bytes: int) -> None:
    archive = filled(tmp_path, n_acknowledged, max_file_bytes=max_file_bytes)
    end = archive.sync()
    for page in range(n_acknowledged, 7):
        archive.append(response(page))
    archive.close()
    if n_acknowledged < 7:  # the last record was not written to its end
        os.truncate(archive.path(archive.end.file), archive.end.size_bytes - 5)

    again = Archive(tmp_path, end, max_file_bytes)
    assert again.end == end
    assert urls(again) == [url(page) for page in range(n_acknowledged)]
    again.append(response(99))
    assert urls(again) == [*(url(page) for page in range(n_acknowledged)), url(99)]
    again.close()


def test_other_files_are_not_touched(tmp_path: Path) -> None:
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


def test_damage_is_a_one_line_error(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    position = archive.append(response(0))
    archive.sync()
    content = bytearray(archive.path(0).read_bytes())
    content[position.offset + 100] ^= 0xFF
    archive.path(0).write_bytes(content)
    for wrong in (position, position._replace(offset=0), position._replace(offset=10**12)):
        with pytest.raises(CrawlFolderError, match=r"^[^\n]*orienteer-00000.warc.gz: the file is damaged [^\n]*$"):
            archive.read(wrong)
    with pytest.raises(CrawlFolderError, match=r"orienteer-00007.warc.gz: the file is missing; .*orienteer repair"):
        archive.read(Position(7, 0, 100))
    archive.close()


def test_a_read_only_archive_is_not_changed(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    position = archive.append(response(0))
    archive.sync()
    reader = Archive(tmp_path, ArchiveEnd(0, 0), read_only=True)
    assert reader.read(position).url == url(0)
    with pytest.raises(CrawlFolderError, match="reading only"):
        reader.append(response(1))
    reader.close()
    archive.close()
    assert urls(archive) == [url(0)]


def test_records_are_written_together_and_all_before_a_sync(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, synced = tmp_path / "orienteer-00000.warc.gz", []
    archive = Archive(tmp_path)
    for n in range(20):
        archive.append(response(n))
    assert path.stat().st_size == 0
    monkeypatch.setattr(os, "fsync", lambda descriptor: synced.append(os.fstat(descriptor).st_size))
    end = archive.sync()
    assert path.stat().st_size == end.size_bytes == synced[-1]
    body = np.random.default_rng(1).bytes(1 << 20)
    archive.append(response(20)._replace(body=body))
    assert path.stat().st_size == archive.end.size_bytes > end.size_bytes + (1 << 20)
    archive.close()


def test_a_record_is_read_before_it_is_synced(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    positions = [archive.append(response(n)) for n in range(3)]
    assert archive.read(positions[2]).body == response(2).body
    positions.append(archive.append(response(3)))
    with archive.local_copy(0) as whole:
        assert whole.stat().st_size == archive.end.size_bytes
    archive.close()


def test_nothing_is_acknowledged_after_a_failed_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some of the records may be in the file: none of them is acknowledged, and the file has none of them."""
    archive = Archive(tmp_path)
    archive.append(response(0))
    end = archive.sync()
    archive.append(response(1))
    archive.append(response(2))
    own = os.write

    def fill(descriptor: int, content: memoryview) -> int:
        if len(content) < 10:
            raise OSError(28, "No space left on device")
        return own(descriptor, content[:-9])

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", fill)
        with pytest.raises(CrawlFolderError, match="the disk is full"):
            archive.sync()
    for attempt in (archive.sync, lambda: archive.append(response(3))):
        with pytest.raises(CrawlFolderError, match="the disk is full"):
            attempt()
    archive.close()
    assert (tmp_path / "orienteer-00000.warc.gz").stat().st_size == end.size_bytes


def test_nothing_is_acknowledged_after_a_failed_sync(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = Archive(tmp_path)
    archive.append(response(0))

    def fail(descriptor: int) -> None:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fail)
        with pytest.raises(CrawlFolderError, match="Input/output error"):
            archive.sync()
    # After a failed fsync the kernel drops the data: a second fsync would succeed without writing it.
    with pytest.raises(CrawlFolderError, match="Input/output error"):
        archive.sync()
    with pytest.raises(CrawlFolderError, match="Input/output error"):
        archive.append(response(1))
    archive.close()


def test_the_first_record_names_the_software(tmp_path: Path) -> None:
    text = gzip.decompress(warcinfo_record("x.warc.gz")).decode()
    assert "WARC-Filename: x.warc.gz" in text
    assert "software: Orienteer/" in text
    assert "format: WARC File Format 1.1" in text
    assert "conformsTo: https://iipc.github.io/warc-specifications/" in text


# -- revisits ---------------------------------------------------------------------------------------------------


def add_revisit(archive: Archive, page: int, not_modified: bool) -> Position:
    """Append a revisit a day later."""
    first, sha1 = response(page), hashlib.sha1(html(page)).digest()
    if not_modified:
        first = ArchivedResponse(first.url, first.time, b"HTTP/1.1 304 Not Modified\r\n\r\n", b"", "10.0.0.1")
    again = first._replace(time=first.time + 86_400)
    return archive.append_revisit(again, EarlierRecord(url(page), response(page).time, sha1), not_modified)


def revisited(folder: Path, **settings) -> Archive:
    """Make an archive of pages 0 to 2 with both kinds of revisits."""
    archive = filled(folder, 3, **settings)
    add_revisit(archive, 0, not_modified=True)
    add_revisit(archive, 1, not_modified=False)
    archive.sync()
    archive.close()
    return archive


def test_a_revisit_is_appended_between_pages(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    first = archive.append(response(0))
    again = add_revisit(archive, 0, not_modified=True)
    last = archive.append(response(1))
    assert (again.offset, last.offset) == (sum(first[1:]), sum(again[1:]))
    assert [archive.read(position).url for position in (first, last)] == [url(0), url(1)]
    with pytest.raises(CrawlFolderError, match="no page in .*: no response"):
        archive.read(again)
    archive.close()


def test_a_read_only_archive_rejects_revisits(tmp_path: Path) -> None:
    revisited(tmp_path)
    with pytest.raises(CrawlFolderError, match="reading only"):
        add_revisit(Archive(tmp_path, read_only=True), 0, not_modified=True)


def test_warcio_reads_revisits_and_finds_their_pages_by_url_and_date(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = revisited(tmp_path).path(0)
    with warnings.catch_warnings(), path.open("rb") as stream:
        warnings.simplefilter("ignore", ResourceWarning)
        records = [record.rec_headers for record in ArchiveIterator(stream, check_digests="raise")]
        with pytest.raises(SystemExit) as end:
            warcio(["check", "-v", str(path)])
    assert end.value.code == 0
    output = capsys.readouterr().out
    assert (output.count("digest pass"), output.count("digest present but not checked (revisit)")) == (3, 2)
    pages = {
        (record.get_header("WARC-Target-URI"), record.get_header("WARC-Date")): record.get_header("WARC-Payload-Digest")
        for record in records
        if record.get_header("WARC-Type") == "response"
    }
    revisits = [record for record in records if record.get_header("WARC-Type") == "revisit"]
    assert len(revisits) == 2
    for record in revisits:
        referred = (record.get_header("WARC-Refers-To-Target-URI"), record.get_header("WARC-Refers-To-Date"))
        assert pages[referred] == record.get_header("WARC-Payload-Digest")


@pytest.mark.parametrize("max_file_bytes", [1, 1 << 30])
def test_a_revisit_does_not_change_the_page(tmp_path: Path, max_file_bytes: int) -> None:
    once, twice = tmp_path / "once", tmp_path / "twice"
    filled(once, 3).close()
    revisited(twice, max_file_bytes=max_file_bytes)
    expected = read_archives([ArchiveFile(once / "orienteer-00000.warc.gz")])
    for files in (sorted(twice.iterdir()), sorted(twice.iterdir(), reverse=True)):  # in both orders
        web = read_archives([ArchiveFile(file) for file in files], [url(0), url(1), url(2), url(3), url(4), url(5)])
        assert web.states.tolist() == expected.states.tolist() == [ArchivedState.PAGE] * 3 + [ArchivedState.NONE] * 3
        assert web.graph.targets.tolist() == expected.graph.targets.tolist()
        assert web.graph.offsets.tolist() == expected.graph.offsets.tolist()
    one, two = (replay(folder, "breadth-first", seeds=[url(0)]) for folder in (once, twice))
    assert one.order.tolist() == two.order.tolist() == [0, 1, 2]
    assert one.n_missing == two.n_missing == 3
    assert one.certificate == two.certificate


def test_a_page_with_only_a_revisit_is_not_missing(
    tmp_path: Path,
) -> None:
    archive = Archive(tmp_path)
    archive.append(response(0))
    add_revisit(archive, 1, not_modified=True)
    archive.close()
    web = read_archives([ArchiveFile(archive.path(0))])
    assert web.states.tolist() == [ArchivedState.PAGE] + [ArchivedState.NONE] * 3
    assert LinkGraph.load(archive.path(0)).n_links == 3


def test_a_resource_is_read_back_and_is_no_page(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    member = resource_record("urn:dom:" + url(0), 5.5, "text/html", b"<p>rendered", url(0), archive.record_headers())
    position = archive.append_member(member)
    assert archive.read_resource(position) == (member, Resource("urn:dom:" + url(0), 5.5, "text/html", b"<p>rendered"))
    with pytest.raises(CrawlFolderError, match="no page in .*: no response"):
        archive.read(position)
    with pytest.raises(CrawlFolderError, match="no page in .*: no resource"):
        archive.read_resource(archive.append(response(1)))
    archive.close()
