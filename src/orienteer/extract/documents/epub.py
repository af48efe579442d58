"""Read books (EPUB): their chapters in order. Links within the book are ignored."""

from __future__ import annotations

import posixpath
import re
from urllib.parse import unquote

from orienteer.extract.documents.document import Document, DocumentDraft, UnreadableDocumentError
from orienteer.extract.documents.package import Package, XmlHandler

_WEB = re.compile(r"\s*(?:https?:)?//", re.IGNORECASE)
_HEADINGS = frozenset(("h1", "h2", "h3"))
_LINES = frozenset((
    *_HEADINGS, "h4", "h5", "h6", "p", "div", "li", "td", "th", "tr", "dt", "dd", "blockquote", "pre", "br", "section",
    "figcaption", "caption", "body",
))  # fmt: skip
_HIDDEN = frozenset(("script", "style", "template"))


def read(content: bytes) -> Document:
    package = Package(content)
    roots = package.elements("META-INF/container.xml", "rootfile")
    book = next(filter(None, (attributes.get("full-path") for _, attributes in roots)), "")
    draft = package.draft(book)
    folder, n_read, why = posixpath.dirname(book), 0, "damaged: no chapters"
    for chapter in _chapters(package, book):
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


def _chapters(package: Package, book: str) -> list[str]:
    """Return the files of the manifest of a book in reading order."""
    files: dict[str, str] = {}
    order: list[str] = []
    for name, attributes in package.elements(book, "item", "itemref"):
        if name == "itemref":
            order.append(attributes.get("idref", ""))
        elif "html" in attributes.get("media-type", ""):
            files[attributes.get("id", "")] = attributes.get("href", "")
    return list(dict.fromkeys(files[number] for number in order if number in files))


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
