"""The rows of assets and rendered pages whose records are in the archive."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from orienteer.repair.archive_scan import ArchiveScan
from orienteer.repair.salvage import Salvage
from orienteer.store.archive import Position
from orienteer.store.database import Database
from orienteer.store.rendering_tables import AssetRow, RenderedRow
from orienteer.url import canonical_url

RENDERED_COLUMNS = (
    "why", "time", "url", "dom_file", "dom_offset", "dom_bytes", "view_file", "view_offset", "view_bytes",
    "n_words_sent", "n_words", "n_links_sent", "n_links", "n_parts", "cpu_s", "trouble", "sent_digest",
    "rendered_digest",
)  # fmt: skip
_ASSET_COLUMNS = (
    "id", "url", "epoch", "outcome", "status", "time", "content_type", "digest", "archive_file", "archive_offset",
    "archive_bytes", "credentials",
)  # fmt: skip

Offsets = set[tuple[int, int]]  # file and offset of records


@dataclass
class CopiedAssets:
    """Copied rows of assets. `lost` are the URLs that the archive does not hold any more: they are requested again."""

    lost: list[str] = field(default_factory=list)
    used: Offsets = field(default_factory=set)


def copy_assets(old: Salvage, scan: ArchiveScan, new: Database) -> CopiedAssets:
    """Copy the rows of assets. A revisit is copied only if the record with its body is intact."""
    all_rows = map(_asset, old.valid_rows("part", "id", _ASSET_COLUMNS))
    rows = [row for row in all_rows if canonical_url(row.url) == row.url]
    contents = {row.digest for row in rows if row.archived is not None and scan.holds(row.archived, row.url)}
    copied = CopiedAssets()
    for row in rows:
        row = row._replace(id=new.assets.add(row.url, row.epoch, row.with_credentials))
        if row.archived is not None and not (scan.holds(row.archived) and row.digest in contents):
            copied.lost.append(row.url)
            continue
        if row.outcome:
            new.assets.finish(row)
        if row.archived is not None:
            copied.used.add(row.archived[:2])
    return copied


def _asset(values: tuple[Any, ...]) -> AssetRow:
    *fields, file, offset, size_bytes, credentials = values
    with_credentials = None if credentials is None else bool(credentials)
    return AssetRow._make((*fields, _position(file, offset, size_bytes), with_credentials))


def copy_rendered(rows: Iterable[tuple[Any, ...]], scan: ArchiveScan, new: Database) -> Offsets:
    """Copy the rows of rendered pages; a page whose document is lost counts as not rendered."""
    used: Offsets = set()
    for page, why, time, url, *rest in rows:
        dom, view = _position(*rest[:3]), _position(*rest[3:6])
        if dom is not None and not scan.holds(dom):
            continue
        view = None if view is None or not scan.holds(view) else view
        new.rendered.set(RenderedRow(page, why, time, url, dom, view, *rest[6:]))
        used.update(position[:2] for position in (dom, view) if position is not None)
    return used


def _position(file: int | None, offset: int | None, size_bytes: int | None) -> Position | None:
    return None if file is None or offset is None or size_bytes is None else Position(file, offset, size_bytes)
