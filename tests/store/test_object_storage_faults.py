"""Failures of an archive in an object store: outages, damage, untrusted folders, old databases."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from orienteer.errors import CrawlFolderError, InputError, MissingExtraError
from orienteer.exports.export import export
from orienteer.inspect.crawl_status import crawl_status
from orienteer.live.control import upload
from orienteer.live.session import refresh
from orienteer.repair.repair import repair
from orienteer.store.archive import Archive, ArchiveEnd
from orienteer.store.folder import CrawlFolder
from orienteer.store.object_store import ObjectStore, StoreSettings, parse_location
from orienteer.store.uploads import Uploads
from tests.fake_web.server import FakeWeb
from tests.store.object_stores import CREDENTIALS, SECRET, S3Server, needs_store
from tests.store.stored_crawls import N_PAGES, records, sent, stored_crawl, waiting_archive, warcs
from tests.tables import over_rows

pytestmark = [pytest.mark.slow, needs_store]


# -- what goes wrong --------------------------------------------------------------------------------------------------


def test_an_outage_costs_no_page(stored_web: FakeWeb, store: S3Server, there: str, tmp_path: Path) -> None:
    folder = tmp_path / "crawl"
    store.is_open = False
    report = stored_crawl(stored_web, folder, there, drop_local=True)
    assert report.goal_reached
    found = crawl_status(folder).stored
    assert found is not None
    assert (found.n_stored, found.n_waiting) == (0, found.n_files)
    assert found.problem.startswith(f"{there}/orienteer-00000.warc.gz: ")
    assert f"wait to be uploaded; last error: {there}" in found.describe()
    before, files = records(folder), warcs(folder)
    assert len(files) == found.n_files, "nothing is deleted"

    store.is_open = True
    done = upload(folder)
    assert (done.n_stored, done.n_waiting, done.problem) == (len(files), 0, "")
    assert warcs(folder) == {}
    assert records(folder) == before


def test_uploads_back_off_exponentially(store: S3Server, there: str, tmp_path: Path) -> None:
    archive = waiting_archive(tmp_path / "archive")
    messages: list[str] = []
    uploads = Uploads(archive, parse_location(there), drop_local=False)
    uploads.report = messages.append
    store.is_open = False
    sent(uploads, 100.0)
    n_asked = len(store.requests)
    assert n_asked
    for now in (100.1, 104.9):
        sent(uploads, now)
    assert len(store.requests) == n_asked, "not before five seconds have passed"
    sent(uploads, 105.0)
    assert len(store.requests) > n_asked
    assert len(messages) == 1, "the same error is reported once"
    store.is_open = True
    sent(uploads, 114.9)
    assert not archive.stored.files
    sent(uploads, 115.0)
    assert set(archive.stored.files) == {0}
    assert not archive.stored.problem
    sent(uploads, 115.0)
    assert set(archive.stored.files) == {0, 1}
    uploads.close()
    archive.close()


def test_a_killed_upload_process_is_restarted(store: S3Server, there: str, tmp_path: Path) -> None:
    archive = waiting_archive(tmp_path / "archive")
    uploads = Uploads(archive, parse_location(there), drop_local=True)
    store.is_open = False
    uploads.poll(0.0)
    assert uploads._child is not None
    uploads._child.kill()
    sent(uploads, 0.0)
    assert "killed by SIGKILL" in archive.stored.problem
    store.is_open = True
    assert uploads.finish()
    assert archive.complete_files() == []
    uploads.close()
    archive.close()


def test_a_truncated_upload_is_not_confirmed(store: S3Server, there: str, tmp_path: Path) -> None:
    archive = waiting_archive(tmp_path / "archive")
    uploads = Uploads(archive, parse_location(there), drop_local=True)
    store.cut_to = 100
    assert not uploads.finish()
    assert archive.path(0).exists()
    assert "the object differs from the file (100 bytes stored, " in archive.stored.problem
    store.cut_to = None
    assert uploads.finish(), "what is left of an upload of the same file is overwritten"
    assert not archive.path(0).exists()
    uploads.close()
    archive.close()


def test_other_objects_are_not_overwritten(stored_web: FakeWeb, store: S3Server, there: str, tmp_path: Path) -> None:
    stored_crawl(stored_web, tmp_path / "one", there)
    before = store.contents()
    assert stored_crawl(stored_web, tmp_path / "two", there, drop_local=True).goal_reached
    assert store.contents() == before
    found = crawl_status(tmp_path / "two").stored
    assert found is not None
    assert "another file has this name; choose another prefix for this crawl" in found.problem
    assert len(warcs(tmp_path / "two")) == found.n_files


def test_a_wrong_bucket_is_a_one_line_error(stored_web: FakeWeb, store: S3Server, tmp_path: Path) -> None:
    assert stored_crawl(stored_web, tmp_path / "crawl", "s3://no-such-bucket/x", drop_local=True).goal_reached
    found = crawl_status(tmp_path / "crawl").stored
    assert found is not None
    place = "s3://no-such-bucket/x/orienteer-00000.warc.gz"
    assert found.problem == f"{place}: NoSuchBucket: The specified bucket does not exist"
    assert records(tmp_path / "crawl")


def test_wrong_credentials_are_not_written_anywhere(
    stored_web: FakeWeb, there: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    with S3Server(INITIAL_NO_AUTH_ACTION_COUNT="1") as strict:  # the bucket is made by that one
        for name, value in CREDENTIALS.items():
            monkeypatch.setenv(name, value)
        monkeypatch.delenv("AWS_PROFILE", raising=False)
        report = stored_crawl(stored_web, tmp_path / "crawl", there, drop_local=True, endpoint=strict.endpoint)
    assert report.goal_reached
    found = crawl_status(tmp_path / "crawl").stored
    assert found is not None
    assert found.problem.startswith(f"{there}/orienteer-00000.warc.gz: ")
    assert "403" in found.problem or "InvalidAccessKeyId" in found.problem
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert not [path for path in written for name in _secrets() if name in path.read_bytes()]
    assert not any(name.decode() in "".join(capfd.readouterr()) for name in _secrets())


def _secrets() -> list[bytes]:
    return [SECRET.encode(), CREDENTIALS["AWS_ACCESS_KEY_ID"].encode()]


def test_missing_credentials_are_a_one_line_error(
    store: S3Server, there: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    with pytest.raises(CrawlFolderError, match="no credentials; set AWS_ACCESS_KEY_ID"):
        ObjectStore(parse_location(there))
    (tmp_path / "credentials").write_text("[other]\naws_access_key_id = ABCDEFGHIJ\naws_secret_access_key = secret\n")
    monkeypatch.setenv("AWS_PROFILE", "other")
    assert ObjectStore(parse_location(there)).find("x") is None


def test_a_missing_extra_is_a_one_line_error(
    stored_web: FakeWeb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "obstore", None)
    with pytest.raises(MissingExtraError, match=r"an archive at s3://bucket/x needs obstore: pip install") as error:
        stored_crawl(stored_web, tmp_path / "crawl", "s3://bucket/x")
    assert "\n" not in str(error.value)
    assert not (tmp_path / "crawl").exists()


@over_rows(
    "to", ["bucket/x", "s3://", "s3:///x", "http://a/b", "s3://b u/x", "s3://b/../x", "s3://me:pw@b/x", "file://x/y"]
)
def test_an_invalid_location_is_a_one_line_error(to: str) -> None:
    with pytest.raises(InputError, match=r"archive_to is .*; write it like s3://bucket/prefix") as error:
        StoreSettings(archive_to=to)
    assert "\n" not in str(error.value)


def test_other_invalid_settings() -> None:
    with pytest.raises(InputError, match="endpoint is ftp://x; write it like https://"):
        StoreSettings(archive_to="s3://bucket/x", endpoint="ftp://x")
    with pytest.raises(InputError, match="max_file_mb is 0"):
        StoreSettings(max_file_mb=0.0)
    assert StoreSettings(archive_to="").location() is None


# -- untrusted -------------------------------------------------------------------------------------------------------


def test_an_untrusted_folder_connects_to_nothing(
    stored_web: FakeWeb, store: S3Server, there: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "crawl"
    stored_crawl(stored_web, folder, there, drop_local=True)
    before = records(folder)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "other-user"))
    store.requests.clear()
    with pytest.raises(CrawlFolderError, match="is not known to be yours; `orienteer upload DIR --archive-to s3://"):
        records(folder)
    with pytest.raises(CrawlFolderError, match="not known to be yours"):
        export(folder, "warc", tmp_path / "out.warc")
    with pytest.raises(InputError, match=r"its crawl\.toml has .*archive_to = "):
        refresh(folder)
    with pytest.raises(InputError, match=r"its crawl\.toml has .*archive_to = "):
        upload(folder)
    assert crawl_status(folder).stored is not None
    assert store.requests == []

    web_settings = {"fetch": {"connect_to": stored_web.address}}
    upload(folder, archive_to=there, settings=web_settings)
    assert records(folder) == before


def test_a_changed_list_is_not_trusted(stored_web: FakeWeb, store: S3Server, there: str, tmp_path: Path) -> None:
    folder = tmp_path / "crawl"
    stored_crawl(stored_web, folder, there, drop_local=True)
    note = folder / "archive" / "stored.json"
    tables = json.loads(note.read_text())
    tables["places"] = [["s3://other/x", store.endpoint, None]]
    note.write_text(json.dumps(tables))
    store.requests.clear()
    with pytest.raises(CrawlFolderError, match="s3://other/x at http.* not known to be yours"):
        records(folder)
    assert store.requests == []


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"places": 1, "files": {}, "sealed": [], "trouble": "", "signature": ""}',
        '{"places": [["s3://bucket", null, null]], "files": {"9999999999": [0, 1, ""]}, "sealed": [], "trouble": "", '
        '"signature": ""}',
        '{"places": [[1, null, null]], "files": {}, "sealed": [], "trouble": "", "signature": ""}',
        "[" * 100_000,
    ],
)
def test_a_damaged_list_is_a_one_line_error(tmp_path: Path, text: str) -> None:
    (tmp_path / "stored.json").write_text(text)
    with pytest.raises(CrawlFolderError, match=r"stored\.json: the file is damaged") as error:
        Archive(tmp_path, read_only=True)
    assert "\n" not in str(error.value)


def test_a_symbolic_link_instead_of_the_list_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "other").write_text("secret")
    (tmp_path / "archive").mkdir()
    (tmp_path / "archive" / "stored.json").symlink_to(tmp_path / "other")
    with pytest.raises(CrawlFolderError):
        Archive(tmp_path / "archive", read_only=True)


def test_without_a_signing_key_no_file_is_dropped(
    store: S3Server, there: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    archive = waiting_archive(tmp_path / "archive")
    uploads = Uploads(archive, parse_location(there), drop_local=True)
    assert uploads.finish()
    assert archive.path(0).exists()
    uploads.close()
    archive.close()


# -- repair, and older databases --------------------------------------------------------------------------------------


def test_a_repair_reads_remote_files(stored_web: FakeWeb, store: S3Server, there: str, tmp_path: Path) -> None:
    folder = tmp_path / "crawl"
    stored_crawl(stored_web, folder, there, drop_local=True)
    before = records(folder)
    assert not repair(folder).was_damaged
    (folder / "crawl.db").unlink()
    report = repair(folder)
    assert report.n_added == N_PAGES
    assert {url: member for url, (_, member) in records(folder).items()} == {
        url: member for url, (_, member) in before.items()
    }
    assert not list(folder.glob(".new-*"))


def test_an_outage_during_a_repair_loses_nothing(
    stored_web: FakeWeb, store: S3Server, there: str, tmp_path: Path
) -> None:
    folder = tmp_path / "crawl"
    stored_crawl(stored_web, folder, there, drop_local=True)
    before = records(folder)
    store.is_open = False
    with pytest.raises(CrawlFolderError, match="s3://"):
        repair(folder)
    store.is_open = True
    assert records(folder) == before


def test_a_database_older_than_the_store_is_an_error(store: S3Server, there: str, tmp_path: Path) -> None:
    archive = waiting_archive(tmp_path / "archive")
    uploads = Uploads(archive, parse_location(there), drop_local=True)
    assert uploads.finish()
    uploads.close()
    archive.close()
    for old in (ArchiveEnd(0, 0), ArchiveEnd(0, 500), ArchiveEnd(1, 700)):
        with pytest.raises(CrawlFolderError, match=r"crawl\.db is older than the archive"):
            Archive(tmp_path / "archive", old)
    Archive(tmp_path / "archive", archive.acknowledged).close()


def test_a_file_missing_in_both_places_is_an_error(store: S3Server, there: str, tmp_path: Path) -> None:
    archive = waiting_archive(tmp_path / "archive")
    archive.close()
    archive.path(1).unlink()
    with pytest.raises(CrawlFolderError, match=r"00001\.warc\.gz: the file is missing"):
        Archive(tmp_path / "archive", archive.acknowledged)


def test_settings_reach_the_folder(tmp_path: Path, stored_web: FakeWeb) -> None:
    stored_crawl(stored_web, tmp_path / "crawl", None)
    with CrawlFolder.open(tmp_path / "crawl") as folder:
        folder.configure_archive(StoreSettings(max_file_mb=2.0))
        assert folder.archive.max_file_bytes == 2 << 20
        assert folder.uploads is None
