"""Read spreadsheets (xlsx): a line for each row, sheet by sheet."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from orienteer.extract.documents.document import MAX_TEXT_CHARS, Document, DocumentDraft
from orienteer.extract.documents.package import Package, Relation, core_properties
from orienteer.extract.documents.xml_handler import XmlHandler

_FORMULA = re.compile(r'HYPERLINK\(\s*"([^"]{1,16384})"', re.IGNORECASE)
_MAX_CELL_CHARS = 1 << 16


def read(content: bytes) -> Document:
    package, draft = Package(content), DocumentDraft()
    main = package.main_entry()
    properties = core_properties(package, "docProps/core.xml")
    draft.title, draft.language = properties.title, properties.language
    book, relations = _Workbook(), package.relations(main)
    package.read_xml(main, book)
    shared = _Shared()
    for relation in relations.values():
        if relation.kind == "sharedStrings":
            package.read_xml(relation.target, shared)
    for name, number in book.sheets:
        if number in relations and relations[number].kind == "worksheet":
            draft.add(name)
            draft.end_line(is_heading=True)
            sheet = relations[number].target
            package.read_xml(sheet, _Sheet(draft, shared.strings, package.relations(sheet)))
    return draft.finished()


class _Workbook(XmlHandler):
    def __init__(self) -> None:
        super().__init__()
        self.sheets: list[tuple[str, str]] = []  # names and ids

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if name == "sheet":
            self.sheets.append((attributes.get("name", ""), attributes.get("id", "")))


class _Shared(XmlHandler):
    """The shared strings, which cells reference by index. Strings beyond MAX_TEXT_CHARS in total are empty."""

    def __init__(self) -> None:
        super().__init__()
        self.strings: list[str] = []
        self._n_chars = 0
        self._pieces: list[str] = []

    def text(self, data: str) -> None:
        if self.stack and self.stack[-1] == "t" and "rPh" not in self.stack and self._n_chars < MAX_TEXT_CHARS:
            self._pieces.append(data)
            self._n_chars += len(data)

    def end(self, name: str) -> None:
        if name == "si":
            self.strings.append("".join(self._pieces))
            self._pieces = []


class _Sheet(XmlHandler):
    def __init__(self, draft: DocumentDraft, strings: Sequence[str], relations: Mapping[str, Relation]) -> None:
        super().__init__()
        self._draft = draft
        self._strings = strings
        self._relations = relations
        self._is_shared = False
        self._value = ""
        self._formula = ""

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if name == "c":
            self._is_shared = attributes.get("t") == "s"
            self._value = self._formula = ""
        elif name == "hyperlink":
            relation = self._relations.get(attributes.get("id", ""))
            if relation is not None and relation.is_external:
                self._draft.link(relation.target)

    def text(self, data: str) -> None:
        if not self.stack:
            return
        if self.stack[-1] in ("v", "t") and len(self._value) < _MAX_CELL_CHARS:
            self._value += data
        elif self.stack[-1] == "f" and len(self._formula) < _MAX_CELL_CHARS:
            self._formula += data

    def end(self, name: str) -> None:
        if name == "c":
            self._draft.add(self._cell() + " ")
            found = _FORMULA.search(self._formula)
            if found:
                self._draft.link(found[1], self._cell())
        elif name == "row":
            self._draft.end_line()

    def _cell(self) -> str:
        if not self._is_shared:
            return self._value
        at = int(self._value) if self._value.isascii() and self._value.isdigit() and len(self._value) < 10 else -1
        return self._strings[at] if 0 <= at < len(self._strings) else ""
