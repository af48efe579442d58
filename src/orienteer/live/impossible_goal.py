"""A goal that cannot be reached: noticed as soon as it is known, and said once in a run."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from orienteer.inspect.status_in_words import impossible_in_words
from orienteer.ledger.ledger import Ledger
from orienteer.pages.states import PageState
from orienteer.wording import goal_share, plain

_PAGES_ASKED = 200
_REASONS_NAMED = 3


class News(NamedTuple):
    """What has come to be known, as facts for the log and in one line."""

    facts: dict[str, Any]
    line: str


class ImpossibleGoal:
    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._is_said = False

    def news(self) -> News | None:
        """That the goal cannot be reached, if that is so and was not said before. Takes next to no time."""
        crawl = self._ledger.crawl
        until = crawl.goal.until
        if self._is_said or until is None or not crawl.goal_is_impossible:
            return None
        self._is_said = True
        proved, reasons = crawl.certificate(), self._reasons()
        facts = {"until": until, "lower": proved.lower, "blocked": proved.blocked, "unknown": proved.unknown}
        line = impossible_in_words(until, proved, ", ".join(reasons))
        if crawl.stopped_because is None:
            line += f"; going on until {goal_share(until)} of what is reachable is covered"
        return News({**facts, "reasons": reasons}, line)

    def _reasons(self) -> list[str]:
        """Why pages are blocked: the few reasons that cost the most, by the pages that do."""
        crawl, database = self._ledger.crawl, self._ledger.database
        mass = crawl.coverage.p
        blocked = np.flatnonzero(crawl.coverage.blocked)
        cost: dict[str, float] = {}
        for page in blocked[np.argsort(-mass[blocked])][:_PAGES_ASKED].tolist():
            row = database.page(page)
            if row is not None and row.state == PageState.BLOCKED:
                cost[row.outcome] = cost.get(row.outcome, 0.0) + float(mass[page])
        return [plain(reason, 60) for reason in sorted(cost, key=lambda reason: -cost[reason])[:_REASONS_NAMED]]
