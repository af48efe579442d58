"""Collect the words of links and pages of a web."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from orienteer.extract.page import Page
from orienteer.extract.tokens import link_tokens, page_tokens
from orienteer.graph.link_graph import LinkGraph
from orienteer.policies.focused import NO_WORDS, WebText


class WordsOfWeb:
    """The words of links and of pages, each only on request; if a page is added twice, the second one counts.

    The words of a link are those of all anchors from the page to its target, and of its URL. Links without an anchor
    have none, as in a crawl.
    """

    def __init__(self, graph: LinkGraph, reads_links: bool, reads_pages: bool) -> None:
        self._graph = graph
        self._reads_links, self._reads_pages = reads_links, reads_pages
        self._of_links: dict[int, tuple[NDArray[np.int64], NDArray[np.uint32]]] = {}  # by page: lengths, words
        self._of_pages: dict[int, NDArray[np.uint32]] = {}
        self.n_read = 0

    def add_page(self, number: int, page: Page) -> None:
        """Add the words of a page and its links."""
        self.n_read += 1
        if self._reads_links:
            words = self._link_words(number, page)
            self._of_links[number] = (
                np.array([len(of_link) for of_link in words], np.int64),
                np.concatenate([NO_WORDS, *words]),
            )
        if self._reads_pages:
            self._of_pages[number] = page_tokens(page.text)

    def text(self) -> WebText | None:
        """Return all words; None if no page was read."""
        if self.n_read == 0:
            return None
        graph = self._graph
        of_links, of_pages = np.zeros(graph.n_links, np.int64), np.zeros(graph.n_pages, np.int64)
        link_words, words = [NO_WORDS], [NO_WORDS]
        for page in sorted(self._of_links):
            lengths, tokens = self._of_links[page]
            of_links[graph.offsets[page] : graph.offsets[page + 1]] = lengths
            link_words.append(tokens)
        for page in sorted(self._of_pages):
            of_pages[page] = len(self._of_pages[page])
            words.append(self._of_pages[page])
        return WebText(_offsets(of_links), np.concatenate(link_words), _offsets(of_pages), np.concatenate(words))

    def _link_words(self, number: int, page: Page) -> list[NDArray[np.uint32]]:
        urls = self._graph.urls
        assert urls is not None
        texts: dict[int, list[str]] = {}
        for url, text in page.anchors:
            target = urls.find(url)
            if target is not None:
                texts.setdefault(target, []).append(text)
        links = self._graph.links(number).tolist()
        return [link_tokens(" ".join(texts[link]), urls[link]) if link in texts else NO_WORDS for link in links]


def _offsets(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.concatenate(([0], np.cumsum(lengths)))
