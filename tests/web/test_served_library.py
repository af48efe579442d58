"""Which crawls of a library are open: few at a time, and none is closed under those who use it."""

from __future__ import annotations

from pathlib import Path

import pytest
from fastapi import FastAPI

from orienteer.errors import NotInLibraryError
from orienteer.library.jobs import Jobs
from orienteer.library.library import Library
from orienteer.web.app import crawl_app
from orienteer.web.archived.origin import ArchivedPages
from orienteer.web.served_crawl import ServedCrawl
from orienteer.web.served_library import ServedLibrary
from tests.web.small_library import HARBOUR, OTHER, make_library


def _crawl_app(name: str, path: Path) -> FastAPI:
    return crawl_app(ServedCrawl(path), ArchivedPages(True))


@pytest.fixture
def crawls(small_crawl: Path, tmp_path: Path) -> ServedLibrary:
    """No more than one is open, unless two are in use."""
    library = Library(make_library(tmp_path / "crawls", small_crawl))
    return ServedLibrary(library, Jobs(library), _crawl_app, max_open=1)


def test_an_unused_crawl_is_closed_for_another(crawls: ServedLibrary) -> None:
    first = crawls.get(HARBOUR)
    assert crawls.get(HARBOUR) is first
    crawls.get(OTHER)
    assert first.ending.is_set()
    with first.searching() as index:  # a request in flight still works, and nothing stays open
        assert index.search("charts").total
    assert crawls.get(HARBOUR) is not first
    crawls.close()


def test_what_is_in_use_stays_open(crawls: ServedLibrary) -> None:
    with crawls.using(HARBOUR) as first, first.searching() as index:
        with crawls.using(OTHER), crawls.archive_of(HARBOUR) as archive:
            assert archive is first.archive
            assert not first.ending.is_set()
        crawls.forget(HARBOUR)  # streaming responses end; others are completed
        assert first.ending.is_set()
        assert index.search("charts").total
        assert crawls.get(HARBOUR) is not first
    crawls.close()


def test_a_crawl_opened_at_shutdown_is_ending(crawls: ServedLibrary) -> None:
    crawls.end()
    assert crawls.get(HARBOUR).ending.is_set()
    with pytest.raises(NotInLibraryError):
        crawls.get("none")
    crawls.close()
