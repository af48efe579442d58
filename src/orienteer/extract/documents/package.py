"""A document that is a zip file: its parts, within limits.

A few kilobytes can stand for gigabytes. So what is inflated is counted as it comes, whatever the file says of itself:
in all, and in proportion to what is packed. Only the two ways to pack that such documents use are read.
"""

from __future__ import annotations

import io
import posixpath
import zipfile
import zlib
from collections.abc import Iterator
from typing import NamedTuple

from orienteer.extract.documents.document import UnreadableDocumentError
from orienteer.extract.documents.xml_parts import XmlPart

MAX_ENTRIES = 20_000
MAX_INFLATED_BYTES = 128 << 20  # of all parts together
MAX_RATIO = 250  # inflated to packed, of a part of more than a megabyte

_BLOCK_BYTES = 64 << 10
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_ENCRYPTED = 1


class Relation(NamedTuple):
    """What an id in an Office part stands for: another part (`target` is its name), or something outside."""

    kind: str  # the last word of its type: "hyperlink", "slide", "officeDocument"
    target: str
    is_external: bool


class Package:
    """The parts of a zip file by their names."""

    def __init__(self, content: bytes) -> None:
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(content))
        except (zipfile.BadZipFile, ValueError, NotImplementedError, OverflowError, EOFError) as error:
            raise UnreadableDocumentError(f"damaged: {error}") from None
        if len(self._zip.infolist()) > MAX_ENTRIES:
            raise UnreadableDocumentError(f"more than {MAX_ENTRIES:,} parts")
        self._names = {info.filename: info for info in self._zip.infolist()}
        self._n_bytes_left = MAX_INFLATED_BYTES

    @property
    def names(self) -> list[str]:
        return list(self._names)

    def blocks(self, name: str) -> Iterator[bytes]:
        """The content of a part, block by block."""
        info = self._names.get(name)
        if info is None:
            raise UnreadableDocumentError(f"damaged: it has no {name[:80]}")
        if info.flag_bits & _ENCRYPTED:
            raise UnreadableDocumentError("encrypted")
        if info.compress_type not in _METHODS:
            raise UnreadableDocumentError("packed in an unknown way")
        n_bytes, n_allowed = 0, max(1 << 20, MAX_RATIO * info.compress_size)
        try:
            with self._zip.open(info) as part:
                while block := part.read(_BLOCK_BYTES):
                    n_bytes += len(block)
                    self._n_bytes_left -= len(block)
                    if self._n_bytes_left < 0 or n_bytes > n_allowed:
                        raise UnreadableDocumentError("too large when unpacked")
                    yield block
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, NotImplementedError) as error:
            raise UnreadableDocumentError(f"damaged: {error}") from None

    def read_xml(self, name: str, part: XmlPart) -> None:
        """Let `part` hear what stands in a part that is XML."""
        part.read(self.blocks(name))

    def relations(self, name: str) -> dict[str, Relation]:
        """What the ids in an Office part stand for; "" is the whole document."""
        folder, _, file = name.rpartition("/")
        stated = posixpath.join(folder, "_rels", f"{file}.rels")
        if stated not in self._names:
            return {}
        relations = _Relations(folder)
        self.read_xml(stated, relations)
        return relations.found

    def main_part(self) -> str:
        """The name of the part that an Office document begins with."""
        for relation in self.relations("").values():
            if relation.kind == "officeDocument":
                return relation.target
        raise UnreadableDocumentError("damaged: nothing says where it begins")


class _Relations(XmlPart):
    def __init__(self, folder: str) -> None:
        super().__init__()
        self._folder = folder
        self.found: dict[str, Relation] = {}

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if name != "Relationship":
            return
        target, is_external = attributes.get("Target", ""), attributes.get("TargetMode") == "External"
        if not is_external:
            target = posixpath.normpath(posixpath.join("/" + self._folder, target)).lstrip("/")
        kind = attributes.get("Type", "").rpartition("/")[2]
        self.found[attributes.get("Id", "")] = Relation(kind, target, is_external)


class CoreProperties(XmlPart):
    """Title and language, as Office (docProps/core.xml), OpenDocument (meta.xml) and EPUB state them."""

    def __init__(self) -> None:
        super().__init__()
        self.title = self.language = ""
        self._wanted = ""

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self._wanted = name if name in ("title", "language") and not getattr(self, name) else ""

    def text(self, data: str) -> None:
        if self._wanted and len(getattr(self, self._wanted)) < 10_000:
            setattr(self, self._wanted, getattr(self, self._wanted) + data)

    def end(self, name: str) -> None:
        self._wanted = ""


def core_properties(package: Package, name: str) -> CoreProperties:
    """What is stated there; nothing where the part is missing or damaged: a title is no reason to give up."""
    properties = CoreProperties()
    if name in package.names:
        try:
            package.read_xml(name, properties)
        except UnreadableDocumentError:
            return CoreProperties()
    return properties
