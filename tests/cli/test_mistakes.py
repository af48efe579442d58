"""Mistakes with crawls, libraries, schedules and certificates: each prints one line that names the problem."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import orienteer as ori
from orienteer.library.job_folder import JobFolder, new_id
from orienteer.library.job_record import JobFiles
from tests.cli.run import orienteer, refused
from tests.imports.made_collections import response, write
from tests.ready_process import TEST_TIMEOUT_S, ReadyPopen


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("mistakes")
    write(folder / "x.warc", [response("http://a.test/", "<title>Home</title>words")])
    ori.import_crawl(folder / "x.warc", folder / "crawls" / "a.test")
    (folder / "file").write_text("no crawl\n")
    (folder / "empty").write_text("")
    return folder / "crawls"


@pytest.fixture
def schedule(library: Path) -> Iterator[Path]:
    """The file of a schedule, which a test may damage."""
    orienteer("schedule", "a.test", "--library", library, "--every", "day")
    path = library / ".schedules" / "a.test.toml"
    yield path
    path.unlink()


@pytest.mark.parametrize("command", [["jobs"], ["schedule"], ["refresh", "--due"], ["stop", "a.test"], ["serve"]])
def test_a_library_is_a_folder(library: Path, command: list[str]) -> None:
    file = library.with_name("file")
    assert f"{file}: not a folder of crawls" in refused(*command, "--library", file)
    if command != ["serve"]:  # which makes it
        assert "no such folder of crawls" in refused(*command, "--library", library.with_name("nowhere"))


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (b"every = ", "not TOML: Invalid value"),
        (b"\xff\xfe", "not TOML: it is not UTF-8"),
        (b"every = 'fortnight'", "no schedule named 'fortnight'"),
        (b"nonsense = 1", "named 'nonsense'"),
    ],
)
def test_a_damaged_schedule_is_named_and_can_be_taken_away(
    library: Path, schedule: Path, text: bytes, line: str
) -> None:
    schedule.write_bytes(text)
    for command in (["schedule"], ["schedule", "a.test"], ["refresh", "--due"]):
        printed = refused(*command, "--library", library)
        assert line in printed
        assert str(schedule) in printed
    orienteer("schedule", "a.test", "--library", library, "--every", "never")
    orienteer("schedule", "a.test", "--library", library, "--every", "day")


def test_other_schedules_are_listed_beside_a_damaged_one(library: Path, schedule: Path) -> None:
    (library / "b.test").mkdir()
    (library / "b.test" / "crawl.db").write_bytes(b"no database")
    damaged = schedule.with_name("b.test.toml")
    damaged.write_text("every = ")
    done = orienteer("schedule", "--library", library, code=2)
    assert done.stdout.startswith("a.test: every day at 03:00")
    assert done.stderr.startswith(f"orienteer: {damaged}: not TOML")
    damaged.unlink()


def test_the_damaged_record_of_a_job_is_named(library: Path) -> None:
    folder = JobFolder(library / ".jobs")
    folder.path.mkdir()
    record = JobFiles(folder.path, new_id()).record
    record.write_text("{")
    done = orienteer("jobs", "--library", library, code=2)
    assert done.stderr == f"orienteer: {record}: damaged job file; it can be deleted\n"
    assert "there is no job" in refused("jobs", "--library", library, "--stop", record.stem)
    record.unlink()
    assert "no jobs in" in orienteer("jobs", "--library", library).stdout


def test_a_certificate_and_its_folder(library: Path, tmp_path: Path) -> None:
    crawl = library / "a.test"
    for name in ("file", "empty"):
        assert "this is no certificate" in refused("verify", library.with_name(name), crawl)
    certificate = tmp_path / "a.html"
    orienteer("certificate", crawl, "-o", certificate)
    assert "is a folder; the certificate comes first" in refused("verify", crawl, certificate)
    assert "add the crawl folder" in refused("verify", certificate)
    assert f"the folder {tmp_path / 'no'} does not exist" in refused("certificate", crawl, "-o", tmp_path / "no" / "a")
    assert "written as .html or .json" in refused("certificate", crawl, "-o", tmp_path / "a.pdf")
    assert not (tmp_path / "a.pdf").exists()
    assert refused("certificate", crawl, "-o", tmp_path).endswith(f"{tmp_path}: Is a directory\n")


def test_a_slow_page_needs_a_number(library: Path) -> None:
    assert "must not be negative" in refused("report", library / "a.test", "--slow-after", "nan")


def test_a_port_configured_in_clients_is_not_replaced(library: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        printed = refused("mcp", library / "a.test", "--http", f"127.0.0.1:{port}")
    assert printed == f"orienteer: --http 127.0.0.1: port {port} cannot be used: Address already in use\n"


def test_places_that_cannot_be_written(library: Path, schedule: Path) -> None:
    schedule.parent.rename(moved := library / "moved")
    schedule.parent.write_text("in its place\n")
    try:
        assert str(schedule.parent) in refused("schedule", "a.test", "--library", library, "--every", "day")
        assert f"{schedule.parent / 'x'}: " in refused("serve", "--library", schedule.parent / "x")
    finally:
        schedule.parent.unlink()
        moved.rename(schedule.parent)


def test_ctrl_c_before_an_agent_has_asked_anything(library: Path) -> None:
    command = [sys.executable, "-m", "orienteer", "mcp", str(library / "a.test"), "--http", "127.0.0.1:0"]
    with ReadyPopen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("MCP is served at ")
        os.kill(process.pid, signal.SIGINT)
        _, printed = process.communicate(timeout=TEST_TIMEOUT_S)
    assert process.returncode in (0, 130)  # it may come before the server has begun
    assert printed in ("", "orienteer: interrupted\n")
