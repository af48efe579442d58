"""Parse XML as a stream with expat, within limits.

Names are without their prefixes. Documents that declare entities are rejected, and undeclared entities of HTML are
replaced by their characters. Depth and number of elements are bounded, and also the bytes that the parser has not
consumed, since it would parse an endless tag again with each block.
"""

from __future__ import annotations

from collections.abc import Iterable
from html.entities import name2codepoint
from typing import Any
from xml.parsers import expat

from orienteer.extract.documents.document import UnreadableDocumentError

MAX_DEPTH = 256
MAX_ITEMS = 5_000_000  # elements and attributes
_MAX_UNREAD_BYTES = 1 << 20


class XmlHandler:
    """Base of handlers of elements and text. `stack` has the names of the open elements."""

    def __init__(self) -> None:
        self.stack: list[str] = []
        self._n_items = 0

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
        parser.CharacterDataHandler = self.text
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
        if attributes:  # of `id` and `r:id` the prefixed one counts: it is the reference
            plain = {key: value for key, value in attributes.items() if ":" not in key}
            attributes = plain | {key.rpartition(":")[2]: value for key, value in attributes.items() if ":" in key}
        self.start(name, attributes)

    def _end(self, name: str) -> None:
        self.stack.pop()
        self.end(name.rpartition(":")[2])

    def _refuse_entity(self, *_: object) -> None:
        raise UnreadableDocumentError("it declares entities")

    def _skipped(self, name: str, is_parameter: bool) -> None:
        if not is_parameter and name in name2codepoint:
            self.text(chr(name2codepoint[name]))
