"""The links extracted from random documents, compared with those in Chromium's DOM.

The documents are short and full of what parsers get wrong: drawings, formulas, templates, framesets, tables and
formatting elements that are opened and closed anywhere. Scripts are off. *Missed* counts documents with a link in the
DOM that was not read, *invented* those with one that is not there, *incomplete* those that the reader itself reports as
possibly missing links. Only with a browser on the machine.

The seed and the number may be given: `python -m benchmarks.links 6000 1`.
"""

from __future__ import annotations

import random
import shutil
import sys

from benchmarks.measure import table
from benchmarks.sizes import MissingError, sized
from tests.extract.documents import random_document

N_DOCUMENTS, SEED = sized(6000, 8), 1
_SIZES = (8, 16, 32, 64)
_LISTED = 3


def run(n_documents: int = N_DOCUMENTS, seed: int = SEED) -> str:
    from playwright.sync_api import sync_playwright

    from tests.browser.dom_links import dom_links

    path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if path is None:
        raise MissingError("a browser")
    rng = random.Random(seed)
    rows, wrong = [], []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        version = browser.version
        for n_pieces in _SIZES:
            documents = [random_document(rng, n_pieces) for _ in range(n_documents // len(_SIZES))]
            in_dom = dom_links(browser, documents)
            counts, differing = _compared(documents, in_dom)
            rows.append([f"up to {n_pieces}", f"{len(documents):,}", f"{sum(map(len, in_dom)):,}", *map(str, counts)])
            wrong += differing
        browser.close()
    headings = ["pieces of a document", "documents", "links in the DOM", "missed", "invented", "incomplete"]
    listed = "".join(f"\n    {html}" for html in sorted(wrong, key=len)[:_LISTED])
    shortest = f"\nThe shortest:\n{listed}\n" if listed else ""
    return f"Chromium {version}, seed {seed}\n\n{table(headings, rows)}{shortest}"


def _compared(documents: list[str], in_dom: list[list[str]]) -> tuple[tuple[int, int, int], list[str]]:
    from orienteer.extract.reader import read

    n_missed = n_invented = n_incomplete = 0
    differing = []
    for html, links in zip(documents, in_dom, strict=True):
        reader = read(html.encode(), with_text=False)
        if not reader.is_understood:
            n_incomplete += 1
            continue
        missed, invented = set(links) - set(reader.references), set(reader.references) - set(links)
        n_missed, n_invented = n_missed + bool(missed), n_invented + bool(invented)
        if missed or invented:
            differing.append(html)
    return (n_missed, n_invented, n_incomplete), differing


if __name__ == "__main__":
    print(run(*map(int, sys.argv[1:])))
