"""Sitemaps (sitemaps.org): the pages of a crawl, and when their current version was fetched.

A file holds at most 50,000 URLs and 50 MiB. A larger sitemap is an index NAME.xml of NAME-1.xml, NAME-2.xml and so on
in the same folder; their URLs are relative to `base`, by default the host of the first page.
"""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO, Self
from urllib.parse import quote

from orienteer.errors import InputError
from orienteer.exports.exported_crawl import ExportedCrawl
from orienteer.exports.exporter import Exporter, Written, exporter
from orienteer.exports.page_texts import iso_time
from orienteer.exports.staging import Staging
from orienteer.graph.formats.xml_text import as_text
from orienteer.progress import Progress
from orienteer.url import canonical_url

MAX_URLS = 50_000
MAX_BYTES = 50 << 20

_SPACE = "http://www.sitemaps.org/schemas/sitemap/0.9"
_XML = b'<?xml version="1.0" encoding="UTF-8"?>\n'
_HEAD = _XML + f'<urlset xmlns="{_SPACE}">\n'.encode()
_END = b"</urlset>\n"


@exporter
class Sitemap(Exporter):
    name = "sitemap"
    about = "the URLs of the pages as sitemap.xml, as an index of several files if it is too large"
    suffixes = (".xml",)

    def __init__(self, base: str | None = None) -> None:
        self._base = None if base is None else canonical_url(base)
        if base is not None and self._base is None:
            raise InputError(f"base is {base!r}; it must be the URL of the sitemap")

    def write(self, crawl: ExportedCrawl, staging: Staging, progress: Progress) -> Written:
        selected = crawl.distinct(archived=False)
        base = self._base
        with _SitemapFiles(staging) as files:
            for row, url in crawl.rows(selected, "writing URLs"):
                base = base or canonical_url("/", url)
                files.add(url, row.time)
        if len(files.paths) == 1:
            files.paths[0].rename(staging.main)
        else:
            _write_index(staging.main, files.paths, base)
        return Written(int(selected.sum()))


class _SitemapFiles:
    """Writes as many sitemap files as are needed."""

    def __init__(self, staging: Staging) -> None:
        self.paths: list[Path] = []
        self._staging = staging
        self._out: BinaryIO | None = None
        self._n_urls = self._n_bytes = 0

    def add(self, url: str, time: float) -> None:
        entry = f"<url><loc>{as_text(url)}</loc><lastmod>{iso_time(time)}</lastmod></url>\n".encode()
        is_full = self._n_urls == MAX_URLS or self._n_bytes + len(entry) + len(_END) > MAX_BYTES
        if self._out is None or is_full:
            self._out = self._begin()
        self._out.write(entry)
        self._n_urls += 1
        self._n_bytes += len(entry)

    def _begin(self) -> BinaryIO:
        self._end()
        stem = self._staging.name.removesuffix(".xml")
        self.paths.append(self._staging.sibling(f"{stem}-{len(self.paths) + 1}.xml"))
        out = self.paths[-1].open("wb")
        out.write(_HEAD)
        self._n_urls, self._n_bytes = 0, len(_HEAD)
        return out

    def _end(self) -> None:
        out, self._out = self._out, None
        if out is not None:
            with out:
                out.write(_END)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._end()


def _write_index(path: Path, files: list[Path], base: str | None) -> None:
    with path.open("wb") as out:
        out.write(_XML + f'<sitemapindex xmlns="{_SPACE}">\n'.encode())
        for file in files:
            url = canonical_url(quote(file.name), base) or file.name
            out.write(f"<sitemap><loc>{as_text(url)}</loc></sitemap>\n".encode())
        out.write(b"</sitemapindex>\n")
