"""`orienteer upload` and `crawl --archive-to`, as a person uses them."""

from __future__ import annotations

import json
import signal
import time
from pathlib import Path

import pytest

from tests.cli.run import orienteer, refused
from tests.fake_web.server import FakeWeb
from tests.fake_web.site import MadeSite
from tests.faults.crawl_process import CrawlProcess
from tests.store.object_stores import BUCKET, CREDENTIALS, S3Server, needs_store

pytestmark = needs_store

A = "http://a.test/"
SITE = MadeSite({A: "<title>one</title><a href=/2>two</a>", f"{A}2": "<title>two</title>words"})


def options(web: FakeWeb, folder: Path) -> list[object]:
    return [A, "-o", folder, "--connect-to", web.address, "--delay", "0", "--ignore-robots", "-q"]


def test_a_crawl_whose_archive_is_elsewhere(tmp_path: Path) -> None:
    folder, there = tmp_path / "crawl", f"file://{tmp_path}/drive"
    with FakeWeb(SITE) as web:
        orienteer("crawl", *options(web, folder), "--archive-to", there, "--set", "store.drop_local=true")
        assert [path.name for path in (folder / "archive").iterdir()] == ["stored.json"]
        assert f"1 file, 1 in {there}, 1 of them no longer here" in " ".join(
            orienteer("status", folder, columns=200).stdout.split()
        )
        assert json.loads(orienteer("status", folder, "--json").stdout)["stored"]["n_stored"] == 1
        assert f"{there}/orienteer-00000.warc.gz" in orienteer("explain", folder, f"{A}2", columns=200).stdout
        orienteer("index", folder)
        assert "two" in orienteer("search", folder, "words").stdout
        orienteer("crawl", folder, "-q")  # it is known to be this user's


def test_uploading_later(tmp_path: Path) -> None:
    folder, there = tmp_path / "crawl", f"file://{tmp_path}/drive"
    with FakeWeb(SITE) as web:
        orienteer("crawl", *options(web, folder))
    assert "pass --archive-to s3://bucket/prefix" in refused("upload", folder)
    assert "no crawl in this folder" in refused("upload", tmp_path)
    assert "archive_to is bucket; write it like" in refused("upload", folder, "--archive-to", "bucket")
    assert orienteer("upload", folder, "--archive-to", there).stdout.startswith("1 file, 1 in file://")
    assert (folder / "archive" / "orienteer-00000.warc.gz").read_bytes() == (
        tmp_path / "drive" / "orienteer-00000.warc.gz"
    ).read_bytes()
    assert json.loads(orienteer("upload", folder, "--json", "--set", "store.drop_local=true").stdout)["n_uploaded"] == 0
    assert not (folder / "archive" / "orienteer-00000.warc.gz").exists()
    (tmp_path / "drive" / "orienteer-00000.warc.gz").unlink()
    assert "drive/orienteer-00000.warc.gz: it is not there" in refused("export", folder, "-f", "warc")


def test_what_cannot_be_uploaded_is_exit_code_3(tmp_path: Path) -> None:
    folder = tmp_path / "crawl"
    (tmp_path / "drive").mkdir()
    (tmp_path / "drive" / "orienteer-00000.warc.gz").write_bytes(b"of another crawl")
    with FakeWeb(SITE) as web:
        orienteer("crawl", *options(web, folder))
    done = orienteer("upload", folder, "--archive-to", f"file://{tmp_path}/drive", code=3)
    assert "1 file, 0 in file://" in done.stdout
    assert "another file has this name" in done.stderr
    assert done.stderr.count("\n") == 1


def test_ctrl_c_does_not_wait_for_a_store_that_is_silent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "crawl"
    with FakeWeb(SITE) as web, S3Server() as store:
        for name, value in (CREDENTIALS | {"AWS_ENDPOINT_URL": store.endpoint}).items():
            monkeypatch.setenv(name, value)
        store.is_silent = True
        with CrawlProcess([*options(web, folder), "--archive-to", f"s3://{BUCKET}/silent"]) as process:
            while not store.requests:
                assert process.poll() is None
                time.sleep(0.01)
            process.send_signal(signal.SIGINT)
            code, _ = process.ended()
        assert code == 0, "the crawl itself has come to its end"
        assert len(store.requests) == 1, "the request was not timed out and repeated"
        store.is_silent = False
    assert "1 waits to be uploaded" in " ".join(orienteer("status", folder).stdout.split())
