"""The base class of export formats.

An exporter writes the pages of a crawl, or their links, into files of a staging folder (see `staging`). It streams: its
memory is bounded by the numbers of pages and links, not by their contents.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, NamedTuple

from orienteer.exports.exported_crawl import ExportedCrawl
from orienteer.exports.staging import Staging
from orienteer.progress import Progress
from orienteer.registry import ClassRegistry


class Written(NamedTuple):
    """The size of an export; `n_links` is None for a format without links."""

    n_pages: int
    n_links: int | None = None


class Exporter(ABC):
    """Base of all formats; keyword arguments of `__init__` are the settings.

    `suffixes` are the suffixes of its files, the default first. With `is_folder` an export is a folder, and the first
    suffix is that of its default name.
    """

    name: ClassVar[str]
    about: ClassVar[str]
    suffixes: ClassVar[tuple[str, ...]]
    is_folder: ClassVar[bool] = False

    @abstractmethod
    def write(self, crawl: ExportedCrawl, staging: Staging, progress: Progress) -> Written:
        """Write all files. An OSError may be raised; the caller maps it."""

    def side_files(self, name: str) -> tuple[str, ...]:
        """Return the names of additional files, as far as they are known beforehand."""
        return ()


EXPORTERS: ClassRegistry[Exporter] = ClassRegistry(
    "export format", Exporter, package="orienteer.exports", group="orienteer.exports"
)
exporter = EXPORTERS.register  # the decorator that registers a format under its name


def packed(*suffixes: str) -> tuple[str, ...]:
    """Return these suffixes, and those of the compressed files."""
    return tuple(suffix + ending for suffix in suffixes for ending in ("", ".gz", ".zst"))
