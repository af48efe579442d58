"""The archive in an object store: what is uploaded is confirmed, what is dropped here is read there."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from orienteer.errors import CrawlFolderError, InputError, MissingExtraError
from orienteer.exports.export import export
from orienteer.fake_web.server import FakeWeb
from orienteer.fake_web.site import MadeSite
from orienteer.inspect.explain import page_facts
from orienteer.inspect.folder_status import folder_status
from orienteer.inspect.replay import replay
from orienteer.inspect.verify import verify
from orienteer.live.session import Report, refresh
from orienteer.live.upload import upload
from orienteer.repair.repair import repair
from orienteer.search.indexing import update_index
from orienteer.search.search_index import SearchIndex
from orienteer.store.archive import Archive, ArchiveEnd, Position
from orienteer.store.folder import CrawlFolder
from orienteer.store.folder_view import FolderView
from orienteer.store.object_store import ObjectStore, checked_place
from orienteer.store.store_settings import StoreSettings
from orienteer.store.uploads import Uploads
from orienteer.warc.files import warc_files
from tests.live.live_crawls import crawled
from tests.store.object_stores import BUCKET, CREDENTIALS, SECRET, S3Server, needs_store
from tests.store.small_crawls import response

pytestmark = needs_store

A = "http://a.test/"
N_PAGES = 60
WORDS = "lantern harbour bridge violet granite meadow compass"


@pytest.fixture(scope="module")
def server() -> Iterator[S3Server]:
    with S3Server() as running:
        yield running


@pytest.fixture
def store(server: S3Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[S3Server]:
    """A store that is open and empty; its address and the credentials are in the environment."""
    for name, value in (CREDENTIALS | {"AWS_ENDPOINT_URL": server.endpoint}).items():
        monkeypatch.setenv(name, value)
    for name in ("AWS_PROFILE", "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    server.is_open, server.cut_to = True, None
    server.requests.clear()
    yield server
    server.is_open, server.cut_to = True, None


@pytest.fixture
def there(tmp_path: Path) -> str:
    """A prefix that no other test uses."""
    return f"s3://{BUCKET}/{hashlib.sha256(str(tmp_path).encode()).hexdigest()[:12]}"


@pytest.fixture(scope="module")
def web() -> Iterator[FakeWeb]:
    pages = {}
    for page in range(N_PAGES):
        links = "".join(
            f"<a href=/{target}>to {target}</a> " for target in (2 * page + 1, 2 * page + 2) if target < N_PAGES
        )
        noise = "".join(hashlib.sha512(f"{page} {k}".encode()).hexdigest() for k in range(10))
        pages[f"{A}{page or ''}"] = f"<title>Page {page}</title><p>{WORDS.split()[page % 7]} {noise}</p>{links}"
    with FakeWeb(MadeSite(pages)) as running:
        yield running


def stored_crawl(web: FakeWeb, folder: Path, to: str | None, **store: Any) -> Report:
    table = {"max_file_mb": 0.01} | ({} if to is None else {"archive_to": to}) | store
    return crawled(web, A, folder, settings={"store": table, "crawl": {"commit_every_s": 0.01}})


def warcs(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted((folder / "archive").glob("*.warc.gz"))}


def records(folder: Path) -> dict[str, tuple[Position, bytes]]:
    """Every archived page with its record."""
    with FolderView.open(folder) as crawl:
        found = {}
        for number in range(crawl.database.n_urls()):
            row = crawl.database.page(number)
            if row is not None and row.archived is not None:
                found[crawl.database.url(number)] = row.archived, crawl.archive.read_record(row.archived)[0]
        return found


def waiting_archive(folder: Path, n_pages: int = 12) -> Archive:
    """An archive of several files, all acknowledged."""
    archive = Archive(folder, max_file_bytes=1000)
    for page in range(n_pages):
        archive.append(response(page))
    archive.acknowledged = archive.sync()
    return archive


def sent(uploads: Uploads, now: float) -> None:
    """Begin what may begin at this time, and wait until it has ended, in one way or another."""
    uploads.look(now)
    while uploads._under_way is not None:
        assert uploads._child is not None
        uploads._child.channel.poll(None)
        uploads._hear(now)


# -- sending ----------------------------------------------------------------------------------------------------------


def test_a_crawl_sends_every_file_and_keeps_it(web: FakeWeb, store: S3Server, there: str, tmp_path: Path) -> None:
    assert stored_crawl(web, tmp_path / "crawl", there).goal_reached
    files = warcs(tmp_path / "crawl")
    assert len(files) > 3
    prefix = there.removeprefix(f"s3://{BUCKET}/")
    assert {f"{prefix}/{name}": content for name, content in files.items()} == store.contents(prefix)
    found = folder_status(tmp_path / "crawl").stored
    assert found is not None
    assert (found.n_files, found.n_stored, found.n_dropped, found.n_waiting) == (len(files), len(files), 0, 0)
    assert found.in_words() == f"{len(files)} files, {len(files)} in {there}"


def test_large_files_go_in_parts(store: S3Server, there: str, tmp_path: Path) -> None:
    from orienteer.store.upload_process import upload as sent_file

    content = os.urandom(20 << 20)
    (tmp_path / "large").write_bytes(content)
    objects = ObjectStore(checked_place(there))
    assert sent_file(objects, tmp_path / "large", len(content)) == hashlib.sha256(content).hexdigest()
    assert store.count("POST") == 2  # begun and completed
    assert not store.count("GET"), "its ETag says that it is whole"
    assert b"".join(objects.blocks("large")) == content


def test_a_folder_may_stand_in_for_a_store(web: FakeWeb, tmp_path: Path) -> None:
    stored_crawl(web, tmp_path / "crawl", None)
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
    uploads = Uploads(archive, checked_place(there), drop_local=True)
    assert uploads.finish()
    uploads.close()
    archive.close()
    again = Archive(tmp_path / "archive", end)
    assert again.append(response(1)).file == end.file + 1
    assert again.read(Position(0, *_second_member(store, there))).url == response(0).url
    again.close()


def _second_member(store: S3Server, there: str) -> tuple[int, int]:
    """Where the record behind the first one is in the first file."""
    import zlib

    data = store.get(f"{there.removeprefix(f's3://{BUCKET}/')}/orienteer-00000.warc.gz")
    first = zlib.decompressobj(31)
    first.decompress(data)
    return len(data) - len(first.unused_data), len(first.unused_data)


def test_nothing_is_sent_that_is_not_acknowledged(store: S3Server, there: str, tmp_path: Path) -> None:
    archive = waiting_archive(tmp_path / "archive")
    last = archive.acknowledged.file
    for page in range(12):
        archive.append(response(page))
    archive.seal()  # not all of it is acknowledged
    assert archive.complete_files() == list(range(last))
    archive.close()


# -- reading ----------------------------------------------------------------------------------------------------------


def test_what_is_dropped_is_read_from_there(web: FakeWeb, store: S3Server, there: str, tmp_path: Path) -> None:
    folder = tmp_path / "crawl"
    stored_crawl(web, folder, None)
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
    found = folder_status(folder).stored
    assert found is not None
    assert "no longer here" in found.in_words()


def _responses(path: Path) -> list[tuple[str, bytes]]:
    from tests.store.small_crawls import warcio_responses

    return list(warcio_responses(path))


def test_a_refresh_goes_on_from_there(web: FakeWeb, store: S3Server, there: str, tmp_path: Path) -> None:
    folder = tmp_path / "crawl"
    stored_crawl(web, folder, there, drop_local=True)
    assert warcs(folder) == {}
    before = records(folder)
    report = refresh(folder, now=2e9, budget=N_PAGES)
    assert report.figures.n_done >= N_PAGES
    assert warcs(folder) == {}, "what the refresh has archived is there too"
    assert records(folder) == before, "every page is as it was: revisit records"


def test_an_archive_there_answers_for_the_web(web: FakeWeb, store: S3Server, there: str, tmp_path: Path) -> None:
    stored_crawl(web, tmp_path / "crawl", there, drop_local=True)
    again = crawled(web, A, tmp_path / "again", settings={"fetch": {"fetcher": f"archive:path={tmp_path}/crawl"}})
    assert again.figures.n_fetched == N_PAGES


def test_one_record_is_one_request_and_many_are_few(store: S3Server, there: str, tmp_path: Path) -> None:
    archive = Archive(tmp_path / "archive")
    places = [archive.append(response(page)) for page in range(500)]
    archive.acknowledged = archive.sync()
    archive.seal()
    uploads = Uploads(archive, checked_place(there), drop_local=True)
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


def test_who_reads_is_not_disturbed_by_the_dropping(store: S3Server, there: str, tmp_path: Path) -> None:
    archive = waiting_archive(tmp_path / "archive")
    place = Position(0, *_first_response(archive.path(0)))
    reader = Archive(tmp_path / "archive", archive.acknowledged, read_only=True)
    uploads = Uploads(archive, checked_place(there), drop_local=True)
    assert uploads.finish()
    uploads.close()
    assert not archive.path(0).exists()
    assert reader.read(place).url == response(0).url
    reader.close()
    archive.close()


def _first_response(path: Path) -> tuple[int, int]:
    from orienteer.repair.archive_scan import whole_records

    found = next(record for record in whole_records(path, 0) if record.url)
    return found.place.offset, found.place.size_bytes


@pytest.mark.parametrize("change", ["shorter", "other bytes", "gone"])
def test_an_object_that_was_changed_is_damaged(
    web: FakeWeb, store: S3Server, there: str, tmp_path: Path, change: str
) -> None:
    folder = tmp_path / "crawl"
    stored_crawl(web, folder, there, drop_local=True)
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


def test_files_elsewhere_are_not_left_out_in_silence(web: FakeWeb, store: S3Server, there: str, tmp_path: Path) -> None:
    stored_crawl(web, tmp_path / "crawl", there, drop_local=True)
    (tmp_path / "crawl" / "archive" / "orienteer-99999.warc.gz").touch()
    with pytest.raises(InputError, match="are in an object store alone; `orienteer export"):
        warc_files(tmp_path / "crawl")


# -- what goes wrong --------------------------------------------------------------------------------------------------


def test_an_outage_costs_no_page(web: FakeWeb, store: S3Server, there: str, tmp_path: Path) -> None:
    folder = tmp_path / "crawl"
    store.is_open = False
    report = stored_crawl(web, folder, there, drop_local=True)
    assert report.goal_reached
    found = folder_status(folder).stored
    assert found is not None
    assert (found.n_stored, found.n_waiting) == (0, found.n_files)
    assert found.trouble.startswith(f"{there}/orienteer-00000.warc.gz: ")
    assert f"wait to be uploaded; last error: {there}" in found.in_words()
    before, files = records(folder), warcs(folder)
    assert len(files) == found.n_files, "nothing is deleted"

    store.is_open = True
    done = upload(folder)
    assert (done.n_stored, done.n_waiting, done.trouble) == (len(files), 0, "")
    assert warcs(folder) == {}
    assert records(folder) == before


def test_it_is_tried_again_after_longer_and_longer_waits(store: S3Server, there: str, tmp_path: Path) -> None:
    archive = waiting_archive(tmp_path / "archive")
    told: list[str] = []
    uploads = Uploads(archive, checked_place(there), drop_local=False)
    uploads.tell = told.append
    store.is_open = False
    sent(uploads, 100.0)
    n_asked = len(store.requests)
    assert n_asked
    for now in (100.1, 104.9):
        sent(uploads, now)
    assert len(store.requests) == n_asked, "not before five seconds have passed"
    sent(uploads, 105.0)
    assert len(store.requests) > n_asked
    assert len(told) == 1, "the same trouble is told once"
    store.is_open = True
    sent(uploads, 114.9)
    assert not archive.stored.files
    sent(uploads, 115.0)
    assert set(archive.stored.files) == {0}
    assert not archive.stored.trouble
    sent(uploads, 115.0)
    assert set(archive.stored.files) == {0, 1}
    uploads.close()
    archive.close()


def test_an_upload_process_that_dies_is_started_again(store: S3Server, there: str, tmp_path: Path) -> None:
    archive = waiting_archive(tmp_path / "archive")
    uploads = Uploads(archive, checked_place(there), drop_local=True)
    store.is_open = False
    uploads.look(0.0)
    assert uploads._child is not None
    uploads._child.kill()
    sent(uploads, 0.0)
    assert "killed by SIGKILL" in archive.stored.trouble
    store.is_open = True
    assert uploads.finish()
    assert archive.complete_files() == []
    uploads.close()
    archive.close()


def test_what_arrives_cut_off_is_not_confirmed(store: S3Server, there: str, tmp_path: Path) -> None:
    archive = waiting_archive(tmp_path / "archive")
    uploads = Uploads(archive, checked_place(there), drop_local=True)
    store.cut_to = 100
    assert not uploads.finish()
    assert archive.path(0).exists()
    assert "not what was sent arrived (100 bytes, of " in archive.stored.trouble
    store.cut_to = None
    assert uploads.finish(), "what is left of an upload of the same file is overwritten"
    assert not archive.path(0).exists()
    uploads.close()
    archive.close()


def test_nothing_of_somebody_else_is_overwritten(web: FakeWeb, store: S3Server, there: str, tmp_path: Path) -> None:
    stored_crawl(web, tmp_path / "one", there)
    before = store.contents()
    assert stored_crawl(web, tmp_path / "two", there, drop_local=True).goal_reached
    assert store.contents() == before
    found = folder_status(tmp_path / "two").stored
    assert found is not None
    assert "another file is there; choose a prefix of its own for this crawl" in found.trouble
    assert len(warcs(tmp_path / "two")) == found.n_files


def test_a_wrong_bucket_is_one_line(web: FakeWeb, store: S3Server, tmp_path: Path) -> None:
    assert stored_crawl(web, tmp_path / "crawl", "s3://no-such-bucket/x", drop_local=True).goal_reached
    found = folder_status(tmp_path / "crawl").stored
    assert found is not None
    place = "s3://no-such-bucket/x/orienteer-00000.warc.gz"
    assert found.trouble == f"{place}: NoSuchBucket: The specified bucket does not exist"
    assert records(tmp_path / "crawl")


def test_wrong_credentials_are_one_line_and_stand_nowhere(
    web: FakeWeb, there: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    with S3Server(INITIAL_NO_AUTH_ACTION_COUNT="1") as strict:  # the bucket is made by that one
        for name, value in CREDENTIALS.items():
            monkeypatch.setenv(name, value)
        monkeypatch.delenv("AWS_PROFILE", raising=False)
        report = stored_crawl(web, tmp_path / "crawl", there, drop_local=True, endpoint=strict.endpoint)
    assert report.goal_reached
    found = folder_status(tmp_path / "crawl").stored
    assert found is not None
    assert found.trouble.startswith(f"{there}/orienteer-00000.warc.gz: ")
    assert "403" in found.trouble or "InvalidAccessKeyId" in found.trouble
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert not [path for path in written for name in _secrets() if name in path.read_bytes()]
    assert not any(name.decode() in "".join(capfd.readouterr()) for name in _secrets())


def _secrets() -> list[bytes]:
    return [SECRET.encode(), CREDENTIALS["AWS_ACCESS_KEY_ID"].encode()]


def test_without_credentials_it_is_one_line(
    store: S3Server, there: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    with pytest.raises(CrawlFolderError, match="no credentials; set AWS_ACCESS_KEY_ID"):
        ObjectStore(checked_place(there))
    (tmp_path / "credentials").write_text("[other]\naws_access_key_id = ABCDEFGHIJ\naws_secret_access_key = secret\n")
    monkeypatch.setenv("AWS_PROFILE", "other")
    assert ObjectStore(checked_place(there)).find("x") is None


def test_without_the_extra_it_is_one_line(web: FakeWeb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "obstore", None)
    with pytest.raises(MissingExtraError, match=r"an archive at s3://bucket/x needs obstore: pip install") as error:
        stored_crawl(web, tmp_path / "crawl", "s3://bucket/x")
    assert "\n" not in str(error.value)
    assert not (tmp_path / "crawl").exists()


@pytest.mark.parametrize(
    "to", ["bucket/x", "s3://", "s3:///x", "http://a/b", "s3://b u/x", "s3://b/../x", "s3://me:pw@b/x", "file://x/y"]
)
def test_a_place_that_is_none_is_one_line(to: str) -> None:
    with pytest.raises(InputError, match=r"archive_to is .*; write it like s3://bucket/prefix") as error:
        StoreSettings(archive_to=to)
    assert "\n" not in str(error.value)


def test_other_settings_that_cannot_be() -> None:
    with pytest.raises(InputError, match="endpoint is ftp://x; write it like https://"):
        StoreSettings(archive_to="s3://bucket/x", endpoint="ftp://x")
    with pytest.raises(InputError, match="max_file_mb is 0"):
        StoreSettings(max_file_mb=0.0)
    assert StoreSettings(archive_to="").place() is None


# -- strangers --------------------------------------------------------------------------------------------------------


def test_a_folder_of_a_stranger_reaches_nothing(
    web: FakeWeb, store: S3Server, there: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "crawl"
    stored_crawl(web, folder, there, drop_local=True)
    before = records(folder)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "somebody-else"))
    store.requests.clear()
    with pytest.raises(CrawlFolderError, match="is not known to be yours; `orienteer upload DIR --archive-to s3://"):
        records(folder)
    with pytest.raises(CrawlFolderError, match="not known to be yours"):
        export(folder, "warc", tmp_path / "out.warc")
    with pytest.raises(InputError, match=r"its crawl\.toml has .*archive_to = "):
        refresh(folder)
    with pytest.raises(InputError, match=r"its crawl\.toml has .*archive_to = "):
        upload(folder)
    assert folder_status(folder).stored is not None
    assert store.requests == []

    web_settings = {"fetch": {"connect_to": web.address}}
    upload(folder, archive_to=there, settings=web_settings)
    assert records(folder) == before


def test_a_note_that_a_stranger_has_changed_leads_nowhere(
    web: FakeWeb, store: S3Server, there: str, tmp_path: Path
) -> None:
    folder = tmp_path / "crawl"
    stored_crawl(web, folder, there, drop_local=True)
    note = folder / "archive" / "stored.json"
    tables = json.loads(note.read_text())
    tables["places"] = [["s3://elsewhere/x", store.endpoint, None]]
    note.write_text(json.dumps(tables))
    store.requests.clear()
    with pytest.raises(CrawlFolderError, match="s3://elsewhere/x at http.* not known to be yours"):
        records(folder)
    assert store.requests == []


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"places": 1, "files": {}, "sealed": [], "trouble": "", "signature": ""}', "[" * 100_000]
)
def test_a_garbled_note_is_one_line(tmp_path: Path, text: str) -> None:
    (tmp_path / "stored.json").write_text(text)
    with pytest.raises(CrawlFolderError, match=r"stored\.json: the file is damaged") as error:
        Archive(tmp_path, read_only=True)
    assert "\n" not in str(error.value)


def test_a_link_in_place_of_the_note_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text("secret")
    (tmp_path / "archive").mkdir()
    (tmp_path / "archive" / "stored.json").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(CrawlFolderError):
        Archive(tmp_path / "archive", read_only=True)


def test_where_nothing_can_be_signed_nothing_is_dropped(
    store: S3Server, there: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    archive = waiting_archive(tmp_path / "archive")
    uploads = Uploads(archive, checked_place(there), drop_local=True)
    assert uploads.finish()
    assert archive.path(0).exists()
    uploads.close()
    archive.close()


# -- repair, and older databases --------------------------------------------------------------------------------------


def test_a_repair_reads_what_is_there(web: FakeWeb, store: S3Server, there: str, tmp_path: Path) -> None:
    folder = tmp_path / "crawl"
    stored_crawl(web, folder, there, drop_local=True)
    before = records(folder)
    assert not repair(folder).was_damaged
    (folder / "crawl.db").unlink()
    report = repair(folder)
    assert report.n_taken == N_PAGES
    assert {url: member for url, (_, member) in records(folder).items()} == {
        url: member for url, (_, member) in before.items()
    }
    assert not list(folder.glob(".new-*"))


def test_a_repair_gives_nothing_up_because_of_an_outage(
    web: FakeWeb, store: S3Server, there: str, tmp_path: Path
) -> None:
    folder = tmp_path / "crawl"
    stored_crawl(web, folder, there, drop_local=True)
    before = records(folder)
    store.is_open = False
    with pytest.raises(CrawlFolderError, match="s3://"):
        repair(folder)
    store.is_open = True
    assert records(folder) == before


def test_a_database_that_is_older_than_the_store_is_told(store: S3Server, there: str, tmp_path: Path) -> None:
    archive = waiting_archive(tmp_path / "archive")
    uploads = Uploads(archive, checked_place(there), drop_local=True)
    assert uploads.finish()
    uploads.close()
    archive.close()
    for old in (ArchiveEnd(0, 0), ArchiveEnd(0, 500), ArchiveEnd(1, 700)):
        with pytest.raises(CrawlFolderError, match=r"crawl\.db is older than the archive"):
            Archive(tmp_path / "archive", old)
    Archive(tmp_path / "archive", archive.acknowledged).close()


def test_a_file_that_is_neither_here_nor_there_is_missed(store: S3Server, there: str, tmp_path: Path) -> None:
    archive = waiting_archive(tmp_path / "archive")
    archive.close()
    archive.path(1).unlink()
    with pytest.raises(CrawlFolderError, match=r"00001\.warc\.gz: the file is missing"):
        Archive(tmp_path / "archive", archive.acknowledged)


def test_settings_reach_the_folder(tmp_path: Path, web: FakeWeb) -> None:
    stored_crawl(web, tmp_path / "crawl", None)
    with CrawlFolder.open(tmp_path / "crawl") as folder:
        folder.keep_archive(StoreSettings(max_file_mb=2.0))
        assert folder.archive.max_file_bytes == 2 << 20
        assert folder.uploads is None
