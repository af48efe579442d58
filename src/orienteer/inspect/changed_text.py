"""What a changed page says now that it did not say before, in a sentence or two.

Both versions are read from the archive; what is not there, or cannot be read, is not told.
"""

from __future__ import annotations

from orienteer.answers.reading import read_page
from orienteer.errors import CrawlFolderError
from orienteer.extract.documents.document import UnreadableDocumentError
from orienteer.inspect.captures import ArchivedTime, Captures
from orienteer.inspect.changes import Change
from orienteer.inspect.text_changes import TextChanges, text_changes
from orienteer.wording import counted, plain

_MAX_LINES = 3
_MAX_LINE_CHARS = 160


def change_in_words(captures: Captures, change: Change) -> str:
    """The sentence of `Change.in_words`; of a page that has changed also how many lines, and the first new ones."""
    if change.kind != "changed" or change.redirects_to is not None:
        return change.in_words()
    try:
        compared = _compared(captures, change)
    except CrawlFolderError:
        compared = None
    return change.in_words() if compared is None else _in_words(compared)


def text_at(captures: Captures, time: ArchivedTime) -> str:
    """What a page said, as a browser showed it where one did; nothing where that cannot be read."""
    found = captures.content(time.dom or time.capture)
    if found is None:
        return ""
    try:
        return read_page(found.content, found.url, found.type, found.charset).text
    except UnreadableDocumentError:
        return ""


def _compared(captures: Captures, change: Change) -> TextChanges | None:
    times = captures.times_of(change.url)
    if not times:
        return None
    number = min(range(len(times)), key=lambda k: abs(times[k].time - change.time))
    if number == 0:
        return None
    return text_changes(text_at(captures, times[number - 1]), text_at(captures, times[number]))


def _in_words(compared: TextChanges) -> str:
    if not compared.n_added and not compared.n_removed:
        return "The page has changed, but not its text."
    lines = f"{counted(compared.n_added, 'line')} added, {compared.n_removed:,} removed"
    added = [plain(line.text, _MAX_LINE_CHARS) for line in compared.lines if line.kind == "added"]
    more = " …" if len(added) > _MAX_LINES else ""
    said = f" It says now: {' / '.join(added[:_MAX_LINES])}{more}" if added else ""
    return f"The page has changed: {lines}.{said}"
