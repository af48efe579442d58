"""How the Crawl of a survey begins: it replays the measured crawl, then the pages outside."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from orienteer.audit.probes import Probes
from orienteer.audit.survey_folder import entries_of, made_for, store_entries
from orienteer.crawl.crawl import Crawl
from orienteer.graph.growing_graph import PageHosts
from orienteer.graph.survey.fixed_walks import FixedWalks, SurveyGoal
from orienteer.ledger.ledger import Ledger
from orienteer.ledger.plan import CrawlPlan
from orienteer.ledger.setup import CrawlSetup
from orienteer.policies.policy import TrustedPages
from orienteer.store.database import Database
from orienteer.store.folder import CrawlFolder
from orienteer.store.folder_files import FolderFiles
from orienteer.store.history import DonePages, KnownPages


class SurveySetup(CrawlSetup):
    """The setup of a survey: the walks begin once the measured crawl has been replayed."""

    uses_checkpoints = False  # walks begin at a certain event, so that everything is replayed

    def __init__(self, folder: FolderFiles, plan: CrawlPlan, goal: SurveyGoal) -> None:
        super().__init__(folder, plan)
        self.goal = goal
        self.made_for = made_for(folder.database)
        self._entries = entries_of(folder.database)

    @property
    def walks(self) -> FixedWalks:
        assert self.probes.walks is not None  # the replay ends before the ledger exists
        return self.probes.walks

    def new_crawl(self, hosts: PageHosts) -> Crawl:
        on_topic = np.array(self.made_for.trusted, np.uint32)
        if len(on_topic):
            trusted = TrustedPages(on_topic, np.full(len(on_topic), 1 / len(on_topic)))
        else:
            seeds = np.arange(len(self.plan.crawl.seeds), dtype=np.uint32)
            trusted = TrustedPages(seeds, self.plan.crawl.seed_trust())
        self.probes = Probes(self.plan.crawl.damping)
        self.crawl = Crawl(self.probes, trusted, None, self.plan.politeness, hosts)
        return self.crawl

    def history(self, database: Database) -> Iterator[DonePages | KnownPages]:
        """Yield the events of the crawl, begin the walks, yield the probes so far, then request pages."""
        first = self.made_for.first_probe
        yield from _before(super().history(database), first)
        for page in self.crawl.frontier.all()[0].tolist():  # from sitemaps
            self.crawl.frontier.remove(page)
        self.probes.begin_walks(
            self.crawl, database.urls, self.made_for.seed, self.goal, self.plan.crawl.workers, self._entries
        )
        yield from database.pages_after(first - 1)
        needed = self.probes.start_requests()
        self.crawl.frontier.put(needed.pages, needed.values)

    def save(self, database: Database) -> bool:
        """Store where walks have entered: they can be checked, and resume on a machine with another rounding."""
        n_stored = len(self._entries)
        if self.probes.walks is None or self.walks.survey.lives.n_begun == n_stored:
            return False
        self._entries = self.walks.survey.lives.entries.tolist()
        store_entries(database, self._entries)
        return True


def _before(history: Iterator[DonePages | KnownPages], position: int) -> Iterator[DonePages | KnownPages]:
    """Yield the events before a position."""
    for events in history:
        if isinstance(events, KnownPages) or events.positions[-1] < position:
            yield events
            continue
        n = int(np.searchsorted(events.positions, position))
        if n:
            yield _first(events, n)
        return


def _first(events: DonePages, n: int) -> DonePages:
    n_links = int(events.link_offsets[n])
    return DonePages(
        events.positions[:n], events.pages[:n], events.states[:n], events.redirects[:n], events.link_offsets[: n + 1],
        events.links[:n_links], events.requested[:n], events.relevance[:n], events.n_unknown[:n],
    )  # fmt: skip


class SurveyLedger(Ledger):
    """Records pages outside. The measured web does not change: no redirect widens its scope."""

    def __init__(self, folder: CrawlFolder, plan: CrawlPlan, setup: SurveySetup) -> None:
        super().__init__(folder, plan, setup)
        self._seed_pages = set()
