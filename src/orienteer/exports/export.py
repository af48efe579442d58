"""Export a crawl folder: its pages or links, in another format."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from orienteer.errors import ExportError
from orienteer.exports import make_exporter
from orienteer.exports.exported_crawl import ExportedCrawl, PageFilter, checked_hosts
from orienteer.exports.exporter import Exporter, Staging, expect_free, staged
from orienteer.progress import Progress, silent
from orienteer.store.folder_view import FolderView


@dataclass(frozen=True)
class ExportReport:
    """The result of an export. `files` are the files written, or the folder for a format that is a folder.

    `left_out` counts the fetched pages that are not in it, by reason.
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
    """Write the pages of a crawl folder, or their links, in another format; the crawl may be running.

    The default of `out` is the name of the folder with the suffix of the format; an existing file is replaced only with
    `force`. With `on_topic`, `hosts` or `sites` only those pages are written. Text formats contain one page of each
    group of duplicates, and no page with noindex, unless `all_pages`. `processes` is the number of processes that parse
    pages for text formats; with 1 only this one, with None a suitable number. `settings` are those of the format.
    """
    began = time.monotonic()
    chosen = make_exporter(format, **settings)
    crawl_path = Path(folder)
    with FolderView.open(crawl_path) as crawl:
        target = _target(crawl_path, chosen, None if out is None else Path(out))
        side_files = chosen.side_files(target.name)
        expect_free(target, chosen.is_folder, force, side_files)
        selected = PageFilter(on_topic, checked_hosts(hosts), checked_hosts(sites), all_pages)
        exported = ExportedCrawl(crawl, selected, progress, processes)
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
    """Raise ExportError if `target` is inside a crawl folder, or contains it."""
    home, real = folder.resolve(), target.resolve()
    if real == home or home in real.parents or real in home.parents:
        raise ExportError(f"{target}: inside the crawl folder, or contains it; choose a path outside of {folder}")


def _target(folder: Path, chosen: Exporter, out: Path | None) -> Path:
    """Return the path of the export, which must be outside of the crawl folder."""
    home = folder.resolve()
    target = Path(home.name + chosen.suffixes[0]) if out is None else out
    expect_outside(target, folder)
    if not chosen.is_folder and not target.name.lower().endswith(chosen.suffixes):
        endings = ", ".join(chosen.suffixes)
        raise ExportError(f"{target}: the name of a {chosen.name} export must end in {endings}")
    return target


def _measured(staging: Staging, is_folder: bool) -> tuple[list[str], int]:
    """Return the names of the files or folders written, the main one first, and their total size."""
    paths = sorted(staging.folder.iterdir(), key=lambda path: (path != staging.main, path.name))
    files = staging.main.rglob("*") if is_folder else paths
    return [path.name for path in paths], sum(path.stat().st_size for path in files if path.is_file())
