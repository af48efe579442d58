"""Assets read back from the archive.

When the same bytes are received twice, the second record is a revisit, of the same asset in another epoch or of another
asset. The body is then in the first record with these bytes, and the headers are in the revisit, or in the previous
record if the server answered 304.
"""

from __future__ import annotations

from orienteer.store.archive import Archive
from orienteer.store.record import ArchivedPage
from orienteer.store.rendering_tables import AssetRow, RenderingTables

_NOT_MODIFIED = 304


def read_asset(database: RenderingTables, archive: Archive, row: AssetRow) -> ArchivedPage | None:
    """Return the complete asset; None if it is not archived. CrawlFolderError if its record is missing or damaged."""
    if row.archived is None:
        return None
    page, is_revisit = archive.read_asset(row.archived)[1]
    if not is_revisit:
        return page
    first = None if row.digest is None else database.asset_with_digest(row.digest)
    if first is None or first.archived is None:
        return None
    body = archive.read(first.archived).body
    if row.status == _NOT_MODIFIED:
        previous = database.previous_asset(row)
        if previous is None or previous.archived is None or previous.digest != row.digest:
            return None
        page = archive.read_asset(previous.archived)[1][0]
    return page._replace(time=row.time, body=body)
