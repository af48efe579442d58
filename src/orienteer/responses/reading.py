"""Parse the content of a response into a Page: HTML, plain text, documents; other types have no text and no links."""

from __future__ import annotations

from orienteer.extract.blocks import blocks_of_text
from orienteer.extract.documents.document import TOO_MANY_LINKS as CUT
from orienteer.extract.documents.document import Document, DocumentReading, UnreadableDocumentError
from orienteer.extract.documents.kinds import HTML_TYPES, PLAIN_TEXT, is_document
from orienteer.extract.documents.limited import read_document
from orienteer.extract.language import primary_language
from orienteer.extract.links import NOFOLLOW, TOO_MANY_LINKS, UNREADABLE, URL_TOO_LONG, resolved
from orienteer.extract.page import MAX_TEXT_CHARS, Page, extract_page
from orienteer.extract.page_fields import with_server_date
from orienteer.extract.parser import decoded
from orienteer.extract.robot_rules import OUR_NAME
from orienteer.responses.sniffing import is_xml


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
        if not content:
            raise UnreadableDocumentError("it is empty")
        page = extract_page(b"", url, None, robots_header, with_text=False, now=now, robot=robot)
        _add_document(page, documents(content, content_type), url, with_text)
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


def _add_document(page: Page, document: Document, url: str, with_text: bool) -> None:
    """Fill the empty page of a document; its references become links, as for HTML."""
    found = resolved(document.references, url, "utf-8")
    links = list(dict.fromkeys(found.links.values()))
    missing = {
        TOO_MANY_LINKS: found.is_cut or document.missing == CUT,
        URL_TOO_LONG: bool(found.too_long),
        UNREADABLE: bool(document.missing) and document.missing != CUT,
        NOFOLLOW: page.nofollow and bool(links),
    }
    page.unknown_links = tuple(why for why, is_so in missing.items() if is_so)
    page.too_long = found.too_long
    page.title, page.language = document.title, primary_language(document.language)
    if page.nofollow:
        page.nofollow_links = tuple(links)
    else:
        page.links = links
    if with_text:
        followed = set(page.links) - {url}
        page.text, page.headings = document.text, list(document.headings)
        anchors = ((found.links.get(reference), words) for reference, words in document.anchors)
        page.anchors = [(link, words) for link, words in anchors if link is not None and link in followed]
