"""A process that has imported everything, and forks for each command: most of a second each would go into imports.

    python -m tests.ready_process SOCKET [MODULE...]      where it listens, and what else it imports

`ReadyProcess` starts one and runs commands by it. `ReadyPopen` is subprocess.Popen for processes that are watched,
signalled and killed. `ReadyProcess.client` is a small program that takes the place of `orienteer` on the PATH: it hands
over its arguments, its folder and its three streams, and ends as the command ends; its commands are adapted to where
example.org is served. The arguments `--page` ask for no command but for Python: blocks of code come as JSON, a line
each, and what they print goes back the same way. `ReadyProcess.python` takes the place of `python` itself.
`ready_children` is for the processes that the package itself starts.
"""

from __future__ import annotations

import atexit
import ctypes
import fcntl
import gc
import importlib
import io
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
import tempfile
import termios
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from functools import cache
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest.mock import patch

from rich.live import _RefreshThread

from orienteer.extract.documents import limited
from orienteer.processes import child
from tests.ready_imports import import_everything

ROOT = Path(__file__).parents[1]
TEST_TIMEOUT_S = 600.0  # for what is sure to come; a busy machine takes its time
NOT_READY = "ORIENTEER_TESTS_START_ALL"  # in the environment of tests that start hardly any process
_MOST = {"--pages": 600, "--budget": 300}  # what a test can wait for
_PROCESS = "--process"  # the first argument where a process of its own is wanted
_EXAMPLE = "--example"  # the first argument of a command of the documents; where example.org is served comes next
PYTHON = "--python"  # the first argument where what comes next is for Python
_CHILD = "--child"  # the first argument of a process where the function of a `Child` is wanted
CHILD_NAME = b"orienteer.child"  # what the system calls such a process
at_start: dict[str, str] = {}  # the environment of the tests before any test has changed it
_has_everything = False  # whether `import_everything` was called, here or before the fork
_OF_THE_PARENT: list[Any] = []  # what a forked process must not use, nor end
_PR_SET_PDEATHSIG, _PR_SET_NAME, _PR_SET_CHILD_SUBREAPER = 1, 15, 36  # of Linux

_CLIENT = """#!{python} -IS
import json, os, socket, sys
there = socket.socket(socket.AF_UNIX)
there.connect({place!r})
message = [os.getcwd(), os.environ["COLUMNS"], *{first!r}, *sys.argv[1:]]
socket.send_fds(there, [json.dumps(message).encode()], [0, 1, 2])
sys.exit(int(there.recv(16) or 1))
"""


class ReadyProcess:
    """One for all the commands of a test process; it ends with it."""

    def __init__(self, *modules: str, environment: dict[str, str] | None = None) -> None:
        """It imports these modules too. With them it is forked from the one that has all others; so is one whose
        environment names more places to look for packages."""
        how: type[subprocess.Popen[bytes]] | type[_ReadyAgain] | type[_ReadyHere] = subprocess.Popen
        if modules or environment is not None:
            how = _ReadyAgain
        elif _has_everything:
            how = _ReadyHere
        environment = dict(at_start or os.environ) if environment is None else environment
        self.of_python = _of_python(environment)
        self._folder = tempfile.TemporaryDirectory(prefix="orienteer-ready-")
        self.place = str(Path(self._folder.name) / "socket")
        command = [sys.executable, "-m", "tests.ready_process", self.place, *modules]
        self._process = how(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
        atexit.register(self.close)
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == b"ready\n"

    def run(self, arguments: list[str], columns: int, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
        """The command to its end, as subprocess.run would."""
        with (
            socket.socket(socket.AF_UNIX) as there, open(os.devnull) as nothing,
            tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err,
        ):  # fmt: skip
            there.settimeout(TEST_TIMEOUT_S)
            there.connect(self.place)
            message = json.dumps([str(folder or os.getcwd()), str(columns), *arguments]).encode()
            socket.send_fds(there, [message], [nothing.fileno(), out.fileno(), err.fileno()])
            code = int(there.recv(16) or 1)
            out.seek(0)
            err.seek(0)
            return subprocess.CompletedProcess(arguments, code, out.read().decode(), err.read().decode())

    def client(self, address: str) -> str:
        """The program that replaces `orienteer`, with example.org at this address."""
        return _CLIENT.format(python=sys.executable, place=self.place, first=[_EXAMPLE, address])

    def python(self) -> str:
        """The program that replaces `python`, with a module or a file to run."""
        return _CLIENT.format(python=sys.executable, place=self.place, first=[PYTHON])

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()
        self._folder.cleanup()


def forked_by(
    place: str, arguments: list[str], folder: str, environment: dict[str, str], streams: list[int], in_session: bool
) -> int:
    """`python -m` with these arguments, in a process that the one that listens there forks, perhaps in a session of its
    own. The caller adopts it, and gets its number."""
    with socket.socket(socket.AF_UNIX) as there:
        there.settimeout(TEST_TIMEOUT_S)
        there.connect(place)
        message = json.dumps(
            [folder, environment.get("COLUMNS", ""), _PROCESS, environment, in_session, *arguments]
        ).encode()
        socket.send_fds(there, [message], streams)
        return int(there.recv(16))


def forked(become: Callable[..., None], *arguments: Any) -> int:
    """A fork of this process that becomes something else, and never comes back from it; its number."""
    process = os.fork()
    if process == 0:
        try:
            become(*arguments)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(1)
    return process


def take(popen: subprocess.Popen[Any], process: int, pipes: Sequence[int]) -> None:
    """The part of `Popen._execute_child` after the start of the process."""
    popen.pid = process
    popen._child_created = True  # type: ignore[attr-defined]
    popen._close_pipe_fds(*pipes)  # type: ignore[attr-defined]


@contextmanager
def starting_by(module: ModuleType, popen: type[subprocess.Popen[bytes]]) -> Iterator[None]:
    """What the module starts, it starts so."""
    with patch.object(module, "subprocess", SimpleNamespace(**{**vars(subprocess), "Popen": popen})):
        yield


def _prctl(option: int, value: int | bytes) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


@cache
def ready(*modules: str) -> ReadyProcess:
    """The one of this test process."""
    # What it forks, and leaves alone at once, is then ours to wait for.
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    return ReadyProcess(*modules)


class ReadyPopen(subprocess.Popen[str]):
    """subprocess.Popen, but `[sys.executable, "-m", …]` becomes a process that has everything imported.

    It is a process like any other: with a number, streams, signals and an exit code of its own. Any other command, and
    one with another environment for Python itself, is started as ever; so is one where `NOT_READY` is set.
    """

    modules: tuple[str, ...] = ()  # to be imported beforehand

    def _execute_child(self, args: Any, *others: Any) -> None:  # type: ignore[override]
        preexec, cwd, env, pipes = others[1], others[4], others[5], others[9:15]
        environment = dict(os.environ if env is None else env)
        program = [str(one) for one in args if one != "-P"]
        is_plain = program[:2] == [sys.executable, "-m"] and preexec is None and sys.platform == "linux"
        is_plain = is_plain and NOT_READY not in environment
        if not is_plain or not self._can_be_forked(environment):
            return super()._execute_child(args, *others)  # type: ignore[misc]
        streams = [pipe if pipe >= 0 else number for number, pipe in enumerate((pipes[0], pipes[3], pipes[5]))]
        here, in_session = ready(*self.modules), bool(others[20])
        take(self, forked_by(here.place, program[2:], str(cwd or os.getcwd()), environment, streams, in_session), pipes)

    def _can_be_forked(self, environment: dict[str, str]) -> bool:
        return _of_python(environment) == ready(*self.modules).of_python

    def worked_s(self) -> float:
        """The CPU time so far, which does not depend on other processes."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class _ReadyAgain(ReadyPopen):
    """Another one that forks: it may look for packages in more places, since of these nothing is imported yet."""

    def _can_be_forked(self, environment: dict[str, str]) -> bool:
        here = ready().of_python
        more, known = (one.get("PYTHONPATH", "").split(os.pathsep) for one in (environment, here))
        return _but_path(environment) == _but_path(here) and set(filter(None, known)) <= set(more)


class _ReadyHere(subprocess.Popen[bytes]):
    """The one that a process starts that was forked from another one: forked from itself. It has one thread yet."""

    def _execute_child(self, args: Any, *others: Any) -> None:  # type: ignore[override]
        pipes = others[9:15]
        take(self, forked(_listen, [pipes[0], pipes[3]], args[3]), pipes)


def _listen(streams: list[int], place: str) -> None:
    atexit._clear()  # what the parent ends
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    main(place)


class _ReadyChild(subprocess.Popen[bytes]):
    """The process of a `Child`: the same, by a process that has everything imported."""

    def _execute_child(self, args: Any, *others: Any) -> None:  # type: ignore[override]
        descriptors, environment, pipes = others[3], others[5], others[9:15]
        here = ready()
        if sys.platform != "linux" or _but_path(environment) != _but_path(here.of_python):
            return super()._execute_child(args, *others)  # type: ignore[misc]
        streams = [pipes[0], pipes[3], pipes[5], *descriptors]
        take(self, forked_by(here.place, [_CHILD], os.getcwd(), environment, streams, in_session=True), pipes)


class _ForkedChild(subprocess.Popen[bytes]):
    """The process of a `Child` of a command that was forked: forked from it in turn, as long as it has but one thread,
    or one more that draws a progress bar. Of others, who knows what they hold just now; then it is started as ever."""

    def _execute_child(self, args: Any, *others: Any) -> None:  # type: ignore[override]
        descriptors, environment, pipes = others[3], others[5], others[9:15]
        threads = [thread for thread in threading.enumerate() if not isinstance(thread, _RefreshThread)]
        if len(threads) > 1 or len(os.listdir("/proc/self/task")) > threading.active_count():
            return super()._execute_child(args, *others)  # type: ignore[misc]
        streams = [pipes[0], pipes[3], pipes[5], *descriptors]
        take(self, forked(_become_a_child, environment, streams), pipes)


def _become_a_child(environment: dict[str, str], streams: list[int]) -> None:
    """Of its parent nothing is left that a new process would not have, but for what is imported."""
    gc.freeze()
    atexit._clear()
    _OF_THE_PARENT.append(limited._reader)
    limited._reader = limited.LimitedReader()
    atexit.register(limited._reader.close)
    for number in signal.valid_signals():
        if callable(signal.getsignal(number)):
            signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.setsid()
    _prctl(_PR_SET_NAME, CHILD_NAME)
    channel = os.dup(streams[3])  # a number that the three below do not take
    for number, stream in enumerate(streams[:3]):
        os.dup2(stream, number)
    os.closerange(3, channel)
    os.closerange(channel + 1, os.sysconf("SC_OPEN_MAX"))
    _OF_THE_PARENT.append((sys.stdin, sys.stdout, sys.stderr))  # another thread may have been writing
    sys.stdin, sys.stdout, sys.stderr = os.fdopen(0), os.fdopen(1, "w"), os.fdopen(2, "w", 1)
    _run_child(environment, channel)


def _run_child(environment: dict[str, str], channel: int) -> None:
    os.environ.clear()
    os.environ.update(environment)
    sys.path[:] = environment["PYTHONPATH"].split(os.pathsep)
    with ending_quickly():
        child.run(channel)


@contextmanager
def ready_children(by: type[subprocess.Popen[bytes]] = _ReadyChild) -> Iterator[None]:
    """Each `Child` of this process has a process of its own, as ever, but none that begins with importing."""
    with starting_by(child, by):
        yield


def _but_path(environment: dict[str, str]) -> dict[str, str]:
    """A child gets the module search path of this process."""
    return {name: value for name, value in _of_python(environment).items() if name != "PYTHONPATH"}


def _of_python(environment: dict[str, str]) -> dict[str, str]:
    """What is read when Python and Numba start."""
    return {name: value for name, value in environment.items() if name.startswith(("PYTHON", "NUMBA"))}


def adapted(arguments: list[str], address: str) -> list[str]:
    """A command of the documents, for a web on loopback: it is found there, in no hurry to be spared, and small."""
    most = {} if "--until" in arguments else _MOST
    pairs = zip(["", *arguments], arguments, strict=False)
    small = [str(min(int(one), most[before])) if before in most and one.isdigit() else one for before, one in pairs]
    if arguments[:1] in (["crawl"], ["survey"]) and _is_about_example(arguments):
        return [*small, "--connect-to", address, "--delay", "0", "--connections", "8"]
    return small


def _is_about_example(arguments: list[str]) -> bool:
    """Whether the hosts are those of the documents; a crawl that was begun knows where to connect to."""
    if "--seeds-from" in arguments:
        return True
    folders = [Path(one) / "crawl.toml" for one in arguments]
    settings = "".join(path.read_text() for path in folders if path.is_file())
    return ("//example.org" in " ".join(arguments) + settings) and "connect_to =" not in settings


def main(place: str, *modules: str) -> None:
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)  # it ends with its parent, in any case
    gc.disable()  # what is imported stays
    from tests import ready_process as imported  # where this module is the program

    if not imported._has_everything:
        import_everything()
    imported._has_everything = True
    for module in modules:
        importlib.import_module(module)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(place)
        listener.listen()
        gc.collect()
        gc.freeze()  # what is here now is left alone, also at the end
        gc.enable()
        print("ready", flush=True)
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the children are not waited for
        while True:
            connection = listener.accept()[0]
            message, streams = _received(connection)
            if os.fork() == 0:
                listener.close()
                _become(message, streams, connection)
                return
            for stream in streams:
                os.close(stream)
            connection.close()


def _received(connection: socket.socket) -> tuple[list[Any], list[int]]:
    text, streams, _, _ = socket.recv_fds(connection, 1 << 16, 4)
    while True:
        try:
            return json.loads(text), streams
        except json.JSONDecodeError:  # there is more of it
            text += connection.recv(1 << 16)


def _become(message: list[Any], streams: list[int], connection: socket.socket) -> None:
    """What a new process would be, from here to its end."""
    folder, columns, *arguments = message
    address = ""
    if arguments[:1] == [_EXAMPLE]:
        address, *arguments = arguments[1:]
    if arguments[:1] == [_PROCESS]:
        return _become_an_orphan(folder, arguments[1], arguments[2], arguments[3:], streams, connection)
    code = 1
    try:
        _take_over(folder, streams)
        os.environ["COLUMNS"] = columns
        with ready_children(_ForkedChild):
            if arguments == ["--page"]:
                _run_page()
                code = 0
            elif arguments[:1] == [PYTHON]:
                code = _run_python(arguments[1:])
            else:
                code = _run_command(adapted(arguments, address) if address else arguments)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        connection.send(str(code).encode())
        os._exit(code)


def _take_over(folder: str, streams: list[int]) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(folder)


def _become_an_orphan(
    folder: str, environment: dict[str, str], in_session: bool, arguments: list[str], streams: list[int],
    connection: socket.socket,
) -> None:  # fmt: skip
    """One more fork: the process between ends at once, and the caller adopts this one. It ends as Python does."""
    between = os.getpid()
    if os.fork() != 0:
        os._exit(0)
    while os.getppid() == between:
        time.sleep(0.0005)
    if in_session:
        os.setsid()
    if arguments == [_CHILD]:
        _prctl(_PR_SET_NAME, CHILD_NAME)
    connection.send(str(os.getpid()).encode())
    connection.close()
    _take_over(folder, streams[:3])
    if in_session and os.isatty(0):
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)  # the terminal is its own
    if arguments == [_CHILD]:
        return _run_child(environment, streams[3])
    os.environ.clear()
    os.environ.update(environment)
    with ending_quickly(), ready_children(_ForkedChild):
        sys.path[0] = folder
        sys.path[1:1] = [
            place for place in environment.get("PYTHONPATH", "").split(os.pathsep) if place not in sys.path
        ]
        module, *sys.argv[1:] = arguments
        runpy.run_module(module, run_name="__main__", alter_sys=True)


@contextmanager
def ending_quickly() -> Iterator[None]:
    """All that Python does at the end, but for taking apart what was imported: that took longer than many a command.
    Exceptions end it as ever."""
    code: object = None
    try:
        yield
    except SystemExit as end:
        code = end.code
        if code is not None and not isinstance(code, int):
            raise
    threading._shutdown()  # type: ignore[attr-defined]  # it waits for threads
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:  # the reader is gone
        sys.exit(code)
    os._exit(code or 0)


def _run_command(arguments: list[str]) -> int:
    from orienteer.cli.main import run

    sys.argv = ["orienteer", *arguments]
    try:
        run()
    except SystemExit as end:
        return int(end.code or 0)
    return 0


def _run_python(arguments: list[str]) -> int:
    """`python -m MODULE` or `python FILE`, with their arguments."""
    is_module = arguments[0] == "-m"
    program, *sys.argv[1:] = arguments[is_module:]
    sys.path.insert(0, "" if is_module else str(Path(program).parent))
    try:
        if is_module:
            runpy.run_module(program, run_name="__main__", alter_sys=True)
        else:
            runpy.run_path(program, run_name="__main__")
    except SystemExit as end:
        return int(end.code or 0)
    finally:
        atexit._run_exitfuncs()
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
