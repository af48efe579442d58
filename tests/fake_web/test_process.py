"""A fake web in a process of its own, and from the shell."""

from __future__ import annotations

import os
import signal

import pytest

from orienteer.errors import InputError
from tests.fake_web.client import fetch
from tests.fake_web.process import FakeWebProcess
from tests.fake_web.site import MadeSite

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
