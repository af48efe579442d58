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
_INVALID = (TypeError, ValueError, OverflowError)

Offsets = set[tuple[int, int]]  # file and offset of records


@dataclass
class CopiedAssets:
    """Copied rows of assets. `lost` are the URLs that the archive does not hold any more: they are requested again."""

    lost: list[str] = field(default_factory=list)
    used: Offsets = field(default_factory=set)


def copy_assets(old: Salvage, scan: ArchiveScan, new: Database) -> CopiedAssets:
    """Copy the rows of assets. A revisit is copied only if the record with its body is intact."""
    rows = [row for values in old.rows("part", "id", _ASSET_COLUMNS) if (row := _asset(values)) is not None]
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


def _asset(values: tuple[Any, ...]) -> AssetRow | None:
    try:
        number, url, epoch, outcome, status, time, content_type, digest, *location, credentials = values
        if canonical_url(url) != url or not isinstance(outcome, str):
            return None
        body_digest, position = None if digest is None else bytes(digest), _position(location)
        return AssetRow(
            int(number), url, int(epoch), outcome, int(status), float(time), str(content_type), body_digest, position,
            None if credentials is None else bool(credentials),
        )  # fmt: skip
    except _INVALID:
        return None


def copy_rendered(rows: Iterable[tuple[Any, ...]], scan: ArchiveScan, new: Database) -> Offsets:
    """Copy the rows of rendered pages; a page whose document is lost counts as not rendered."""
    used: Offsets = set()
    for page, *values in rows:
        try:
            why, time, url, *rest = values
            dom, view = _position(rest[:3]), _position(rest[3:6])
            if dom is not None and not scan.holds(dom):
                continue
            view = None if view is None or not scan.holds(view) else view
            words_sent, words, links_sent, links, n_requests = map(int, rest[6:11])
            cpu_s, problem = float(rest[11]), str(rest[12])
            digests = (None if digest is None else bytes(digest) for digest in rest[13:15])
            row = RenderedRow(page, str(why), float(time), str(url), dom, view, words_sent, words, links_sent, links,
                              n_requests, cpu_s, problem, *digests)  # fmt: skip
        except _INVALID:
            continue
        new.rendered.set(row)
        used.update(position[:2] for position in (dom, view) if position is not None)
    return used


def _position(values: list[Any]) -> Position | None:
    return None if None in values else Position(*map(int, values))
