"""What a format of export is.

It writes the pages of a crawl, or their links, into files of a staging folder (see `staging`). It streams: what it
holds in memory is bounded by the numbers of pages and links, never by what the pages say.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, NamedTuple

from orienteer.exports.exported_crawl import ExportedCrawl
from orienteer.exports.staging import Staging
from orienteer.progress import Progress
from orienteer.registry import ClassRegistry


class Written(NamedTuple):
    """How much an export holds; `n_links` is None for a format without links."""

    n_pages: int
    n_links: int | None = None


class Exporter(ABC):
    """Base of all formats; keyword arguments of `__init__` are the settings.

    `suffixes` are what its files end in, the usual one first; an export of a kind that `is_folder` is a whole folder,
    and the first suffix is what its name ends in unless another one is asked for.
    """

    name: ClassVar[str]
    about: ClassVar[str]
    suffixes: ClassVar[tuple[str, ...]]
    is_folder: ClassVar[bool] = False

    @abstractmethod
    def write(self, crawl: ExportedCrawl, staging: Staging, progress: Progress) -> Written:
        """Write all files; whatever the disk refuses may be raised as it is."""

    def side_files(self, name: str) -> tuple[str, ...]:
        """The names of files that are written besides the one of this name, as far as that is known beforehand."""
        return ()


EXPORTERS: ClassRegistry[Exporter] = ClassRegistry(
    "export format", Exporter, package="orienteer.exports", group="orienteer.exports"
)
exporter = EXPORTERS.register  # the decorator that registers a format under its name


def packed(*suffixes: str) -> tuple[str, ...]:
    """These endings, and those of the same files compressed."""
    return tuple(suffix + ending for suffix in suffixes for ending in ("", ".gz", ".zst"))
