"""The real webs that focused crawling is measured on, with the words of their pages and links.

Words are taken from the archived HTML once and kept in the system's temporary folder.
"""

from __future__ import annotations

import gzip
import io
import json
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from backports import zstd

from orienteer.extract.page import extract_page
from orienteer.extract.tokens import link_tokens, page_tokens
from orienteer.graph.link_graph import LinkGraph
from orienteer.policies.focused import WebText
from orienteer.url import canonical_url

DATA = Path(__file__).parents[2] / "shared" / "data"
ARCHIVES = {
    "schools-wikipedia-articles": "schools-wikipedia-articles.tar.zst",
    "docs-web-dev": "dev-docs-web.tar.zst",
    "webkb-dev": "webkb-dev.jsonl.zst",
}


def urls_of(name: str) -> list[str]:
    with gzip.open(DATA / "graphs" / f"{name}.urls.txt.gz", "rt") as lines:
        return lines.read().rstrip("\n").split("\n")


def graph_of(name: str) -> LinkGraph:
    with np.load(DATA / "graphs" / f"{name}.npz") as arrays:
        n_pages = len(arrays["indptr"]) - 1
        sources = np.repeat(np.arange(n_pages), np.diff(arrays["indptr"]))
        return LinkGraph.from_links(n_pages, sources, arrays["indices"], hosts=arrays["host"], urls=urls_of(name))


def labels_of(name: str, label: str) -> np.ndarray:
    """What the graph's file says of each page: cls or univ, as names."""
    with np.load(DATA / "graphs" / f"{name}.npz") as arrays:
        return np.asarray(arrays[f"{label}_names"][arrays[label]])


def subjects() -> dict[int, set[str]]:
    """The subjects of the pages of schools-wikipedia-articles."""
    found: dict[int, set[str]] = {}
    with gzip.open(DATA / "graphs" / "schools-wikipedia-articles.topics.tsv.gz", "rt") as lines:
        for line in lines:
            page, subject = line.rstrip("\n").split("\t")[:2]
            found.setdefault(int(page), set()).add(subject)
    return found


def text_of(name: str, graph: LinkGraph) -> WebText:
    """The words of a web, from its archive or as kept from the last time."""
    home = Path(tempfile.gettempdir()) / "orienteer-benchmarks"
    home.mkdir(exist_ok=True)
    kept = home / f"words-{name}.npz"
    if not kept.exists():
        np.savez(kept, **_read_text(name, graph)._asdict())
    with np.load(kept) as arrays:
        return WebText(**{field: arrays[field] for field in WebText._fields})


def _read_text(name: str, graph: LinkGraph) -> WebText:
    urls = urls_of(name)
    html = dict(_archived(name))
    links: list[np.ndarray] = []
    words: list[np.ndarray] = []
    for page, url in enumerate(urls):
        body = next((html[key] for key in _names(url) if key in html), b"")
        content = extract_page(body, url)
        anchors: dict[str, str] = {}
        for target, text in content.anchors:
            for key in _names(target):
                anchors[key] = f"{anchors[key]} {text}" if key in anchors else text
        words.append(page_tokens(content.text))
        for target in graph.links(page):
            said = next((anchors[key] for key in _names(urls[target]) if key in anchors), "")
            links.append(link_tokens(said, urls[target]))
    return WebText(_bounds(links), _joined(links), _bounds(words), _joined(words))


def _archived(name: str) -> Iterator[tuple[str, bytes]]:
    """The pages of an archive by their URLs without the scheme."""
    with zstd.open(DATA / ARCHIVES[name], "rb") as stream:
        if name == "webkb-dev":
            for line in io.TextIOWrapper(stream, encoding="utf-8"):
                page = json.loads(line)
                yield _names(page["url"])[0], page["html"].encode()
            return
        with tarfile.open(fileobj=stream, mode="r|") as tar:
            for member in tar:
                file = tar.extractfile(member) if member.isfile() else None
                if file is not None:
                    yield member.name, file.read()


def _names(url: str) -> tuple[str, str]:
    """How a page may be called: without its scheme, and as the index of its folder."""
    bare = (canonical_url(url) or url).partition("://")[2]
    other = bare.removesuffix("index.html") if bare.endswith("/index.html") else bare.rstrip("/") + "/index.html"
    return bare, other


def _bounds(rows: list[np.ndarray]) -> np.ndarray:
    return np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)


def _joined(rows: list[np.ndarray]) -> np.ndarray:
    return np.concatenate([np.empty(0, np.uint32), *rows])
