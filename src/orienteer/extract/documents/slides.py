"""Read slides (pptx) in presentation order."""

from __future__ import annotations

from orienteer.extract.documents.document import Document, DocumentDraft
from orienteer.extract.documents.office_text import OfficeText
from orienteer.extract.documents.package import Package, core_properties
from orienteer.extract.documents.xml_handler import XmlHandler


def read(content: bytes) -> Document:
    package, draft = Package(content), DocumentDraft()
    main = package.main_entry()
    properties = core_properties(package, "docProps/core.xml")
    draft.title, draft.language = properties.title, properties.language
    order = _Order()
    package.read_xml(main, order)
    relations = package.relations(main)
    for number in order.ids:
        if number in relations:
            slide = relations[number].target
            package.read_xml(slide, OfficeText(draft, package.relations(slide)))
    return draft.finished()


class _Order(XmlHandler):
    """The ids of the slides in order, without masters and notes."""

    def __init__(self) -> None:
        super().__init__()
        self.ids: list[str] = []

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if name == "sldId":
            self.ids.append(attributes.get("id", ""))
