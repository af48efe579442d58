"""WARC: the links of the HTML pages in an archive (.warc, .warc.gz, .warc.zst).

A response with HTML and a 2xx status is a page with its links; a redirect is a page with one link. What they link to
is a page too, known but not fetched. Ids are in order of discovery. Where a URL was recorded twice the last record
counts; a `revisit` says that nothing changed, so it counts only for a URL with no record before it.

Memory is bounded by the URLs and links, whatever the archive holds: no record is read beyond MAX_PAGE_BYTES, neither
as stored nor decompressed. fastwarc takes a truncated archive for a finished one, so lengths are checked here.
"""

from __future__ import annotations

import gzip
import warnings
import zlib
from array import array
from collections.abc import Container, Generator, Iterable, Iterator
from contextlib import closing, suppress
from enum import IntEnum
from itertools import chain
from pathlib import Path
from typing import BinaryIO, Literal, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from orienteer.errors import GraphFileError
from orienteer.extract.links import extract_links
from orienteer.files.compressed import byte_blocks
from orienteer.graph.hosts import host_ids
from orienteer.graph.link_graph import LinkGraph
from orienteer.graph.url_table import GrowingUrlTable
from orienteer.progress import Progress, silent
from orienteer.url import canonical_url

with warnings.catch_warnings():
    # fastwarc 1.1 trips over its own deprecated classes while it is imported.
    warnings.simplefilter("ignore", DeprecationWarning)
    from fastwarc.warc import ArchiveIterator, WarcRecord

MAX_PAGE_BYTES = 32 << 20
MAX_CODINGS = 4  # of one payload; each layer of a header that asks for thousands would take its buffers

HTML_TYPES = frozenset(("text/html", "application/xhtml+xml"))
NOT_MODIFIED = 304  # there is a page, in another record
REFUSALS = frozenset((401, 402, 403, 407, 429, 451))  # there may be a page, but it was not shown


class Answer(IntEnum):
    """What an archive has of a page."""

    NONE = 0  # it is only linked to, was refused, or is known only to be unchanged
    PAGE = 1
    REDIRECT = 2
    NO_PAGE = 3  # an error, an image: something without links


class ArchivedWeb(NamedTuple):
    """The graph of an archive, and for each of its pages the Answer there is."""

    graph: LinkGraph
    answers: NDArray[np.uint8]


def read(path: Path, progress: Progress = silent) -> LinkGraph:
    links = _Links()
    _read_file(path, links, progress)
    return links.graph()


def read_archives(paths: Iterable[Path], first_urls: Iterable[str] = (), progress: Progress = silent) -> ArchivedWeb:
    """The web in several files of one archive; `first_urls` have the first ids. Here what is no page is one too."""
    links = _Links(with_no_pages=True)
    links.know(first_urls)
    for path in paths:
        try:
            _read_file(path, links, progress)
        except GraphFileError as error:
            raise GraphFileError(f"{path}: {error}") from None
    return ArchivedWeb(links.graph(), links.answers())


class HtmlPage(NamedTuple):
    """A page as it was sent; `charset` is what the HTTP header says."""

    url: str
    html: bytes
    charset: str | None


def html_pages(path: Path, progress: Progress = silent) -> Iterator[HtmlPage]:
    """The HTML pages of an archive, record by record: where a URL was recorded twice it comes twice."""
    for _, url, block in _answers_of(path, ("response",), progress):
        with suppress(OSError):  # endless headers
            response = _response(block, "none")
            html = _html(block, response)
            if html is not None:
                yield HtmlPage(url, html, _charset(response))


def _read_file(path: Path, links: _Links, progress: Progress) -> None:
    for kind, url, block in _answers_of(path, ("response", "revisit"), progress):
        answer, found = _read_response(block, url)
        if answer is Answer.NONE or (answer is Answer.NO_PAGE and not links.with_no_pages):
            continue
        if kind == "response" or not links.is_recorded(url):
            links.add(url, answer, found)


def _answers_of(path: Path, kinds: Container[str], progress: Progress) -> Iterator[tuple[str, str, bytes]]:
    """The records of these kinds, as kind, URL and content; what is wrong with the file is one line."""
    n_records = 0
    with closing(_blocks(path, lambda _, done, total: progress("reading records", done, total))) as blocks:
        try:
            for record in _records(blocks):
                kind = (record.headers.get("WARC-Type") or "").lower()
                block, url = _block(record, kind in kinds), _url_of(record)
                n_records += 1
                if block is not None and url is not None:
                    yield kind, url, block
        except GraphFileError as error:
            raise GraphFileError(f"{error}; records read before that: {n_records:,}") from None
        except OSError as error:
            if error.errno is not None:  # of the system, not of fastwarc
                raise
            if n_records:
                why = f"the archive is corrupt ({error})"
                raise GraphFileError(f"{why}; records read before that: {n_records:,}") from None
    if not n_records:
        raise GraphFileError("no WARC records in it")


def _blocks(path: Path, progress: Progress) -> Generator[bytes, None, None]:
    """The decompressed bytes, block by block. A truncated .gz gives all it holds first: its records are counted."""
    if path.suffix.lower() != ".gz":
        yield from byte_blocks(path, progress)
        return
    size = path.stat().st_size
    with path.open("rb") as raw, gzip.GzipFile(fileobj=raw) as stream:
        try:
            while block := stream.read1(1 << 20):
                progress("reading", raw.tell(), size)
                yield block
        except EOFError:
            raise GraphFileError("the archive is truncated") from None
        except (gzip.BadGzipFile, zlib.error) as error:
            raise GraphFileError(f"the archive is corrupt ({error})") from None


def _records(blocks: Iterator[bytes]) -> ArchiveIterator:
    first = next(blocks, b"")
    # Some collections (ClueWeb09) end header lines in a bare \n. The mode that reads them also skips over rubbish
    # between records, so it is for them alone.
    bare = not first.partition(b"\n")[0].endswith(b"\r")
    stream = cast(BinaryIO, _Stream(chain((first,), blocks)))
    return ArchiveIterator(stream, parse_http=False, quirks_mode=bare, stream_detect=False)


class _Stream:
    """Blocks of bytes as the file object that fastwarc reads from."""

    def __init__(self, blocks: Iterator[bytes]) -> None:
        self._blocks = blocks
        self._rest = memoryview(b"")
        self._position = 0

    def read(self, size: int) -> bytes:
        if not self._rest:
            self._rest = memoryview(next(self._blocks, b""))
        piece, self._rest = bytes(self._rest[:size]), self._rest[size:]
        self._position += len(piece)
        return piece

    def tell(self) -> int:
        return self._position


class _Links:
    """The links found so far, record by record, in flat arrays."""

    def __init__(self, with_no_pages: bool = False) -> None:
        self.with_no_pages = with_no_pages
        self._urls = GrowingUrlTable()
        self._pages = array("q")  # the page of each record
        self._answers = array("B")  # what the record says of it
        self._n_links = array("q")  # the number of its links
        self._targets = array("I")
        self._recorded: set[int] = set()

    def know(self, urls: Iterable[str]) -> None:
        self._urls.intern(urls)

    def add(self, url: str, answer: Answer, links: list[str]) -> None:
        """The page at `url` has these links, and no longer those of an earlier record."""
        ids = self._urls.intern([url, *links])
        self._pages.append(int(ids[0]))
        self._answers.append(answer)
        self._n_links.append(len(links))
        self._targets.frombytes(ids[1:].astype(np.uint32).tobytes())
        self._recorded.add(int(ids[0]))

    def is_recorded(self, url: str) -> bool:
        return int(self._urls.intern([url])[0]) in self._recorded

    def answers(self) -> NDArray[np.uint8]:
        answers = np.zeros(len(self._urls), np.uint8)
        answers[np.frombuffer(self._pages, np.int64)] = np.frombuffer(self._answers, np.uint8)
        return answers

    def graph(self) -> LinkGraph:
        pages = np.frombuffer(self._pages, np.int64)
        n_links = np.frombuffer(self._n_links, np.int64)
        last_record = np.full(len(self._urls), -1, np.int64)
        last_record[pages] = np.arange(len(pages))  # of repeated pages, the last assignment stays
        counts = np.repeat(last_record[pages] == np.arange(len(pages)), n_links)
        sources = np.repeat(pages, n_links)[counts]
        targets = np.frombuffer(self._targets, np.uint32)[counts]
        urls = self._urls.freeze()
        hosts, _ = host_ids(urls)
        return LinkGraph.from_links(len(urls), sources, targets, hosts, urls)


def _url_of(record: WarcRecord) -> str | None:
    # Old writers put the URI in angle brackets, as the standard's examples did.
    return canonical_url((record.headers.get("WARC-Target-URI") or "").strip("<>"))


def _block(record: WarcRecord, wanted: bool) -> bytes | None:
    """The record's content block, to its end; None if it is not wanted or too long."""
    promised = record.headers.get("Content-Length") or ""
    if not promised.isdecimal() or len(promised) > 18:
        raise GraphFileError("the archive is truncated or corrupt")
    block = None
    if wanted and record.content_length <= MAX_PAGE_BYTES:
        block = b"".join(iter(lambda: record.reader.read(1 << 20), b""))
        n_bytes = len(block)
    else:
        n_bytes = record.consume()
    if n_bytes < int(promised):
        raise GraphFileError("the archive is truncated")
    return block


def _read_response(block: bytes, url: str) -> tuple[Answer, list[str]]:
    """What an HTTP response as it came over the wire is, and its links."""
    try:
        response = _response(block, "none")
    except OSError:  # endless headers
        return Answer.NO_PAGE, []
    status = response.http_headers.status_code or 0
    if status == NOT_MODIFIED or status in REFUSALS or status >= 500:
        return Answer.NONE, []
    if 300 <= status < 400:
        location = response.http_headers.get_bytes(b"Location")
        target = None if location is None else canonical_url(location.decode("utf-8", "replace"), url)
        return (Answer.NO_PAGE, []) if target is None else (Answer.REDIRECT, [target])
    html = _html(block, response)
    return (Answer.NO_PAGE, []) if html is None else (Answer.PAGE, extract_links(html, url, _charset(response)))


def _html(block: bytes, response: WarcRecord) -> bytes | None:
    """The page that a response holds; None where it is something else, or too long."""
    status = response.http_headers.status_code or 0
    if not 200 <= status < 300 or (response.http_content_type or "").lower() not in HTML_TYPES:
        return None
    return _payload(block, response)


def _charset(response: WarcRecord) -> str | None:
    return (response.http_charset or "").strip("\"' ") or None


def _response(block: bytes, decode: Literal["none", "all"]) -> WarcRecord:
    # A record of its own: whatever is wrong inside a response, the archive can be read on behind it.
    record = WarcRecord()
    record.set_bytes_content(block)
    record.is_http = True
    record.parse_http(decode, quirks_mode=True)
    return record


def _payload(block: bytes, response: WarcRecord) -> bytes | None:
    """The payload without its transfer and content codings; None if it is too long."""
    headers = response.http_headers
    codings = ",".join((*headers.get_multiple("Transfer-Encoding"), *headers.get_multiple("Content-Encoding")))
    as_stored = response.reader.read()
    if not codings or codings.count(",") >= MAX_CODINGS:
        return as_stored
    parts, n_bytes = [], 0
    try:
        reader = _response(block, "all").reader
        while n_bytes <= MAX_PAGE_BYTES and (part := reader.read(1 << 20)):
            parts.append(part)
            n_bytes += len(part)
    except OSError:
        # Cut off: what came before counts. Not coded at all: some archives keep the headers but store plain text.
        if not parts:
            return as_stored
    return b"".join(parts) if n_bytes <= MAX_PAGE_BYTES else None
