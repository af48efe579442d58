"""The archive in an object store: complete files are uploaded, and dropped files are read from the store."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from orienteer.errors import CrawlFolderError, InputError
from orienteer.exports.export import export
from orienteer.inspect.crawl_status import crawl_status
from orienteer.inspect.explain import page_facts
from orienteer.inspect.replay import replay
from orienteer.inspect.verify import verify
from orienteer.live.control import upload
from orienteer.live.session import refresh
from orienteer.search.indexing import update_index
from orienteer.search.search_index import SearchIndex
from orienteer.store.archive import Archive, Position
from orienteer.store.object_store import ObjectStore, parse_location
from orienteer.store.uploads import Uploads
from orienteer.warc.files import warc_files
from tests.fake_web.server import FakeWeb
from tests.live.live_crawls import crawled
from tests.store.object_stores import BUCKET, S3Server, needs_store
from tests.store.small_crawls import response
from tests.store.stored_crawls import N_PAGES, A, records, stored_crawl, waiting_archive, warcs

pytestmark = [pytest.mark.slow, needs_store]


# -- sending ----------------------------------------------------------------------------------------------------------


def test_a_crawl_uploads_every_file(stored_web: FakeWeb, store: S3Server, there: str, tmp_path: Path) -> None:
    assert stored_crawl(stored_web, tmp_path / "crawl", there).goal_reached
    files = warcs(tmp_path / "crawl")
    assert len(files) > 3
    prefix = there.removeprefix(f"s3://{BUCKET}/")
    assert {f"{prefix}/{name}": content for name, content in files.items()} == store.contents(prefix)
    found = crawl_status(tmp_path / "crawl").stored
    assert found is not None
    assert (found.n_files, found.n_stored, found.n_dropped, found.n_waiting) == (len(files), len(files), 0, 0)
    assert found.describe() == f"{len(files)} files, {len(files)} in {there}"


def test_large_files_use_multipart_uploads(store: S3Server, there: str, tmp_path: Path) -> None:
    from orienteer.store.uploads import upload as sent_file

    content = os.urandom(20 << 20)
    (tmp_path / "large").write_bytes(content)
    objects = ObjectStore(parse_location(there))
    assert sent_file(objects, tmp_path / "large", len(content)) == hashlib.sha256(content).hexdigest()
    assert store.count("POST") == 2  # begun and completed
    assert not store.count("GET"), "its ETag says that it is whole"
    assert b"".join(objects.blocks("large")) == content


def test_a_folder_as_a_store(stored_web: FakeWeb, tmp_path: Path) -> None:
    stored_crawl(stored_web, tmp_path / "crawl", None)
    before = records(tmp_path / "crawl")
    report = upload(tmp_path / "crawl", archive_to=f"file://{tmp_path}/drive/a%20b", drop_local=True)
    assert report.n_stored == report.n_files > 3
    assert warcs(tmp_path / "crawl") == {}
    assert len(list((tmp_path / "drive" / "a b").iterdir())) == report.n_files
    assert records(tmp_path / "crawl") == before


def test_a_sealed_file_is_not_continued(store: S3Server, there: str, tmp_path: Path) -> None:
    archive = waiting_archive(tmp_path / "archive", 1)
    end = archive.acknowledged
    archive.seal()
    uploads = Uploads(archive, parse_location(there), drop_local=True)
    assert uploads.finish()
    uploads.close()
    archive.close()
    again = Archive(tmp_path / "archive", end)
    assert again.append(response(1)).file == end.file + 1
    assert again.read(Position(0, *_second_member(store, there))).url == response(0).url
    again.close()


def _second_member(store: S3Server, there: str) -> tuple[int, int]:
    """Return offset and size of the first response record of a file."""
    import zlib

    data = store.get(f"{there.removeprefix(f's3://{BUCKET}/')}/orienteer-00000.warc.gz")
    first = zlib.decompressobj(31)
    first.decompress(data)
    return len(data) - len(first.unused_data), len(first.unused_data)


def test_only_acknowledged_files_are_uploaded(store: S3Server, there: str, tmp_path: Path) -> None:
    archive = waiting_archive(tmp_path / "archive")
    last = archive.acknowledged.file
    for page in range(12):
        archive.append(response(page))
    archive.seal()  # not all of it is acknowledged
    assert archive.complete_files() == list(range(last))
    archive.close()


# -- reading ----------------------------------------------------------------------------------------------------------


def test_dropped_files_are_read_from_the_store(
    stored_web: FakeWeb, store: S3Server, there: str, tmp_path: Path
) -> None:
    folder = tmp_path / "crawl"
    stored_crawl(stored_web, folder, None)
    before, replayed = records(folder), replay(folder)
    for kind in ("warc", "jsonl", "cdxj"):
        export(folder, kind, tmp_path / f"before.{kind}")
    upload(folder, archive_to=there, drop_local=True)
    assert [path.name for path in (folder / "archive").iterdir()] == ["stored.json"]

    assert records(folder) == before
    for kind in ("jsonl", "cdxj"):
        export(folder, kind, tmp_path / f"after.{kind}")
        assert (tmp_path / f"after.{kind}").read_bytes() == (tmp_path / f"before.{kind}").read_bytes()
    export(folder, "warc", tmp_path / "after.warc")
    assert _responses(tmp_path / "after.warc") == _responses(tmp_path / "before.warc")
    export(folder, "wacz", tmp_path / "after.wacz")
    again = replay(folder)
    assert (again.order.tolist(), again.certificate) == (replayed.order.tolist(), replayed.certificate)
    assert not verify(folder).problems
    assert update_index(folder).n_read == N_PAGES
    with SearchIndex.open(folder) as index:
        assert index.search("granite").total > 3
    assert page_facts(folder, f"{A}7").archive_file == f"{there}/orienteer-{before[f'{A}7'][0].file:05}.warc.gz"
    found = crawl_status(folder).stored
    assert found is not None
    assert "no longer here" in found.describe()


def _responses(path: Path) -> list[tuple[str, bytes]]:
    from tests.store.small_crawls import warcio_responses

    return list(warcio_responses(path))


def test_a_refresh_with_a_remote_archive(stored_web: FakeWeb, store: S3Server, there: str, tmp_path: Path) -> None:
    folder = tmp_path / "crawl"
    stored_crawl(stored_web, folder, there, drop_local=True)
    assert warcs(folder) == {}
    before = records(folder)
    report = refresh(folder, now=2e9, budget=N_PAGES)
    assert report.figures.n_done >= N_PAGES
    assert warcs(folder) == {}, "what the refresh has archived is there too"
    assert records(folder) == before, "every page is as it was: revisit records"


def test_a_remote_archive_is_replayed(stored_web: FakeWeb, store: S3Server, there: str, tmp_path: Path) -> None:
    stored_crawl(stored_web, tmp_path / "crawl", there, drop_local=True)
    again = crawled(
        stored_web, A, tmp_path / "again", settings={"fetch": {"fetcher": f"archive:path={tmp_path}/crawl"}}
    )
    assert again.figures.n_fetched == N_PAGES


def test_one_record_is_one_request_and_many_are_few(store: S3Server, there: str, tmp_path: Path) -> None:
    archive = Archive(tmp_path / "archive")
    places = [archive.append(response(page)) for page in range(500)]
    archive.acknowledged = archive.sync()
    archive.seal()
    uploads = Uploads(archive, parse_location(there), drop_local=True)
    assert uploads.finish()
    uploads.close()
    archive.close()
    reader = Archive(tmp_path / "archive", archive.end, read_only=True)
    store.requests.clear()
    assert reader.read(places[250]).url == response(250).url
    assert reader.read(places[100]).url == response(100).url
    assert store.count("GET") == 2
    assert [reader.read(place).url for place in places] == [response(page).url for page in range(500)]
    assert store.count("GET") <= 5
    reader.close()


def test_readers_continue_when_a_file_is_dropped(store: S3Server, there: str, tmp_path: Path) -> None:
    archive = waiting_archive(tmp_path / "archive")
    place = Position(0, *_first_response(archive.path(0)))
    reader = Archive(tmp_path / "archive", archive.acknowledged, read_only=True)
    uploads = Uploads(archive, parse_location(there), drop_local=True)
    assert uploads.finish()
    uploads.close()
    assert not archive.path(0).exists()
    assert reader.read(place).url == response(0).url
    reader.close()
    archive.close()


def _first_response(path: Path) -> tuple[int, int]:
    from orienteer.repair.salvage import intact_records

    found = next(record for record in intact_records(path, 0) if record.url)
    return found.position.offset, found.position.size_bytes


@pytest.mark.parametrize("change", ["shorter", "other bytes", "gone"])
def test_an_object_that_was_changed_is_damaged(
    stored_web: FakeWeb, store: S3Server, there: str, tmp_path: Path, change: str
) -> None:
    folder = tmp_path / "crawl"
    stored_crawl(stored_web, folder, there, drop_local=True)
    key = f"{there.removeprefix(f's3://{BUCKET}/')}/orienteer-00001.warc.gz"
    content = store.get(key)
    if change == "gone":
        store.delete(key)
    else:
        store.put(key, content[:-10] if change == "shorter" else bytes(byte ^ 0xFF for byte in content))
    with pytest.raises(CrawlFolderError) as error:
        records(folder)
    said = {"shorter": "were uploaded", "other bytes": "the file is damaged", "gone": "NoSuchKey"}[change]
    assert said in str(error.value)
    assert str(error.value).startswith(f"{there}/orienteer-00001.warc.gz: ")
    assert "\n" not in str(error.value)


def test_missing_local_files_are_an_error(stored_web: FakeWeb, store: S3Server, there: str, tmp_path: Path) -> None:
    stored_crawl(stored_web, tmp_path / "crawl", there, drop_local=True)
    (tmp_path / "crawl" / "archive" / "orienteer-99999.warc.gz").touch()
    with pytest.raises(InputError, match="are only in an object store; `orienteer export"):
        warc_files(tmp_path / "crawl")
