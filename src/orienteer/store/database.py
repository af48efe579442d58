"""crawl.db: one connection, and an object for each group of tables. `schema` documents the tables."""

from __future__ import annotations

from pathlib import Path
from typing import Self

from orienteer.files.plain import Closeable
from orienteer.store.connection import CRAWL_DATABASE, DatabaseConnection
from orienteer.store.detail_tables import DetailTables, SignatureTables
from orienteer.store.history import HistoryTables
from orienteer.store.page_tables import PageTables
from orienteer.store.rendering_tables import AssetTables, RenderedTables
from orienteer.store.url_tables import MetaTables, UrlTables
from orienteer.store.visit_tables import EpochTables, SurveyTables, VisitTables


class Database(Closeable):
    """`Database.create(path)` or `Database.open(path)`; nothing is durable before `commit`."""

    def __init__(self, connection: DatabaseConnection) -> None:
        self.connection = connection
        self.path = connection.path
        self.meta = MetaTables(connection)
        self.urls = UrlTables(connection)
        self.pages = PageTables(connection, self.urls)
        self.details = DetailTables(connection, self.urls)
        self.signatures = SignatureTables(connection)
        self.epochs = EpochTables(connection, self.urls)
        self.visits = VisitTables(connection, self.urls)
        self.history = HistoryTables(connection, self.urls, self.meta)
        self.assets = AssetTables(connection)
        self.rendered = RenderedTables(connection, self.meta)
        self.surveys = SurveyTables(connection, self.urls)

    @classmethod
    def create(cls, path: Path) -> Self:
        """Create a database; it gets its name when it is complete."""
        return cls(DatabaseConnection.create(path, CRAWL_DATABASE))

    @classmethod
    def open(cls, path: Path, read_only: bool = False) -> Self:
        return cls(DatabaseConnection(path, CRAWL_DATABASE, read_only))

    def commit(self) -> None:
        self.connection.commit()

    def rollback(self) -> None:
        """Return to the last commit."""
        self.connection.rollback()

    def close(self) -> None:
        """Close the database; uncommitted changes are lost."""
        self.connection.close()


class DatabaseView(Database):
    """A read-only snapshot: later commits of other processes are not visible."""

    def __init__(self, path: Path) -> None:
        super().__init__(DatabaseConnection(path, CRAWL_DATABASE, read_only=True))
        try:
            self.connection.begin_snapshot()
            self.urls.count()  # the first read fixes the snapshot
        except BaseException:
            self.close()
            raise
