"""The answers in an archive, as a fetch would have brought them, for whoever asks what they mean."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from typing import NamedTuple

from orienteer.answers.answer import Fetched, Request, media_type, outcome_of
from orienteer.answers.body import BodyTooLargeError
from orienteer.answers.reading import is_html
from orienteer.errors import DamagedArchiveWarning, GraphFileError
from orienteer.pages.outcome import Outcome
from orienteer.progress import Progress
from orienteer.warc.files import ArchiveFile
from orienteer.warc.http_message import content_of, response_of
from orienteer.warc.packed import blocks
from orienteer.warc.records import MAX_BLOCK_BYTES, Reading, Record, records
from orienteer.wording import counted

MAX_PAGE_BYTES = MAX_BLOCK_BYTES  # unpacked


class ArchivedAnswer(NamedTuple):
    """`kind` is that of the record: "response", or "revisit", which says that the page is as it was."""

    kind: str
    answer: Fetched


def archived_answers(
    files: Iterable[ArchiveFile], kinds: Container[str], reading: Reading, progress: Progress
) -> Iterator[ArchivedAnswer]:
    """The answers in records of these kinds, file by file; `reading` counts what could not be read.

    What our own archives hold besides pages is left out.
    """
    for file in files:
        with file.opened() as stream:
            packed = blocks(stream, file.name, _teller(progress, file.size_bytes))
            for record in records(packed, kinds, reading, file.name):
                answer = None if record.is_part else answer_in(record)
                if answer is not None:
                    yield ArchivedAnswer(record.kind, answer)


def html_pages(files: Iterable[ArchiveFile], reading: Reading, progress: Progress) -> Iterator[Fetched]:
    """The HTML pages of an archive, record by record: where a URL was recorded twice it comes twice."""
    for _, answer in archived_answers(files, ("response",), reading, progress):
        if answer.outcome is Outcome.OK:
            yield answer


def answer_in(record: Record) -> Fetched | None:
    """The answer that a record holds; None where it holds none, or is not about a page. Only HTML is wanted."""
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
    return Fetched(Request(url, 0), outcome, message.status, headers=message.headers, content=content)


def tell_damage(reading: Reading, files: Sequence[ArchiveFile]) -> None:
    """Say with one warning what was skipped of these files; where nothing could be read of them, it is an error."""
    if not reading.n_records:
        paths = {file.path for file in files}
        name = paths.pop() if len(paths) == 1 else files[0].path.parent
        raise GraphFileError(f"{name}: no WARC records in it{' that can be read' if reading.n_gaps else ''}")
    if reading.n_gaps:
        were_skipped = f"{counted(reading.n_gaps, 'gap')} {'was' if reading.n_gaps == 1 else 'were'} skipped"
        warnings.warn(
            f"{reading.first_gap} the archive is damaged; {were_skipped}", DamagedArchiveWarning, stacklevel=3
        )


def _teller(progress: Progress, size: int) -> Callable[[int], None]:
    return lambda n_bytes: progress("reading records", n_bytes, size)
