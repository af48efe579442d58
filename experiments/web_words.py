"""The words of the pages and links of real webs, taken from their archived HTML."""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orienteer.extract.page import extract_page
from orienteer.extract.tokens import link_tokens, page_tokens
from orienteer.files.compressed import byte_blocks
from orienteer.graph.link_graph import LinkGraph
from orienteer.policies.focused import WebText
from orienteer.progress import Progress, silent
from orienteer.url import canonical_url


def words_of(graph: LinkGraph, archive: Path, progress: Progress = silent) -> WebText:
    """The hashed words of a web with URLs; a page that is not in the archive has none."""
    assert graph.urls is not None
    urls = list(graph.urls)
    html = dict(archived_pages(archive))
    links: list[NDArray[np.uint32]] = []
    words: list[NDArray[np.uint32]] = []
    for page, url in enumerate(urls):
        progress(f"reading {archive.name}", page, len(urls))
        content = extract_page(next((html[name] for name in _names(url) if name in html), b""), url)
        anchors: dict[str, str] = {}
        for target, text in content.anchors:
            for name in _names(target):
                anchors[name] = f"{anchors[name]} {text}" if name in anchors else text
        words.append(page_tokens(content.text))
        for target_page in graph.links(page):
            target_url = urls[target_page]
            said = next((anchors[name] for name in _names(target_url) if name in anchors), "")
            links.append(link_tokens(said, target_url))
    return WebText(*_rows(links), *_rows(words))


def archived_pages(archive: Path) -> Iterator[tuple[str, bytes]]:
    """The pages of an archive (.tar.zst, or .jsonl.zst) by their URLs without the scheme."""
    unpacked = io.BytesIO(b"".join(byte_blocks(archive)))
    if ".jsonl" in archive.suffixes:
        for line in unpacked:
            page: dict[str, Any] = json.loads(line)
            yield _names(page["url"])[0], page["html"].encode()
        return
    with tarfile.open(fileobj=unpacked) as tar:
        for member in tar:
            file = tar.extractfile(member) if member.isfile() else None
            if file is not None:
                yield member.name, file.read()


def _names(url: str) -> tuple[str, str]:
    """How a page may be called: without its scheme, and as the index of its folder."""
    bare = (canonical_url(url) or url).partition("://")[2]
    other = bare.removesuffix("index.html") if bare.endswith("/index.html") else bare.rstrip("/") + "/index.html"
    return bare, other


def _rows(rows: list[NDArray[np.uint32]]) -> tuple[NDArray[np.int64], NDArray[np.uint32]]:
    offsets = np.cumsum([0, *map(len, rows)]).astype(np.int64)
    return offsets, np.concatenate([np.empty(0, np.uint32), *rows])
