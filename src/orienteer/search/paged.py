"""Texts with pages, such as those of PDF: each page begins with PAGE_MARK, and a result names the page."""

from __future__ import annotations

from orienteer.extract.documents.document import PAGE_MARK


def collapsed(line: str) -> str:
    """Return a line with single spaces between its words; a page mark at its beginning stays.

    >>> collapsed(f"{PAGE_MARK} a  b "), collapsed(PAGE_MARK), collapsed(" ")
    ('\\x0ca b', '\\x0c', '')
    """
    words = " ".join(line.split())
    return PAGE_MARK + words if line.startswith(PAGE_MARK) else words


def has_pages(text: str) -> bool:
    return text.startswith(PAGE_MARK)


def pages_of(text: str) -> list[str]:
    """Split a text with page marks into pages; the first is page 1."""
    return [page.strip("\n") for page in text.split(PAGE_MARK)[1:]]
