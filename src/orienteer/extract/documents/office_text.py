"""Read the text of Word documents and slides, which share a format: runs of text in paragraphs, links by id."""

from __future__ import annotations

import re
from collections.abc import Mapping

from orienteer.extract.documents.document import DocumentDraft
from orienteer.extract.documents.package import Relation
from orienteer.extract.documents.xml_handler import XmlHandler

_BREAKS = frozenset(("br", "cr", "tab", "noBreakHyphen"))
_FIELD = re.compile(r'HYPERLINK\s+"([^"]{1,16384})"')
_MAX_FIELD_CHARS = 1 << 16
_LINK_CONTAINERS = frozenset(("hyperlink",))  # elements that contain the text of a link; others are next to it
_HEADING = re.compile(r"(?i)(heading ?[1-3]|title|subtitle)$")


class OfficeText(XmlHandler):
    """Reads an XML entry into a draft. Duplicates for old programs (`Fallback`) are skipped."""

    def __init__(self, draft: DocumentDraft, relations: Mapping[str, Relation]) -> None:
        super().__init__()
        self._draft = draft
        self._relations = relations
        self._is_heading = False
        self._is_title = False  # inside the shape that holds the title of a slide
        self._field = ""  # the instruction of a field, such as HYPERLINK "http://..."
        self._fallback_depth = 0

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if name == "Fallback":
            self._fallback_depth = self._fallback_depth or len(self.stack)
        if self._fallback_depth:
            return
        if name in _BREAKS:
            self._draft.add(" ")
        elif name == "pStyle":
            self._is_heading = _HEADING.match(attributes.get("val", "")) is not None
        elif name == "ph":
            self._is_title = attributes.get("type") in ("title", "ctrTitle")
        elif name == "fldSimple":
            self._add_field(attributes.get("instr", ""))
        elif name == "fldChar":
            self._add_field(self._field)
            self._field = ""
        relation = self._relations.get(attributes.get("id", "")) if attributes else None
        if relation is not None and relation.kind == "hyperlink" and relation.is_external:
            if name in _LINK_CONTAINERS:
                self._draft.open_link(relation.target)
            else:
                self._draft.link(relation.target)

    def text(self, data: str) -> None:
        if self._fallback_depth or not self.stack:
            return
        if self.stack[-1] == "t":
            self._draft.add(data)
        elif self.stack[-1] == "instrText" and len(self._field) < _MAX_FIELD_CHARS:
            self._field += data

    def end(self, name: str) -> None:
        if self._fallback_depth:
            if len(self.stack) < self._fallback_depth:
                self._fallback_depth = 0
        elif name == "p":
            self._draft.end_line(self._is_heading or self._is_title)
            self._is_heading = False
        elif name == "sp":
            self._is_title = False
        elif name in _LINK_CONTAINERS:
            self._draft.close_link()

    def _add_field(self, field: str) -> None:
        found = _FIELD.search(field)
        if found:
            self._draft.link(found[1])
