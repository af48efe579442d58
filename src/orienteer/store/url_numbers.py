"""The URLs of a crawl with their hosts, numbered as the crawl has numbered them."""

from __future__ import annotations

import secrets

from orienteer.frontier.seen import SeenUrls
from orienteer.progress import Progress, silent
from orienteer.store.database import Database
from orienteer.store.failures import damaged

_STAGE = "reading the crawl"


def seen_urls(database: Database, progress: Progress = silent) -> SeenUrls:
    """All URLs of a database."""
    seen = SeenUrls(secrets.token_bytes(16))
    number_urls(seen, database, progress)
    return seen


def number_urls(seen: SeenUrls, database: Database, progress: Progress = silent) -> None:
    """Number the URLs that are not numbered yet."""
    n_urls = database.n_urls()
    try:
        for block in database.url_blocks(len(seen)):
            seen.number_lines(block)
            progress(_STAGE, len(seen), n_urls)
    except ValueError as error:
        raise damaged(database.path, error) from None
