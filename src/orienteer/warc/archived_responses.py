"""The responses in an archive, in the form of fetched responses."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from typing import NamedTuple

from orienteer.errors import DamagedArchiveWarning, GraphFileError
from orienteer.pages.outcome import Outcome
from orienteer.progress import Progress
from orienteer.responses.body import BodyTooLargeError
from orienteer.responses.reading import is_html
from orienteer.responses.response import Request, Response, media_type, outcome_of
from orienteer.warc.files import ArchiveFile
from orienteer.warc.http_message import content_of, response_of
from orienteer.warc.packed import blocks
from orienteer.warc.records import MAX_BLOCK_BYTES, Record, RecordCounts, records
from orienteer.wording import counted

MAX_PAGE_BYTES = MAX_BLOCK_BYTES  # unpacked


class RecordedResponse(NamedTuple):
    """An archived response; `kind` is that of the record: "response", or "revisit" for an unchanged page."""

    kind: str
    response: Response


def recorded_responses(
    files: Iterable[ArchiveFile], kinds: Container[str], counts: RecordCounts, progress: Progress
) -> Iterator[RecordedResponse]:
    """Yield the responses in records of these kinds, file by file; `counts` counts records and gaps.

    Assets in our own archives are left out.
    """
    for file in files:
        with file.opened() as stream:
            packed = blocks(stream, file.name, _progress_of(progress, file.size_bytes))
            for record in records(packed, kinds, counts, file.name):
                response = None if record.is_asset else response_in(record)
                if response is not None:
                    yield RecordedResponse(record.kind, response)


def html_pages(files: Iterable[ArchiveFile], counts: RecordCounts, progress: Progress) -> Iterator[Response]:
    """Yield the HTML pages of an archive, record by record: a URL with two records occurs twice."""
    for _, response in recorded_responses(files, ("response",), counts, progress):
        if response.outcome is Outcome.OK:
            yield response


def response_in(record: Record) -> Response | None:
    """Return the response in a record; None if there is none, or its URL is unusable. Only HTML has content."""
    url = record.url
    message = None if url is None else response_of(record.block)
    if url is None or message is None:
        return None
    outcome, content = outcome_of(message.status, message.headers, url), b""
    if outcome is Outcome.OK and not is_html(media_type(message.headers)):
        outcome = Outcome.UNWANTED_TYPE
    elif outcome is Outcome.OK:
        try:
            content = content_of(message, MAX_PAGE_BYTES)
        except BodyTooLargeError:
            outcome = Outcome.TOO_LARGE
    return Response(Request(url, 0), outcome, message.status, headers=message.headers, content=content)


def warn_of_damage(counts: RecordCounts, files: Sequence[ArchiveFile]) -> None:
    """Warn once if parts of these files were skipped; GraphFileError if they have no readable record."""
    if not counts.n_records:
        paths = {file.path for file in files}
        name = paths.pop() if len(paths) == 1 else files[0].path.parent
        raise GraphFileError(f"{name}: no WARC records in it{' that can be read' if counts.n_gaps else ''}")
    if counts.n_gaps:
        were_skipped = f"{counted(counts.n_gaps, 'gap')} {'was' if counts.n_gaps == 1 else 'were'} skipped"
        warnings.warn(f"{counts.first_gap} the archive is damaged; {were_skipped}", DamagedArchiveWarning, stacklevel=3)


def _progress_of(progress: Progress, size: int) -> Callable[[int], None]:
    return lambda n_bytes: progress("reading records", n_bytes, size)
