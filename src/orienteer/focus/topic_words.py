"""The words of a whole web, collected page by page as its pages are read."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from orienteer.extract.page import Page
from orienteer.extract.tokens import link_tokens, page_tokens
from orienteer.graph.link_graph import LinkGraph
from orienteer.policies.focused import NO_WORDS, WebText


class WordsOfWeb:
    """What pages and links say, as far as somebody reads it; where a page is read twice the second time counts.

    The words of a link are those of all anchors that lead from the page to its target, and of its URL. Links without an
    anchor have none, as in a crawl.
    """

    def __init__(self, graph: LinkGraph, reads_links: bool, reads_pages: bool) -> None:
        self._graph = graph
        self._reads_links, self._reads_pages = reads_links, reads_pages
        self._of_links: dict[int, tuple[NDArray[np.int64], NDArray[np.uint32]]] = {}  # by page: lengths, words
        self._of_pages: dict[int, NDArray[np.uint32]] = {}
        self.n_read = 0

    def take(self, number: int, page: Page) -> None:
        """The page of this number was read."""
        self.n_read += 1
        if self._reads_links:
            words = self._link_words(number, page)
            self._of_links[number] = (
                np.array([len(some) for some in words], np.int64),
                np.concatenate([NO_WORDS, *words]),
            )
        if self._reads_pages:
            self._of_pages[number] = page_tokens(page.text)

    def text(self) -> WebText | None:
        """All of it; None where no page was read."""
        if self.n_read == 0:
            return None
        graph = self._graph
        of_links, of_pages = np.zeros(graph.n_links, np.int64), np.zeros(graph.n_pages, np.int64)
        link_words, words = [NO_WORDS], [NO_WORDS]
        for page in sorted(self._of_links):
            lengths, said = self._of_links[page]
            of_links[graph.offsets[page] : graph.offsets[page + 1]] = lengths
            link_words.append(said)
        for page in sorted(self._of_pages):
            of_pages[page] = len(self._of_pages[page])
            words.append(self._of_pages[page])
        return WebText(_offsets(of_links), np.concatenate(link_words), _offsets(of_pages), np.concatenate(words))

    def _link_words(self, number: int, page: Page) -> list[NDArray[np.uint32]]:
        urls = self._graph.urls
        assert urls is not None
        said: dict[int, list[str]] = {}
        for url, text in page.anchors:
            target = urls.find(url)
            if target is not None:
                said.setdefault(target, []).append(text)
        links = self._graph.links(number).tolist()
        return [link_tokens(" ".join(said[link]), urls[link]) if link in said else NO_WORDS for link in links]


def _offsets(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.concatenate(([0], np.cumsum(lengths)))
