"""How a crawl with a topic reads a page: its relevance, and the words of its links."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tomli_w
from numpy.typing import NDArray

from orienteer.crawl.seen import SeenUrls
from orienteer.errors import InputError
from orienteer.extract.page import Page
from orienteer.extract.tokens import link_tokens, page_tokens
from orienteer.policies.focused import AboutPage, FocusedPolicy, LinkWords
from orienteer.store.database import Database
from orienteer.store.detail_tables import PageWords, packed, unpacked
from orienteer.store.failures import damaged
from orienteer.store.folder import CrawlFolder
from orienteer.store.folder_view import FolderFiles
from orienteer.topics import all_topics
from orienteer.topics.topic import PageContent, Topic
from orienteer.topics.topic_file import TopicFile, load_topic, write_model

_NOTHING: NDArray[np.uint32] = np.empty(0, np.uint32)


class LoadedTopic:
    """A topic file with its trained model, checked before it is stored in the folder of a crawl."""

    def __init__(self, path: Path) -> None:
        self._file = TopicFile.read(path)
        self._topic = self._file.trained_topic()

    @property
    def topic(self) -> Topic:
        return self._topic

    def is_of(self, folder: FolderFiles) -> bool:
        """Whether the crawl in this folder has the same topic, with the same model."""
        if not folder.topic_path.exists() or not self._is_stored_in(folder):
            return False
        mine, theirs = self._topic.learned(), load_topic(folder.topic_path).learned()
        return mine.keys() == theirs.keys() and all(np.array_equal(mine[name], theirs[name]) for name in mine)

    def store(self, folder: CrawlFolder) -> None:
        """Copy it into the folder of a new crawl; a crawl that has begun must have the same one."""
        if folder.topic_path.exists():
            if not self._is_stored_in(folder):
                raise InputError(f"{folder.path}: this crawl was begun with another topic (see {folder.topic_path})")
        elif folder.database.urls.count():
            raise InputError(f"{folder.path}: this crawl was begun without a topic")
        else:
            if self._topic.needs_training:
                write_model(folder.topic_path.with_suffix(".npz"), self._topic, self._file.settings)
            folder.write_topic(tomli_w.dumps({"topic": _full_settings(self._file)}))

    def _is_stored_in(self, folder: FolderFiles) -> bool:
        """Whether the topic file of the folder has the same settings, however it was written."""
        return _full_settings(TopicFile.read(folder.topic_path)) == _full_settings(self._file)


def _full_settings(file: TopicFile) -> dict[str, Any]:
    """Return the topic with all its settings, defaults included, and with absolute paths."""
    named = {name: str(file.settings[name]) for name in all_topics()[file.kind].file_settings}
    paths = {name: str((file.path.parent / path).resolve()) for name, path in named.items()}
    return {"kind": file.kind, **file.settings, **paths, "threshold": file.threshold}


def topic_threshold(folder: FolderFiles) -> float:
    """Return the relevance from which on a page of the crawl is on topic."""
    return TopicFile.read(folder.topic_path).threshold


class Reader:
    """Reads pages for the topic of a crawl; the database stores the words that a focused policy needs."""

    def __init__(self, topic: Topic, database: Database) -> None:
        self.topic = topic
        self._database = database

    @classmethod
    def of_folder(cls, folder: FolderFiles) -> Reader:
        return cls(load_topic(folder.topic_path), folder.database)

    @property
    def n_on_topic(self) -> int:
        """The number of pages on topic so far."""
        return self._database.pages.n_relevant(self.topic.threshold)

    def relevance(self, pages: Sequence[tuple[str, Page]]) -> list[float]:
        """Return the relevance of pages, given with their URLs; many at once are several times as fast."""
        if not pages:
            return []
        scores = self.topic.relevance([PageContent.of(url, page) for url, page in pages])
        return [float(score) for score in np.nan_to_num(scores, nan=0.0)]

    def store_words(
        self, page: int, content: Page, seen: SeenUrls, links: NDArray[np.uint32], policy: FocusedPolicy
    ) -> None:
        """Store the words that the policy reads, of a page and of its `links`, whose URLs have numbers by now."""
        if not policy.reads_links and not policy.reads_pages:
            return
        anchors = content.anchors if policy.reads_links else []
        targets, _ = seen.number([url for url, _ in anchors])
        known = np.flatnonzero(np.isin(targets, links)).tolist()
        words = [link_tokens(anchors[k][1], anchors[k][0]) for k in known]
        offsets = np.concatenate(([0], np.cumsum([len(some) for some in words], dtype=np.int64)))
        of_links = np.concatenate([_NOTHING, *words])
        of_page = page_tokens(content.text) if policy.reads_pages else _NOTHING
        stored = PageWords(targets[known], offsets, of_links, of_page)
        self._database.details.set_words(page, packed(stored))

    def about(self, page: int, relevance: float | None) -> AboutPage | None:
        """Return what a focused policy receives about a fetched page, both when it is fetched and in a replay."""
        return None if relevance is None else about_page(self._database, page, relevance)


def about_page(database: Database, page: int, relevance: float) -> AboutPage:
    """Return the relevance of a page with its stored words."""
    blob = database.details.words(page)
    if blob is None:
        return AboutPage(relevance)
    try:
        words = unpacked(blob)
    except ValueError as error:
        raise damaged(database.path, error) from None
    return AboutPage(relevance, LinkWords(words.targets, words.offsets, words.link_words), words.words)
