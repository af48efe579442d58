"""How the Crawl of a folder begins, and its events since then: in the first crawl, or in a refresh."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from orienteer.crawl.crawl import Crawl
from orienteer.graph.growing_graph import PageHosts
from orienteer.ledger.plan import CrawlPlan
from orienteer.ledger.stored_policy import spec_of_crawl
from orienteer.ledger.stored_survey import StoredSurvey
from orienteer.policies.policy import TrustedPages
from orienteer.policies.policy_spec import PolicySpec
from orienteer.store.database import Database
from orienteer.store.folder_files import FolderFiles
from orienteer.store.history import DonePages, KnownPages


class CrawlSetup:
    """The last epoch of a folder; the first crawl where there is none. Estimates have their own subclass."""

    uses_checkpoints = True

    def __init__(self, folder: FolderFiles, plan: CrawlPlan) -> None:
        self.plan = plan
        self.epoch = folder.database.last_epoch()
        self._path = folder.path
        self._database = folder.database
        self.survey: StoredSurvey | None = None
        self._crawl: Crawl | None = None  # the last one made

    def new_crawl(self, hosts: PageHosts) -> Crawl:
        """Build a Crawl without any events; `hosts` are those of all known pages."""
        epoch = self.epoch
        if epoch is None:
            n_seeds = len(self.plan.crawl.seeds)
            trusted = TrustedPages(np.arange(n_seeds, dtype=np.uint32), self.plan.crawl.seed_trust())
        else:
            trusted = TrustedPages(epoch.seeds, epoch.trust)
        spec = spec_of_crawl(self._path, PolicySpec.parse(self.plan.crawl.policy))
        policy = spec.make(self.plan.crawl.damping)
        # An epoch has a limited depth: pages that it skips could be fetched, so they make nothing impossible.
        goal = replace(self.plan.goal(), or_reachable=epoch is None)
        survey = self.survey = StoredSurvey(self._database, 0 if epoch is None else epoch.id, goal)
        crawl = Crawl(policy, trusted, goal, self.plan.politeness, hosts, survey=survey.start, rounds=survey.rounds)
        self._crawl = crawl
        if epoch is not None:
            crawl.discover(epoch.due)
        return crawl

    def history(self, database: Database) -> Iterator[DonePages | KnownPages]:
        """Yield all events of the Crawl."""
        return database.pages_after() if self.epoch is None else database.visits_from(self.epoch.position)

    def first_pages(self) -> NDArray[np.uint32]:
        """Return the pages that depths are counted from."""
        if self.epoch is None:
            return np.arange(len(self.plan.crawl.seeds), dtype=np.uint32)
        # New pages are mostly one link away from due ones, so these count as seeds.
        return np.append(self.epoch.seeds, self.epoch.due)

    def linked(self, pages: NDArray[np.uint32]) -> NDArray[np.uint32]:
        """Return the pages that links to these pages count for."""
        return pages

    def save(self, database: Database) -> bool:
        """Store what a resume needs in addition to the events; return whether there was something new."""
        return self.survey is not None and self._crawl is not None and self.survey.save(self._crawl)
