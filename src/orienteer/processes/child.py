"""A process that runs one function beside this one, and ends with it.

    child = Child(serve, settings)            # serve(channel, settings) is called in a new Python
    child.channel.send_bytes(request)
    answer = child.channel.recv_bytes()       # EOFError: it has ended; `child.why_ended()` says why
    child.close()

The function and its arguments are pickled; the function must be importable. The script that this process runs is not
imported there, as `multiprocessing` would do: a script needs no `if __name__ == "__main__"`. Compiled kernels are kept
where this process keeps them. Ctrl-C does not reach it. When this process is gone, however it ended, so is the child.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import IO, Any

from orienteer import kernel_folder
from orienteer.errors import ProcessError

_PATIENCE_S = 5.0  # for an orderly end; then it is killed
_MAX_SAID_BYTES = 4096


class Child:
    """Calls `serve(channel, *args)` in a new process, where `channel` is the other end of this one's."""

    def __init__(self, serve: Callable[..., None], *args: Any) -> None:
        self.channel, far_end = Pipe()
        self._said = _scratch_file()  # what it writes on stderr
        paths = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        # -P: what lies about in the current folder is not run. In a session of its own Ctrl-C does not end it.
        command = [sys.executable or "python3", "-P", "-m", __spec__.name, str(far_end.fileno())]
        nowhere = subprocess.DEVNULL
        try:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=nowhere, stderr=self._said or nowhere, env=paths,
                pass_fds=[far_end.fileno()], start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            self.channel.close()
            if self._said is not None:
                self._said.close()
            raise ProcessError(f"no process can be started: {error}") from None
        finally:
            far_end.close()
        with contextlib.suppress(OSError):  # it may have ended already; whoever waits for it finds out
            self.channel.send_bytes(pickle.dumps((kernel_folder.folder(), serve, args)))

    @property
    def pid(self) -> int:
        return self._process.pid

    def poll(self) -> int | None:
        """Its exit code; None while it is running."""
        return self._process.poll()

    def wait(self) -> int:
        """Wait until it ends by itself; its exit code."""
        return self._process.wait()

    def why_ended(self) -> str:
        """In one line: `killed by SIGKILL`, or the last that it said. Its channel is closed: it ends, or is killed."""
        code = self._ended()
        if code < 0:
            return f"killed by {signal.Signals(-code).name}"
        lines = [] if self._said is None else _end_of(self._said).strip().splitlines()
        return lines[-1] if lines else f"ended with exit code {code}"

    def kill(self) -> None:
        """End it at once."""
        self._process.kill()

    def close(self) -> None:
        """Let it end: its channel is closed. It is killed where that takes long."""
        self.channel.close()
        assert self._process.stdin is not None
        self._ended()
        self._process.stdin.close()
        if self._said is not None:
            self._said.close()

    def _ended(self) -> int:
        try:
            return self._process.wait(_PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.kill()
            return self._process.wait()


def be_killed_first() -> None:
    """Where the system has no memory left, it takes this process, which can be replaced, and not the one it serves."""
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
        file.write("800")


def _scratch_file() -> IO[bytes] | None:
    with contextlib.suppress(OSError):  # no room for it, or no place
        return tempfile.TemporaryFile()
    return None


def _end_of(file: IO[bytes]) -> str:
    file.seek(max(0, file.seek(0, os.SEEK_END) - _MAX_SAID_BYTES))
    return file.read().decode(errors="replace")


def _leave_with_parent() -> None:
    """The parent holds the other end of stdin, which is closed when its process ends, however it does."""
    os.read(0, 1)
    os._exit(1)


def _run(descriptor: int) -> None:
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    with contextlib.suppress(EOFError, BrokenPipeError, ConnectionResetError), Connection(descriptor) as channel:
        folder, serve, args = pickle.loads(channel.recv_bytes())
        if folder is not None:
            kernel_folder.use_folder(folder)
        serve(channel, *args)


if __name__ == "__main__":
    _run(int(sys.argv[1]))
