"""A fake web in a process of its own, and from the shell."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from orienteer.errors import InputError
from orienteer.fake_web.site import MadeSite
from tests.fake_web.client import fetch
from tests.fake_web.process import FakeWebProcess

HELLO = "http://a.test/hello"


def made_site(text: str) -> MadeSite:
    return MadeSite({HELLO: text})


def no_site() -> MadeSite:
    raise InputError("there is no such site")


def test_in_a_process_of_its_own():
    with FakeWebProcess(made_site, "hello") as web:
        assert fetch(web.port, HELLO)[2] == b"hello"
        assert web.address.endswith(str(web.port))
    with pytest.raises(ConnectionRefusedError):
        fetch(web.port, HELLO)


def test_a_process_that_does_not_listen_to_reason_is_killed(monkeypatch):
    monkeypatch.setattr("tests.fake_web.process._TIMEOUT_S", 0.1)
    with FakeWebProcess(made_site, "hello") as web:
        assert web.pid is not None
        os.kill(web.pid, signal.SIGSTOP)
    with pytest.raises(ConnectionRefusedError):
        fetch(web.port, HELLO)


def test_a_site_that_cannot_be_made_elsewhere():
    with pytest.raises(InputError, match="did not start: InputError: there is no such site"), FakeWebProcess(no_site):
        pass


def test_from_the_shell(tmp_path):
    page = tmp_path / "a.test" / "index.html"
    page.parent.mkdir()
    page.write_text("<p>hello")
    command = [sys.executable, "-m", "orienteer.fake_web", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        first = process.stdout.readline()
        assert first.startswith("1 pages of 1 hosts at 127.0.0.1:")
        port = int(first.split(";")[0].rpartition(":")[2])
        assert fetch(port, "http://a.test/")[2] == b"<p>hello"
        process.send_signal(signal.SIGINT)
        rest = process.stdout.read()
        assert f"--connect-to 127.0.0.1:{port}" in rest
        assert process.wait(300) == 0


def test_from_the_shell_with_nothing_there(tmp_path):
    command = [sys.executable, "-m", "orienteer.fake_web", str(tmp_path / "none.npz")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "no such file or folder" in done.stderr
