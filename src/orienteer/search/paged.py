"""Texts with pages, such as those of PDF: each page begins with a mark, and a result names the page."""

from __future__ import annotations

from orienteer.extract.documents.document import PAGE_MARK


def collapsed(line: str) -> str:
    """A line with single spaces between its words; the mark that a page begins with it stays.

    >>> collapsed(f"{PAGE_MARK} a  b "), collapsed(PAGE_MARK), collapsed(" ")
    ('\\x0ca b', '\\x0c', '')
    """
    words = " ".join(line.split())
    return PAGE_MARK + words if line.startswith(PAGE_MARK) else words


def has_pages(text: str) -> bool:
    return text.startswith(PAGE_MARK)


def pages_of(text: str) -> list[str]:
    """The pages of a text that has some; the first is page 1."""
    return [page.strip("\n") for page in text.split(PAGE_MARK)[1:]]
