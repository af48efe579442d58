"""Read archived pages for the index: text, metadata, language, and link texts; and decide which lines are main text.

Boilerplate, such as a menu, occurs on many pages of a host. It is learned from the first `N_LEARNED` pages of the host
by id. So the main text of a page depends on its own lines and on these pages alone, and an index that was updated many
times equals a rebuilt one. The result is approximate for further pages: if the layout of a host changes later, more of
its boilerplate is taken for main text.

Each page stores the `basis` of its decision, a hash of the learned pages. If the basis of its host has changed, the
page is decided again, also after an interrupted run.
"""

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

from orienteer.crawl.seen import SeenUrls
from orienteer.errors import MissingExtraError
from orienteer.extract.boilerplate import HostBoilerplate
from orienteer.extract.language import detected
from orienteer.extract.main_text import MAIN
from orienteer.extract.page import Page
from orienteer.inspect.archived_page import ArchivedPosition, page_reading
from orienteer.search.snippet import collapsed
from orienteer.store.archive import Position
from orienteer.store.page_row import PageRow
from orienteer.store.page_texts import NewText, PackedText, PageTexts, packed_text
from orienteer.url import host_of

_MAX_CHARS = 1_000_000
_MAX_ANCHOR_CHARS = 100
_HAS_WORD = re.compile(r"\w")
N_LEARNED = 500
_PAGES_PER_TRANSACTION = 200


def stamp_of(*facts: object) -> int:
    """Return a hash of these facts as a signed 64-bit number."""
    return int.from_bytes(hashlib.blake2b(repr(facts).encode(), digest_size=8).digest(), signed=True)


def content_stamp(page: PageRow) -> int:
    """Return the stamp of the content of a page: a changed page has another position in the archive."""
    return stamp_of(page.archived, page.noindex)


class Languages:
    """Detects languages, if the optional package for it is installed."""

    def __init__(self) -> None:
        self._is_available = True

    def of(self, text: str) -> str:
        """Return the language of a text, or "" if it cannot be detected."""
        if not self._is_available:
            return ""
        try:
            return detected(text)
        except MissingExtraError:
            self._is_available = False
            return ""


class PageToIndex(NamedTuple):
    """A page to read; of a page with `noindex` only the links are stored.

    `language` is that of the crawl's database, or "".
    """

    page: ArchivedPosition
    language: str
    noindex: bool


class IndexText(NamedTuple):
    """The texts of a page as the index stores them, and its links with their texts."""

    language: str
    published: str
    changed: str
    title: str
    headings: str
    text: PackedText
    anchors: list[tuple[str, str]]


@contextmanager
def index_reading(folder: Path) -> Iterator[Callable[[PageToIndex], IndexText]]:
    """For `in_order`: pages of the archive in this folder, read for an index."""
    languages = Languages()
    with page_reading(folder, with_scores=True) as read:
        yield lambda request: _index_text(request, read(request.page), languages)


def _index_text(request: PageToIndex, content: Page, languages: Languages) -> IndexText:
    anchors = [(link, encodable(text[:_MAX_ANCHOR_CHARS])) for link, text in content.anchors if _HAS_WORD.search(text)]
    if request.noindex:
        return IndexText("", "", "", "", "", packed_text([""]), anchors)
    lines, scores = _lines(encodable(content.text[:_MAX_CHARS]), content.line_scores)
    return IndexText(
        language=request.language or content.language or languages.of(content.text),
        published=content.fields.published,
        changed=content.fields.changed,
        title=encodable(content.title),
        headings=encodable("\n".join(content.headings)),
        text=packed_text(lines, scores, main_lines(scores)),
        anchors=anchors,
    )


def to_read(page: PageRow, url: str, rendered: Position | None) -> PageToIndex:
    """`rendered` is the position of the rendered document, if there is one."""
    assert page.archived is not None
    return PageToIndex(ArchivedPosition(page.archived, page.content_type, url, rendered), page.language, page.noindex)


def page_text(page: PageRow, url: str, content: IndexText, seen: SeenUrls) -> NewText:
    """Return the row of a page for pages.db, with the texts of its known links; `seen` has the ids of URLs."""
    anchors = _known_anchors(page, content.anchors, seen)
    return NewText(page.id, content_stamp(page), url, page.time, page.content_type, *content[:-1], anchors)


def _known_anchors(page: PageRow, anchors: list[tuple[str, str]], seen: SeenUrls) -> list[tuple[int, str]]:
    if not anchors:
        return []
    targets, _ = seen.number([link for link, _ in anchors])
    known = set(page.links.tolist())
    return [(target, text) for target, (_, text) in zip(targets.tolist(), anchors, strict=True) if target in known]


def _lines(text: str, scores: bytes) -> tuple[list[str], bytes]:
    """Return the lines of a page that are not empty, with collapsed white space, and their scores."""
    lines = [collapsed(line) for line in text.split("\n")]
    if len(scores) < len(lines):  # unknown
        return [line for line in lines if line], b""
    return [line for line in lines if line], bytes(compress(scores, lines))


def main_lines(scores: bytes) -> NDArray[np.bool_] | None:
    """Return which lines are main text by their scores alone; None: all of them, or unknown."""
    if not scores:
        return None
    is_main = np.frombuffer(scores, np.uint8) >= MAIN
    return is_main if is_main.any() else None


def encodable(text: str) -> str:
    """Replace lone surrogates, which cannot be encoded in UTF-8."""
    return text if text.isascii() else text.encode(errors="replace").decode()


def update_main_lines(texts: PageTexts, learner: Callable[[], HostBoilerplate] = HostBoilerplate) -> int:
    """Decide again for all pages with an outdated basis; return how many these were."""
    by_host: dict[str, list[tuple[int, int, int]]] = {}
    for page, stamp, url, basis in texts.stamps_and_bases():
        by_host.setdefault(host_of(url), []).append((page, stamp, basis))
    n_judged = 0
    for host, rows in by_host.items():
        learned = [(page, stamp) for page, stamp, _ in rows[:N_LEARNED]]
        basis = stamp_of(host, learned)
        stale = [page for page, _, judged_by in rows if judged_by != basis]
        if stale:
            _judge(texts, host, [page for page, _ in learned], stale, basis, learner())
            n_judged += len(stale)
    return n_judged


def _judge(
    texts: PageTexts, host: str, learned: list[int], stale: list[int], basis: int, boilerplate: HostBoilerplate
) -> None:
    for page in learned:
        lines, scores = texts.lines(page)
        if scores:  # texts without scores, such as documents, do not share the layout of the host
            boilerplate.learn(host, lines)
    for start in range(0, len(stale), _PAGES_PER_TRANSACTION):
        judged = []
        for page in stale[start : start + _PAGES_PER_TRANSACTION]:
            lines, scores = texts.lines(page)
            judged.append((page, boilerplate.main_lines(host, lines, scores) if scores else None))
        texts.set_main(judged, basis)
