"""The links of real pages are those of their trees, and of the graph that was built from them."""

from __future__ import annotations

import gzip
import io
import tarfile

import numpy as np
import pytest
from turbohtml import parse

from orienteer.extract.page import extract_page
from orienteer.extract.parser import decoded
from orienteer.extract.reader import read
from orienteer.files.compressed import zstd
from tests.conftest import shared_file
from tests.extract.tree_links import tree_links

pytestmark = pytest.mark.slow

COMPARE_ONE_OF = 20  # 1 compares all pages, which takes a minute
LOOK_UP_ONE_OF = 6


@pytest.fixture(scope="module")
def pages() -> dict[str, bytes]:
    """Return HTML by host and path."""
    archive = shared_file("dev-docs-web.tar.zst")
    with tarfile.open(fileobj=io.BytesIO(zstd.decompress(archive.read_bytes()))) as files:
        return {file.name: files.extractfile(file).read() for file in files if file.isfile()}


def test_links_are_those_of_the_tree(pages, fresh_rng):
    n_links = 0
    for name, html in list(pages.items())[fresh_rng.randrange(COMPARE_ONE_OF) :: COMPARE_ONE_OF]:
        text = decoded(html)
        reader = read(text.encode(), with_text=False)
        relations = {link.partition("#")[0] for link in _relations(text)}
        found = {*reader.references, *reader.nofollow_references} - relations
        assert found == {link.partition("#")[0] for link in tree_links(text)} - relations, name
        assert reader.is_understood, name
        n_links += len(found)
    assert n_links > 4_000


def _relations(text: str) -> list[str]:
    return [element.attrs.get("href") or "" for element in parse(text).select("link")]


def test_links_within_hosts_are_those_of_the_graph(pages):
    """The graph also resolved some redirects, and ignored `link` elements; the difference is less than 1 %."""
    with gzip.open(shared_file("graphs/docs-web-dev.urls.txt.gz"), "rt") as file:
        urls = file.read().splitlines()
    with np.load(shared_file("graphs/docs-web-dev.npz")) as graph:
        offsets, targets, hosts = graph["indptr"].tolist(), graph["indices"].tolist(), graph["host"].tolist()
    ids = {url: page for page, url in enumerate(urls)}
    n_known = n_missing = n_new = 0
    for page, url in list(enumerate(urls))[::LOOK_UP_ONE_OF]:
        html = pages.get(url.removeprefix("http://"))
        if html is None:
            continue
        known = set(targets[offsets[page] : offsets[page + 1]]) - {page}
        found = {ids.get(_as_in_graph(link, ids), page) for link in _links(html, url)} - {page}
        known, found = ({target for target in links if hosts[target] == hosts[page]} for links in (known, found))
        n_known += len(known)
        n_missing += len(known - found)
        n_new += len(found - known)
    assert n_known > 15_000
    assert n_missing < 0.01 * n_known
    assert n_new < 0.001 * n_known


def _links(html: bytes, url: str) -> list[str]:
    return extract_page(html, url, with_text=False).links


def _as_in_graph(link: str, ids: dict[str, int]) -> str:
    link = link.replace("https://", "http://", 1)
    for other in (link, link.removesuffix("index.html"), link + "index.html", link + "/"):
        if other in ids:
            return other
    return link


def test_real_pages_have_titles_and_words(pages):
    sample = [extract_page(html, f"http://{name}") for name, html in list(pages.items())[::40]]
    assert {page.charset for page in sample} <= {"utf-8", "windows-1252"}
    assert np.mean([bool(page.title) for page in sample]) > 0.98  # some are redirects
    assert np.mean([len(page.text.split()) > 20 for page in sample]) > 0.98
