"""Convert a document to a page: its references become links, as for HTML."""

from __future__ import annotations

from collections.abc import Callable

from orienteer.extract.documents.document import TOO_MANY_LINKS as CUT
from orienteer.extract.documents.document import Document, UnreadableDocumentError
from orienteer.extract.documents.limited import read_document
from orienteer.extract.language import primary_language
from orienteer.extract.links import NOFOLLOW, TOO_MANY_LINKS, UNREADABLE, URL_TOO_LONG, resolved
from orienteer.extract.page import Page, extract_page
from orienteer.extract.robot_rules import OUR_NAME

DocumentReading = Callable[[bytes, str], Document]


def document_page(
    content: bytes,
    url: str,
    media_type: str,
    robots_header: str = "",
    with_text: bool = True,
    now: float | None = None,
    robot: str = OUR_NAME,
    read: DocumentReading = read_document,
) -> Page:
    """Read the document at `url` as a page; UnreadableDocumentError with the reason if it cannot be read."""
    if not content:
        raise UnreadableDocumentError("it is empty")
    document = read(content, media_type)
    page = extract_page(b"", url, None, robots_header, with_text=False, now=now, robot=robot)
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
    return page
