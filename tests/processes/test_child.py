"""A child process runs a function, reports why it ended, and never outlives its parent."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from orienteer.processes.child import Child, ForkServer
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


def prepare() -> None:
    """Import what a child needs."""


def stop_preparing() -> None:
    raise ValueError("not prepared")


def begin_a_thread() -> None:
    threading.Thread(target=time.sleep, args=(3600,), daemon=True).start()


def describe_process(channel: Connection) -> None:
    """Send the open descriptors, the session, and the handler of the end of a child."""
    descriptors = [int(name) for name in os.listdir("/proc/self/fd")]
    is_leader = os.getsid(0) == os.getpid()
    handlers = [signal.getsignal(number) for number in (signal.SIGCHLD, signal.SIGINT, signal.SIGTERM)]
    channel.send((sorted(descriptors), is_leader, handlers, threading.active_count()))
    channel.recv_bytes()


@pytest.fixture(params=["a new Python", "forked", "forked by a server that is gone"])
def forks(request: pytest.FixtureRequest) -> Iterator[ForkServer | None]:
    if request.param == "a new Python":
        yield None
        return
    with closing(ForkServer(prepare)) as server:
        if request.param != "forked":
            assert server._child is not None
            server._child.kill()
            server._child.wait()
        yield server


def test_it_runs_a_function(forks: ForkServer | None) -> None:
    child = Child(echo, "you said ", forks=forks)
    child.channel.send_bytes(b"hello")
    assert child.channel.recv_bytes() == b"you said hello"
    child.close()
    assert child.poll() == 0


def test_the_cause_of_the_end_is_reported(forks: ForkServer | None) -> None:
    child = Child(fail, forks=forks)
    with pytest.raises(EOFError):
        child.channel.recv_bytes()
    assert child.why_ended() == "ValueError: no such thing"
    child.close()


def test_a_killed_child_is_reported(forks: ForkServer | None) -> None:
    child = Child(echo, "", forks=forks)
    child.channel.send_bytes(b"hello")
    assert child.channel.recv_bytes() == b"hello"
    os.kill(child.pid, signal.SIGKILL)
    with pytest.raises((EOFError, ConnectionResetError)):
        child.channel.recv_bytes()
    assert child.why_ended() == "killed by SIGKILL"
    child.close()


def test_a_forked_child_inherits_nothing() -> None:
    """It has the descriptors, the session and the signal handlers of a new process, also if it is not the first one."""
    states = []
    with closing(ForkServer(prepare)) as server:
        for forks in (None, server, server):
            with closing(Child(describe_process, forks=forks)) as child:
                states.append(child.channel.recv())
                child.channel.send_bytes(b"")
    new, *forked = states
    n_open = len(new[0])
    assert [(len(one[0]), *one[1:]) for one in forked] == [(n_open, *new[1:])] * 2


@pytest.mark.parametrize("prepare_badly", [stop_preparing, begin_a_thread])
def test_a_server_that_cannot_fork_is_not_used(prepare_badly: Callable[[], None]) -> None:
    with closing(ForkServer(prepare_badly)) as server:
        assert server._child is not None
        server._child.wait()
        with closing(Child(echo, "you said ", forks=server)) as child:
            child.channel.send_bytes(b"hello")
            assert child.channel.recv_bytes() == b"you said hello"


def test_a_child_can_be_killed_before_it_is_forked() -> None:
    with closing(ForkServer(prepare)) as server:
        assert server._child is not None
        os.kill(server._child.pid, signal.SIGSTOP)
        child = Child(echo, "", forks=server)
        child.kill()
        assert child.why_ended() == "killed by SIGKILL"
        child.close()
        os.kill(server._child.pid, signal.SIGCONT)


def test_forked_children_go_on_without_the_server() -> None:
    with closing(ForkServer(prepare)) as server:
        child = Child(echo, "you said ", forks=server)
        child.channel.send_bytes(b"hello")
        assert child.channel.recv_bytes() == b"you said hello"
        assert server._child is not None
        server._child.kill()
        server._child.wait()
        child.channel.send_bytes(b"again")
        assert child.channel.recv_bytes() == b"you said again"
        pid = child.pid
        child.close()
    while is_alive(pid):
        time.sleep(0.02)


SCRIPT = """
import os, sys, time
from orienteer.processes.child import Child, ForkServer
from tests.processes.jobs import is_alive
from tests.processes.test_child import busy, echo, prepare

forks = ForkServer(prepare)
children = [Child(busy), Child(echo, ""), Child(busy, forks=forks), Child(echo, "", forks=forks)]
for child in children[::2]:
    assert child.channel.recv_bytes() == b"busy"
print(*(child.pid for child in children), forks._child.pid, flush=True)
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
        assert len(pids) == 5
        parent.send_signal(how)
        parent.wait()
    while any(is_alive(pid) for pid in pids):
        time.sleep(0.02)
