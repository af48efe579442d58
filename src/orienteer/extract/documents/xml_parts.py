"""XML, read as a stream by expat, within limits.

Names are without their prefixes. Entities are never declared: a document that tries is not read. Of those that HTML
has, the character is taken. Depth and number of elements are bounded; so is what stands unread in the parser, which
would start an endless tag anew with every block.
"""

from __future__ import annotations

from collections.abc import Iterable
from html.entities import name2codepoint
from typing import Any
from xml.parsers import expat

from orienteer.extract.documents.document import UnreadableDocumentError

MAX_DEPTH = 256
MAX_PARTS = 5_000_000  # elements and attributes
_MAX_UNREAD_BYTES = 1 << 20


class XmlPart:
    """Subclasses hear of elements and text. `stack` holds the names of the elements that are open."""

    def __init__(self) -> None:
        self.stack: list[str] = []
        self._n_parts = 0

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """An element begins."""

    def end(self, name: str) -> None:
        """An element ends."""

    def text(self, data: str) -> None:
        """Text between tags."""

    def read(self, blocks: Iterable[bytes]) -> None:
        """Hear all of it; UnreadableDocumentError where it is damaged, or goes beyond the limits."""
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
        parser.UseForeignDTD(True)  # entities that are not declared are told of, instead of being an error
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self.text
        parser.EntityDeclHandler = self._refuse_entity
        parser.ExternalEntityRefHandler = lambda *_: 1  # there is nothing to be fetched
        parser.SkippedEntityHandler = self._skipped
        return parser

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._n_parts += 1 + len(attributes)
        if len(self.stack) == MAX_DEPTH or self._n_parts > MAX_PARTS:
            raise UnreadableDocumentError("too many or too deep elements")
        name = name.rpartition(":")[2]
        self.stack.append(name)
        if attributes:  # of `id` and `r:id`, the one with a prefix counts: it leads to another part
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
