"""Parse the content of a response into a Page: HTML, plain text, documents; other types have no text and no links."""

from __future__ import annotations

from orienteer.extract.blocks import blocks_of_text
from orienteer.extract.charset import decoded
from orienteer.extract.documents.as_page import DocumentReading, document_page
from orienteer.extract.documents.kinds import READERS, XML_TYPES, is_document
from orienteer.extract.documents.limited import read_document
from orienteer.extract.page import MAX_TEXT_CHARS, Page, extract_page
from orienteer.extract.page_fields import with_server_date
from orienteer.extract.robot_rules import OUR_NAME
from orienteer.responses.sniffing import is_xml

HTML_TYPES = ("text/html", "application/xhtml+xml")
PLAIN_TEXT = "text/plain"
READ_TYPES = (*HTML_TYPES, PLAIN_TEXT, *READERS, *sorted(XML_TYPES))  # feeds are served as all kinds of XML


def is_html(content_type: str) -> bool:
    """Whether this media type is parsed as HTML; a page without a type is."""
    return content_type in ("", *HTML_TYPES)


def may_hold_links(content_type: str) -> bool:
    """Whether a file of this type may have links although it is not parsed: XML, SVG and documents."""
    return (is_xml(content_type) and content_type not in HTML_TYPES) or is_document(content_type)


def read_page(
    content: bytes,
    url: str,
    content_type: str,
    charset: str | None = None,
    robots_header: str = "",
    with_text: bool = True,
    refresh_header: str = "",
    now: float | None = None,
    robot: str = OUR_NAME,
    with_fields: bool = False,
    last_modified: str = "",
    documents: DocumentReading = read_document,
    with_blocks: bool = False,
    with_scores: bool = False,
) -> Page:
    """Parse a page; `charset` is from the Content-Type header, `robots_header` is X-Robots-Tag.

    `now` is the time for `unavailable_after`, `robot` our name in robots rules. With fields, the Last-Modified header
    is used if the page has no modification date. `documents` parses documents, by default in a separate process; it
    raises an UnreadableDocumentError with the reason if that fails.
    """
    if is_document(content_type):
        page = document_page(content, url, content_type, robots_header, with_text, now, robot, documents)
    else:
        html = content if is_html(content_type) else b""
        page = extract_page(
            html, url, charset, robots_header, with_text, refresh_header, now, robot, with_fields, with_blocks,
            with_scores,
        )  # fmt: skip
    if content_type == PLAIN_TEXT and with_text:
        # A form feed marks a new page in documents; in plain text it does not.
        page.text = decoded(content, charset)[:MAX_TEXT_CHARS].replace("\f", "\n")
    if with_blocks and not page.blocks:
        page.blocks = blocks_of_text(page.text)
    if with_fields:
        page.fields = with_server_date(page.fields, last_modified)
    return page
