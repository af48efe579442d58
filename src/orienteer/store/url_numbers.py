"""The URLs of a crawl and their hosts, with the ids of the crawl."""

from __future__ import annotations

import secrets

from orienteer.frontier.seen import SeenUrls
from orienteer.progress import Progress, silent
from orienteer.store.database import Database
from orienteer.store.failures import damaged

_STAGE = "reading the crawl"


def seen_urls(database: Database, progress: Progress = silent) -> SeenUrls:
    """Return all URLs of a database."""
    seen = SeenUrls(secrets.token_bytes(16))
    number_urls(seen, database, progress)
    return seen


def number_urls(seen: SeenUrls, database: Database, progress: Progress = silent) -> None:
    """Add the URLs of a database that are not in `seen` yet."""
    n_urls = database.n_urls()
    try:
        for block in database.url_blocks(len(seen)):
            seen.number_lines(block)
            progress(_STAGE, len(seen), n_urls)
    except ValueError as error:
        raise damaged(database.path, error) from None
