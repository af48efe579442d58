"""Detects a goal that cannot be reached, and reports it once in a run."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from orienteer.inspect.status_text import describe_impossible
from orienteer.ledger.ledger import Ledger
from orienteer.pages.states import PageState
from orienteer.wording import goal_share, plain

_PAGES_READ = 200
_MAX_REASONS = 3


class GoalNotice(NamedTuple):
    """A message about the goal: fields for the log, and one line for the user."""

    facts: dict[str, Any]
    line: str


class ImpossibleGoal:
    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._is_announced = False

    def notice(self) -> GoalNotice | None:
        """Return, once, that the goal cannot be reached; None otherwise, at almost no cost."""
        crawl = self._ledger.crawl
        until = crawl.goal.until
        if self._is_announced or until is None or not crawl.goal_is_impossible:
            return None
        self._is_announced = True
        proved, reasons = crawl.certificate(), self._reasons()
        facts = {"until": until, "lower": proved.lower, "blocked": proved.blocked, "unknown": proved.unknown}
        line = describe_impossible(until, proved, ", ".join(reasons))
        if crawl.stopped_because is None:
            line += f"; going on until {goal_share(until)} of what is reachable is covered"
        return GoalNotice({**facts, "reasons": reasons}, line)

    def _reasons(self) -> list[str]:
        """Return the few reasons of blocked pages that cost the most mass, by a sample of the heaviest pages."""
        crawl, database = self._ledger.crawl, self._ledger.database
        mass = crawl.coverage.p
        blocked = np.flatnonzero(crawl.coverage.blocked)
        cost: dict[str, float] = {}
        for page in blocked[np.argsort(-mass[blocked])][:_PAGES_READ].tolist():
            row = database.pages.row(page)
            if row is not None and row.state == PageState.BLOCKED:
                cost[row.outcome] = cost.get(row.outcome, 0.0) + float(mass[page])
        return [plain(reason, 60) for reason in sorted(cost, key=lambda reason: -cost[reason])[:_MAX_REASONS]]
