"""Read Office documents: Word, slides and sheets (docx, pptx, xlsx), and OpenDocument texts, slides and sheets."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from orienteer.extract.documents.document import MAX_TEXT_CHARS, Document, DocumentDraft
from orienteer.extract.documents.package import Package, Relation, XmlHandler

_PROPERTIES = "docProps/core.xml"
_WORD_NOTES = re.compile(r"(?:footnotes|endnotes|header\d*|footer\d*)\.xml")

_BREAKS = frozenset(("br", "cr", "tab", "noBreakHyphen"))
_FIELD = re.compile(r'HYPERLINK\s+"([^"]{1,16384})"')
_MAX_FIELD_CHARS = 1 << 16
_HEADING = re.compile(r"(?i)(heading ?[1-3]|title|subtitle)$")

_FORMULA = re.compile(r'HYPERLINK\(\s*"([^"]{1,16384})"', re.IGNORECASE)
_MAX_CELL_CHARS = 1 << 16

_LINES = frozenset(("p", "h"))
_SPACES = frozenset(("s", "tab", "line-break"))


def read_word(content: bytes) -> Document:
    """Read a Word document: paragraphs, table cells, notes, headers and footers."""
    package = Package(content)
    main = package.main_entry()
    draft = package.draft(_PROPERTIES)
    folder = main.rpartition("/")[0] + "/"
    notes = [name for name in package.names if name.startswith(folder) and _WORD_NOTES.fullmatch(name[len(folder) :])]
    for name in (main, *sorted(notes)):
        package.read_xml(name, _OfficeText(draft, package.relations(name)))
    return draft.finished()


def read_slides(content: bytes) -> Document:
    """Read slides in presentation order, without masters and notes."""
    package = Package(content)
    main = package.main_entry()
    draft = package.draft(_PROPERTIES)
    order = package.elements(main, "sldId")
    relations = package.relations(main)
    for _, attributes in order:
        relation = relations.get(attributes.get("id", ""))
        if relation is not None:
            package.read_xml(relation.target, _OfficeText(draft, package.relations(relation.target)))
    return draft.finished()


def read_sheets(content: bytes) -> Document:
    """Read a spreadsheet: a line for each row, sheet by sheet."""
    package = Package(content)
    main = package.main_entry()
    draft = package.draft(_PROPERTIES)
    relations = package.relations(main)
    sheets = package.elements(main, "sheet")
    shared = _SharedStrings()
    for relation in relations.values():
        if relation.kind == "sharedStrings":
            package.read_xml(relation.target, shared)
    for _, attributes in sheets:
        sheet = relations.get(attributes.get("id", ""))
        if sheet is not None and sheet.kind == "worksheet":
            draft.add(attributes.get("name", ""))
            draft.end_line(is_heading=True)
            package.read_xml(sheet.target, _Sheet(draft, shared.strings, package.relations(sheet.target)))
    return draft.finished()


def read_opendocument(content: bytes) -> Document:
    package = Package(content)
    draft = package.draft("meta.xml")
    package.read_xml("content.xml", _OpenDocumentText(draft))
    return draft.finished()


class _OfficeText(XmlHandler):
    """Text of Word documents and slides, which share a format: runs of text in paragraphs, links by id."""

    ignored = frozenset(("Fallback",))  # duplicates for old programs

    def __init__(self, draft: DocumentDraft, relations: Mapping[str, Relation]) -> None:
        super().__init__()
        self._draft = draft
        self._relations = relations
        self._is_heading = False
        self._is_title = False  # inside the shape that holds the title of a slide
        self._field = ""  # the instruction of a field, such as HYPERLINK "http://..."

    def start(self, name: str, attributes: dict[str, str]) -> None:
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
            if name == "hyperlink":  # it contains the text of the link; other elements are next to it
                self._draft.open_link(relation.target)
            else:
                self._draft.link(relation.target)

    def text(self, data: str) -> None:
        if not self.stack:
            return
        if self.stack[-1] == "t":
            self._draft.add(data)
        elif self.stack[-1] == "instrText" and len(self._field) < _MAX_FIELD_CHARS:
            self._field += data

    def end(self, name: str) -> None:
        if name == "p":
            self._draft.end_line(self._is_heading or self._is_title)
            self._is_heading = False
        elif name == "sp":
            self._is_title = False
        elif name == "hyperlink":
            self._draft.close_link()

    def _add_field(self, field: str) -> None:
        found = _FIELD.search(field)
        if found:
            self._draft.link(found[1])


class _SharedStrings(XmlHandler):
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


class _OpenDocumentText(XmlHandler):
    ignored = frozenset(("annotation", "tracked-changes"))  # comments, and deleted text

    def __init__(self, draft: DocumentDraft) -> None:
        super().__init__()
        self._draft = draft

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if name in _SPACES:
            self._draft.add(" ")
        elif name == "a" and attributes.get("href"):
            self._draft.open_link(attributes["href"])

    def text(self, data: str) -> None:
        if any(name in _LINES for name in self.stack):
            self._draft.add(data)

    def end(self, name: str) -> None:
        if name in _LINES:
            self._draft.end_line(is_heading=name == "h")
        elif name == "a":
            self._draft.close_link()
