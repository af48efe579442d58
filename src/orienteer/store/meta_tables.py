"""The events of a crawl, and its single values."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from orienteer.store.connection import DatabaseConnection

ANCHORS = "anchors"  # the kind of an event


class CrawlEvent(NamedTuple):
    time: float
    kind: str
    host: int | None
    detail: dict[str, Any]


class MetaTables:
    """The tables `event` and `meta`."""

    def __init__(self, connection: DatabaseConnection) -> None:
        self._db = connection

    def set(self, key: str, value: Any) -> None:
        self._db.write("INSERT OR REPLACE INTO meta VALUES (?, ?)", key, json.dumps(value))

    def get(self, key: str, default: Any = None) -> Any:
        text = self._db.first("SELECT value FROM meta WHERE key = ?", key)
        return default if text is None else self._db.json(text)

    def add_event(self, time: float, kind: str, host: int | None = None, **detail: Any) -> None:
        sql = "INSERT INTO event (time, kind, host, detail) VALUES (?, ?, ?, ?)"
        self._db.write(sql, time, kind, host, json.dumps(detail))

    def events(self, limit: int = 100) -> list[CrawlEvent]:
        """Return the latest events, oldest first."""
        columns = "time, kind AS event_kind, host, detail"
        rows = list(self._db.rows(f"SELECT {columns} FROM event ORDER BY id DESC LIMIT ?", limit))
        return [CrawlEvent(time, kind, host, self._db.json(detail)) for time, kind, host, detail in reversed(rows)]

    def anchors(self) -> tuple[str, ...]:
        """Return the fields of routes treated as positions on a page, by host, from the events of the crawl."""
        sql = "SELECT json_extract(detail, '$.detail') FROM event WHERE kind = ? GROUP BY 1 ORDER BY min(id)"
        return tuple(str(detail) for (detail,) in self._db.rows(sql, ANCHORS))
