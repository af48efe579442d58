"""`orienteer serve` as a process."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import httpx
import pytest

from tests.cli.run import one_line, orienteer_each, refused
from tests.ready_process import TEST_TIMEOUT_S, ReadyPopen
from tests.search.small_webs import HandmadeCrawl, page


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    crawl = HandmadeCrawl(tmp_path / "crawl")
    crawl.add({"http://a.org/": page("First", "apples")})
    return crawl.path


@contextmanager
def serving(*arguments: object) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """The address that it prints, and the process."""
    command = [sys.executable, "-m", "orienteer", "serve", *map(str, arguments)]
    process = ReadyPopen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        address = process.stdout.readline().split()[-1]
        assert process.stdout.readline() == "Ctrl-C ends it.\n"
        yield address, process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM])
def test_it_prints_its_address_and_ends_in_good_order(folder: Path, sign: signal.Signals) -> None:
    with serving(folder, "--port", 0) as (address, process):
        answer = httpx.get(address, trust_env=False)
        assert answer.status_code == 200
        assert "Make the index" in answer.text  # there is none yet
        process.send_signal(sign)
        _, stderr = process.communicate(timeout=TEST_TIMEOUT_S)
    assert (process.returncode, stderr) == (0, "")


def test_a_port_that_was_asked_for_and_is_taken_is_an_error(folder: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        printed = refused("serve", folder, "--port", port)
    assert printed == f"orienteer: --host 127.0.0.1: port {port} cannot be used: Address already in use\n"


def test_without_a_port_the_next_free_one_is_chosen(folder: Path) -> None:
    with ExitStack() as stack:
        with suppress(OSError):  # another program has it
            stack.enter_context(socket.create_server(("127.0.0.1", 8765)))
        address, _ = stack.enter_context(serving(folder, "--token", "auto"))
        where, _, token = address.partition("/?token=")
        assert 8765 < int(where.rpartition(":")[2]) < 8785
        assert len(token) >= 20
        assert httpx.get(where, trust_env=False).status_code == 401
        assert httpx.get(address, trust_env=False, follow_redirects=True).status_code == 200


def test_what_cannot_be_served_is_said_in_one_line(folder: Path, tmp_path: Path) -> None:
    wrong: dict[str, list[object]] = {
        "no such crawl folder": [tmp_path / "nothing"],
        "give either DIR, or --library and --allow-private": [folder, "--library", tmp_path],
        "--host 0.0.0.0 can be reached from other machines: give --token T": [folder, "--host", "0.0.0.0"],
        "--host :: can be reached": [folder, "--host", "::"],
        "--token is empty": [folder, "--token", " "],
        "--token has 5 characters and could be guessed": [folder, "--token", "short"],
        "--token has 2 different characters and could be guessed": [folder, "--token", "ab" * 20],
        "--port is 70000": [folder, "--port", 70000],
        "no such address here": [folder, "--host", "x" * 70, "--token", "auto"],
        "no port from 8765 to 8784 can be used": [folder, "--host", "192.0.2.1", "--token", "auto"],
    }
    for line, done in zip(wrong, orienteer_each([["serve", *values] for values in wrong.values()]), strict=True):
        assert done.returncode == 2
        assert line in one_line(done.stdout, done.stderr)
