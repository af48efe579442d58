"""A crawl folder opened to be read: nothing in it changes, and another process may be writing to it."""

from __future__ import annotations

from pathlib import Path
from typing import Self

from orienteer.store.archive import Archive
from orienteer.store.database_view import DatabaseView
from orienteer.store.folder_files import DATABASE, FolderFiles, archive_end, expect_crawl


class FolderView(FolderFiles):
    """`FolderView.open(path)`; the database is that of one moment: what is committed later is not seen."""

    database: DatabaseView

    @classmethod
    def open(cls, path: Path) -> Self:
        """The crawl in a folder; one line where there is none."""
        expect_crawl(path)
        database = DatabaseView(path / DATABASE)
        try:
            archive = Archive(path / "archive", archive_end(database), read_only=True)
        except BaseException:
            database.close()
            raise
        return cls(path, database, archive)
