"""What a crawl with a topic makes of a page: how relevant it is, and the words that lead on from it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tomli_w
from numpy.typing import NDArray

from orienteer.errors import InputError
from orienteer.extract.page import Page
from orienteer.extract.tokens import link_tokens, page_tokens
from orienteer.frontier.seen import SeenUrls
from orienteer.policies.focused import AboutPage, FocusedPolicy, LinkWords
from orienteer.store.database import Database
from orienteer.store.failures import damaged
from orienteer.store.folder import CrawlFolder
from orienteer.store.folder_files import FolderFiles
from orienteer.store.page_words import PageWords, packed, unpacked
from orienteer.topics import all_topics
from orienteer.topics.model_file import write_model
from orienteer.topics.topic import PageContent, Topic
from orienteer.topics.topic_file import TopicFile, load_topic

_NOTHING: NDArray[np.uint32] = np.empty(0, np.uint32)


class LoadedTopic:
    """A topic file, with what was learned, on its way into the folder of a crawl. What is wrong with it is said now."""

    def __init__(self, path: Path) -> None:
        self._file = TopicFile.read(path)
        self._topic = self._file.trained_topic()

    @property
    def topic(self) -> Topic:
        return self._topic

    def is_of(self, folder: FolderFiles) -> bool:
        """Whether the crawl in this folder has the same topic, and the same was learned of it."""
        if not folder.topic_path.exists() or not self._is_kept_in(folder):
            return False
        mine, its = self._topic.learned(), load_topic(folder.topic_path).learned()
        return mine.keys() == its.keys() and all(np.array_equal(mine[name], its[name]) for name in mine)

    def keep(self, folder: CrawlFolder) -> None:
        """Copy it into the folder of a new crawl; one that is begun keeps its own."""
        if folder.topic_path.exists():
            if not self._is_kept_in(folder):
                raise InputError(f"{folder.path}: this crawl was begun with another topic (see {folder.topic_path})")
        elif folder.database.n_urls():
            raise InputError(f"{folder.path}: this crawl was begun without a topic")
        else:
            if self._topic.needs_training:
                write_model(folder.topic_path.with_suffix(".npz"), self._topic, self._file.settings)
            folder.write_topic(tomli_w.dumps({"topic": _all_that_is_said(self._file)}))

    def _is_kept_in(self, folder: FolderFiles) -> bool:
        """Whether the topic file of the folder says the same, however it was written."""
        return _all_that_is_said(TopicFile.read(folder.topic_path)) == _all_that_is_said(self._file)


def _all_that_is_said(file: TopicFile) -> dict[str, Any]:
    """The topic with all its settings, defaults too, and with paths that hold in any folder."""
    named = {name: str(file.settings[name]) for name in all_topics()[file.kind].file_settings}
    paths = {name: str((file.path.parent / path).resolve()) for name, path in named.items()}
    return {"kind": file.kind, **file.settings, **paths, "threshold": file.threshold}


def topic_threshold(folder: FolderFiles) -> float:
    """A page of the crawl that is relevant at least so much is on topic."""
    return TopicFile.read(folder.topic_path).threshold


class Reader:
    """Reads pages for the topic of a crawl; what a focused policy is to hear of them is kept in the database."""

    def __init__(self, topic: Topic, database: Database) -> None:
        self.topic = topic
        self._database = database

    @classmethod
    def of_folder(cls, folder: FolderFiles) -> Reader:
        return cls(load_topic(folder.topic_path), folder.database)

    @property
    def n_on_topic(self) -> int:
        """Pages on topic so far."""
        return self._database.n_relevant(self.topic.threshold)

    def relevance(self, pages: Sequence[tuple[str, Page]]) -> list[float]:
        """Of pages with their URLs; many at once is several times as fast as one by one."""
        if not pages:
            return []
        scores = self.topic.relevance([PageContent.of(url, page) for url, page in pages])
        return [float(score) for score in np.nan_to_num(scores, nan=0.0)]

    def keep_words(
        self, page: int, content: Page, seen: SeenUrls, links: NDArray[np.uint32], policy: FocusedPolicy
    ) -> None:
        """Write down the words that the policy reads, of a page and of its `links`, whose URLs have numbers by now."""
        if not policy.reads_links and not policy.reads_pages:
            return
        anchors = content.anchors if policy.reads_links else []
        targets, _ = seen.number([url for url, _ in anchors])
        kept = np.flatnonzero(np.isin(targets, links)).tolist()
        words = [link_tokens(anchors[k][1], anchors[k][0]) for k in kept]
        offsets = np.concatenate(([0], np.cumsum([len(some) for some in words], dtype=np.int64)))
        of_links = np.concatenate([_NOTHING, *words])
        of_page = page_tokens(content.text) if policy.reads_pages else _NOTHING
        found = PageWords(targets[kept].astype(np.uint32), offsets, of_links, of_page)
        self._database.set_words(page, packed(found))

    def about(self, page: int, relevance: float | None) -> AboutPage | None:
        """What a focused policy is to hear of a fetched page, when it comes and when the folder is opened again."""
        return None if relevance is None else about_page(self._database, page, relevance)


def about_page(database: Database, page: int, relevance: float) -> AboutPage:
    """A page as relevant as this, with the words that were kept of it."""
    blob = database.words(page)
    if blob is None:
        return AboutPage(relevance)
    try:
        words = unpacked(blob)
    except ValueError as error:
        raise damaged(database.path, error) from None
    return AboutPage(relevance, LinkWords(words.targets, words.offsets, words.link_words), words.words)
