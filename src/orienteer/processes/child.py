"""A child process that runs one function and ends with its parent.

    child = Child(serve, settings)            # serve(channel, settings) is called in a new Python
    child.channel.send_bytes(request)
    reply = child.channel.recv_bytes()        # EOFError: it has ended; see `child.why_ended()`
    child.close()

The function and its arguments are pickled; the function must be importable. Unlike `multiprocessing`, the child does
not import the main script of the parent: a script needs no `if __name__ == "__main__"`. The child uses the kernel cache
of the parent. Ctrl-C does not reach the child. It ends when the parent ends, however that happens.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import resource
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import IO, Any

from orienteer import kernel_folder
from orienteer.errors import ProcessError

_TIMEOUT_S = 5.0  # for a graceful exit; then the child is killed
_MAX_STDERR_BYTES = 4096


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


def _set_limit(which: int, soft: int) -> None:
    with contextlib.suppress(OSError, ValueError):  # the system has no such limit, or a lower one
        hard = resource.getrlimit(which)[1]
        resource.setrlimit(which, (soft if hard == resource.RLIM_INFINITY else min(soft, hard), hard))


class Child:
    """Calls `serve(channel, *args)` in a new process; its `channel` is the other end of `self.channel`."""

    def __init__(self, serve: Callable[..., None], *args: Any) -> None:
        self.channel, child_end = Pipe()
        self._stderr = _scratch_file()  # a temporary file
        paths = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        # -P: do not import modules from the current folder. In its own session Ctrl-C does not reach the child.
        command = [sys.executable or "python3", "-P", "-m", __spec__.name, str(child_end.fileno())]
        devnull = subprocess.DEVNULL
        try:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=devnull, stderr=self._stderr or devnull, env=paths,
                pass_fds=[child_end.fileno()], start_new_session=True,
            )  # fmt: skip
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


def _scratch_file() -> IO[bytes] | None:
    with contextlib.suppress(OSError):  # no space, or no temporary folder
        return tempfile.TemporaryFile()
    return None


def _end_of(file: IO[bytes]) -> str:
    file.seek(max(0, file.seek(0, os.SEEK_END) - _MAX_STDERR_BYTES))
    return file.read().decode(errors="replace")


def _exit_with_parent() -> None:
    """Exit when the parent ends: the kernel then closes the other end of stdin."""
    os.read(0, 1)
    os._exit(1)


def _run(descriptor: int) -> None:
    threading.Thread(target=_exit_with_parent, daemon=True).start()
    with contextlib.suppress(EOFError, BrokenPipeError, ConnectionResetError), Connection(descriptor) as channel:
        folder, serve, args = pickle.loads(channel.recv_bytes())
        if folder is not None:
            kernel_folder.use_folder(folder)
        serve(channel, *args)


if __name__ == "__main__":
    _run(int(sys.argv[1]))
