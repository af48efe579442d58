"""Rows about pages as a browser shows them: those that the archive bears out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from orienteer.repair.archive_scan import ArchiveScan
from orienteer.repair.salvage import Salvage
from orienteer.store.archive import Position
from orienteer.store.database import Database
from orienteer.store.shown_tables import PartRow, RenderedRow
from orienteer.url import canonical_url

RENDERED_COLUMNS = (
    "why", "time", "url", "dom_file", "dom_offset", "dom_bytes", "view_file", "view_offset", "view_bytes",
    "n_words_sent", "n_words", "n_links_sent", "n_links", "n_parts", "cpu_s", "trouble",
)  # fmt: skip
_PART_COLUMNS = (
    "id", "url", "epoch", "outcome", "status", "time", "content_type", "digest", "archive_file", "archive_offset",
    "archive_bytes",
)  # fmt: skip
_GARBLED = (TypeError, ValueError, OverflowError)

Places = set[tuple[int, int]]  # file and offset of records


@dataclass
class CopiedParts:
    """`lost` are URLs of parts that the archive does not hold any more: they are wanted again."""

    lost: list[str] = field(default_factory=list)
    used: Places = field(default_factory=set)


def copy_parts(old: Salvage, scan: ArchiveScan, new: Database) -> CopiedParts:
    """What pages are shown with. A revisit is of use as long as the record is there that has its bytes."""
    rows = [row for values in old.rows("part", "id", _PART_COLUMNS) if (row := _part(values)) is not None]
    contents = {row.digest for row in rows if row.archived is not None and scan.holds(row.archived, row.url)}
    copied = CopiedParts()
    for row in rows:
        row = row._replace(id=new.add_part(row.url, row.epoch))
        if row.archived is not None and not (scan.holds(row.archived) and row.digest in contents):
            copied.lost.append(row.url)
            continue
        if row.outcome:
            new.end_part(row)
        if row.archived is not None:
            copied.used.add(row.archived[:2])
    return copied


def _part(values: tuple[Any, ...]) -> PartRow | None:
    try:
        number, url, epoch, outcome, status, time, content_type, digest, *place = values
        if canonical_url(url) != url or not isinstance(outcome, str):
            return None
        found = None if digest is None else bytes(digest)
        return PartRow(
            int(number), url, int(epoch), outcome, int(status), float(time), str(content_type), found, _place(place)
        )
    except _GARBLED:
        return None


def copy_rendered(rows: Iterable[tuple[Any, ...]], scan: ArchiveScan, new: Database) -> Places:
    """Pages that a browser has shown; where the document of one is lost, it counts as not rendered."""
    used: Places = set()
    for page, *values in rows:
        try:
            why, time, url, *rest = values
            dom, view = _place(rest[:3]), _place(rest[3:6])
            if dom is not None and not scan.holds(dom):
                continue
            view = None if view is None or not scan.holds(view) else view
            words_sent, words, links_sent, links, parts = map(int, rest[6:11])
            cpu_s, trouble = float(rest[11]), str(rest[12])
            row = RenderedRow(page, str(why), float(time), str(url), dom, view, words_sent, words, links_sent, links,
                              parts, cpu_s, trouble)  # fmt: skip
        except _GARBLED:
            continue
        new.set_rendered(row)
        used.update(place[:2] for place in (dom, view) if place is not None)
    return used


def _place(values: list[Any]) -> Position | None:
    return None if None in values else Position(*map(int, values))
