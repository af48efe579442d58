"""The pages of a crawl folder on a free port of loopback, in a thread."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
from fastapi import FastAPI

from orienteer.web.app import create_app
from orienteer.web.server import PageServer, listening, next_listener


@contextmanager
def served(folder: Path, app: FastAPI | None = None, **options: Any) -> Iterator[str]:
    """The address of the pages, such as `http://127.0.0.1:40000`; the options are those of create_app."""
    app = app or create_app(folder, **options)
    server = PageServer(app)
    with listening("127.0.0.1", 0) as listener, next_listener(listener) as archive_listener:
        thread = threading.Thread(target=server.serve_on, args=(listener, archive_listener), name="pages", daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            app.state.served.end()
            server.should_exit = True
            thread.join(600)  # kernels may be compiling
            app.state.served.close()
    assert not thread.is_alive()


def client_of(address: str, **options: Any) -> httpx.Client:
    """One who asks there, and is patient: the first map waits for the compiler."""
    return httpx.Client(base_url=address, trust_env=False, timeout=600, **options)
