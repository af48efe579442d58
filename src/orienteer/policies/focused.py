"""What a focused policy is: one that hears how relevant each fetched page is to the topic.

The Crawl calls `learn` for a page just before `fetched`. What it says of the text may be empty; relevance is enough. A
policy that has never heard of any relevance fetches breadth-first.
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
    """What is known of a fetched page beside its links."""

    relevance: float  # the probability that it is on topic
    link_words: LinkWords = NO_LINK_WORDS
    words: NDArray[np.uint32] = NO_WORDS  # of the page itself, hashed


class FocusedPolicy(Policy):
    """Base of all policies that look for the pages of a topic. One that does not read words need not be told of any."""

    reads_links: ClassVar[bool] = False
    reads_pages: ClassVar[bool] = False

    @abstractmethod
    def learn(self, page: int, about: AboutPage, web: GrowingGraph) -> None:
        """The page was fetched, and this is what it is about; its links are in `web`, `fetched` comes next."""

    @abstractmethod
    def run_on(self, web: LabelledWeb, trusted: TrustedPages) -> Run:
        """The whole crawl of a known web whose relevance is known, to be driven by `advance`."""

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
    """A web to simulate on, or to learn from: who links to whom, what is relevant, and perhaps what it all says.

    Relevance is NaN for what has none, and of which a crawl hears nothing: redirects, pages that are not there.
    """

    graph: LinkGraph
    relevance: NDArray[np.float64] | None = None
    text: WebText | None = None

    def about(self, page: int) -> AboutPage | None:
        """What a crawl hears of this page when it fetches it; None where no relevance is known."""
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


def heard_relevance(n_pages: int, relevance: ArrayLike) -> NDArray[np.float64]:
    """One number in [0, 1] for each page, or NaN for a page that has none; else one clear line."""
    try:
        values = np.asarray(relevance, np.float64)
    except (ValueError, TypeError):
        raise InputError("relevance: expected one number per page") from None
    checked_relevance(n_pages, np.where(np.isnan(values), 0.0, values))
    return values
