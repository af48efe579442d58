"""Parses archived responses in several processes, ahead of the import."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from orienteer.extract import near_duplicates
from orienteer.extract.page import MAX_TEXT_CHARS
from orienteer.fetch.archive import archived_response
from orienteer.fetch.settings import FetchSettings
from orienteer.inspect.archived_page import archive_to_read, warn_skipped
from orienteer.ledger.intake import Intake
from orienteer.pages.outcome import Outcome
from orienteer.processes.pool import Failed
from orienteer.responses.rendered import rendered_document_of
from orienteer.responses.response import Request, Response
from orienteer.store.archive import Archive, Position
from orienteer.workers.fetch_result import FetchResult, ReadSettings
from orienteer.workers.response_reader import read_response


class ReadTask(NamedTuple):
    """A response to parse: the position of its record, and of its rendered document or text, if there is one."""

    request: Request
    position: Position
    rendered: Position | None = None


class ReadResult(NamedTuple):
    """A parsed response; `n_bytes` is the size of its body."""

    response: FetchResult
    n_bytes: int


@contextmanager
def archive_reader(
    folder: Path, settings: FetchSettings, reading: ReadSettings
) -> Iterator[Callable[[ReadTask], ReadResult]]:
    """Return a function for a pool that parses responses in the archive of this folder, with these settings."""
    with closing(archive_to_read(folder)) as archive:
        yield lambda task: read_archived(archive, settings, reading, task)


def read_arguments(intake: Intake) -> tuple[FetchSettings, ReadSettings]:
    """Return the settings for `archive_reader`: no records are made, since the responses are archived already."""
    return intake.ledger.plan.fetch, replace(intake.reading, records=False)


def read_archived(archive: Archive, settings: FetchSettings, reading: ReadSettings, task: ReadTask) -> ReadResult:
    response = archived_response(task.request, archive.read(task.position), settings)
    rendered = None if task.rendered is None else archive.read_resource(task.rendered)[1]
    if rendered is not None and rendered.content_type.startswith("text/html"):
        response = replace(response, rendered=rendered_document_of(rendered.body, task.request.url))
    result = read_response(response, reading)
    if rendered is not None and response.rendered is None:
        _set_text(result, rendered.body.decode("utf-8", "replace")[:MAX_TEXT_CHARS], reading)
    return ReadResult(result, len(response.body))


def _set_text(result: FetchResult, text: str, reading: ReadSettings) -> None:
    """Use the text after rendering for duplicate detection, and as the text of the page. Links stay unchanged."""
    page = result.verdict.page
    if page is None:
        return
    result.digest = near_duplicates.digest(text.encode("utf-8", "replace"))
    result.sessionless_digest = None
    if reading.signatures:
        result.signature = near_duplicates.signature(text)
    if reading.texts or reading.full_responses:
        result.verdict = replace(result.verdict, page=replace(page, text=text))


def result_or_failure(request: Request, read: ReadResult | Failed) -> ReadResult:
    """Return the result; if the page crashed its process, an unreadable page, with a warning."""
    if not isinstance(read, Failed):
        return read
    warn_skipped(request.url, read)
    return ReadResult(read_response(Response(request, Outcome.UNREADABLE), ReadSettings(records=False)), 0)
