"""The links of an HTML page, for those who want nothing else of it."""

from __future__ import annotations

from orienteer.extract.page import extract_page


def extract_links(html: bytes, url: str, charset: str | None = None) -> list[str]:
    """The canonical URLs that the page at `url` links to: the links of `extract_page`.

    >>> extract_links(b"<a href=b>b</a> <a href='/c#part'>c</a> <a href=mailto:d@e>d</a>", "http://example.org/a/")
    ['http://example.org/a/b', 'http://example.org/c']
    """
    return extract_page(html, url, charset, with_text=False).links
