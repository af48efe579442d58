"""Page lists of an archive: `pages/pages.jsonl` and `pages/extraPages.jsonl`, in a WACZ or in a folder.

A line is a page, as JSON: `url`, `ts`, and optionally `title`, `text`, `seed`, `depth`. The first line describes the
list. Browsertrix writes both files, seeds into the first; ArchiveWeb.page writes one. Invalid lines are left out.
https://specs.webrecorder.net/wacz/1.1.1/
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, NamedTuple

from orienteer.url import canonical_url
from orienteer.warc.files import ZIP_ERRORS, is_wacz, zip_at

_NAMES = ("pages/pages.jsonl", "pages/extraPages.jsonl")
_ABOUT = "datapackage.json"
_MAX_LINE_BYTES = 16 << 20
_MAX_LIST_BYTES = 1 << 30
_MAX_ABOUT_BYTES = 16 << 20


class ListedPage(NamedTuple):
    """A page of a list; `text` is its rendered text, "" if it is not stated; `date` is the time of the capture."""

    url: str
    date: str = ""
    is_seed: bool = False
    text: str = ""


def listed_pages(path: Path) -> Iterator[ListedPage]:
    """Yield the pages in the lists of the archive at this path; none without a list."""
    if path.is_dir():
        for name in _NAMES:
            if (path / name).is_file():
                with (path / name).open("rb") as file:
                    yield from _pages_in(file, with_texts=True)
    elif is_wacz(path):
        with zip_at(path) as zipped:
            with_texts = not _is_ours(zipped)
            for name in _NAMES:
                if name in zipped.namelist():
                    try:
                        with zipped.open(name) as file:
                            yield from _pages_in(file, with_texts)
                    except ZIP_ERRORS:
                        continue


def _pages_in(file: IO[bytes], with_texts: bool) -> Iterator[ListedPage]:
    n_bytes = 0
    while n_bytes < _MAX_LIST_BYTES and (line := file.readline(_MAX_LINE_BYTES)):
        n_bytes += len(line)
        try:
            page = json.loads(line)
        except (ValueError, RecursionError):
            continue
        url = page.get("url") if isinstance(page, dict) else None
        found = canonical_url(url) if isinstance(url, str) else None
        if found is not None:
            text = _text(page.get("text")) if with_texts else ""
            yield ListedPage(found, _text(page.get("ts")), page.get("seed") is True, text)


def _is_ours(zipped: zipfile.ZipFile) -> bool:
    """Return whether Orienteer wrote it: then the texts can be computed from the records."""
    try:
        with zipped.open(_ABOUT) as file:
            return _text(json.loads(file.read(_MAX_ABOUT_BYTES)).get("software")).startswith("Orienteer ")
    except (KeyError, AttributeError, ValueError, RecursionError, *ZIP_ERRORS):
        return False


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
