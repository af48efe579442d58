"""Archived pages, read for a search: what they say, and in which language."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import compress
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from orienteer.errors import MissingExtraError
from orienteer.extract.language import detected
from orienteer.extract.main_text import MAIN
from orienteer.extract.page import Page
from orienteer.frontier.seen import SeenUrls
from orienteer.inspect.archived_page import Archived, page_reading
from orienteer.search.paged import collapsed
from orienteer.store.archive import Position
from orienteer.store.page_row import PageRow
from orienteer.store.page_texts import NewText, PackedText, packed_text

_MAX_CHARS = 1_000_000
_MAX_ANCHOR_CHARS = 100
_HAS_WORD = re.compile(r"\w")


def stamp_of(*facts: object) -> int:
    """A number that stands for these facts, signed and of 64 bits: another one for others."""
    return int.from_bytes(hashlib.blake2b(repr(facts).encode(), digest_size=8).digest(), signed=True)


def content_stamp(page: PageRow) -> int:
    """Tells one content of a page from another: what changes is archived anew."""
    return stamp_of(page.archived, page.noindex)


class Languages:
    """Tells languages; "" where nobody can, or the package that could is not there."""

    def __init__(self) -> None:
        self._tells = True

    def of(self, text: str) -> str:
        """What the text looks like."""
        if not self._tells:
            return ""
        try:
            return detected(text)
        except MissingExtraError:
            self._tells = False
            return ""


class ToRead(NamedTuple):
    """A page that is to be read; of one that asks not to be indexed only its links are kept.

    `language` is what is known of it already.
    """

    page: Archived
    language: str
    noindex: bool


class Said(NamedTuple):
    """What a page says, as the index keeps it, and its links with words to them."""

    language: str
    published: str
    changed: str
    title: str
    headings: str
    text: PackedText
    anchors: list[tuple[str, str]]


@contextmanager
def index_reading(folder: Path) -> Iterator[Callable[[ToRead], Said]]:
    """For `in_order`: pages of the archive in this folder, read for an index."""
    languages = Languages()
    with page_reading(folder, with_scores=True) as read:
        yield lambda wanted: _said(wanted, read(wanted.page), languages)


def _said(wanted: ToRead, content: Page, languages: Languages) -> Said:
    anchors = [(link, encodable(text[:_MAX_ANCHOR_CHARS])) for link, text in content.anchors if _HAS_WORD.search(text)]
    if wanted.noindex:
        return Said("", "", "", "", "", packed_text([""]), anchors)
    lines, scores = _lines(encodable(content.text[:_MAX_CHARS]), content.line_scores)
    return Said(
        language=wanted.language or content.language or languages.of(content.text),
        published=content.fields.published,
        changed=content.fields.changed,
        title=encodable(content.title),
        headings=encodable("\n".join(content.headings)),
        text=packed_text(lines, scores, main_lines(scores)),
        anchors=anchors,
    )


def to_read(page: PageRow, url: str, shown: Position | None) -> ToRead:
    """`shown` is where the document stands that a browser has shown."""
    assert page.archived is not None
    return ToRead(Archived(page.archived, page.content_type, url, shown), page.language, page.noindex)


def page_text(page: PageRow, url: str, said: Said, seen: SeenUrls) -> NewText:
    """What a page says, with those of its links that the crawl knows; `seen` numbers them."""
    anchors = _known_anchors(page, said.anchors, seen)
    return NewText(page.id, content_stamp(page), url, page.time, page.content_type, *said[:-1], anchors)


def _known_anchors(page: PageRow, anchors: list[tuple[str, str]], seen: SeenUrls) -> list[tuple[int, str]]:
    if not anchors:
        return []
    targets, _ = seen.number([link for link, _ in anchors])
    known = set(page.links.tolist())
    return [(target, text) for target, (_, text) in zip(targets.tolist(), anchors, strict=True) if target in known]


def _lines(text: str, scores: bytes) -> tuple[list[str], bytes]:
    """The lines of a page that hold something, with single spaces between their words, and their scores."""
    lines = [collapsed(line) for line in text.split("\n")]
    if len(scores) < len(lines):  # unknown
        return [line for line in lines if line], b""
    return [line for line in lines if line], bytes(compress(scores, lines))


def main_lines(scores: bytes) -> NDArray[np.bool_] | None:
    """Which lines are main text by their scores alone; None: all of them, as far as one knows."""
    if not scores:
        return None
    is_main = np.frombuffer(scores, np.uint8) >= MAIN
    return is_main if is_main.any() else None


def encodable(text: str) -> str:
    """Without halves of surrogate pairs, which are no text to others."""
    return text if text.isascii() else text.encode(errors="replace").decode()
