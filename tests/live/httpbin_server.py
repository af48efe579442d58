"""httpbin under gunicorn on loopback: a real third-party server."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest

from tests import external_tools

_THREADS = 16
_TIMEOUT_S = 30.0


@contextmanager
def httpbin_server() -> Iterator[tuple[str, str]]:
    """Yield two addresses of a running httpbin, on two ports; skip the test if it is not installed."""
    folder = external_tools.httpbin()
    if folder is None:
        pytest.skip("httpbin cannot be installed here")
    with ExitStack() as stack:
        listeners = [stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=512)) for _ in range(2)]
        files = [listener.fileno() for listener in listeners]
        command = [sys.executable, "-m", "gunicorn", "--worker-class", "gthread", "--threads", str(_THREADS)]
        command += ["--log-level", "error", "--graceful-timeout", "1"]
        command += [word for file in files for word in ("--bind", f"fd://{file}")]
        process = subprocess.Popen(
            [*command, "httpbin:app"],
            env=os.environ | {"PYTHONPATH": str(folder)},
            pass_fds=files,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            first, second = (f"http://127.0.0.1:{listener.getsockname()[1]}" for listener in listeners)
            yield first, second
        finally:
            process.terminate()
            try:
                process.wait(_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
