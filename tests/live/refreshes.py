"""Refreshes of changing fake webs, and the contents of their folders."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from orienteer.inspect.run_report import Report
from orienteer.ledger.revisiting import DAY_S
from orienteer.live.session import refresh
from orienteer.store.database import Database
from orienteer.store.page_row import PageRow
from orienteer.store.visits import VisitKind
from tests.fake_web.changing import ChangingSite
from tests.fake_web.server import FakeWeb
from tests.live.live_crawls import StoredCrawl, crawled

NOTHING_HAPPENS = {VisitKind.NOT_MODIFIED, VisitKind.UNCHANGED, VisitKind.CARRIED}


class Refreshed:
    """A changing web, the folder of its crawl, and a simulated date."""

    def __init__(self, site: ChangingSite, web: FakeWeb, folder: Path, **first: Any) -> None:
        self.site = site
        self.web = web
        self.folder = folder
        self.settings = first.pop("settings", {})
        self.settings = {"crawl": {"near_duplicates": "off"}} | self.settings
        self.today = time.time()
        self.first = crawled(web, first.pop("seeds"), folder, settings=self.settings, **first)

    def refresh(self, days: float = 1.0, **named: Any) -> Report:
        """Advance the date and run a refresh."""
        self.today += days * DAY_S
        self.site.begin_epoch()
        return refresh(self.folder, now=self.today, **named)

    def rows(self) -> dict[str, PageRow]:
        """Return the rows of the done pages."""
        return rows_of(self.folder)

    def visits(self) -> dict[str, VisitKind]:
        """Return the visits of the last epoch."""
        return visits_of(self.folder)

    def of_kind(self, *kinds: VisitKind) -> set[str]:
        return {url for url, kind in self.visits().items() if kind in kinds}


def rows_of(folder: Path) -> dict[str, PageRow]:
    return {url: row for url, row in StoredCrawl(folder).rows.items() if row is not None}


def visits_of(folder: Path) -> dict[str, VisitKind]:
    """Return the committed visits of the last epoch of a crawl, in order."""
    with Database.open(folder / "crawl.db", read_only=True) as database:
        epoch = database.epochs.last()
        if epoch is None:
            return {}
        rows = database.connection.rows(
            "SELECT page, kind FROM visit WHERE position >= ? ORDER BY position", epoch.position
        )
        pairs = [(database.urls.of(page), VisitKind(kind)) for page, kind in rows]
        assert len(dict(pairs)) == len(pairs), "a page was visited twice in an epoch"
        return dict(pairs)


def contents(rows: dict[str, PageRow]) -> dict[str, Any]:
    """Return the fields of the rows that describe the content of pages."""
    return {url: (row.state, row.digest, row.redirect_to, row.links.tolist()) for url, row in rows.items()}
