"""The built-in fetchers fulfill the contract of fetchers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from orienteer.errors import OrienteerError
from orienteer.fetch.fetcher import Fetcher, make_fetcher
from orienteer.fetch.settings import FetchSettings
from orienteer.pages.outcome import Outcome
from orienteer.pages.states import PageState
from orienteer.responses.response import PageRequest
from orienteer.store.folder import CrawlFolder
from orienteer.store.page_row import PageRow
from orienteer.store.record import ArchivedResponse
from tests.fake_web.fake_response import FakeResponse
from tests.fake_web.server import FakeWeb
from tests.fake_web.site import MadeSite
from tests.fetch.contract import FetcherContract, StoredResponse, all_responses


class TestLibcurl(FetcherContract):
    @contextmanager
    def opened(self, pages: Mapping[str, StoredResponse], folder: Path) -> Iterator[Fetcher]:
        site = MadeSite(
            {url: FakeResponse(stored.body, stored.status, stored.headers, None) for url, stored in pages.items()}
        )
        with FakeWeb(site) as web:
            settings = FetchSettings(connect_to=web.address, timeout_s=300.0)
            with closing(make_fetcher(settings)) as fetcher:
                yield fetcher


class TestArchive(FetcherContract):
    @contextmanager
    def opened(self, pages: Mapping[str, StoredResponse], folder: Path) -> Iterator[Fetcher]:
        made_crawl(folder / "crawl", pages)
        with closing(make_fetcher(FetchSettings(fetcher=f"archive:path={folder / 'crawl'}"))) as fetcher:
            yield fetcher


def made_crawl(path: Path, pages: Mapping[str, StoredResponse]) -> None:
    """A crawl folder whose archive has these responses."""
    with CrawlFolder.create(path, '[crawl]\nseeds = ["http://contract.test/"]\n') as folder:
        folder.database.urls.add(0, list(pages))
        for page, (url, stored) in enumerate(pages.items()):
            lines = [f"HTTP/1.1 {stored.status} -", *(f"{name}: {value}" for name, value in stored.headers), "", ""]
            position = folder.archive.append(ArchivedResponse(url, 1.7e9, "\r\n".join(lines).encode(), stored.body))
            row = PageRow(page, page, PageState.FETCHED, "ok", stored.status)
            folder.database.pages.add(
                row._replace(
                    archive_file=position.file, archive_offset=position.offset, archive_bytes=position.size_bytes
                )
            )
        folder.acknowledge()


def test_an_archive_returns_recorded_outcomes(tmp_path: Path) -> None:
    rows = {
        "http://a.test/picture": ("unwanted type", 200, "image/png", Outcome.UNWANTED_TYPE),
        "http://a.test/slow": ("timed out", 0, "", Outcome.NO_RESPONSE),
        "http://a.test/teapot": ("http 418", 418, "", Outcome.CLIENT_ERROR),
        "http://a.test/private": ("robots.txt", 0, "", Outcome.NO_RESPONSE),
    }
    with CrawlFolder.create(tmp_path / "crawl", '[crawl]\nseeds = ["http://a.test/"]\n') as folder:
        folder.database.urls.add(0, list(rows))
        for page, (outcome, status, kind, _) in enumerate(rows.values()):
            folder.database.pages.add(
                PageRow(page, page, PageState.FAILED, outcome, status, time=1.7e9, content_type=kind)
            )
        folder.acknowledge()
    with closing(make_fetcher(FetchSettings(fetcher=f"archive:path={tmp_path / 'crawl'}"))) as fetcher:
        responses = all_responses(fetcher, *(PageRequest(url, page) for page, url in enumerate(rows)))
    assert [response.outcome for response in responses] == [expected for *_, expected in rows.values()]


@pytest.mark.parametrize(
    ("spec", "complaint"),
    [
        ("libcurll", "did you mean 'libcurl'"),
        ("archive", "which archive"),
        ("archive:old", "write name=value"),
        ("archive:folder=old", "no setting of archive named 'folder'"),
        ("archive:path=nowhere", "no such crawl folder"),
    ],
)
def test_errors_are_one_line(spec: str, complaint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(OrienteerError, match=complaint):
        make_fetcher(FetchSettings(fetcher=spec))
