"""Look up pages of a crawl by the URL that an agent gives."""

from __future__ import annotations

from orienteer.errors import InputError
from orienteer.store.database import DatabaseView
from orienteer.url import canonical_url
from orienteer.wording import plain

_OTHER = {"http": "https", "https": "http"}


def found_page(database: DatabaseView, text: str) -> int:
    """Return the page of a URL, which need not be canonical; an InputError if the crawl has not discovered it."""
    url = canonical_url(text if "://" in text else f"https://{text}")
    if url is None:
        raise InputError(f"{plain(text, 100)!r} is not a valid URL; write it like https://example.org/")
    scheme, _, address = url.partition("://")
    candidates = [url, f"{_OTHER.get(scheme, scheme)}://{address}"]
    found = database.urls.find_all(candidates)
    for candidate in candidates:
        if candidate in found:
            return found[candidate]
    raise InputError(f"{plain(url, 300)}: the crawl has never seen this URL")
