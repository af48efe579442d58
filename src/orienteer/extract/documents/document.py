"""The content of a document, and the builder that readers of all formats use.

A document that cannot be read at all raises `UnreadableDocumentError`. For one that was read only in part, `missing` is
the reason: the remainder may have links.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from orienteer.processes.pool import CannotBeDoneError

MAX_TEXT_CHARS = 1_000_000
MAX_REFERENCES = 50_000
MAX_HEADINGS = 10_000
MAX_LINE_CHARS = 1_000  # of a title and of a heading

TOO_MANY_LINKS = "too many links"
PAGE_MARK = "\f"  # begins each page of a document with pages (PDF); no other text has it

# Targets in documents that are no URLs: a fragment, <name>, an e-mail address without mailto:.
_NO_URL = re.compile(r"[#<]|[^/?#:]+@[^/?#]+(?:\?|$)")


class UnreadableDocumentError(CannotBeDoneError):
    """The document cannot be read; the message is a short reason."""


class Document(NamedTuple):
    """The content of a document. Lines of text are paragraphs with collapsed white space; pages, if any, begin with
    PAGE_MARK. References are as written in the document.

    `anchors` are references with their link texts. `missing` is the reason why links may be missing, or "".
    """

    title: str = ""
    text: str = ""
    references: tuple[str, ...] = ()
    anchors: tuple[tuple[str, str], ...] = ()
    headings: tuple[str, ...] = ()
    language: str = ""
    missing: str = ""


DocumentReading = Callable[[bytes, str], Document]  # reads a content of a media type


class DocumentDraft:
    """Builds a document from pieces of text, within limits."""

    def __init__(self) -> None:
        self.title = ""
        self.language = ""
        self.missing = ""
        self._lines: list[str] = []
        self._n_chars = 0
        self._line: list[str] = []
        self._references: dict[str, None] = {}
        self._anchors: dict[tuple[str, str], None] = {}
        self._headings: list[str] = []
        self._open_link: tuple[str, int] | None = None  # the reference, and the index in the line where its text begins

    def add(self, text: str) -> None:
        """Append text to the line."""
        self._line.append(text)

    def end_line(self, is_heading: bool = False) -> str:
        """End the line, and return it; empty lines are dropped."""
        self.close_link()
        line = " ".join("".join(self._line).split())
        self._line = []
        if line and self._n_chars < MAX_TEXT_CHARS:
            self._lines.append(line)
            self._n_chars += len(line) + 1
            if is_heading and len(self._headings) < MAX_HEADINGS:
                self._headings.append(line[:MAX_LINE_CHARS])
        return line

    def link(self, reference: str, words: str = "") -> None:
        reference = reference.strip()
        if not reference or _NO_URL.match(reference):
            return
        if reference not in self._references:
            if len(self._references) == MAX_REFERENCES:
                self.missing = self.missing or TOO_MANY_LINKS
                return
            self._references[reference] = None
        words = " ".join(words.split())[:200]
        if words:
            self._anchors[reference, words] = None

    def open_link(self, reference: str) -> None:
        """Begin the text of a link, which lasts until `close_link` or the end of the line."""
        self.close_link()
        self._open_link = reference, len(self._line)

    def close_link(self) -> None:
        if self._open_link is not None:
            reference, start = self._open_link
            self._open_link = None
            self.link(reference, "".join(self._line[start:]))

    def finished(self) -> Document:
        self.end_line()
        title = " ".join(self.title.split()) or next(iter(self._headings), "")
        return Document(
            title=title[:MAX_LINE_CHARS],
            text="\n".join(self._lines)[:MAX_TEXT_CHARS],
            references=tuple(self._references),
            anchors=tuple(self._anchors),
            headings=tuple(self._headings),
            language=self.language.strip(),
            missing=self.missing,
        )
