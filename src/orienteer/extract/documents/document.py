"""What a document says, and the draft that readers of all formats write.

A document that cannot be read at all raises `UnreadableDocumentError`. One that was read in part says so (`missing`):
there may be links in the rest.
"""

from __future__ import annotations

from typing import NamedTuple

from orienteer.processes.pool import CannotBeDoneError

MAX_TEXT_CHARS = 1_000_000
MAX_REFERENCES = 50_000
MAX_HEADINGS = 10_000
MAX_LINE_CHARS = 1_000  # of a title and of a heading

TOO_MANY_LINKS = "too many links"
PAGE_MARK = "\f"  # every page of a document that has pages (PDF) begins with it; no other text has it


class UnreadableDocumentError(CannotBeDoneError):
    """The document cannot be read; the message says why, in a few words."""


class Document(NamedTuple):
    """Lines of text are paragraphs, their white space is collapsed; a page begins with PAGE_MARK, where there are any.
    References are as the document has them.

    `anchors` are references with the words that stand for them. `missing` says why links may be missing; "" where none
    are.
    """

    title: str = ""
    text: str = ""
    references: tuple[str, ...] = ()
    anchors: tuple[tuple[str, str], ...] = ()
    headings: tuple[str, ...] = ()
    language: str = ""
    missing: str = ""


class Draft:
    """A document while it is read: pieces of text become lines, within limits."""

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
        self._open_link: tuple[str, int] | None = None  # the reference, and where its words begin in the line

    def add(self, text: str) -> None:
        """More text of the line."""
        self._line.append(text)

    def end_line(self, is_heading: bool = False) -> str:
        """The line is complete; it is dropped where it is empty."""
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
        if not reference or reference.startswith("#"):
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
        """The words that follow stand for this reference, until it is closed or the line ends."""
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
