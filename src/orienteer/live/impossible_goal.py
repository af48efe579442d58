"""A goal that cannot be reached: noticed as soon as it is so, and when it is not so after all.

Mass on blocked pages only grows, so it stays impossible; unless a seed turns out to be on another host, and links of
fetched pages count that did not before.
"""

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
    """What has come to be known, as the log has it and in one line."""

    event: str
    facts: dict[str, Any]
    line: str


class ImpossibleGoal:
    """Knows what was said of the goal."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._is_said = False

    def news(self) -> News | None:
        """What has changed since it was asked last; None, mostly."""
        crawl = self._ledger.crawl
        if crawl.goal_is_impossible == self._is_said:
            return None
        self._is_said = not self._is_said
        until, proved = crawl.goal.until, crawl.certificate()
        assert until is not None
        facts = {"until": until, "lower": proved.lower, "blocked": proved.blocked, "unknown": proved.unknown}
        if not self._is_said:
            return News("goal possible", facts, f"{goal_share(until)} can be proved after all")
        reasons = self._reasons()
        going_on = f"going on until {goal_share(until)} of what is reachable is covered"
        line = f"{impossible_in_words(until, proved, ', '.join(reasons))}; {going_on}"
        return News("goal impossible", {**facts, "reasons": reasons}, line)

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
