"""The links of a page, for tests that need nothing else."""

from __future__ import annotations

from orienteer.extract.page import extract_page


def extract_links(html: bytes, url: str, charset: str | None = None) -> list[str]:
    return extract_page(html, url, charset, with_text=False).links
