"""Sitemaps of the pages of a crawl, and feeds of its changes.

Sitemaps (sitemaps.org) say when the current version of a page was fetched. A file holds at most 50,000 URLs and 50 MiB.
A larger sitemap is an index NAME.xml of NAME-1.xml, NAME-2.xml and so on in the same folder; their URLs are relative to
`base`, by default the host of the first page.

Atom feeds (RFC 4287) have an entry for each new, changed, missing and gone page and epoch, the newest first. The ids of
entries are stable, so that readers display each change once. The title of an entry names the kind of change.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, closing
from itertools import islice
from pathlib import Path
from typing import BinaryIO, NamedTuple, Self
from urllib.parse import quote

from orienteer import __version__
from orienteer.errors import InputError
from orienteer.exports.exported_crawl import ExportedCrawl
from orienteer.exports.exporter import Exporter, Staging, Written, exporter
from orienteer.exports.page_texts import iso_time
from orienteer.graph.formats.xml_text import as_text, as_value
from orienteer.inspect.captures import Captures
from orienteer.inspect.changes import Change, change_id, changes, crawl_id
from orienteer.inspect.text_changes import describe_change
from orienteer.progress import Progress
from orienteer.store.database import DatabaseView
from orienteer.url import canonical_url
from orienteer.wording import plain

MAX_URLS = 50_000
MAX_BYTES = 50 << 20

_SPACE = "http://www.sitemaps.org/schemas/sitemap/0.9"
_XML = b'<?xml version="1.0" encoding="UTF-8"?>\n'
_HEAD = _XML + f'<urlset xmlns="{_SPACE}">\n'.encode()
_END = b"</urlset>\n"

MEDIA_TYPE = "application/atom+xml"
DEFAULT_LIMIT = 1_000
_ATOM_SPACE = "http://www.w3.org/2005/Atom"
_LABELS = {"new": "New", "changed": "Changed", "missing": "Missing", "gone": "Gone"}
_MAX_TITLE_CHARS = 300
Describer = Callable[[Change], str]


def _base_of(base: str | None, what: str) -> str | None:
    url = None if base is None else canonical_url(base)
    if base is not None and url is None:
        raise InputError(f"base is {base!r}; it must be the URL of {what}")
    return url


@exporter
class Sitemap(Exporter):
    name = "sitemap"
    about = "the URLs of the pages as sitemap.xml, as an index of several files if it is too large"
    suffixes = (".xml",)

    def __init__(self, base: str | None = None) -> None:
        self._base = _base_of(base, "the sitemap")

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


class FeedHead(NamedTuple):
    """The metadata of a feed; `address` is its URL, `site` that of its HTML page, None if unknown."""

    id: uuid.UUID
    title: str
    updated: float
    address: str | None = None
    site: str | None = None


@exporter
class Atom(Exporter):
    name = "atom"
    about = "new, changed, missing and gone pages, as a feed"
    suffixes = (".atom", ".xml")

    def __init__(self, base: str | None = None, limit: int = DEFAULT_LIMIT) -> None:
        self._base = _base_of(base, "the feed")
        if limit < 1:
            raise InputError(f"limit is {limit}; a feed has at least one entry")
        self._limit = limit

    def write(self, crawl: ExportedCrawl, staging: Staging, progress: Progress) -> Written:
        head = feed_head(crawl.database, crawl.path.resolve().name)._replace(address=self._base)
        n_entries = 0

        def counted(changes: Iterable[Change]) -> Iterator[Change]:
            nonlocal n_entries
            for change in changes:
                progress("writing entries", n_entries, self._limit)
                n_entries += 1
                yield change

        with ExitStack() as stack:
            describe = _describer(crawl, stack, progress)
            out = stack.enter_context(staging.main.open("wb"))
            selected = (change for change in changes(crawl.database) if crawl.is_selected(change.page))
            for piece in feed(head, counted(islice(selected, self._limit)), describe):
                out.write(piece)
        return Written(n_entries)


def feed_head(database: DatabaseView, name: str) -> FeedHead:
    """Return the metadata for the feed of a crawl with this name."""
    times = database.history.times()
    return FeedHead(crawl_id(database), f"{name}: new, changed, missing and gone", 0.0 if times is None else times[1])


def feed(head: FeedHead, found: Iterable[Change], describe: Describer) -> Iterator[bytes]:
    """Yield the feed in pieces; `describe` returns the summary of a change."""
    own = "" if head.address is None else f'<link rel="self" type="{MEDIA_TYPE}" href="{as_value(head.address)}"/>\n'
    site = "" if head.site is None else f'<link rel="alternate" type="text/html" href="{as_value(head.site)}"/>\n'
    yield (
        f'<?xml version="1.0" encoding="UTF-8"?>\n<feed xmlns="{_ATOM_SPACE}">\n'
        f"<title>{as_text(plain(head.title))}</title>\n<id>{head.id.urn}</id>\n"
        f"<updated>{iso_time(head.updated)}</updated>\n{own}{site}"
        f"<author><name>Orienteer</name></author>\n"
        f'<generator version="{as_value(__version__)}">Orienteer</generator>\n'
    ).encode()
    for change in found:
        yield _entry(head.id, change, describe(change)).encode()
    yield b"</feed>\n"


def _entry(crawl: uuid.UUID, change: Change, summary: str) -> str:
    name = plain(change.title, _MAX_TITLE_CHARS) or plain(change.url, _MAX_TITLE_CHARS)
    return (
        f"<entry>\n<title>{_LABELS[change.kind]}: {as_text(name)}</title>\n<id>{change_id(crawl, change).urn}</id>\n"
        f'<updated>{iso_time(change.time)}</updated>\n<link rel="alternate" href="{as_value(change.url)}"/>\n'
        f'<category term="{change.kind}"/>\n<summary>{as_text(summary)}</summary>\n</entry>\n'
    )


def _describer(crawl: ExportedCrawl, stack: ExitStack, progress: Progress) -> Describer:
    """Return a function that describes changes; the archive is scanned at the first changed page."""
    captures: Captures | None = None

    def describe(change: Change) -> str:
        nonlocal captures
        if change.kind != "changed" or change.redirects_to is not None:
            return change.describe()
        if captures is None:
            captures = stack.enter_context(closing(Captures(crawl.path)))
            captures.update(progress)
        return describe_change(captures, change)

    return describe
