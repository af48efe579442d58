"""Read XML as a stream, and the entries of documents that are zip files, within limits.

XML is parsed with expat. Names are without their prefixes. Documents that declare entities are rejected, and undeclared
entities of HTML are replaced by their characters. Depth and number of elements are bounded, and also the bytes that the
parser has not consumed, since it would parse an endless tag again with each block.

A few kilobytes may decompress to gigabytes. So decompressed bytes are counted while reading, regardless of the sizes
that the file states, in total and in proportion to the compressed size. Only the two compression methods that such
documents use are supported.
"""

from __future__ import annotations

import io
import posixpath
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from html.entities import name2codepoint
from typing import Any, NamedTuple
from xml.parsers import expat

from orienteer.extract.documents.document import DocumentDraft, UnreadableDocumentError

MAX_DEPTH = 256
MAX_ITEMS = 5_000_000  # elements and attributes
_MAX_UNREAD_BYTES = 1 << 20

MAX_ENTRIES = 20_000
MAX_INFLATED_BYTES = 128 << 20  # of all entries together
MAX_RATIO = 250  # decompressed to compressed, of an entry of more than a megabyte

_BLOCK_BYTES = 64 << 10
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_ENCRYPTED = 1


class XmlHandler:
    """Base of handlers of elements and text. `stack` has the names of the open elements.

    Elements with `ignored` names are skipped with all that they contain.
    """

    ignored: frozenset[str] = frozenset()

    def __init__(self) -> None:
        self.stack: list[str] = []
        self._n_items = 0
        self._ignored_depth = 0  # of the ignored element that is open; 0: none

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """Handle the start of an element."""

    def end(self, name: str) -> None:
        """Handle the end of an element."""

    def text(self, data: str) -> None:
        """Handle text."""

    def read(self, blocks: Iterable[bytes]) -> None:
        """Parse a document; UnreadableDocumentError if it is damaged or exceeds the limits."""
        parser = self._parser()
        n_bytes = 0
        try:
            for block in blocks:
                parser.Parse(block, False)
                n_bytes += len(block)
                if n_bytes - parser.CurrentByteIndex > _MAX_UNREAD_BYTES:
                    raise UnreadableDocumentError("a tag that does not end")
            parser.Parse(b"", True)
        except expat.ExpatError as error:
            raise UnreadableDocumentError(f"damaged: {error}") from None
        except (LookupError, ValueError):
            raise UnreadableDocumentError("damaged: an unknown encoding") from None

    def _parser(self) -> Any:
        parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.UseForeignDTD(True)  # undeclared entities are then reported as skipped, and are no errors
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._text
        parser.EntityDeclHandler = self._refuse_entity
        parser.ExternalEntityRefHandler = lambda *_: 1  # external entities are ignored
        parser.SkippedEntityHandler = self._skipped
        return parser

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._n_items += 1 + len(attributes)
        if len(self.stack) == MAX_DEPTH or self._n_items > MAX_ITEMS:
            raise UnreadableDocumentError("too many or too deep elements")
        name = name.rpartition(":")[2]
        self.stack.append(name)
        if name in self.ignored:
            self._ignored_depth = self._ignored_depth or len(self.stack)
        if self._ignored_depth:
            return
        if attributes:  # of `id` and `r:id` the prefixed one counts: it is the reference
            plain = {key: value for key, value in attributes.items() if ":" not in key}
            attributes = plain | {key.rpartition(":")[2]: value for key, value in attributes.items() if ":" in key}
        self.start(name, attributes)

    def _end(self, name: str) -> None:
        self.stack.pop()
        if not self._ignored_depth:
            self.end(name.rpartition(":")[2])
        elif len(self.stack) < self._ignored_depth:
            self._ignored_depth = 0

    def _text(self, data: str) -> None:
        if not self._ignored_depth:
            self.text(data)

    def _refuse_entity(self, *_: object) -> None:
        raise UnreadableDocumentError("it declares entities")

    def _skipped(self, name: str, is_parameter: bool) -> None:
        if not is_parameter and name in name2codepoint:
            self._text(chr(name2codepoint[name]))


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
        self.names = {info.filename: info for info in self._zip.infolist()}
        self._n_bytes_left = MAX_INFLATED_BYTES

    def blocks(self, name: str) -> Iterator[bytes]:
        """Yield the content of an entry in blocks."""
        info = self.names.get(name)
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

    def elements(self, name: str, *wanted: str) -> list[tuple[str, dict[str, str]]]:
        """Return the elements of an XML entry that have one of these names, with their attributes."""
        collector = _Elements(wanted)
        self.read_xml(name, collector)
        return collector.found

    def relations(self, name: str) -> dict[str, Relation]:
        """Return the targets of the ids in an Office entry; "" is the whole document."""
        folder, _, file = name.rpartition("/")
        stated = posixpath.join(folder, "_rels", f"{file}.rels")
        if stated not in self.names:
            return {}
        relations = {}
        for _, attributes in self.elements(stated, "Relationship"):
            target, is_external = attributes.get("Target", ""), attributes.get("TargetMode") == "External"
            if not is_external:
                target = posixpath.normpath(posixpath.join("/" + folder, target)).lstrip("/")
            kind = attributes.get("Type", "").rpartition("/")[2]
            relations[attributes.get("Id", "")] = Relation(kind, target, is_external)
        return relations

    def main_entry(self) -> str:
        """Return the name of the main entry of an Office document."""
        for relation in self.relations("").values():
            if relation.kind == "officeDocument":
                return relation.target
        raise UnreadableDocumentError("damaged: it has no main document")

    def draft(self, name: str) -> DocumentDraft:
        """Return a draft with the title and the language that an entry states.

        They are empty if the entry is missing or damaged, which does not make a document unreadable.
        """
        draft = DocumentDraft()
        if name in self.names:
            properties = _Properties()
            with suppress(UnreadableDocumentError):
                self.read_xml(name, properties)
                draft.title, draft.language = properties.title, properties.language
        return draft


class _Elements(XmlHandler):
    def __init__(self, wanted: tuple[str, ...]) -> None:
        super().__init__()
        self._wanted = wanted
        self.found: list[tuple[str, dict[str, str]]] = []

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if name in self._wanted:
            self.found.append((name, attributes))


class _Properties(XmlHandler):
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
