"""Read books (EPUB): their chapters in order. Links within the book are ignored."""

from __future__ import annotations

import posixpath
import re
from urllib.parse import unquote

from orienteer.extract.documents.document import Document, DocumentDraft, UnreadableDocumentError
from orienteer.extract.documents.package import Package, core_properties
from orienteer.extract.documents.xml_handler import XmlHandler

_WEB = re.compile(r"\s*(?:https?:)?//", re.IGNORECASE)
_HEADINGS = frozenset(("h1", "h2", "h3"))
_LINES = frozenset((
    *_HEADINGS, "h4", "h5", "h6", "p", "div", "li", "td", "th", "tr", "dt", "dd", "blockquote", "pre", "br", "section",
    "figcaption", "caption", "body",
))  # fmt: skip
_HIDDEN = frozenset(("script", "style", "template"))


def read(content: bytes) -> Document:
    package, draft = Package(content), DocumentDraft()
    container = _Container()
    package.read_xml("META-INF/container.xml", container)
    properties = core_properties(package, container.book)
    draft.title, draft.language = properties.title, properties.language
    book = _EpubBook()
    package.read_xml(container.book, book)
    folder, n_read, why = posixpath.dirname(container.book), 0, "damaged: no chapters"
    for chapter in book.chapters:
        try:
            name = posixpath.normpath(posixpath.join(folder, unquote(chapter)))
            package.read_xml(name, _Chapter(draft))
            n_read += 1
        except UnreadableDocumentError as error:
            draft.end_line()
            draft.missing, why = str(error), str(error)
    if not n_read:
        raise UnreadableDocumentError(why)
    return draft.finished()


class _Container(XmlHandler):
    def __init__(self) -> None:
        super().__init__()
        self.book = ""

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if name == "rootfile":
            self.book = self.book or attributes.get("full-path", "")


class _EpubBook(XmlHandler):
    """The manifest and the reading order of a book."""

    def __init__(self) -> None:
        super().__init__()
        self._files: dict[str, str] = {}
        self._order: dict[str, None] = {}

    @property
    def chapters(self) -> list[str]:
        return list(dict.fromkeys(self._files[number] for number in self._order if number in self._files))

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if name == "item" and "html" in attributes.get("media-type", ""):
            self._files[attributes.get("id", "")] = attributes.get("href", "")
        elif name == "itemref":
            self._order[attributes.get("idref", "")] = None


class _Chapter(XmlHandler):
    """A chapter, which is well-formed XHTML."""

    def __init__(self, draft: DocumentDraft) -> None:
        super().__init__()
        self._draft = draft

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if name in _LINES:
            self._draft.end_line()
        elif name == "a" and _WEB.match(attributes.get("href", "")):
            self._draft.open_link(attributes["href"])

    def text(self, data: str) -> None:
        if "body" in self.stack and self.stack[-1] not in _HIDDEN:
            self._draft.add(data)

    def end(self, name: str) -> None:
        if name in _LINES:
            self._draft.end_line(is_heading=name in _HEADINGS)
        elif name == "a":
            self._draft.close_link()
