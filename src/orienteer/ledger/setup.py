"""How the Crawl of a folder begins, and what it has been told since: in the first crawl, or in a refresh."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from orienteer.crawl.crawl import Crawl
from orienteer.graph.page_hosts import PageHosts
from orienteer.ledger.kept_policy import spec_of_crawl
from orienteer.ledger.kept_survey import KeptSurvey
from orienteer.ledger.plan import CrawlPlan
from orienteer.policies.policy import TrustedPages
from orienteer.policies.policy_spec import PolicySpec
from orienteer.store.database import Database
from orienteer.store.folder_files import FolderFiles
from orienteer.store.history import DonePages, KnownPages


class CrawlSetup:
    """The last epoch of a folder; the first crawl where there is none. An estimate has a subclass of its own."""

    uses_checkpoints = True

    def __init__(self, folder: FolderFiles, plan: CrawlPlan) -> None:
        self.plan = plan
        self.epoch = folder.database.last_epoch()
        self._path = folder.path
        self._database = folder.database
        self.survey: KeptSurvey | None = None
        self._crawl: Crawl | None = None  # that was made, and what it is measured by

    def new_crawl(self, hosts: PageHosts) -> Crawl:
        """A Crawl to which nothing has happened; `hosts` are those of all known pages."""
        epoch = self.epoch
        if epoch is None:
            n_seeds = len(self.plan.crawl.seeds)
            trusted = TrustedPages(np.arange(n_seeds, dtype=np.uint32), self.plan.crawl.seed_trust())
        else:
            trusted = TrustedPages(epoch.seeds, epoch.trust)
        spec = spec_of_crawl(self._path, PolicySpec.parse(self.plan.crawl.policy))
        policy = spec.make(self.plan.crawl.damping)
        # An epoch goes only so far: what it leaves could be fetched, so nothing is impossible because of it.
        goal = replace(self.plan.goal(), or_reachable=epoch is None)
        kept = self.survey = KeptSurvey(self._database, 0 if epoch is None else epoch.id, goal)
        crawl = Crawl(policy, trusted, goal, self.plan.politeness, hosts, survey=kept.start, rounds=kept.rounds)
        self._crawl = crawl
        if epoch is not None:
            crawl.discover(epoch.due)
        return crawl

    def history(self, database: Database) -> Iterator[DonePages | KnownPages]:
        """All that the Crawl was told."""
        return database.pages_after() if self.epoch is None else database.visits_from(self.epoch.position)

    def first_pages(self) -> NDArray[np.uint32]:
        """The pages that depths are counted from."""
        if self.epoch is None:
            return np.arange(len(self.plan.crawl.seeds), dtype=np.uint32)
        # What is new is mostly a link away from what is due, so one may go on from there as from a seed.
        return np.append(self.epoch.seeds, self.epoch.due)

    def linked(self, pages: NDArray[np.uint32]) -> NDArray[np.uint32]:
        """The pages that links to these count for."""
        return pages

    def save(self, database: Database) -> bool:
        """Write down what the next opening needs besides the history; whether there was something new."""
        return self.survey is not None and self._crawl is not None and self.survey.save(self._crawl)
