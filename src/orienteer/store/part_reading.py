"""What a page is shown with, read back from the archive.

Where the same bytes came twice, the second record is a revisit: of the same part in another epoch, or of another one.
Then the bytes stand in the record that was the first to have them, and the headers in the revisit; if the server only
said "not modified", in the record before it.
"""

from __future__ import annotations

from orienteer.store.archive import Archive
from orienteer.store.record import ArchivedPage
from orienteer.store.shown_tables import PartRow, ShownTables

_NOT_MODIFIED = 304


def read_part(database: ShownTables, archive: Archive, row: PartRow) -> ArchivedPage | None:
    """The part as it came, whole; None where it is not archived. A CrawlFolderError where it should be and is not."""
    if row.archived is None:
        return None
    page, is_revisit = archive.read_part(row.archived)[1]
    if not is_revisit:
        return page
    first = None if row.digest is None else database.part_with_digest(row.digest)
    if first is None or first.archived is None:
        return None
    body = archive.read(first.archived).body
    if row.status == _NOT_MODIFIED:
        before = database.part_before(row)
        if before is None or before.archived is None or before.digest != row.digest:
            return None
        page = archive.read_part(before.archived)[1][0]
    return page._replace(time=row.time, body=body)
