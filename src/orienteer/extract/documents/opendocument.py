"""Read OpenDocument texts, slides and sheets (odt, odp, ods)."""

from __future__ import annotations

from orienteer.extract.documents.document import Document, DocumentDraft
from orienteer.extract.documents.package import Package, core_properties
from orienteer.extract.documents.xml_handler import XmlHandler

_LINES = frozenset(("p", "h"))
_SPACES = frozenset(("s", "tab", "line-break"))
_LEFT_OUT = frozenset(("annotation", "tracked-changes"))  # comments, and deleted text


def read(content: bytes) -> Document:
    package, draft = Package(content), DocumentDraft()
    properties = core_properties(package, "meta.xml")
    draft.title, draft.language = properties.title, properties.language
    package.read_xml("content.xml", _Content(draft))
    return draft.finished()


class _Content(XmlHandler):
    def __init__(self, draft: DocumentDraft) -> None:
        super().__init__()
        self._draft = draft
        self._left_out_depth = 0

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if name in _LEFT_OUT:
            self._left_out_depth = self._left_out_depth or len(self.stack)
        if self._left_out_depth:
            return
        if name in _SPACES:
            self._draft.add(" ")
        elif name == "a" and attributes.get("href"):
            self._draft.open_link(attributes["href"])

    def text(self, data: str) -> None:
        if not self._left_out_depth and any(name in _LINES for name in self.stack):
            self._draft.add(data)

    def end(self, name: str) -> None:
        if self._left_out_depth:
            if len(self.stack) < self._left_out_depth:
                self._left_out_depth = 0
        elif name in _LINES:
            self._draft.end_line(is_heading=name == "h")
        elif name == "a":
            self._draft.close_link()
