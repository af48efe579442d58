"""A small crawl, and its pages on loopback. Made once; tests that change the folder make one of their own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.web.live_server import client_of, served
from tests.web.small_crawl import make_small_crawl


@pytest.fixture(scope="session")
def small_crawl(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A crawl folder with an estimate and an index (see small_crawl.py)."""
    return make_small_crawl(tmp_path_factory.mktemp("small") / "harbour")


@pytest.fixture(scope="session")
def address(small_crawl: Path) -> Iterator[str]:
    """Where the pages of the small crawl are served."""
    with served(small_crawl) as where:
        yield where


@pytest.fixture(scope="session")
def client(address: str) -> Iterator[httpx.Client]:
    with client_of(address) as client:
        yield client
