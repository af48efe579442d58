"""A library with a tiny crawl, made without a network."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import orienteer as ori
from orienteer.library.library import Library
from tests.imports.made_collections import response, write

A = "http://a.test"


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A crawl of two pages; tests copy it."""
    folder = tmp_path_factory.mktemp("tiny")
    write(folder / "x.warc", [response(f"{A}/", "<a href=/1>words"), response(f"{A}/1", "more words")])
    ori.import_crawl(folder / "x.warc", folder / "crawl")
    return folder / "crawl"


@pytest.fixture
def library(tiny: Path, tmp_path: Path) -> Library:
    """A library with a single crawl, a.test."""
    library = Library(tmp_path / "crawls")
    library.make()
    shutil.copytree(tiny, library.path / "a.test")
    return library
