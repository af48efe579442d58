"""Word documents (docx): paragraphs, table cells, notes, headers and footers."""

from __future__ import annotations

import re

from orienteer.extract.documents.document import Document, Draft
from orienteer.extract.documents.office_text import OfficeText
from orienteer.extract.documents.package import Package, core_properties

_MORE_PARTS = re.compile(r"(?:footnotes|endnotes|header\d*|footer\d*)\.xml")


def read(content: bytes) -> Document:
    package, draft = Package(content), Draft()
    main = package.main_part()
    properties = core_properties(package, "docProps/core.xml")
    draft.title, draft.language = properties.title, properties.language
    folder = main.rpartition("/")[0] + "/"
    more = [name for name in package.names if name.startswith(folder) and _MORE_PARTS.fullmatch(name[len(folder) :])]
    for name in (main, *sorted(more)):
        package.read_xml(name, OfficeText(draft, package.relations(name)))
    return draft.finished()
