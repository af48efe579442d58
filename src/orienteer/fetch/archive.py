"""A fetcher that answers from the archive of a crawl folder, and asks nobody.

So a crawl can be made again from what was archived, with other settings, hooks or topics, and without a network:

    orienteer crawl https://example.org -o again --fetcher archive:path=example.org-crawl

What was archived comes as it came then. What was asked for and not archived (an image, a timeout) comes with the
outcome it had. What the crawl never asked for has no answer; nor has what could be tried again, since an archive will
not say anything else the next time.
"""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from pathlib import Path

from orienteer.answers.answer import Fetched, Request, media_type, outcome_of, unpacked_content
from orienteer.answers.headers import Headers
from orienteer.answers.meaning import DECISIONS, VERDICTS, Verdict, verdict_of
from orienteer.answers.shown import Shown, shown_of
from orienteer.errors import CrawlFolderError, InputError
from orienteer.fetch.settings import FetchSettings
from orienteer.pages.outcome import Outcome
from orienteer.store.folder_view import FolderView
from orienteer.store.page_row import PageRow
from orienteer.store.part_reading import read_part
from orienteer.store.record import ArchivedPage
from orienteer.store.url_numbers import seen_urls

_OUTCOMES = frozenset(map(str, set(VERDICTS) - DECISIONS))  # what the crawl decided then, it decides anew


class ArchiveFetcher:
    """`path` is the crawl folder whose archive answers."""

    asks_web = False

    def __init__(self, settings: FetchSettings | None = None, path: str = "") -> None:
        if not path:
            raise InputError("fetcher archive: which archive? Name a crawl folder: archive:path=FOLDER")
        self.settings = settings or FetchSettings()
        self._folder = FolderView.open(Path(path))
        self._seen = seen_urls(self._folder.database)
        self._waiting: deque[Request] = deque()
        self._done: list[Fetched] = []

    @property
    def n_under_way(self) -> int:
        return len(self._waiting) + len(self._done)

    def start(self, request: Request) -> None:
        self._waiting.append(request)

    def poll(self, timeout_s: float) -> list[Fetched]:
        """One answer at a time: who reads it need not wait for the others."""
        if self._waiting:
            self._done.append(self._answer(self._waiting.popleft()))
        done, self._done = self._done, []
        return done

    def cancel(self) -> None:
        self._done += [Fetched(request, Outcome.CANCELLED) for request in self._waiting]
        self._waiting.clear()

    def close(self) -> None:
        self.cancel()
        self._folder.close()

    def _answer(self, request: Request) -> Fetched:
        if request.is_part and (part := self._part(request)) is not None:
            return part
        page = self._seen.find(request.url)
        row = None if page is None else self._folder.database.page(page)
        if row is None:
            return Fetched(request, Outcome.NO_ANSWER, detail="not in the archive")
        try:
            place = row.archived
            archived = None if place is None else self._folder.archive.read(place)
            shown = None if archived is None else self._shown(row.id, request.url)
        except CrawlFolderError as error:
            return Fetched(request, Outcome.NO_ANSWER, detail=str(error))
        answer = _unarchived(request, row) if archived is None else archived_answer(request, archived, self.settings)
        answer = replace(answer, shown=shown)
        if verdict_of(answer.outcome, answer.status) is Verdict.TRY_AGAIN:
            return replace(answer, outcome=Outcome.NO_ANSWER, detail=f"in the archive: {answer.reason}")
        return answer

    def _shown(self, page: int, url: str) -> Shown | None:
        """What a browser made of the page then, if one looked at it and could show it."""
        rendered = self._folder.database.rendered_page(page)
        if rendered is None or rendered.dom is None:
            return None
        resource = self._folder.archive.read_resource(rendered.dom)[1]
        return shown_of(resource.body, url) if resource.content_type.startswith("text/html") else None

    def _part(self, request: Request) -> Fetched | None:
        """What a page was shown with; None where it is no such thing, or is not in the archive."""
        row = self._folder.database.part(request.url)
        try:
            archived = None if row is None else read_part(self._folder.database, self._folder.archive, row)
        except CrawlFolderError:
            return None
        return None if archived is None else archived_answer(request, archived, self.settings)


def _unarchived(request: Request, row: PageRow) -> Fetched:
    """What is known of an answer that was not kept."""
    headers = Headers([("Content-Type", row.content_type)] if row.content_type else [])
    known = Outcome(row.outcome) if row.outcome in _OUTCOMES else outcome_of(row.status, headers, request.url)
    if known is Outcome.OK:
        return Fetched(request, Outcome.NO_ANSWER, detail="only its links were kept")
    return Fetched(request, known, row.status, headers=headers, started_at=row.time, detail="as in the archive")


def archived_answer(request: Request, archived: ArchivedPage, settings: FetchSettings) -> Fetched:
    """An archived response as if it had just come, under these settings."""
    headers = Headers(archived.headers)
    outcome, kind = outcome_of(archived.status, headers, request.url), media_type(headers)
    takes_all = request.any_type or request.is_part
    if outcome is Outcome.OK and not takes_all and not settings.wants_content(kind, archived.body[:64]):
        outcome = Outcome.UNWANTED_TYPE
    max_bytes = settings.max_bytes(kind, settings.max_decoded_bytes)
    if request.is_part:
        max_bytes = max(max_bytes, request.max_body_bytes or 0)
    content, outcome, trouble = unpacked_content(archived.body, headers, outcome, max_bytes)
    return Fetched(
        request,
        outcome,
        archived.status,
        headers=headers,
        raw_headers=archived.raw_headers,
        body=archived.body,
        content=content,
        started_at=archived.time,
        detail=trouble,
    )
