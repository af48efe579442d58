"""What a focused crawl makes of a page: how relevant it is to the topic, and the words that lead on from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from orienteer.extract.page import Page
from orienteer.extract.tokens import link_tokens, page_tokens
from orienteer.policies.focused import AboutPage, LinkWords
from orienteer.store.page_words import PageWords
from orienteer.topics.topic import PageContent, Topic
from orienteer.topics.topic_file import load_topic

TOPIC_FILE, MODEL_FILE = "topic.toml", "topic.npz"  # in the crawl folder


class Reader:
    """Reads pages for the topic of a crawl."""

    def __init__(self, topic: Topic) -> None:
        self.topic = topic

    @classmethod
    def of_folder(cls, folder: Path) -> Reader:
        """The one of the crawl in this folder."""
        return cls(load_topic(folder / TOPIC_FILE))

    @property
    def threshold(self) -> float:
        """A page of at least this relevance is on topic."""
        return self.topic.threshold

    def relevance(self, pages: Sequence[tuple[str, Page]]) -> list[float]:
        """Of pages with their URLs; many at once is several times as fast as one by one."""
        if not pages:
            return []
        scores = self.topic.relevance([PageContent.of(url, page) for url, page in pages])
        return np.nan_to_num(scores, nan=0.0).tolist()


def page_words(page: Page, ids: Mapping[str, int]) -> PageWords:
    """The words of a page and of those of its links that lead to known pages, by their URLs."""
    links = [(ids[url], link_tokens(text, url)) for url, text in page.anchors if url in ids]
    offsets = np.zeros(len(links) + 1, np.int64)
    np.cumsum([len(words) for _, words in links], out=offsets[1:])
    nothing = np.empty(0, np.uint32)
    return PageWords(
        np.array([target for target, _ in links], np.uint32),
        offsets,
        np.concatenate([words for _, words in links] or [nothing]),
        page_tokens(page.text),
    )


def about_page(relevance: float, words: PageWords | None) -> AboutPage:
    """As a focused policy hears of it."""
    if words is None:
        return AboutPage(relevance)
    return AboutPage(relevance, LinkWords(words.targets, words.offsets, words.link_words), words.words)
