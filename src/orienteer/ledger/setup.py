"""How the Crawl of a folder begins, and its events since then: in the first crawl, or in a refresh."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from orienteer.crawl.crawl import Crawl
from orienteer.crawl.goal import Goal
from orienteer.errors import InputError
from orienteer.graph.growing_graph import PageHosts
from orienteer.graph.survey.crawl_survey import SurveyRound, SurveyStart, error_left, survey_seed
from orienteer.ledger.plan import CrawlPlan
from orienteer.policies.policy import TrustedPages
from orienteer.policies.policy_spec import PolicySpec
from orienteer.policies.trained import TrainedPolicy, trained_policy, write_model
from orienteer.store.database import Database
from orienteer.store.folder import CrawlFolder
from orienteer.store.folder_view import FolderFiles, policy_model_path
from orienteer.store.history import DonePages, KnownPages
from orienteer.store.visit_tables import SurveyRow, WalksRow


class StoredSurvey:
    """The stored survey of a crawl's coverage: the last one of an epoch, if it measures what the goal needs now."""

    def __init__(self, database: Database, epoch: int, goal: Goal) -> None:
        self._database, self._epoch = database, epoch
        self.start: SurveyStart | None = None
        self.rounds: tuple[SurveyRound, ...] = ()
        self._number = -1
        last = database.surveys.last(epoch) if goal.until is not None and goal.confidence is not None else None
        if last is not None and _matches(last[1], goal):
            self._number, row = last
            self.start = SurveyStart(
                row.until, row.confidence, row.seed, row.n_events, row.width, row.of_reachable, row.error
            )
            self.rounds = tuple(SurveyRound(*walks) for walks in database.surveys.walks(self._number))
        self._n_saved = len(self.rounds)

    def begin(self, crawl: Crawl, width: int) -> None:
        """Begin a survey if the goal needs one, and there is none yet."""
        goal = crawl.goal
        if goal.until is None or goal.confidence is None or crawl.survey is not None or crawl.stopped_because:
            return
        seed = survey_seed(secrets.token_bytes(16))  # from the system: no web can foresee where walks will go
        # All surveys of an epoch share the allowed error, so that repeated ones are all right with this confidence.
        error = error_left(goal.confidence, self._database.surveys.count(self._epoch))
        crawl.begin_survey(SurveyStart(goal.until, goal.confidence, seed, 0, width, goal.of_reachable, error))

    def save(self, crawl: Crawl) -> bool:
        """Store new rounds; return whether there were any."""
        survey = crawl.survey
        if survey is None:
            return False
        if survey.start != self.start:
            start = survey.start
            row = SurveyRow(
                self._epoch, start.n_events, start.seed, start.until, start.confidence, start.error, start.of_reachable,
                start.width,
            )  # fmt: skip
            self._number, self.start, self._n_saved = self._database.surveys.add(row), start, 0
        elif self._n_saved == len(survey.rounds):
            return False
        new = survey.rounds[self._n_saved :]
        rows = [WalksRow(one.n_events, one.entries, one.allowed, one.free, one.stake) for one in new]
        self._database.surveys.add_walks(self._number, self._n_saved, rows)
        self._n_saved = len(survey.rounds)
        return True


def _matches(row: SurveyRow, goal: Goal) -> bool:
    """Whether a survey measures what the goal needs. It may have switched to what is reachable by itself."""
    same = row.until == goal.until and row.confidence == goal.confidence
    return same and (row.of_reachable or not goal.of_reachable)


class LoadedPolicy:
    """The policy of a plan, checked before it is stored in the folder of the crawl, with its model in policy.npz.

    `plan` is the plan to store there: it names the policy without the file of its model, which may be gone when the
    crawl is resumed.
    """

    def __init__(self, plan: CrawlPlan, folder: Path) -> None:
        spec = PolicySpec.parse(plan.crawl.policy)
        self._policy: TrainedPolicy | None = None
        self.plan = plan
        if spec.model:
            self._policy = trained_policy(Path(spec.model), spec.name)
            self.plan = replace(plan, crawl=replace(plan.crawl, policy=str(spec.with_model(""))))
        else:
            spec_of_crawl(folder, spec).expect_training()

    def store(self, folder: CrawlFolder) -> None:
        """Write the model into the folder of a new crawl; a crawl that has begun must have the same one."""
        if self._policy is None:
            return
        path = policy_model_path(folder.path)
        if not path.exists():
            write_model(path, self._policy)
            return
        mine, theirs = self._policy.learned(), trained_policy(path, self._policy.name).learned()
        if not all(np.array_equal(mine[name], theirs[name]) for name in mine):
            raise InputError(
                f"{folder.path}: this crawl was begun with another model of {self._policy.name} (see {path})"
            )


def spec_of_crawl(folder: Path, spec: PolicySpec) -> PolicySpec:
    """Return the policy with the model in the folder, if it can be trained and names no other model."""
    path = policy_model_path(folder)
    return spec.with_model(str(path)) if spec.is_untrained and path.exists() else spec


class CrawlSetup:
    """The last epoch of a folder; the first crawl where there is none. Side crawls have their own subclass."""

    uses_checkpoints = True
    widens_scope = True  # by new redirects of seeds that have moved; a replay repeats the earlier ones in any case

    def __init__(self, folder: FolderFiles, plan: CrawlPlan) -> None:
        self.plan = plan
        self.epoch = folder.database.epochs.last()
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
        return (
            database.history.pages_after() if self.epoch is None else database.history.visits_from(self.epoch.position)
        )

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
