"""A library with the small crawl in it, another one that is indexed, a damaged one, and a link that is none."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
from fastapi import FastAPI

from orienteer.web.app import create_library_app
from tests.cli.live_process import wait_until
from tests.web.live_server import client_of, served

HARBOUR, OTHER, DAMAGED, LINK = "harbour", "other town", "broken", "link"


def make_library(path: Path, crawl: Path) -> Path:
    path.mkdir(mode=0o700)
    shutil.copytree(crawl, path / HARBOUR)
    shutil.copytree(crawl, path / OTHER)
    (path / DAMAGED).mkdir()
    (path / DAMAGED / "crawl.db").write_bytes(b"no database")
    (path / LINK).symlink_to(crawl)
    return path


@contextmanager
def served_library(path: Path, **options: Any) -> Iterator[tuple[httpx.Client, FastAPI]]:
    """One who asks there, and the application; the options are those of create_library_app."""
    app = create_library_app(path, **options)
    with served(path, app) as address, client_of(address) as client:
        yield client, app


def ended_job(client: httpx.Client, id: str) -> dict[str, Any]:
    """A job, once it is over."""

    def job() -> dict[str, Any]:
        found: dict[str, Any] = client.get(f"/api/jobs/{id}").json()
        return found

    wait_until(lambda: job()["state"] not in ("starting", "running", "stopping"))
    return job()


def heading(response: httpx.Response) -> str:
    found = re.search(r"<h1[^>]*>(.*?)</h1>", response.text, re.DOTALL)
    return "" if found is None else found[1]


def notice(response: httpx.Response) -> str:
    found = re.search(r'<p class="notice" role="alert">(.*?)</p>', response.text, re.DOTALL)
    return "" if found is None else found[1]
