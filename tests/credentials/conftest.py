"""Fixtures for tests of credentials: a credentials file, and crawls that use it."""

from __future__ import annotations

import gzip
import os
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import trustme

from orienteer.inspect.run_report import Report
from orienteer.live.session import live_crawl
from tests.credentials.servers import Recorder

WriteAccess = Callable[..., Path]


@pytest.fixture
def write_access(tmp_path: Path) -> WriteAccess:
    """Write a private credentials file."""

    def write(text: str, name: str = "access.toml", mode: int = 0o600) -> Path:
        path = tmp_path / name
        path.write_text(text)
        path.chmod(mode)
        return path

    return write


@pytest.fixture(scope="package")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture(scope="package")
def ca_file(authority: trustme.CA, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("authority") / "ca.pem"
    authority.cert_pem.write_to_path(path)
    return path


@pytest.fixture(scope="package")
def tls(authority: trustme.CA) -> ssl.SSLContext:
    """TLS of a server for these hosts, with optional client certificates."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("vault.test", "other.test").configure_cert(context)
    authority.configure_trust(context)
    context.verify_mode = ssl.CERT_OPTIONAL
    return context


def crawled(web: Recorder, seeds: str | list[str], folder: Path, **named: Any) -> Report:
    """A fast crawl; the tables of `settings` override those here."""
    tables: dict[str, dict[str, Any]] = {
        "crawl": {"workers": 4, "stop_when": "proved", "processes": 1, "commit_every_s": 0.05},
        "politeness": {"delay_s": 0.0, "connections": 4},
        "fetch": {"connect_to": web.address, "timeout_s": 120.0},
        "retry": {"back_off_s": 0.01, "max_back_off_s": 0.05},
    }
    for name, table in named.pop("settings", {}).items():
        tables.setdefault(name, {}).update(table)
    return live_crawl(seeds, folder, **{"scope": "web", **named}, settings=tables)


def files_with(secret: str, folder: Path) -> list[str]:
    """Return the files of a folder that contain a text, also after decompression."""
    found = []
    for path in sorted(folder.rglob("*")):
        if not path.is_file():
            continue
        data = path.read_bytes()
        if data[:2] == b"\x1f\x8b":
            data += gzip.decompress(data)
        if secret.encode() in data or secret in path.name:
            found.append(os.fspath(path.relative_to(folder)))
    return found
