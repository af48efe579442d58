"""A side crawl: it fetches pages outside a crawl, to measure something about it, and stores them in its own folder.

The folder begins with a copy of the crawl, which is replayed as if its pages had just been fetched. From then on a
policy that follows no links selects pages, and everything else is as in any crawl: politeness, robots.txt, retries,
`kill -9`. The selections of the policy are stored, so that a replay selects the same pages.

A side crawl belongs to one state of the crawl. Once the crawl has continued, it must be made again.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any, ClassVar

from orienteer.crawl.crawl import Crawl
from orienteer.errors import InputError
from orienteer.graph.growing_graph import PageHosts
from orienteer.ledger.ledger import Ledger
from orienteer.ledger.plan import CrawlPlan, expect_allowed
from orienteer.ledger.setup import CrawlSetup
from orienteer.live.live_crawl import LiveCrawl
from orienteer.live.warm_up import warm_up
from orienteer.policies.policy import Policy, TrustedPages
from orienteer.settings import Tables, merged, to_table
from orienteer.store.database import Database
from orienteer.store.failures import damaged
from orienteer.store.folder import CrawlFolder, remove_crawl
from orienteer.store.folder_view import FolderFiles
from orienteer.workers.worker_pool import WorkerPool

# The policy of a side crawl is not one of a plan, and pages come from it alone.
ONLY_SELECTED: dict[str, Any] = {
    "policy": "breadth-first", "sitemaps": False, "feeds": False, "languages": False, "near_duplicates": "off",
}  # fmt: skip


class SideCrawlSetup(CrawlSetup, ABC):
    """The setup of a side crawl. `selections` are the numbers that are stored in addition to the events."""

    uses_checkpoints = False  # the replay is quick, and the policy starts to select at a certain event
    selections_key: ClassVar[str]  # in the database

    def __init__(self, folder: FolderFiles, plan: CrawlPlan, allowed: range, error: str) -> None:
        """Read the stored selections, which are `allowed` numbers; `error` is the message if they are not."""
        super().__init__(folder, plan)
        stored = folder.database.meta.get(self.selections_key, [])
        if not isinstance(stored, list) or not all(isinstance(number, int) and number in allowed for number in stored):
            raise damaged(folder.database.path, error)
        self.stored_selections: list[int] = stored

    @abstractmethod
    def selections(self) -> list[int]:
        """Return all selections so far."""

    def crawl_with(self, policy: Policy, trusted: TrustedPages, hosts: PageHosts) -> Crawl:
        return Crawl(policy, trusted, None, self.plan.politeness, hosts)

    def save(self, database: Database) -> bool:
        """Store the selections, if there are new ones."""
        selections = self.selections()
        if len(selections) == len(self.stored_selections):
            return False
        self.stored_selections = list(selections)
        database.meta.set(self.selections_key, self.stored_selections)
        return True


def changed_plan(crawl: FolderFiles, overrides: Tables) -> CrawlPlan:
    """Return the plan of the crawl with `overrides`, tables as in crawl.toml, which may not change its identity."""
    stored = CrawlPlan.of_folder(crawl)
    expect_allowed(crawl.path, stored, overrides)
    tables = {part.name: to_table(getattr(stored, part.name)) for part in fields(stored)}
    return stored.continued(CrawlPlan.of_tables(merged(tables, overrides), "settings"))


def open_side_folder(path: Path, plan: CrawlPlan, restart: bool, begin: Callable[[CrawlFolder], None]) -> CrawlFolder:
    """Open or create the folder of a side crawl for writing; `restart` removes an earlier one.

    `begin` copies the crawl into a new folder, and checks that another one belongs to the crawl.
    """
    warm_up(plan)
    if restart:
        remove_crawl(path)
    folder = CrawlFolder.open_or_create(path, plan.to_toml())
    try:
        begin(folder)
    except BaseException:
        folder.close()
        raise
    return folder


def expect_position(crawl: FolderFiles, position: Any, begun: str) -> None:
    """Raise an InputError if the crawl has continued since this position, where the side crawl was `begun`."""
    if position != crawl.database.history.next_position():
        raise InputError(f"{crawl.path}: the crawl has continued since its {begun}")


@contextmanager
def live_side_crawl(folder: CrawlFolder, setup: SideCrawlSetup) -> Iterator[LiveCrawl]:
    """Yield the live crawl of an open folder, ready to run."""
    plan = setup.plan
    with closing(WorkerPool(plan.fetch, plan.crawl.processes)) as pool:
        yield LiveCrawl(Ledger(folder, plan, setup), pool)
