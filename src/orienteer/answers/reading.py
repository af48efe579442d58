"""The content of an answer as a page: HTML, plain text, or something that has neither words nor links for us."""

from __future__ import annotations

from orienteer.extract.charset import decoded
from orienteer.extract.page import MAX_TEXT_CHARS, Page, extract_page

HTML_TYPES = ("text/html", "application/xhtml+xml")


def is_html(content_type: str) -> bool:
    """Whether a page of this media type is read as HTML; so is one that states none."""
    return content_type in ("", *HTML_TYPES)


def may_hold_links(content_type: str) -> bool:
    """Whether browsers show a file of this type, which is no page to us, with links in it: XML, SVG, MathML."""
    if content_type in ("application/rss+xml", "application/atom+xml"):
        return False  # browsers show no links there
    return content_type in ("text/xml", "application/xml") or content_type.endswith("+xml")


def read_page(
    content: bytes,
    url: str,
    content_type: str,
    charset: str | None = None,
    robots_header: str = "",
    with_text: bool = True,
) -> Page:
    """What stands on a page; `charset` is what the Content-Type states, `robots_header` the X-Robots-Tag."""
    page = extract_page(content if is_html(content_type) else b"", url, charset, robots_header, with_text)
    if content_type == "text/plain" and with_text:
        page.text = decoded(content, charset)[:MAX_TEXT_CHARS]
    return page
