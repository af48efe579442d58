"""The content of an answer as a page: HTML, plain text, or something that has neither words nor links for us."""

from __future__ import annotations

from orienteer.answers.sniffing import is_xml
from orienteer.extract.blocks import blocks_of_text
from orienteer.extract.charset import decoded
from orienteer.extract.page import MAX_TEXT_CHARS, Page, extract_page

HTML_TYPES = ("text/html", "application/xhtml+xml")


def is_html(content_type: str) -> bool:
    """Whether a page of this media type is read as HTML; so is one that states none."""
    return content_type in ("", *HTML_TYPES)


def may_hold_links(content_type: str) -> bool:
    """Whether browsers show links in a file of this type that is not read here: XML, SVG, but no feeds."""
    return is_xml(content_type) and content_type not in (*HTML_TYPES, "application/rss+xml", "application/atom+xml")


def read_page(
    content: bytes,
    url: str,
    content_type: str,
    charset: str | None = None,
    robots_header: str = "",
    with_text: bool = True,
    refresh_header: str = "",
    now: float | None = None,
    with_blocks: bool = False,
    with_scores: bool = False,
) -> Page:
    """What stands on a page; `charset` is what the Content-Type states, `robots_header` the X-Robots-Tag.

    `now` is the time by which `unavailable_after` is judged.
    """
    html = content if is_html(content_type) else b""
    page = extract_page(html, url, charset, robots_header, with_text, refresh_header, now, with_blocks, with_scores)
    if content_type == "text/plain" and with_text:
        page.text = decoded(content, charset)[:MAX_TEXT_CHARS]
    if with_blocks and not page.blocks:
        page.blocks = blocks_of_text(page.text)
    return page
