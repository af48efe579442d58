"""The content of an answer as a page: HTML, plain text, a document, or something that has nothing for us."""

from __future__ import annotations

from orienteer.answers.sniffing import is_xml
from orienteer.extract.blocks import blocks_of_text
from orienteer.extract.charset import decoded
from orienteer.extract.documents.as_page import DocumentReading, document_page
from orienteer.extract.documents.kinds import READERS, XML_TYPES, is_document
from orienteer.extract.documents.limited import read_document
from orienteer.extract.page import MAX_TEXT_CHARS, Page, extract_page
from orienteer.extract.page_fields import with_server_date
from orienteer.extract.robot_rules import OUR_NAME

HTML_TYPES = ("text/html", "application/xhtml+xml")
PLAIN_TEXT = "text/plain"
READ_TYPES = (*HTML_TYPES, PLAIN_TEXT, *READERS, *sorted(XML_TYPES))  # feeds may be stated as XML of any kind


def is_html(content_type: str) -> bool:
    """Whether a page of this media type is read as HTML; so is one that states none."""
    return content_type in ("", *HTML_TYPES)


def may_hold_links(content_type: str) -> bool:
    """Whether there may be links in a file of this type while nobody reads it: in XML, SVG, and in documents."""
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
    """What stands on a page; `charset` is what the Content-Type states, `robots_header` the X-Robots-Tag.

    `now` is the time by which `unavailable_after` is judged, `robot` our name in what is said to robots. With fields,
    the Last-Modified header counts where the page does not say when it was changed. `documents` reads those: in the
    process for it, unless somebody has read this one already. An UnreadableDocumentError says why nobody can.
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
        # A form feed is the mark of a page in a document; printed pages of a plain text are none.
        page.text = decoded(content, charset)[:MAX_TEXT_CHARS].replace("\f", "\n")
    if with_blocks and not page.blocks:
        page.blocks = blocks_of_text(page.text)
    if with_fields:
        page.fields = with_server_date(page.fields, last_modified)
    return page
