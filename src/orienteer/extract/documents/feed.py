"""Read RSS and Atom feeds: the titles, summaries and links of their entries.

Links are those of the feed and of its entries; in Atom, those with any relation to a page (`alternate`, `self`, `next`
...). Markup in summaries is dropped with its links, which are links of the linked pages.
"""

from __future__ import annotations

import re
from html import unescape
from urllib.parse import urljoin

from orienteer.extract.documents.document import Document, DocumentDraft, UnreadableDocumentError
from orienteer.extract.documents.package import XmlHandler

_BLOCK_BYTES = 64 << 10
_MAX_FIELD_CHARS = 200_000
_ROOTS = ("rss", "feed", "RDF")
_ENTRIES = frozenset(("item", "entry"))
_TEXTS = frozenset(("title", "description", "subtitle", "summary", "content", "encoded", "link", "guid"))
_FOLLOWED = frozenset(("alternate", "self", "next", "previous", "prev", "first", "last", "related", "via", "replies"))
_BLOCK_TAG = re.compile(r"</?(?:p|br|div|li|ul|ol|h[1-6]|tr|td|blockquote|pre)\b[^>]{0,2000}>", re.IGNORECASE)
_TAG = re.compile(r"<!--.*?-->|<[/!?a-zA-Z][^<>]{0,10000}>", re.DOTALL)


def read(content: bytes) -> Document:
    draft = DocumentDraft()
    feed = _Feed(draft)
    feed.read(content[at : at + _BLOCK_BYTES] for at in range(0, len(content), _BLOCK_BYTES))
    return draft.finished()


class _Feed(XmlHandler):
    def __init__(self, draft: DocumentDraft) -> None:
        super().__init__()
        self._draft = draft
        self._base = ""
        self._open_field = ""  # the element whose text is being read, including nested elements
        self._depth = 0
        self._pieces: list[str] = []
        self._n_chars = 0
        self._entry: dict[str, str] = {}
        self._is_in_entry = False
        self._entry_links: list[str] = []
        self._is_permanent = True

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if len(self.stack) == 1:
            if name not in _ROOTS:
                raise UnreadableDocumentError("neither RSS nor Atom")
            self._base = attributes.get("base", "")
            self._draft.language = attributes.get("lang", "")
        if self._open_field:
            self._pieces.append(" ")  # markup that is not escaped
        elif name in _ENTRIES:
            self._is_in_entry, self._entry, self._entry_links = True, {}, []
        elif name == "link" and "href" in attributes:
            if attributes.get("rel", "alternate") in _FOLLOWED:
                self._link(attributes["href"])
        elif name in _TEXTS or name == "language":
            self._open_field, self._depth, self._pieces, self._n_chars = name, len(self.stack), [], 0
            self._is_permanent = attributes.get("isPermaLink", "true") == "true"

    def text(self, data: str) -> None:
        if self._open_field and self._n_chars < _MAX_FIELD_CHARS:
            self._pieces.append(data)
            self._n_chars += len(data)

    def end(self, name: str) -> None:
        if self._open_field and len(self.stack) == self._depth - 1:
            value, field_name, self._open_field = "".join(self._pieces), self._open_field, ""
            self._field(field_name, value)
        elif name in _ENTRIES and self._is_in_entry:
            self._end_entry()

    def _field(self, name: str, value: str) -> None:
        if name == "link":
            self._link(value)
        elif self._is_in_entry:
            if name != "guid" or self._is_permanent:
                self._entry[name] = value
        elif name == "language":
            self._draft.language = self._draft.language or value
        elif name == "title" and not self._draft.title and self.stack[-1] in ("channel", "feed"):
            self._draft.title = _lines(value)[0] if _lines(value) else ""
            self._write(value)
        elif name in ("description", "subtitle") and self.stack[-1] in ("channel", "feed"):
            self._write(value)

    def _link(self, reference: str) -> None:
        reference = urljoin(self._base, reference.strip()) if self._base else reference.strip()
        if self._is_in_entry:
            self._entry_links.append(reference)
        else:
            self._draft.link(reference)

    def _end_entry(self) -> None:
        self._is_in_entry = False
        entry, links = self._entry, self._entry_links
        title = " ".join(_lines(entry.get("title", "")))
        self._write(title, is_heading=True)
        texts = [entry.get(name, "") for name in ("description", "summary", "content", "encoded")]
        self._write(max(texts, key=len))
        if not links and entry.get("guid", "").strip().startswith(("http://", "https://")):
            links = [entry["guid"]]
        for number, link in enumerate(links):
            self._draft.link(link, title if number == 0 else "")

    def _write(self, text: str, is_heading: bool = False) -> None:
        for line in _lines(text):
            self._draft.add(line)
            self._draft.end_line(is_heading)


def _lines(text: str) -> list[str]:
    """Return the text of possible markup, a line for each block."""
    lines = _TAG.sub("", _BLOCK_TAG.sub("\n", text)).split("\n")
    return [line for line in (" ".join(unescape(line).split()) for line in lines) if line]
