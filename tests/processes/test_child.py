"""A child process runs a function, reports why it ended, and never outlives its parent."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from orienteer.processes.child import Child
from tests.processes.jobs import is_alive

ROOT = Path(__file__).parents[2]


def echo(channel: Connection, word: str) -> None:
    while True:
        channel.send_bytes(word.encode() + channel.recv_bytes())


def fail(channel: Connection) -> None:
    raise ValueError("no such thing")


def busy(channel: Connection) -> None:
    channel.send_bytes(b"busy")
    while True:
        pass


def test_it_runs_a_function() -> None:
    child = Child(echo, "you said ")
    child.channel.send_bytes(b"hello")
    assert child.channel.recv_bytes() == b"you said hello"
    child.close()
    assert child.poll() == 0


def test_the_cause_of_the_end_is_reported() -> None:
    child = Child(fail)
    with pytest.raises(EOFError):
        child.channel.recv_bytes()
    assert child.why_ended() == "ValueError: no such thing"
    child.close()


def test_a_killed_child_is_reported() -> None:
    child = Child(echo, "")
    os.kill(child.pid, signal.SIGKILL)
    with pytest.raises((EOFError, ConnectionResetError)):
        child.channel.recv_bytes()
    assert child.why_ended() == "killed by SIGKILL"
    child.close()


SCRIPT = """
import os, sys, time
from orienteer.processes.child import Child
from tests.processes.jobs import is_alive
from tests.processes.test_child import busy, echo

children = [Child(busy), Child(echo, "")]
assert children[0].channel.recv_bytes() == b"busy"
print(*(child.pid for child in children), flush=True)
while True:
    time.sleep(0.1)  # a signal that comes just before a sleep does not shorten it
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_no_child_outlives_its_parent(tmp_path: Path, how: signal.Signals) -> None:
    """The script needs no `if __name__ == "__main__"`."""
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    paths = [str(ROOT / "src"), str(ROOT), os.environ.get("PYTHONPATH", "")]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths))}
    command = [sys.executable, str(script)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment) as parent:
        assert parent.stdout is not None
        pids = [int(pid) for pid in parent.stdout.readline().split()]
        assert len(pids) == 2
        parent.send_signal(how)
        parent.wait()
    while any(is_alive(pid) for pid in pids):
        time.sleep(0.02)
