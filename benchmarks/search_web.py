"""The web for search benchmarks: the real pages of three data sets, and more made of their sections.

Real are the pages of 36 documentation hosts, an encyclopedia for schools, and university pages of 1997. Where they are
not enough, long ones are cut at their second-level headings, and the sections become pages of their own: their words
are real, their number and their links are not. A directory, which asks not to be indexed and whose links say nothing,
leads to all of them, so that a crawl can get everywhere.
"""

from __future__ import annotations

import html
import io
import json
import re
import tarfile
from collections.abc import Iterator
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

from backports import zstd

from benchmarks.sizes import DATA
from orienteer.ledger.settings import EstimateSettings
from orienteer.live.session import live_crawl
from orienteer.side_crawls.estimate import live_estimate
from orienteer.url import canonical_url
from tests.fake_web.page_site import PageSite
from tests.fake_web.process import FakeWebProcess

SETS = ("dev-docs-web.tar.zst", "schools-wikipedia-articles.tar.zst", "webkb-dev.jsonl.zst")
_DIRECTORY = "directory.test"
_LINKS_PER_LIST = 500
_MIN_PART_BYTES = 1_500
_HEADING = re.compile(rb"<h2\b", re.IGNORECASE)
_HEADING_TEXT = re.compile(rb"<h2\b[^>]*>(.*?)</h2>", re.IGNORECASE | re.DOTALL)
_TITLE = re.compile(rb"<title\b[^>]*>(.*?)</title>", re.IGNORECASE | re.DOTALL)
_TAG = re.compile(rb"<[^>]*>")

File = tuple[str, bytes]  # its name is <host>/<path>


class SearchWeb(NamedTuple):
    """Where the files are, their hosts, and how many of the pages are unmodified."""

    path: Path
    hosts: list[str]
    n_real: int
    n_made: int


def real_pages(name: str) -> Iterator[File]:
    """The pages of a data set."""
    with zstd.open(DATA / name, "rb") as stream:
        if name.endswith(".jsonl.zst"):
            for line in io.TextIOWrapper(stream, encoding="utf-8"):
                page = json.loads(line)
                url = canonical_url(page["url"])
                if url is not None and "?" not in url:  # files have no query
                    bare = unquote(url.partition("://")[2], errors="replace")
                    yield bare + "index.html" if bare.endswith("/") else bare, page["html"].encode()
            return
        with tarfile.open(fileobj=stream, mode="r|") as tar:
            for member in tar:
                file = tar.extractfile(member) if member.isfile() else None
                if file is not None and member.name.endswith((".html", ".htm")):
                    yield member.name, file.read()


def sections_of(page: File) -> Iterator[File]:
    """The stretches of a page between its second-level headings, as pages."""
    name, body = page
    starts = [match.start() for match in _HEADING.finditer(body)]
    found = _TITLE.search(body)
    title = _text(found[1]) if found else ""
    for number, (start, stop) in enumerate(pairwise([*starts, len(body)]), 1):
        part = body[start:stop]
        heading = _HEADING_TEXT.match(part)
        if len(part) >= _MIN_PART_BYTES and heading:
            head = f"<title>{html.escape(_text(heading[1]))} ({html.escape(title)})</title>"
            yield f"{name}.sections/{number}.html", head.encode() + part


def written_web(path: Path, n_pages: int) -> SearchWeb:
    """Write the files of at least so many pages, if there are so many, as an archive."""
    names: dict[str, None] = {}
    n_real = 0
    with tarfile.open(path, "w") as tar:

        def write(page: File) -> None:
            name, body = page
            if name not in names:
                names[name] = None
                entry = tarfile.TarInfo(name)
                entry.size = len(body)
                tar.addfile(entry, io.BytesIO(body))

        for data_set in SETS:
            for page in real_pages(data_set):
                write(page)
        n_real = len(names)
        for part in chain.from_iterable(sections_of(page) for name in SETS[1::-1] for page in real_pages(name)):
            if len(names) >= n_pages:
                break
            write(part)
        hosts = list(dict.fromkeys(name.partition("/")[0] for name in names))
        n_made = len(names) - n_real
        for page in directory(list(names)):
            write(page)
    return SearchWeb(path, hosts, n_real, n_made)


def directory(names: list[str]) -> Iterator[File]:
    """Pages that lead to all of these."""
    lists = [names[start : start + _LINKS_PER_LIST] for start in range(0, len(names), _LINKS_PER_LIST)]
    yield f"{_DIRECTORY}/index.html", _links([f"{_DIRECTORY}/{number}.html" for number in range(len(lists))])
    for number, listed in enumerate(lists):
        yield f"{_DIRECTORY}/{number}.html", _links(listed)


def _links(names: list[str]) -> bytes:
    urls = (url for name in names if (url := canonical_url("http://" + name.removesuffix("index.html"))) is not None)
    links = "".join(f'<a href="{html.escape(url)}">.</a>' for url in urls)
    return f'<meta name="robots" content="noindex">{links}'.encode()


def _text(markup: bytes) -> str:
    return " ".join(html.unescape(_TAG.sub(b" ", markup).decode(errors="replace")).split())


def crawl(web: SearchWeb, folder: Path) -> None:
    """Crawl all of it."""
    seeds = [f"http://{host}/" for host in (_DIRECTORY, *web.hosts)]
    with FakeWebProcess(PageSite, str(web.path)) as served:
        live_crawl(seeds, folder, scope="host", policy="breadth-first", settings=_hasty(served.address))


def crawl_set(name: str, folder: Path) -> None:
    """Crawl all pages of a data set."""
    crawl(written_files(folder.with_suffix(".tar"), dict(real_pages(name))), folder)


def written_files(path: Path, files: dict[str, bytes]) -> SearchWeb:
    """Write an archive of these files, all pages, and a directory that leads to every one."""
    with tarfile.open(path, "w") as tar:
        for name, body in (*files.items(), *directory(list(files))):
            entry = tarfile.TarInfo(name)
            entry.size = len(body)
            tar.addfile(entry, io.BytesIO(body))
    return SearchWeb(path, list(dict.fromkeys(name.partition("/")[0] for name in files)), len(files), 0)


def crawl_site(archive: Path, seed: str, folder: Path) -> None:
    """Crawl a host that is in an archive."""
    with FakeWebProcess(PageSite, str(archive)) as served:
        live_crawl(seed, folder, scope="host", settings=_hasty(served.address))


def crawl_with_neighborhood(folder: Path) -> int:
    """Crawl docs.python.org, and estimate what its pages are worth in a world of 36 hosts; the pages fetched for it."""
    with FakeWebProcess(PageSite, str(DATA / SETS[0])) as served:
        settings = _hasty(served.address)
        # There are links to many hosts that are not here, nor could be asked by TLS.
        settings["fetch"] |= {"connect_timeout_s": 0.2, "timeout_s": 2.0}
        settings["retry"] = {"max_attempts": 1, "back_off_s": 0.01, "max_back_off_s": 0.01, "give_up_after": 1}
        live_crawl("http://docs.python.org/3/", folder, scope="host", settings=settings)
        return live_estimate(folder, EstimateSettings(budget=2_000, rounds=20)).n_fetched


def _hasty(address: str) -> dict[str, dict[str, Any]]:
    return {
        "crawl": {"robots": False},
        "politeness": {"delay_s": 0.0, "connections": 16},
        "fetch": {"connect_to": address},
    }
