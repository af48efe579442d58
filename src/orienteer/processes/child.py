"""A child process that runs one function and ends with its parent.

    child = Child(serve, settings)            # serve(channel, settings) is called in a new Python
    child.channel.send_bytes(request)
    reply = child.channel.recv_bytes()        # EOFError: it has ended; see `child.why_ended()`
    child.close()

The function and its arguments are pickled; the function must be importable. Unlike `multiprocessing`, the child does
not import the main script of the parent: a script needs no `if __name__ == "__main__"`. The child uses the kernel cache
of the parent. Ctrl-C does not reach the child. It ends when the parent ends, however that happens.

A new Python imports for most of a second. A `ForkServer` is a child that imports once, and forks others:

    forks = ForkServer(prepare)               # prepare() is called in the server, and imports
    child = Child(serve, settings, forks=forks)

A forked child is a child like any other: its arguments come through its channel, and it has its own session, stdin and
stderr. The server has one thread, no connections, and nothing of the parent but its environment. Where it cannot be
used, a new Python is started.
"""

from __future__ import annotations

import contextlib
import gc
import os
import pickle
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from typing import IO, Any

from orienteer import kernel_folder
from orienteer.errors import ProcessError

_TIMEOUT_S = 5.0  # for a graceful exit; then the child is killed
_MAX_STDERR_BYTES = 4096
_NUMBER_BYTES = 8


@dataclass(frozen=True)
class TaskLimits:
    """What one task may take. `memory_bytes` of address space are in addition to that of the process at the start.

    The kernel enforces memory, CPU time and the size of files; the supervisor enforces `wall_s`, which allows for a
    busy machine.
    """

    memory_bytes: int
    cpu_s: int
    wall_s: float
    file_bytes: int

    def begin(self) -> None:
        """Set the limits on this process. Whatever is large should be imported before."""
        _set_limit(resource.RLIMIT_CORE, 0)
        _set_limit(resource.RLIMIT_FSIZE, self.file_bytes)
        sys.dont_write_bytecode = True  # Python 3.11 does not notice when a .pyc file could be written only in part
        _set_limit(resource.RLIMIT_AS, address_space_bytes() + self.memory_bytes)

    def begin_task(self) -> None:
        """Allow `cpu_s` of CPU time from now on; the kernel kills a process that takes more."""
        used = resource.getrusage(resource.RUSAGE_SELF)
        _set_limit(resource.RLIMIT_CPU, int(used.ru_utime + used.ru_stime) + 1 + self.cpu_s)


def address_space_bytes() -> int:
    """Return the address space of this process; 0 if it is unknown."""
    with contextlib.suppress(OSError, ValueError, IndexError), open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    return 0


def prefer_oom_kill() -> None:
    """Make this process a preferred victim of the OOM killer: it can be replaced, its parent cannot."""
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
        file.write("800")


def limit_blas_threads() -> None:
    """Let libraries of linear algebra use one thread; they must not be loaded yet."""
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
        os.environ.setdefault(name, "1")


def _set_limit(which: int, soft: int) -> None:
    with contextlib.suppress(OSError, ValueError):  # the system has no such limit, or a lower one
        hard = resource.getrlimit(which)[1]
        resource.setrlimit(which, (soft if hard == resource.RLIM_INFINITY else min(soft, hard), hard))


class Child:
    """Calls `serve(channel, *args)` in a new process; its `channel` is the other end of `self.channel`."""

    def __init__(self, serve: Callable[..., object], *args: Any, forks: ForkServer | None = None) -> None:
        self.channel, child_end = Pipe()
        self._stderr = _scratch_file()  # a temporary file
        self._process: subprocess.Popen[bytes] | _ForkedProcess
        try:
            forked = None if forks is None else forks.fork(child_end, self._stderr)
            self._process = forked or _new_python(child_end, self._stderr)
        except OSError as error:
            self.channel.close()
            if self._stderr is not None:
                self._stderr.close()
            raise ProcessError(f"no process can be started: {error}") from None
        finally:
            child_end.close()
        with contextlib.suppress(OSError):  # it may have ended already: `recv_bytes` reports that
            self.channel.send_bytes(pickle.dumps((kernel_folder.folder(), serve, args)))

    @property
    def pid(self) -> int:
        return self._process.pid

    def poll(self) -> int | None:
        """Return the exit code; None while the child is running."""
        return self._process.poll()

    def wait(self) -> int:
        """Wait until the child ends by itself; returns the exit code."""
        return self._process.wait()

    def why_ended(self) -> str:
        """Return `killed by SIGKILL`, or the last line on stderr. A child that does not end in time is killed."""
        code = self._ended()
        if code < 0:
            return f"killed by {signal.Signals(-code).name}"
        lines = [] if self._stderr is None else _end_of(self._stderr).strip().splitlines()
        return lines[-1] if lines else f"ended with exit code {code}"

    def kill(self) -> None:
        """Kill the child."""
        self._process.kill()

    def close(self) -> None:
        """Close the channel, so that the child ends; kill it if that takes too long."""
        self.channel.close()
        assert self._process.stdin is not None
        self._ended()
        self._process.stdin.close()
        if self._stderr is not None:
            self._stderr.close()

    def _ended(self) -> int:
        try:
            return self._process.wait(_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self.kill()
            return self._process.wait()


def _new_python(child_end: Connection, stderr: IO[bytes] | None) -> subprocess.Popen[bytes]:
    paths = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    # -P: do not import modules from the current folder. In its own session Ctrl-C does not reach the child.
    command = [sys.executable or "python3", "-P", "-m", __spec__.name, str(child_end.fileno())]
    devnull = subprocess.DEVNULL
    return subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=devnull, stderr=stderr or devnull, env=paths,
        pass_fds=[child_end.fileno()], start_new_session=True,
    )  # fmt: skip


def _scratch_file() -> IO[bytes] | None:
    with contextlib.suppress(OSError):  # no space, or no temporary folder
        return tempfile.TemporaryFile()
    return None


def _end_of(file: IO[bytes]) -> str:
    file.seek(max(0, file.seek(0, os.SEEK_END) - _MAX_STDERR_BYTES))
    return file.read().decode(errors="replace")


# -- forked children --------------------------------------------------------------------------------------------


class ForkServer:
    """A child that calls `prepare()`, which should import whatever is large, and then forks children."""

    def __init__(self, prepare: Callable[[], object]) -> None:
        self._child: Child | None = None
        if sys.platform == "linux":  # on other systems libraries start threads when imported
            self._child = Child(_serve_forks, pickle.dumps(prepare))
            self._socket = socket.socket(fileno=os.dup(self._child.channel.fileno()))

    def fork(self, child_end: Connection, stderr: IO[bytes] | None) -> _ForkedProcess | None:
        """Fork a child with this end of a channel; None if the server cannot be used."""
        if self._child is None or self._child.poll() is not None:
            return None
        child_stdin, stdin = os.pipe()
        status, status_end = os.pipe()
        with contextlib.ExitStack() as stack:
            for end in (child_stdin, status_end):
                stack.callback(os.close, end)
            sent = [child_end.fileno(), child_stdin, status_end, *([] if stderr is None else [stderr.fileno()])]
            try:
                socket.send_fds(self._socket, [b"fork"], sent)
            except OSError:  # it has ended
                os.close(stdin)
                os.close(status)
                return None
            return _ForkedProcess(stdin, status)

    def close(self) -> None:
        """End the server. Children that are running go on, but nothing reports how they end."""
        if self._child is not None:
            self._socket.close()
            self._child.close()
            self._child = None


class _ForkedProcess:
    """A forked child, with the interface of `subprocess.Popen`. It reports its id, and the server how it ended."""

    def __init__(self, stdin: int, status: int) -> None:
        self.stdin: IO[bytes] | None = os.fdopen(stdin, "wb")
        self._status = status
        self._pid: int | None = None
        self._code: int | None = None

    @property
    def pid(self) -> int:
        """Its id; 0 until the server has forked it. It is known once the child has sent anything."""
        if self._pid is None:
            self.poll()
        return self._pid or 0

    def poll(self) -> int | None:
        try:
            return self.wait(0.0)
        except subprocess.TimeoutExpired:
            return None

    def wait(self, timeout: float | None = None) -> int:
        while self._code is None:
            if not wait([self._status], timeout):
                raise subprocess.TimeoutExpired("a forked child", timeout or 0.0)
            if self._pid is None:
                self._pid = self._reported(0)
            else:
                self._end(self._reported(-signal.SIGKILL))
        return self._code

    def kill(self) -> None:
        if self.poll() is not None:
            return
        if self._pid is None:  # when the server forks it, it ends at once
            assert self.stdin is not None
            self.stdin.close()
            self._end(-signal.SIGKILL)
        else:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._pid, signal.SIGKILL)

    def _end(self, code: int) -> None:
        self._code = code
        os.close(self._status)

    def _reported(self, default: int) -> int:
        """Return the next number that is reported, or the default if none will be."""
        number = os.read(self._status, _NUMBER_BYTES)
        return int.from_bytes(number, "little", signed=True) if number else default


def _serve_forks(channel: Connection, prepare: bytes) -> int | None:
    """Fork children until the parent ends or closes the channel; returns the descriptor of its channel in a child."""
    prefer_oom_kill()
    limit_blas_threads()
    pickle.loads(prepare)()
    if len(os.listdir("/proc/self/task")) > 1:
        return None  # a lock that another thread holds would never be released in a forked child
    gc.freeze()  # what is imported stays, and its pages of memory stay shared
    statuses: dict[int, int] = {}  # descriptors, by child
    wake, wake_end = Pipe(duplex=False)
    with socket.socket(fileno=os.dup(channel.fileno())) as requests, channel, wake, wake_end:
        os.set_blocking(wake_end.fileno(), False)
        signal.set_wakeup_fd(wake_end.fileno(), warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        while True:
            ready = wait([0, requests, wake])
            if wake in ready:
                os.read(wake.fileno(), 4096)
                _report_ended(statuses)
            if 0 in ready:
                return None
            if requests in ready:
                message, descriptors, _, _ = socket.recv_fds(requests, 16, 4)
                if not message:
                    return None
                child_end, stdin, status, *stderr = descriptors
                pid = os.fork()
                if pid == 0:
                    break
                for descriptor in (child_end, stdin, *stderr):
                    os.close(descriptor)
                statuses[pid] = status
    _report(status, os.getpid())
    return _begin_forked(child_end, stdin, *stderr)


def _begin_forked(child_end: int, stdin: int, stderr: int | None = None) -> int:
    """Take the place of a new Python: without any descriptor or signal handler of the server."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.setsid()
    os.dup2(stdin, 0)
    if stderr is not None:
        os.dup2(stderr, 2)
    os.dup2(child_end, 3)
    os.closerange(4, os.sysconf("SC_OPEN_MAX"))
    return 3


def _report_ended(statuses: dict[int, int]) -> None:
    """Report how children have ended; only then their ids may be used again."""
    while statuses:
        ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if ended is None:
            return
        status = statuses.pop(ended.si_pid)
        _report(status, ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status)
        os.close(status)
        os.waitpid(ended.si_pid, 0)


def _report(status: int, number: int) -> None:
    with contextlib.suppress(BrokenPipeError):  # the parent does not want to know
        os.write(status, number.to_bytes(_NUMBER_BYTES, "little", signed=True))


# -- in the child -----------------------------------------------------------------------------------------------


def _exit_with_parent() -> None:
    """Exit when the parent ends: the kernel then closes the other end of stdin."""
    os.read(0, 1)
    os._exit(1)


def _run(descriptor: int) -> int | None:
    """Run the function that the parent sends; returns the channel of a forked child, which runs the next one."""
    with contextlib.suppress(EOFError, BrokenPipeError, ConnectionResetError), Connection(descriptor) as channel:
        folder, serve, args = pickle.loads(channel.recv_bytes())
        if folder is not None:
            kernel_folder.use_folder(folder)
        if serve is _serve_forks:
            forked: int | None = _serve_forks(channel, *args)
            return forked
        threading.Thread(target=_exit_with_parent, daemon=True).start()
        serve(channel, *args)
    return None


def run(descriptor: int) -> None:
    """Run as a child with this end of the channel."""
    following: int | None = descriptor
    while following is not None:
        following = _run(following)


if __name__ == "__main__":
    from orienteer.processes import child

    child.run(int(sys.argv[1]))
