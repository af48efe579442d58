"""Real pages: lightened ones say the same as whole ones, and their links are those of the graph made from them."""

from __future__ import annotations

import gzip
import io
import sys
import tarfile

import numpy as np
import pytest

from orienteer.extract.charset import as_utf8, charset_of
from orienteer.extract.page import extract_page
from orienteer.extract.reader import _WITH_TEXT
from tests.conftest import SHARED_DATA
from tests.extract.test_markup import assert_says_the_same

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd


@pytest.fixture(scope="module")
def pages() -> dict[str, bytes]:
    """HTML by host and path."""
    archive = SHARED_DATA / "dev-docs-web.tar.zst"
    if not archive.is_file():
        pytest.skip(f"the real pages are not here: {archive}")
    with tarfile.open(fileobj=io.BytesIO(zstd.decompress(archive.read_bytes()))) as files:
        return {file.name: files.extractfile(file).read() for file in files if file.isfile()}


def test_lightened_pages_say_what_whole_pages_say(pages):
    n_light = 0
    for html in pages.values():
        utf8 = as_utf8(html, charset_of(html))
        assert_says_the_same(utf8)
        n_light += _WITH_TEXT.lightened(utf8) is not None
    assert n_light > 0.99 * len(pages)


def test_links_within_hosts_are_those_of_the_graph(pages, shared_graphs):
    """The graph also took some old addresses for new ones, and `link` elements for none; that is less than 1 %."""
    with gzip.open(shared_graphs / "docs-web-dev.urls.txt.gz", "rt") as file:
        urls = file.read().splitlines()
    graph = np.load(shared_graphs / "docs-web-dev.npz")
    ids = {url: page for page, url in enumerate(urls)}
    hosts = graph["host"]
    n_known = n_missing = n_new = 0
    for page, url in enumerate(urls):
        html = pages.get(url.removeprefix("http://"))
        if html is None:
            continue
        targets = graph["indices"][graph["indptr"][page] : graph["indptr"][page + 1]]
        known = {int(target) for target in targets if hosts[target] == hosts[page]} - {page}
        found = {ids.get(_as_in_graph(link, ids), page) for link in extract_page(html, url).links} - {page}
        found = {target for target in found if hosts[target] == hosts[page]}
        n_known += len(known)
        n_missing += len(known - found)
        n_new += len(found - known)
    assert n_known > 100_000
    assert n_missing < 0.01 * n_known
    assert n_new < 0.001 * n_known


def _as_in_graph(link: str, ids: dict[str, int]) -> str:
    link = link.replace("https://", "http://", 1)
    for other in (link, link.removesuffix("index.html"), link + "index.html", link + "/"):
        if other in ids:
            return other
    return link


def test_every_page_has_a_title_and_words(pages):
    for name, html in list(pages.items())[::20]:
        page = extract_page(html, f"http://{name}")
        assert page.title
        assert len(page.text.split()) > 10
        assert page.charset in ("utf-8", "windows-1252")
