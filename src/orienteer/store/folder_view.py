"""A crawl folder opened read-only, while another process may be writing to it."""

from __future__ import annotations

from pathlib import Path
from typing import Self

from orienteer.store.archive import Archive
from orienteer.store.database import DatabaseView
from orienteer.store.folder_files import DATABASE, FolderFiles, archive_end, expect_crawl


class FolderView(FolderFiles):
    """A read-only crawl folder. Its database is a snapshot: later commits are not visible."""

    database: DatabaseView

    @classmethod
    def open(cls, path: Path) -> Self:
        """Open the crawl in a folder; CrawlFolderError if there is none."""
        expect_crawl(path)
        database = DatabaseView(path / DATABASE)
        try:
            archive = Archive(path / "archive", archive_end(database), read_only=True)
        except BaseException:
            database.close()
            raise
        return cls(path, database, archive)
