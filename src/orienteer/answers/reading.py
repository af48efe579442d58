"""The content of an answer as a page: HTML, plain text, or something that has neither words nor links for us."""

from __future__ import annotations

from orienteer.answers.sniffing import is_xml
from orienteer.extract.charset import decoded
from orienteer.extract.page import MAX_TEXT_CHARS, Page, extract_page
from orienteer.extract.page_fields import with_server_date
from orienteer.extract.robot_rules import OUR_NAME

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
    robot: str = OUR_NAME,
    with_fields: bool = False,
    last_modified: str = "",
) -> Page:
    """What stands on a page; `charset` is what the Content-Type states, `robots_header` the X-Robots-Tag.

    `now` is the time by which `unavailable_after` is judged, `robot` our name in what is said to robots. With fields,
    the Last-Modified header counts where the page does not say when it was changed.
    """
    html = content if is_html(content_type) else b""
    page = extract_page(html, url, charset, robots_header, with_text, refresh_header, now, robot, with_fields)
    if with_fields:
        page.fields = with_server_date(page.fields, last_modified)
    if content_type == "text/plain" and with_text:
        page.text = decoded(content, charset)[:MAX_TEXT_CHARS]
    return page
