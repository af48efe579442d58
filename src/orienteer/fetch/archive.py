"""A fetcher that returns responses from the archive of a crawl folder, without a network.

So a crawl can be repeated with other settings, hooks or topics:

    orienteer crawl https://example.org -o again --fetcher archive:path=example.org-crawl

An archived response is returned as received. A URL that was requested but not archived (an image, a timeout) has its
recorded outcome. A URL that was never requested is `no answer`, and so is one with a temporary failure, since retrying
an archive is useless. Responses that were fetched with credentials are returned only to requests with
credentials: that is why requests to `granted_origins` have secrets, which are empty here.
"""

from __future__ import annotations

import tomllib
from collections import deque
from dataclasses import replace
from pathlib import Path

from orienteer.errors import CrawlFolderError, InputError
from orienteer.fetch.settings import FetchSettings
from orienteer.pages.outcome import Outcome
from orienteer.responses.headers import Headers
from orienteer.responses.rendered import RenderedPage, rendered_document_of
from orienteer.responses.response import (
    AssetRequest,
    HostRequest,
    Request,
    Response,
    media_type,
    outcome_of,
    unpacked_content,
)
from orienteer.responses.secrets import origin_of
from orienteer.responses.verdict import DECISIONS, VERDICTS, VerdictKind, verdict_kind_of
from orienteer.store.archive import Position
from orienteer.store.failures import damaged
from orienteer.store.folder_view import FolderFiles, FolderView
from orienteer.store.page_row import PageRow
from orienteer.store.record import ArchivedPage, Resource
from orienteer.wording import plain

_OUTCOMES = frozenset(map(str, set(VERDICTS) - DECISIONS))  # decisions of the recorded crawl are made again


class ArchiveFetcher:
    """`path` is the crawl folder."""

    uses_network = False

    def __init__(self, settings: FetchSettings | None = None, path: str = "") -> None:
        if not path:
            raise InputError("fetcher archive: which archive? Name a crawl folder: archive:path=FOLDER")
        self.settings = settings or FetchSettings()
        self._folder = FolderView.open(Path(path))
        self.granted_origins = _granted_origins(self._folder.settings_text)
        self._seen = self._folder.database.urls.seen()
        self._waiting: deque[Request] = deque()
        self._done: list[Response] = []

    @property
    def n_in_flight(self) -> int:
        return len(self._waiting) + len(self._done)

    def start(self, request: Request) -> None:
        self._waiting.append(request)

    def poll(self, timeout_s: float) -> list[Response]:
        """Return one response at a time, so that the caller can process it before the next one is read."""
        if self._waiting:
            self._done.append(self._response(self._waiting.popleft()))
        done, self._done = self._done, []
        return done

    def cancel(self) -> None:
        self._done += [Response(request, Outcome.CANCELLED) for request in self._waiting]
        self._waiting.clear()

    def close(self) -> None:
        self.cancel()
        self._folder.close()

    def _response(self, request: Request) -> Response:
        if isinstance(request, AssetRequest) and (asset := self._asset(request)) is not None:
            return asset
        is_asset = isinstance(request, AssetRequest)
        needs_credentials = is_asset and request.secrets is None and self._is_granted(request.url)
        page = None if needs_credentials else self._seen.find(request.url)
        row = None if page is None else self._folder.database.pages.row(page)
        if row is None:
            return Response(request, Outcome.NO_RESPONSE, detail="not in the archive")
        try:
            position = row.archived
            archived = None if position is None else archived_page(self._folder, position, request.url)
            rendered = None if archived is None else archived_rendering(self._folder, row.id, request.url)
        except CrawlFolderError as error:
            return Response(request, Outcome.NO_RESPONSE, detail=str(error))
        response = (
            _response_from_row(request, row)
            if archived is None
            else archived_response(request, archived, self.settings)
        )
        response = replace(response, rendered=rendered)
        if verdict_kind_of(response.outcome, response.status) is VerdictKind.TRY_AGAIN:
            return replace(response, outcome=Outcome.NO_RESPONSE, detail=f"in the archive: {response.reason}")
        return response

    def _asset(self, request: Request) -> Response | None:
        """Return the response to an asset request; None if the URL is not an archived asset."""
        has_secrets, is_granted = request.secrets is not None, self._is_granted(request.url)
        row = self._folder.database.assets.latest(request.url, has_secrets, is_granted)
        try:
            archived = None if row is None else self._folder.database.assets.read(self._folder.archive, row)
        except CrawlFolderError:
            return None
        return None if archived is None else archived_response(request, archived, self.settings)

    def _is_granted(self, url: str) -> bool:
        return origin_of(url) in self.granted_origins


def _granted_origins(settings: str) -> tuple[str, ...]:
    """Return the origins for which a crawl had credentials, from its settings."""
    try:
        origins = tomllib.loads(settings)["crawl"]["access"]
        return tuple(str(origin) for origin in origins)
    except (tomllib.TOMLDecodeError, LookupError, TypeError):
        return ()


def archived_page(folder: FolderFiles, position: Position, url: str) -> ArchivedPage:
    """Read the record at this position; CrawlFolderError if there is none, or if it has another URL."""
    archived = folder.archive.read(position)
    if archived.url != url:
        raise damaged(folder.database.path, f"the record of {plain(url, 200)} is that of {plain(archived.url, 200)}")
    return archived


def archived_rendering(folder: FolderFiles, page: int, url: str) -> RenderedPage | None:
    """Return the archived rendered page; None if its document was not archived."""
    resource = rendered_resource(folder, page, url)
    return (
        None
        if resource is None or not resource.content_type.startswith("text/html")
        else rendered_document_of(resource.body, url)
    )


def rendered_resource(folder: FolderFiles, page: int, url: str) -> Resource | None:
    """Return the archived rendering of a page: its document, or only its text for some imported pages."""
    rendered = folder.database.rendered.row(page)
    if rendered is None or rendered.dom is None:
        return None
    resource = folder.archive.read_resource(rendered.dom)[1]
    if resource.uri.split(":", 2)[2:] != [url]:  # urn:dom:URL
        raise damaged(folder.database.path, f"the document of {plain(url, 200)} is {plain(resource.uri, 200)}")
    return resource


def _response_from_row(request: Request, row: PageRow) -> Response:
    """Build the response for a page that was requested but not archived."""
    headers = Headers([("Content-Type", row.content_type)] if row.content_type else [])
    outcome = Outcome(row.outcome) if row.outcome in _OUTCOMES else outcome_of(row.status, headers, request.url)
    if outcome is Outcome.OK:
        return Response(request, Outcome.NO_RESPONSE, detail="only its links were stored")
    return Response(request, outcome, row.status, headers=headers, started_at=row.time, detail="as in the archive")


def archived_response(request: Request, archived: ArchivedPage, settings: FetchSettings) -> Response:
    """Return an archived response as if it had just been received with these settings."""
    headers = archived.headers
    outcome, kind = outcome_of(archived.status, headers, request.url), media_type(headers)
    takes_all = isinstance(request, AssetRequest | HostRequest)
    if outcome is Outcome.OK and not takes_all and not settings.accepts_content(kind, archived.body[:64]):
        outcome = Outcome.UNWANTED_TYPE
    max_bytes = settings.max_bytes(kind, settings.max_decoded_bytes)
    if isinstance(request, AssetRequest):
        max_bytes = max(max_bytes, request.max_body_bytes or 0)
    content, outcome, problem = unpacked_content(archived.body, headers, outcome, max_bytes)
    return Response(
        request,
        outcome,
        archived.status,
        headers=headers,
        raw_headers=archived.raw_headers,
        body=archived.body,
        content=content,
        started_at=archived.time,
        detail=problem,
    )
