"""A process that has imported everything, and forks for each command: most of a second each would go into imports.

    python -m tests.ready_process SOCKET [ADDRESS]      where it listens, and where example.org is served

`ReadyProcess` starts one and runs commands by it. `client` is a small program that takes the place of `orienteer` on
the PATH: it hands over its arguments, its folder and its three streams, and ends as the command ends. The arguments
`--page` ask for no command but for Python: blocks of code come as JSON, a line each, and what they print goes back the
same way.
"""

from __future__ import annotations

import atexit
import io
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import traceback
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

ROOT = Path(__file__).parents[1]
_MOST = {"--pages": 600, "--budget": 300}  # what a test can wait for

_CLIENT = """#!{python} -IS
import json, os, socket, sys
there = socket.socket(socket.AF_UNIX)
there.connect({place!r})
socket.send_fds(there, [json.dumps([os.getcwd(), os.environ["COLUMNS"], *sys.argv[1:]]).encode()], [0, 1, 2])
sys.exit(int(there.recv(16) or 1))
"""


def client(place: Path) -> str:
    """The program that stands for `orienteer`."""
    return _CLIENT.format(python=sys.executable, place=str(place))


class ReadyProcess:
    """One for all the commands of a test process; it ends with it."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="orienteer-ready-")
        self._place = str(Path(self._folder.name) / "socket")
        command = [sys.executable, "-m", "tests.ready_process", self._place]
        self._process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
        atexit.register(self.close)
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == b"ready\n"

    def run(self, arguments: list[str], columns: int, timeout_s: float = 120) -> subprocess.CompletedProcess[str]:
        """The command to its end, as subprocess.run would."""
        with (
            socket.socket(socket.AF_UNIX) as there, open(os.devnull) as nothing,
            tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err,
        ):  # fmt: skip
            there.settimeout(timeout_s)
            there.connect(self._place)
            message = json.dumps([os.getcwd(), str(columns), *arguments]).encode()
            socket.send_fds(there, [message], [nothing.fileno(), out.fileno(), err.fileno()])
            code = int(there.recv(16) or 1)
            out.seek(0)
            err.seek(0)
            return subprocess.CompletedProcess(arguments, code, out.read().decode(), err.read().decode())

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()
        self._folder.cleanup()


def adapted(arguments: list[str], address: str) -> list[str]:
    """A command of the documents, for a web on loopback: it is found there, in no hurry to be spared, and small."""
    most = {} if "--until" in arguments else _MOST
    pairs = zip(["", *arguments], arguments, strict=False)
    small = [str(min(int(one), most[before])) if before in most and one.isdigit() else one for before, one in pairs]
    if arguments[:1] == ["crawl"] and _is_about_example(arguments):
        return [*small, "--connect-to", address, "--delay", "0", "--connections", "8"]
    return small


def _is_about_example(arguments: list[str]) -> bool:
    """Whether the hosts are those of the documents; a crawl that was begun knows where to connect to."""
    if "--seeds-from" in arguments:
        return True
    folders = [Path(one) / "crawl.toml" for one in arguments]
    settings = "".join(path.read_text() for path in folders if path.is_file())
    return ("//example.org" in " ".join(arguments) + settings) and "connect_to =" not in settings


def main(place: str, address: str = "") -> None:
    _import_everything()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(place)
        listener.listen()
        print("ready", flush=True)
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the children
        while True:
            connection = listener.accept()[0]
            message, streams, _, _ = socket.recv_fds(connection, 1 << 16, 3)
            if os.fork() == 0:
                listener.close()
                _become(json.loads(message), streams, connection, address)
            for stream in streams:
                os.close(stream)
            connection.close()


def _import_everything() -> None:
    """All that the commands import when they are called, and the kernels of a crawl."""
    import sklearn.linear_model  # noqa: F401

    import orienteer
    import orienteer.cli.main
    import orienteer.evaluate.compare
    import orienteer.evaluate.harvest
    import orienteer.policies
    import orienteer.web.app
    from orienteer.ledger.plan import CrawlPlan
    from orienteer.live.warm_up import warm_up

    for name in orienteer.__all__:
        getattr(orienteer, name)
    orienteer.policies.all_policies()
    orienteer.cli.main.command_line()
    warm_up(CrawlPlan.parse('[crawl]\nseeds = ["http://a.example/"]', "here"))


def _become(message: list[str], streams: list[int], connection: socket.socket, address: str) -> None:
    """What a new process would be, from here to its end."""
    code = 1
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
        folder, os.environ["COLUMNS"], *arguments = message
        os.chdir(folder)
        if arguments == ["--page"]:
            _run_page()
            code = 0
        else:
            code = _run_command(adapted(arguments, address) if address else arguments)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        connection.send(str(code).encode())
        os._exit(code)


def _run_command(arguments: list[str]) -> int:
    from orienteer.cli.main import run

    sys.argv = ["orienteer", *arguments]
    try:
        run()
    except SystemExit as end:
        return int(end.code or 0)
    return 0


def _run_page() -> None:
    sys.path.insert(0, "")
    names: dict[str, object] = {"__name__": "__main__"}
    for line in sys.stdin:
        said, error = io.StringIO(), ""
        try:
            with redirect_stdout(said), redirect_stderr(said):
                exec(compile(json.loads(line), "a block", "exec"), names)
        except BaseException:
            error = traceback.format_exc()
        print(json.dumps([said.getvalue(), error]), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
