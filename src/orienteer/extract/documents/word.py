"""Read Word documents (docx): paragraphs, table cells, notes, headers and footers."""

from __future__ import annotations

import re

from orienteer.extract.documents.document import Document, DocumentDraft
from orienteer.extract.documents.office_text import OfficeText
from orienteer.extract.documents.package import Package, core_properties

_MORE_ENTRIES = re.compile(r"(?:footnotes|endnotes|header\d*|footer\d*)\.xml")


def read(content: bytes) -> Document:
    package, draft = Package(content), DocumentDraft()
    main = package.main_entry()
    properties = core_properties(package, "docProps/core.xml")
    draft.title, draft.language = properties.title, properties.language
    folder = main.rpartition("/")[0] + "/"
    more = [name for name in package.names if name.startswith(folder) and _MORE_ENTRIES.fullmatch(name[len(folder) :])]
    for name in (main, *sorted(more)):
        package.read_xml(name, OfficeText(draft, package.relations(name)))
    return draft.finished()
