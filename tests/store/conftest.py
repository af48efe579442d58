"""Fixtures: an object store, and a web whose archive is stored there."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fake_web.server import FakeWeb
from tests.store.object_stores import BUCKET, CREDENTIALS, S3Server
from tests.store.stored_crawls import small_site


@pytest.fixture(scope="module")
def s3_server() -> Iterator[S3Server]:
    with S3Server() as running:
        yield running


@pytest.fixture
def store(s3_server: S3Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[S3Server]:
    """An empty, reachable store; its endpoint and credentials are in the environment."""
    for name, value in (CREDENTIALS | {"AWS_ENDPOINT_URL": s3_server.endpoint}).items():
        monkeypatch.setenv(name, value)
    for name in ("AWS_PROFILE", "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    s3_server.is_open, s3_server.cut_to = True, None
    s3_server.requests.clear()
    yield s3_server
    s3_server.is_open, s3_server.cut_to = True, None


@pytest.fixture
def there(tmp_path: Path) -> str:
    """The URL of a prefix that no other test uses."""
    return f"s3://{BUCKET}/{hashlib.sha256(str(tmp_path).encode()).hexdigest()[:12]}"


@pytest.fixture(scope="module")
def stored_web() -> Iterator[FakeWeb]:
    with FakeWeb(small_site()) as running:
        yield running
