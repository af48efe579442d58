"""The contract of fetchers for that of the example package; to be run where that package is installed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path

from orienteer.fetch.fetcher import Fetcher, make_fetcher
from orienteer.fetch.settings import FetchSettings
from tests.fetch.contract import FetcherContract, StoredResponse


class TestDictionary(FetcherContract):
    @contextmanager
    def opened(self, pages: Mapping[str, StoredResponse], folder: Path) -> Iterator[Fetcher]:
        pages_of_file = {url: (one.status, one.headers, one.body.decode("latin-1")) for url, one in pages.items()}
        (folder / "pages.json").write_text(json.dumps(pages_of_file), encoding="utf-8")
        with closing(make_fetcher(FetchSettings(fetcher=f"dictionary:pages={folder / 'pages.json'}"))) as fetcher:
            yield fetcher
