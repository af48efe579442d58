"""What is added to each page that was fetched."""

from __future__ import annotations

import orienteer as ori


def shout(page: ori.HookPage) -> ori.Added:
    """Keep the page's title in capitals, and tag it."""
    return ori.Added(fields={"shouted": page.title.upper()}, tags=["loud"])
