"""The links that are read from a document are those that a browser finds in it."""

from __future__ import annotations

import random

from orienteer.extract.reader import read
from tests.browser.dom_links import dom_links
from tests.extract.documents import random_document
from tests.extract.tree_links import tree_links

N_DOCUMENTS = 600  # `python -m benchmarks links` compares thousands
SEED = 20260103


def test_links_are_those_of_the_browser(browser):
    rng = random.Random(SEED)
    documents = [random_document(rng, n_pieces=16) for _ in range(N_DOCUMENTS)]
    n_links = n_unknown = 0
    for html, links in zip(documents, dom_links(browser, documents), strict=True):
        reader = read(html.encode())
        if not reader.is_understood:
            n_unknown += 1
            continue
        assert sorted(reader.references) == sorted(set(links)), html
        assert sorted(set(tree_links(html))) == sorted(set(links)), html
        n_links += len(links)
    assert n_links > N_DOCUMENTS  # else nothing was compared
    assert n_unknown < 0.02 * N_DOCUMENTS
