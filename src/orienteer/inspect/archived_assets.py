"""The assets of an archived page (images, styles, fonts, frames): which are archived, and why others are not.

An asset is archived if the response was 2xx. A response such as 404 is archived, too, but it is no asset.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import NamedTuple

from orienteer.extract.assets import asset_urls
from orienteer.inspect.captures import ArchivedContent, ArchivedTime, Captures
from orienteer.pages.outcome import Outcome
from orienteer.responses.response import location_of
from orienteer.store.database_view import DatabaseView
from orienteer.wording import plain

MAX_ASSETS = 2_000  # of one page
NOT_FETCHED = "not fetched"
NOT_ARCHIVED = "its server asks not to archive it"
PENDING = "still to be fetched"

_MAX_REDIRECTS = 5
_MAX_REASON_CHARS = 60
_STYLE = "text/css"


class ArchivedAsset(NamedTuple):
    """An asset with the time and the HTTP status of its archived response; None and 0 if there is none.

    `reason` is why the asset is not archived, "" if it is.
    """

    url: str
    time: float | None
    status: int
    reason: str


def is_archived(status: int) -> bool:
    """Whether a response with this status is the asset."""
    return 200 <= status < 300


def missing_reason(database: DatabaseView, url: str, status: int) -> str:
    """Return why an asset is not archived; `status` is that of the archived response, 0 if there is none.

    >>> missing_reason(None, "http://example.org/a.css", 404)
    'http 404'
    """
    if status:
        return f"http {status}"
    asset = database.last_finished_asset(url) or database.asset(url)
    if asset is None:
        number = database.find_url(url)
        page = None if number is None else database.page(number)
        return NOT_FETCHED if page is None else plain(page.outcome, _MAX_REASON_CHARS)
    if asset.outcome in (Outcome.OK, Outcome.REDIRECT):
        return NOT_ARCHIVED if asset.archived is None else Outcome.TOO_MANY_REDIRECTS
    return plain(asset.outcome, _MAX_REASON_CHARS) or PENDING


def missing_reasons(database: DatabaseView, missing: Mapping[str, int]) -> dict[str, str]:
    """Return the reasons of several assets by URL, given their statuses."""
    return {url: missing_reason(database, url, status) for url, status in missing.items()}


def assets_of(captures: Captures, database: DatabaseView, page: ArchivedTime) -> list[ArchivedAsset]:
    """Return the assets of an archived page and of its styles, each as archived closest to it in time."""
    content = captures.content(page.dom or page.capture)
    assets: dict[str, ArchivedAsset] = {}
    queue = deque([] if content is None else _assets_in(content))
    while queue and len(assets) < MAX_ASSETS:
        url = queue.popleft()
        if url in assets:
            continue
        final_url, response = _response(captures, url, page.time)
        if response is None or not is_archived(response.status):
            status = 0 if response is None else response.status
            time = None if response is None else response.time
            assets[url] = ArchivedAsset(url, time, status, missing_reason(database, final_url, status))
            continue
        assets[url] = ArchivedAsset(url, response.time, response.status, "")
        if response.type == _STYLE:
            queue.extend(_assets_in(response))
    return list(assets.values())


def _assets_in(content: ArchivedContent) -> list[str]:
    return asset_urls(content.content, content.url, content.type, content.charset)


def _response(captures: Captures, url: str, time: float) -> tuple[str, ArchivedContent | None]:
    """Return the response of a URL archived closest to a time, following redirects, and the URL they end at."""
    for _ in range(_MAX_REDIRECTS + 1):
        row = captures.nearest(url, time)
        content = None if row is None else captures.content(row)
        target = None if content is None else location_of(content.status, content.headers, content.url)
        if target is None:
            return url, content
        url = target
    return url, None
