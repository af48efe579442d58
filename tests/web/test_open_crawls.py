"""Which crawls of a library are open: few at a time, and none is closed under those who use it."""

from __future__ import annotations

from pathlib import Path

import pytest

from orienteer.errors import NotInLibraryError
from orienteer.library.library import Library
from orienteer.web.app import crawl_app
from orienteer.web.archived.pages import ArchivedPages
from orienteer.web.open_crawls import OpenCrawls
from tests.web.small_library import HARBOUR, OTHER, make_library


@pytest.fixture
def crawls(small_crawl: Path, tmp_path: Path) -> OpenCrawls:
    """No more than one is open, unless two are in use."""
    library = Library(make_library(tmp_path / "crawls", small_crawl))
    return OpenCrawls(library, lambda name, path: crawl_app(path, ArchivedPages(True)), max_open=1)


def test_an_unused_crawl_is_closed_for_another(crawls: OpenCrawls) -> None:
    first = crawls.get(HARBOUR)
    assert crawls.get(HARBOUR) is first
    crawls.get(OTHER)
    assert first.ending.is_set()
    with first.searching() as index:  # a request in flight still works, and nothing stays open
        assert index.search("charts").total
    assert crawls.get(HARBOUR) is not first
    crawls.close()


def test_what_is_in_use_stays_open(crawls: OpenCrawls) -> None:
    with crawls.using(HARBOUR) as first, first.searching() as index:
        with crawls.using(OTHER), crawls.archive_of(HARBOUR) as archive:
            assert archive is first.archive
            assert not first.ending.is_set()
        crawls.forget(HARBOUR)  # streaming responses end; others are completed
        assert first.ending.is_set()
        assert index.search("charts").total
        assert crawls.get(HARBOUR) is not first
    crawls.close()


def test_a_crawl_opened_at_shutdown_is_ending(crawls: OpenCrawls) -> None:
    crawls.end()
    assert crawls.get(HARBOUR).ending.is_set()
    with pytest.raises(NotInLibraryError):
        crawls.get("none")
    crawls.close()
