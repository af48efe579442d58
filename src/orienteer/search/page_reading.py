"""Archived pages, read for a search: what they say, and in which language."""

from __future__ import annotations

import hashlib
import re

import numpy as np

from orienteer.errors import MissingExtraError
from orienteer.extract.language import detected
from orienteer.extract.page import Page
from orienteer.frontier.seen import SeenUrls
from orienteer.inspect.archived_page import archived_page
from orienteer.store.archive import Archive, Position
from orienteer.store.page_row import PageRow
from orienteer.store.page_texts import PageText

_MAX_CHARS = 1_000_000
_MAX_ANCHOR_CHARS = 100
_HAS_WORD = re.compile(r"\w")


def stamp_of(*facts: object) -> int:
    """A number that stands for these facts, signed and of 64 bits: another one for others."""
    return int.from_bytes(hashlib.blake2b(repr(facts).encode(), digest_size=8).digest(), signed=True)


def content_stamp(page: PageRow) -> int:
    """Tells one content of a page from another: what changes is archived anew."""
    return stamp_of(page.archived, page.noindex)


class ContentReader:
    """Reads pages of a crawl from its archive."""

    def __init__(self, archive: Archive) -> None:
        self._archive = archive
        self._tells_languages = True

    def content(self, place: Position, content_type: str, url: str) -> Page:
        """What stands on a page, be it HTML or plain text."""
        return archived_page(self._archive, place, content_type, url)

    def language(self, text: str) -> str:
        """What the text looks like; "" where nobody can tell, or the package that could is not there."""
        if not self._tells_languages:
            return ""
        try:
            return detected(text)
        except MissingExtraError:
            self._tells_languages = False
            return ""


class ArchiveReader(ContentReader):
    """Reads pages of a crawl for its index; `seen` numbers their links."""

    def __init__(self, archive: Archive, seen: SeenUrls) -> None:
        super().__init__(archive)
        self._seen = seen

    def read(self, page: PageRow, url: str) -> PageText:
        """What a page says. Of one that asks not to be indexed only its links are kept."""
        assert page.archived is not None
        content = self.content(page.archived, page.content_type, url)
        anchors = self._anchors(page, content)
        head = PageText(page.id, content_stamp(page), url, page.time, anchors=anchors)
        if page.noindex:
            return head
        return head._replace(
            language=page.language or content.language or self.language(content.text),
            title=encodable(content.title),
            headings=encodable("\n".join(content.headings)),
            text=_blocks(encodable(content.text[:_MAX_CHARS])),
        )

    def _anchors(self, page: PageRow, content: Page) -> list[tuple[int, str]]:
        """The links that the crawl knows, with words to them."""
        found = [
            (link, encodable(text[:_MAX_ANCHOR_CHARS])) for link, text in content.anchors if _HAS_WORD.search(text)
        ]
        if not found:
            return []
        targets, _ = self._seen.number([link for link, _ in found])
        is_known = np.isin(targets, page.links)
        return [(int(targets[k]), found[k][1]) for k in np.flatnonzero(is_known)]


def _blocks(text: str) -> str:
    """A block of a page on each line, its words with single spaces between them."""
    return "\n".join(" ".join(line.split()) for line in text.splitlines() if not line.isspace() and line)


def encodable(text: str) -> str:
    """Without halves of surrogate pairs, which are no text to others."""
    return text if text.isascii() else text.encode(errors="replace").decode()
