"""Export a crawl: the way in."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from orienteer.errors import ExportError
from orienteer.exports import make_exporter
from orienteer.exports.exported_crawl import ExportedCrawl, PageFilter, checked_hosts
from orienteer.exports.exporter import Exporter
from orienteer.exports.staging import Staging, expect_free, staged
from orienteer.progress import Progress, silent
from orienteer.store.folder_view import FolderView


@dataclass(frozen=True)
class ExportReport:
    """What an export came to. `files` are those written; for a format that is a folder, that folder.

    `left_out` counts the fetched pages that are not in it, by the reason.
    """

    format: str
    files: tuple[Path, ...]
    n_pages: int
    n_links: int | None
    size_bytes: int
    left_out: dict[str, int]
    elapsed_s: float

    def as_dict(self) -> dict[str, Any]:
        return asdict(self) | {"files": [str(path) for path in self.files]}


def export(
    folder: str | Path,
    format: str,
    out: str | Path | None = None,
    *,
    on_topic: bool = False,
    hosts: Sequence[str] | str = (),
    sites: Sequence[str] | str = (),
    all_pages: bool = False,
    force: bool = False,
    processes: int | None = None,
    progress: Progress = silent,
    **settings: Any,
) -> ExportReport:
    """Write the pages of a crawl folder, or their links, in a format that others read; the crawl may be running.

    `out` is named after the folder unless it is given; something that is there is replaced with `force` only. With
    `on_topic`, `hosts` or `sites` only those pages are written. Formats of texts hold one of each group of pages that
    repeat one another, and none that ask not to be indexed, unless `all_pages`. For texts, pages are read by this many
    `processes`, for which there is a sensible number; 1: none is started. `settings` are those of the format.
    """
    began = time.monotonic()
    chosen = make_exporter(format, **settings)
    crawl_path = Path(folder)
    with FolderView.open(crawl_path) as crawl:
        survey = crawl.database
        target = _target(crawl_path, chosen, None if out is None else Path(out))
        side_files = chosen.side_files(target.name)
        expect_free(target, chosen.is_folder, force, side_files)
        wanted = PageFilter(on_topic, checked_hosts(hosts), checked_hosts(sites), all_pages)
        exported = ExportedCrawl(crawl, survey, wanted, progress, processes)
        with staged(target, chosen.is_folder, force, side_files) as staging:
            written = chosen.write(exported, staging, progress)
            names, size_bytes = _measured(staging, chosen.is_folder)
    return ExportReport(
        format=format,
        files=tuple(target.with_name(name) for name in names),
        n_pages=written.n_pages,
        n_links=written.n_links,
        size_bytes=size_bytes,
        left_out={why: n for why, n in exported.left_out.items() if n},
        elapsed_s=time.monotonic() - began,
    )


def expect_outside(target: Path, folder: Path) -> None:
    """Complain where something is to be written into the folder of a crawl, or in its place."""
    home, real = folder.resolve(), target.resolve()
    if real == home or home in real.parents or real in home.parents:
        raise ExportError(f"{target}: in the crawl folder, or around it; choose a place outside of {folder}")


def _target(folder: Path, chosen: Exporter, out: Path | None) -> Path:
    """Where the export goes; never into the crawl folder, where everything has its meaning."""
    home = folder.resolve()
    target = Path(home.name + chosen.suffixes[0]) if out is None else out
    expect_outside(target, folder)
    if not chosen.is_folder and not target.name.lower().endswith(chosen.suffixes):
        endings = ", ".join(chosen.suffixes)
        raise ExportError(f"{target}: the name of a {chosen.name} export must end in {endings}")
    return target


def _measured(staging: Staging, is_folder: bool) -> tuple[list[str], int]:
    """The names of what is to be moved into place, the main one first, and the size of all."""
    paths = sorted(staging.folder.iterdir(), key=lambda path: (path != staging.main, path.name))
    files = staging.main.rglob("*") if is_folder else paths
    return [path.name for path in paths], sum(path.stat().st_size for path in files if path.is_file())
