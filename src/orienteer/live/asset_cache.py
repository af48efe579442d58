"""The assets that a crawl has: in memory, in the archive, and in the table `part`.

An asset is fetched once in an epoch, and a second time if requests with credentials name it, too: a response to a
request with credentials serves only requests with the same credentials. A response for another origin is shared only
if CORS headers allow all origins, or this one, to read it. A refresh requests an asset again with conditional headers.
A body that is in the archive is not archived twice: a revisit record refers to the first one.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import replace

from orienteer.credentials.keyring import Keyring
from orienteer.errors import CrawlFolderError
from orienteer.extract.assets import asset_urls
from orienteer.fetch.archive import archived_response
from orienteer.ledger.ledger import Ledger
from orienteer.live.asset_queues import AssetKey
from orienteer.pages.outcome import NO_ERRORS, Outcome
from orienteer.pages.states import PageState
from orienteer.responses.headers import Headers, validators
from orienteer.responses.response import AssetRequest, Response
from orienteer.store.archive import Position
from orienteer.store.history import DonePages
from orienteer.store.record import ArchivedPage, EarlierRecord
from orienteer.store.rendering_tables import AssetRow
from orienteer.workers.fetch_result import ASSET_HEADERS, FetchResult

MAX_MEMORY_BYTES = 64 << 20

_POSITION_KEY = "requisites wanted"  # a value in crawl.db: the assets of pages are queued up to this ledger position
_CONDITIONS = frozenset(("if-none-match", "if-modified-since"))


class AssetCache:
    """The cached assets of one crawl."""

    def __init__(self, ledger: Ledger, keyring: Keyring, max_memory_bytes: int = MAX_MEMORY_BYTES) -> None:
        self._ledger = ledger
        self._keyring = keyring
        self._database = ledger.database
        self._archive = ledger.folder.archive
        self._max_memory_bytes = max_memory_bytes
        self._memory: OrderedDict[AssetKey, Response] = OrderedDict()  # in order of last use
        self._memory_bytes = 0

    # -- lookup -------------------------------------------------------------------------------------------------

    def response(self, key: AssetKey) -> Response | str | None:
        """Return the response of this epoch, or the reason why there is none; None if it must be requested."""
        if key in self._memory:
            self._memory.move_to_end(key)
            return self._memory[key]
        if key.method != "GET":
            return None
        last = self._without_origin(key)
        may_differ = isinstance(last, Response) and not _is_shared_with(key, last.headers)
        return None if may_differ else last

    def _without_origin(self, key: AssetKey) -> Response | str | None:
        """Return the last response, whichever origin it was requested for."""
        plain = key._replace(headers=())
        if plain in self._memory:
            self._memory.move_to_end(plain)
            return self._memory[plain]
        row = self._row(key)
        if row is None or not row.outcome:
            return self._page(key) if row is None else None
        if row.archived is None:
            return None if row.outcome in NO_ERRORS or row.outcome.startswith("http ") else row.outcome
        archived = self._read(row)
        if archived is None:
            return None
        response = archived_response(_request(key.url), archived, self._ledger.plan.fetch)
        self._remember(plain, response)
        return response

    def is_known(self, key: AssetKey) -> bool:
        """Return whether an asset is queued or done in this epoch, or is an archived page of the crawl."""
        return key in self._memory or self._row(key) is not None or self._page_position(key) is not None

    def pending_row(self, key: AssetKey) -> int | None:
        """Return the id of the row of a pending durable request, if there is one."""
        row = None if key.headers else self._last_row(key)
        return row.id if row is not None and not row.outcome else None

    def has_credentials(self, row: AssetRow) -> bool:
        """Return whether the request of a row has credentials; rows of old folders use those that exist now."""
        return self._keyring.grants(row.url) if row.with_credentials is None else row.with_credentials

    def request_headers(self, key: AssetKey) -> tuple[tuple[str, str], ...]:
        """Return the conditional headers for an asset of an earlier epoch."""
        row = None if key.is_preflight else self._before(key)
        archived = None if row is None else self._read(row)
        if archived is None or archived.status != 200 or not _is_shared_with(key, archived.headers):
            return ()
        etag, last_modified = validators(archived.headers)
        headers = (("If-None-Match", etag), ("If-Modified-Since", last_modified))
        return tuple((name, value) for name, value in headers if value)

    def assets_of_page(self, page: int) -> list[str]:
        """Return the URLs of the assets of a page, from its archived copy."""
        row = self._database.pages.row(page)
        if row is None or row.archived is None:
            return []
        try:
            archived = self._archive.read(row.archived)
        except CrawlFolderError:
            return []
        response = archived_response(_request(archived.url), archived, self._ledger.plan.fetch)
        return asset_urls(response.content, archived.url, response.content_type, response.charset)

    def pages_since_position(self) -> list[int]:
        """Return the pages that were fetched after the position of the last `save_position`."""
        saved = self._database.meta.get(_POSITION_KEY, 0)
        since = saved - 1 if isinstance(saved, int) else -1
        done = [events for events in self._database.history.pages_after(since) if isinstance(events, DonePages)]
        return [page for events in done for page in events.pages[events.states == PageState.FETCHED].tolist()]

    def save_position(self) -> None:
        self._database.meta.set(_POSITION_KEY, self._ledger.position)

    # -- storing ------------------------------------------------------------------------------------------------

    def record_request(self, key: AssetKey) -> int:
        """Make a request durable, so that a resumed crawl continues it; return the id of its row."""
        self._ledger.mark_dirty()
        return self._database.assets.add(key.url, self._ledger.epoch_number, key.with_credentials)

    def record_refusal(self, key: AssetKey, row: int | None, outcome: str) -> None:
        """Record an asset that was not requested or had no response; preflights have no rows."""
        if not key.is_preflight:
            number = self.record_request(key) if row is None else row
            self._finish(AssetRow(number, key.url, self._ledger.epoch_number, outcome))

    def store(self, key: AssetKey, row: int | None, response: FetchResult) -> Response:
        """Archive a response, unless it is to a preflight; return the complete response."""
        assert response.full_response is not None
        if key.is_preflight:
            self._remember(key, response.full_response)
            return response.full_response
        before, url = self._before(key), key.url
        number = self.record_request(key) if row is None else row
        done = AssetRow(
            number, url, self._ledger.epoch_number, response.reason, response.status, response.started_at,
            response.content_type, with_credentials=key.with_credentials,
        )  # fmt: skip
        is_conditional = any(name.lower() in _CONDITIONS for name, _ in response.request.headers)
        if (
            response.outcome is Outcome.NOT_MODIFIED
            and is_conditional
            and before is not None
            and before.digest is not None
        ):
            position = self._not_modified(response, before)
            done = done._replace(content_type=before.content_type, digest=before.digest, archived=position)
        elif response.record is not None and response.revisit is not None:
            done = done._replace(digest=response.revisit.payload_sha1, archived=self._archived(response))
        self._finish(done)
        whole = response.full_response
        if response.outcome is Outcome.NOT_MODIFIED and (archived := self._read(done)) is not None:
            whole = archived_response(_request(url), archived, self._ledger.plan.fetch)
        self._remember(key, whole)
        return whole

    def _not_modified(self, response: FetchResult, before: AssetRow) -> Position | None:
        assert before.digest is not None
        first = self._database.assets.with_digest(before.digest)
        if first is None or response.revisit is None:
            return None
        earlier = EarlierRecord(first.url, first.time, before.digest)
        return self._archive.append_revisit(response.revisit, earlier, not_modified=True, more=ASSET_HEADERS)

    def _archived(self, response: FetchResult) -> Position:
        assert response.record is not None
        assert response.revisit is not None
        digest = response.revisit.payload_sha1
        first = self._database.assets.with_digest(digest) if response.outcome is Outcome.OK else None
        if first is None or not response.size_bytes:
            return self._archive.append_member(response.record)
        earlier = EarlierRecord(first.url, first.time, digest)
        return self._archive.append_revisit(response.revisit, earlier, not_modified=False, more=ASSET_HEADERS)

    def _finish(self, row: AssetRow) -> None:
        self._database.assets.finish(row)
        self._ledger.mark_dirty()

    # -- reading back -------------------------------------------------------------------------------------------

    def _last_row(self, key: AssetKey) -> AssetRow | None:
        return self._database.assets.latest(key.url, key.with_credentials, self._keyring.grants(key.url))

    def _row(self, key: AssetKey) -> AssetRow | None:
        """Return the row of an asset in this epoch; a request that is pending since an earlier epoch counts."""
        row = self._last_row(key)
        return None if row is None or (row.outcome and row.epoch != self._ledger.epoch_number) else row

    def _before(self, key: AssetKey) -> AssetRow | None:
        """Return the row of the last archived response of an earlier epoch."""
        if self._ledger.epoch is None:
            return None
        row = self._database.assets.last_finished(key.url, key.with_credentials, self._keyring.grants(key.url))
        return None if row is None or row.archived is None or row.digest is None else row

    def _read(self, row: AssetRow) -> ArchivedPage | None:
        try:
            return self._database.assets.read(self._archive, row)
        except CrawlFolderError:
            return None  # a damaged record: the asset is requested again

    def _page_position(self, key: AssetKey) -> Position | None:
        """Return the archive position of the page with this URL, if it was fetched in this epoch.

        Pages are fetched with all credentials of the crawl, so only such requests match.
        """
        if key.with_credentials != self._keyring.grants(key.url):
            return None
        page = self._ledger.seen.find(key.url)
        row = None if page is None else self._database.pages.row(page)
        epoch = self._ledger.epoch
        return None if row is None or (epoch is not None and row.time < epoch.began) else row.archived

    def _page(self, key: AssetKey) -> Response | None:
        position = self._page_position(key)
        if position is None:
            return None
        try:
            return archived_response(_request(key.url), self._archive.read(position), self._ledger.plan.fetch)
        except CrawlFolderError:
            return None

    def _remember(self, key: AssetKey, response: Response) -> None:
        self._memory_bytes -= _size(self._memory.pop(key, None))
        self._memory[key] = replace(response, request=_request(key.url))
        self._memory_bytes += _size(response)
        while self._memory_bytes > self._max_memory_bytes:
            self._memory_bytes -= _size(self._memory.popitem(last=False)[1])


def _is_shared_with(key: AssetKey, headers: Headers) -> bool:
    """Return whether CORS headers let the origin of the request read a response to another origin."""
    origin = dict(key.headers).get("Origin")
    allowed = headers.get("access-control-allow-origin")
    varies = "origin" in ",".join(headers.get_all("vary")).lower()
    return origin is None or allowed == origin or (allowed == "*" and not varies)


def _request(url: str) -> AssetRequest:
    return AssetRequest(url)


def _size(response: Response | None) -> int:
    if response is None:
        return 0
    return 1000 + len(response.body) + (len(response.content) if response.content is not response.body else 0)
