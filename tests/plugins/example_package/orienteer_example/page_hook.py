"""What is done with each page that was fetched."""

from __future__ import annotations

from typing import Any


def shout(page: Any) -> None:
    """Say the page's title in capitals."""
    print(str(page.title).upper())
