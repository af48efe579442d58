"""Reads answers of the archive before they are told, by several processes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from orienteer.answers.answer import Fetched, Request
from orienteer.answers.shown import shown_of
from orienteer.extract import near_duplicates
from orienteer.extract.page import MAX_TEXT_CHARS
from orienteer.fetch.archive import archived_answer
from orienteer.fetch.settings import FetchSettings
from orienteer.inspect.archived_page import archive_to_read, warn_skipped
from orienteer.ledger.intake import Intake
from orienteer.pages.outcome import Outcome
from orienteer.processes.pool import Failed
from orienteer.store.archive import Archive, Position
from orienteer.workers.answer_reader import read_answer
from orienteer.workers.received import Reading, Received


class ToTell(NamedTuple):
    """An answer that is to be told, and where it stands; `shown` is where a browser's document or text of it does."""

    request: Request
    place: Position
    shown: Position | None = None


class Answered(NamedTuple):
    """It was read; `n_bytes` are those of its body."""

    answer: Received
    n_bytes: int


@contextmanager
def answer_reading(folder: Path, settings: FetchSettings, reading: Reading) -> Iterator[Callable[[ToTell], Answered]]:
    """For a pool: answers in the archive of this folder, as if they had just come under these settings."""
    with closing(archive_to_read(folder)) as archive:
        yield lambda wanted: answered(archive, settings, reading, wanted)


def how_to_read(intake: Intake) -> tuple[FetchSettings, Reading]:
    """What stands in the archive already needs no record."""
    return intake.ledger.plan.fetch, replace(intake.reading, records=False)


def answered(archive: Archive, settings: FetchSettings, reading: Reading, wanted: ToTell) -> Answered:
    answer = archived_answer(wanted.request, archive.read(wanted.place), settings)
    shown = None if wanted.shown is None else archive.read_resource(wanted.shown)[1]
    if shown is not None and shown.content_type.startswith("text/html"):
        answer = replace(answer, shown=shown_of(shown.body, wanted.request.url))
    found = read_answer(answer, reading)
    if shown is not None and answer.shown is None:
        _take_text(found, shown.body.decode("utf-8", "replace")[:MAX_TEXT_CHARS], reading)
    return Answered(found, len(answer.body))


def _take_text(found: Received, text: str, reading: Reading) -> None:
    """A browser showed this text: it tells the page from others, and says what it is about. Links are as they were."""
    page = found.meaning.page
    if page is None:
        return
    found.digest = near_duplicates.digest(text.encode("utf-8", "replace"))
    found.sessionless = None
    if reading.signs:
        found.signature = near_duplicates.signature(text)
    if reading.words or reading.whole:
        found.meaning = replace(found.meaning, page=replace(page, text=text))


def survived(request: Request, read: Answered | Failed) -> Answered:
    """What was read; where no process survived it, a page that cannot be read, with a warning."""
    if not isinstance(read, Failed):
        return read
    warn_skipped(request.url, read)
    return Answered(read_answer(Fetched(request, Outcome.UNREADABLE), Reading(records=False)), 0)
