"""The change of a page's text, in a sentence or two.

Both versions are read from the archive; versions that are missing or unreadable are omitted.
"""

from __future__ import annotations

from orienteer.errors import CrawlFolderError
from orienteer.extract.documents.document import UnreadableDocumentError
from orienteer.inspect.captures import ArchivedTime, Captures
from orienteer.inspect.changes import Change
from orienteer.inspect.text_changes import TextChanges, text_changes
from orienteer.responses.reading import read_page
from orienteer.store.capture_table import CaptureRow
from orienteer.wording import counted, plain

_MAX_LINES = 3
_MAX_LINE_CHARS = 160


def describe_change(captures: Captures, change: Change) -> str:
    """Return the sentence of `Change.describe`; for a changed page with the number of lines, and the first new ones."""
    if change.kind != "changed" or change.redirects_to is not None:
        return change.describe()
    try:
        compared = _compare(captures, change)
    except CrawlFolderError:
        compared = None
    return change.describe() if compared is None else _describe(compared)


def texts_at(captures: Captures, first: ArchivedTime, last: ArchivedTime) -> tuple[str, str]:
    """Return the texts of a page at two times: rendered ones if it was rendered both times, else of the responses."""
    if first.dom is not None and last.dom is not None:
        return _text_of(captures, first.dom), _text_of(captures, last.dom)
    return _text_of(captures, first.capture), _text_of(captures, last.capture)


def _text_of(captures: Captures, row: CaptureRow) -> str:
    """Return the text of a capture, "" if it cannot be read."""
    archived = captures.content(row)
    if archived is None:
        return ""
    try:
        return read_page(archived.content, archived.url, archived.type, archived.charset).text
    except UnreadableDocumentError:
        return ""


def _compare(captures: Captures, change: Change) -> TextChanges | None:
    times = captures.times_of(change.url)
    if not times:
        return None
    number = min(range(len(times)), key=lambda k: abs(times[k].time - change.time))
    if number == 0:
        return None
    return text_changes(*texts_at(captures, times[number - 1], times[number]))


def _describe(compared: TextChanges) -> str:
    if not compared.n_added and not compared.n_removed:
        return "The page has changed, but not its text."
    lines = f"{counted(compared.n_added, 'line')} added, {compared.n_removed:,} removed"
    added = [plain(line.text, _MAX_LINE_CHARS) for line in compared.lines if line.kind == "added"]
    more = " …" if len(added) > _MAX_LINES else ""
    new_text = f" It says now: {' / '.join(added[:_MAX_LINES])}{more}" if added else ""
    return f"The page has changed: {lines}.{new_text}"
