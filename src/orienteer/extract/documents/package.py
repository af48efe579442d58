"""Read the entries of documents that are zip files, within limits.

A few kilobytes may decompress to gigabytes. So decompressed bytes are counted while reading, regardless of the sizes
that the file states, in total and in proportion to the compressed size. Only the two compression methods that such
documents use are supported.
"""

from __future__ import annotations

import io
import posixpath
import zipfile
import zlib
from collections.abc import Iterator
from typing import NamedTuple

from orienteer.extract.documents.document import UnreadableDocumentError
from orienteer.extract.documents.xml_handler import XmlHandler

MAX_ENTRIES = 20_000
MAX_INFLATED_BYTES = 128 << 20  # of all entries together
MAX_RATIO = 250  # decompressed to compressed, of an entry of more than a megabyte

_BLOCK_BYTES = 64 << 10
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_ENCRYPTED = 1


class Relation(NamedTuple):
    """The target of an id in an Office entry: the name of another entry, or an external URL."""

    kind: str  # the last word of its type: "hyperlink", "slide", "officeDocument"
    target: str
    is_external: bool


class Package:
    """The entries of a zip file by name."""

    def __init__(self, content: bytes) -> None:
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(content))
        except (zipfile.BadZipFile, ValueError, NotImplementedError, OverflowError, EOFError) as error:
            raise UnreadableDocumentError(f"damaged: {error}") from None
        if len(self._zip.infolist()) > MAX_ENTRIES:
            raise UnreadableDocumentError(f"more than {MAX_ENTRIES:,} files in it")
        self._names = {info.filename: info for info in self._zip.infolist()}
        self._n_bytes_left = MAX_INFLATED_BYTES

    @property
    def names(self) -> list[str]:
        return list(self._names)

    def blocks(self, name: str) -> Iterator[bytes]:
        """Yield the content of an entry in blocks."""
        info = self._names.get(name)
        if info is None:
            raise UnreadableDocumentError(f"damaged: it has no {name[:80]}")
        if info.flag_bits & _ENCRYPTED:
            raise UnreadableDocumentError("encrypted")
        if info.compress_type not in _METHODS:
            raise UnreadableDocumentError("an unknown compression method")
        n_bytes, n_allowed = 0, max(1 << 20, MAX_RATIO * info.compress_size)
        try:
            with self._zip.open(info) as entry:
                while block := entry.read(_BLOCK_BYTES):
                    n_bytes += len(block)
                    self._n_bytes_left -= len(block)
                    if self._n_bytes_left < 0 or n_bytes > n_allowed:
                        raise UnreadableDocumentError("too large when unpacked")
                    yield block
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, NotImplementedError) as error:
            raise UnreadableDocumentError(f"damaged: {error}") from None

    def read_xml(self, name: str, handler: XmlHandler) -> None:
        """Parse an XML entry with a handler."""
        handler.read(self.blocks(name))

    def relations(self, name: str) -> dict[str, Relation]:
        """Return the targets of the ids in an Office entry; "" is the whole document."""
        folder, _, file = name.rpartition("/")
        stated = posixpath.join(folder, "_rels", f"{file}.rels")
        if stated not in self._names:
            return {}
        relations = _Relations(folder)
        self.read_xml(stated, relations)
        return relations.found

    def main_entry(self) -> str:
        """Return the name of the main entry of an Office document."""
        for relation in self.relations("").values():
            if relation.kind == "officeDocument":
                return relation.target
        raise UnreadableDocumentError("damaged: it has no main document")


class _Relations(XmlHandler):
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


class CoreProperties(XmlHandler):
    """Title and language, from Office (docProps/core.xml), OpenDocument (meta.xml) and EPUB."""

    def __init__(self) -> None:
        super().__init__()
        self.title = self.language = ""
        self._open_field = ""

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self._open_field = name if name in ("title", "language") and not getattr(self, name) else ""

    def text(self, data: str) -> None:
        if self._open_field and len(getattr(self, self._open_field)) < 10_000:
            setattr(self, self._open_field, getattr(self, self._open_field) + data)

    def end(self, name: str) -> None:
        self._open_field = ""


def core_properties(package: Package, name: str) -> CoreProperties:
    """Read title and language; empty if the entry is missing or damaged, which does not make a document unreadable."""
    properties = CoreProperties()
    if name in package.names:
        try:
            package.read_xml(name, properties)
        except UnreadableDocumentError:
            return CoreProperties()
    return properties
