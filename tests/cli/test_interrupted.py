"""Ctrl-C ends any command with exit code 130, SIGTERM with 143, in real processes that are in the middle of their work.

`crawl`, `import`, `survey` and `serve` have tests of their own.
"""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import pytest

from orienteer.cli import interruption, main
from tests.cli.live_process import COMMAND, ended, started, wait_until
from tests.cli.test_crawl_signals import report_of
from tests.fake_web.fake_response import FakeResponse
from tests.fake_web.server import FakeWeb
from tests.fake_web.site import MadeSite, RequestHeaders
from tests.live.live_crawls import crawled

SIGNALS = [(signal.SIGINT, 130), (signal.SIGTERM, 143)]
SEED = "http://a.test/"


class Gate:
    """Pages whose answers wait while the gate is closed."""

    def __init__(self) -> None:
        self.is_open = threading.Event()
        self.is_open.set()
        self.n_waiting = 0

    def __call__(self, host: str, target: str, headers: RequestHeaders) -> FakeResponse:
        if not self.is_open.is_set():
            self.n_waiting += 1
            self.is_open.wait()
        return FakeResponse(
            f"<title>{target}</title><p>some words about {target} <a href=http://b.test{target}>out</a>"
        )


@pytest.fixture
def gate() -> Gate:
    return Gate()


@pytest.fixture
def web(gate: Gate) -> Iterator[FakeWeb]:
    pages = {f"http://{host}.test/{name}": gate for host in "ab" for name in ("one", "two", "three")}
    links = "".join(f"<a href=/{name}>{name}</a>" for name in ("one", "two", "three"))
    with FakeWeb(MadeSite({SEED: links, **pages})) as web:
        yield web
        gate.is_open.set()


@pytest.fixture
def folder(web: FakeWeb, tmp_path: Path) -> Path:
    crawled(web, SEED, tmp_path / "c", scope="host", settings={"politeness": {"connections": 1}})
    return tmp_path / "c"


@pytest.mark.parametrize(("number", "code"), SIGNALS)
@pytest.mark.parametrize("command", [["refresh", "c"], ["estimate", "c"]], ids=" ".join)
def test_commands_that_fetch(command: list[str], number: int, code: int, folder: Path, gate: Gate) -> None:
    gate.is_open.clear()
    with started(*command, cwd=folder.parent) as process:
        wait_until(lambda: gate.n_waiting)
        process.send_signal(number)
        gate.is_open.set()
        done = ended(process)
    assert done.returncode == code, done
    if command[0] != "estimate":
        assert report_of(folder)["stopped_because"] == "interrupted"
        assert report_of(folder)["headline"] == "stopped by you. Resume any time"


@pytest.mark.parametrize(("number", "code"), SIGNALS)
@pytest.mark.parametrize(
    "command",
    ["replay a.warc --seed http://a.test/", "compare web.tsv", "simulate web.tsv", "graph convert web.tsv web.npz"],
    ids=lambda command: command.split()[0],
)
def test_commands_that_read_a_file(command: str, number: int, code: int, tmp_path: Path) -> None:
    """They wait at a pipe, which is where the signal finds them."""
    pipe = tmp_path / command.split()[2 if command.startswith("graph") else 1]
    os.mkfifo(pipe)
    with started(*command.split(), cwd=tmp_path) as process:
        wait_until(lambda: is_being_read(pipe) and is_asleep(process.pid))
        process.send_signal(number)
        done = ended(process)
    assert done == (code, "", "orienteer: interrupted\n")


def test_while_the_command_is_imported(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted(only: str | None) -> NoReturn:
        raise interruption.Interrupted

    monkeypatch.setattr(main, "command_line", interrupted)
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)
    with pytest.raises(SystemExit) as exited:
        main._run(None, "orienteer")
    assert (exited.value.code, capsys.readouterr().err) == (130, "orienteer: interrupted\n")


# The command waits at a pipe when it opens the database, as on a slow disk. It waits in short steps: a signal that
# arrives just before a blocking call does not interrupt that call.
SLOW_DISK = """
import os, select, sys

def wait(event, arguments):
    if event == "sqlite3.connect" and "crawl.db" in str(arguments[0]):
        pipe = os.open(os.environ["SLOW_DISK"], os.O_RDONLY)
        while not select.select([pipe], [], [], 0.05)[0]:
            pass

sys.addaudithook(wait)
"""


WORK = ("export c --format jsonl -o c.jsonl", "verify c", "report c", "repair c", "certificate c", "status c")


@pytest.mark.parametrize(
    ("command", "number", "code"),
    [("index c", *SIGNALS[0]), ("index c", *SIGNALS[1]), *((command, *SIGNALS[0]) for command in WORK)],
)
def test_commands_that_work_on_a_folder(command: str, number: int, code: int, folder: Path) -> None:
    pipe, hook = folder.parent / "pipe", folder.parent / "hook"
    os.mkfifo(pipe)
    hook.mkdir()
    (hook / "sitecustomize.py").write_text(SLOW_DISK)
    paths = os.pathsep.join(filter(None, [str(hook), os.environ.get("PYTHONPATH", "")]))
    environment = {**os.environ, "PYTHONPATH": paths, "SLOW_DISK": str(pipe)}
    with subprocess.Popen(
        [*COMMAND, *command.split()], cwd=folder.parent, env=environment, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        wait_until(lambda: is_being_read(pipe) or process.poll() is not None)
        process.send_signal(number)
        done = ended(process)
    assert done == (code, "", "orienteer: interrupted\n")
    assert not list(folder.parent.glob("c.*")), "nothing is left of what was begun"


def is_being_read(pipe: Path) -> bool:
    """Whether a process waits for what is written into a pipe; it is held open, so that it goes on waiting."""
    try:
        held = os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
    except OSError:
        return False
    HELD.append(held)
    return True


def is_asleep(pid: int) -> bool:
    """Whether a process is in a system call that waits, so that a signal interrupts it."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "S"


HELD: list[int] = []


@pytest.fixture(autouse=True)
def _released() -> Iterator[None]:
    yield
    while HELD:
        os.close(HELD.pop())
