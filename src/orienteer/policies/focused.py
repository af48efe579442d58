"""The interface of focused policies, which receive the relevance of each fetched page to the topic.

The Crawl calls `learn` for a page immediately before `fetched`. Its words may be empty; the relevance suffices. A
policy that has not received any relevance fetches breadth-first.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from orienteer.errors import InputError
from orienteer.graph.growing_graph import GrowingGraph
from orienteer.graph.link_graph import LinkGraph
from orienteer.graph.navigational import checked_relevance
from orienteer.policies.policy import Policy, Run, TrustedPages


class LinkWords(NamedTuple):
    """The hashed words of a page's links (`extract/tokens.py`): link k has `words[offsets[k]:offsets[k+1]]`."""

    targets: NDArray[np.uint32]  # pages, in the order of the links
    offsets: NDArray[np.int64]
    words: NDArray[np.uint32]


NO_WORDS: NDArray[np.uint32] = np.empty(0, np.uint32)
NO_LINK_WORDS = LinkWords(NO_WORDS, np.zeros(1, np.int64), NO_WORDS)


class AboutPage(NamedTuple):
    """The information about a fetched page in addition to its links."""

    relevance: float  # the probability that it is on topic
    link_words: LinkWords = NO_LINK_WORDS
    words: NDArray[np.uint32] = NO_WORDS  # of the page itself, hashed


class FocusedPolicy(Policy):
    """Base of all policies that search for the pages of a topic; the flags say which words a policy needs."""

    reads_links: ClassVar[bool] = False
    reads_pages: ClassVar[bool] = False

    @abstractmethod
    def learn(self, page: int, about: AboutPage, web: GrowingGraph) -> None:
        """Receive the relevance and the words of a fetched page; its links are in `web`, and `fetched` follows."""

    @abstractmethod
    def run_on(self, web: LabelledWeb, trusted: TrustedPages) -> Run:
        """Return the simulated crawl of a web with known relevance, driven by `advance`."""

    def run(self, graph: LinkGraph, trusted: TrustedPages) -> Run:
        return self.run_on(LabelledWeb(graph), trusted)


class WebText(NamedTuple):
    """The hashed words of a whole web: link k of the graph has `link_words[link_offsets[k]:link_offsets[k+1]]`, page i
    has `words[offsets[i]:offsets[i+1]]`.
    """

    link_offsets: NDArray[np.int64]
    link_words: NDArray[np.uint32]
    offsets: NDArray[np.int64]
    words: NDArray[np.uint32]


class LabelledWeb(NamedTuple):
    """A web to simulate on or to train with: its links, the relevance of its pages, and optionally its words.

    Relevance is NaN for pages of which a crawl receives none: redirects, pages that do not exist.
    """

    graph: LinkGraph
    relevance: NDArray[np.float64] | None = None
    text: WebText | None = None

    def about(self, page: int) -> AboutPage | None:
        """Return what a crawl receives about this page when it is fetched; None if its relevance is unknown."""
        if self.relevance is None or np.isnan(self.relevance[page]):
            return None
        relevance = float(self.relevance[page])
        if self.text is None:
            return AboutPage(relevance)
        first, last = self.graph.offsets[page], self.graph.offsets[page + 1]
        bounds = self.text.link_offsets[first : last + 1]
        words = self.text.link_words[bounds[0] : bounds[-1]]
        row = self.text.offsets
        return AboutPage(
            relevance,
            LinkWords(self.graph.links(page), bounds - bounds[0], words),
            self.text.words[row[page] : row[page + 1]],
        )


def checked_partial_relevance(n_pages: int, relevance: ArrayLike) -> NDArray[np.float64]:
    """Return one number in [0, 1] for each page, or NaN for a page without relevance, or raise an InputError."""
    try:
        values = np.asarray(relevance, np.float64)
    except (ValueError, TypeError):
        raise InputError("relevance: expected one number per page") from None
    checked_relevance(n_pages, np.where(np.isnan(values), 0.0, values))
    return values
