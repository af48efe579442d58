"""`--until` and `--budget` of a crawl: a number, or `none`, which removes the goal of an earlier run."""

from __future__ import annotations

from typing import Any, NamedTuple

from orienteer.errors import InputError
from orienteer.wording import SAME_RESPONSES

UNTIL_HELP = (
    "Stop at this coverage, measured or proved, such as 0.98. 1: fetch everything reachable; none: no coverage goal."
)
OF_REACHABLE_HELP = "Apply --until to reachable pages only: blocked pages, and pages behind them, do not count."
CONFIDENCE_HELP = f"Confidence of a measured coverage (0.999), assuming that {SAME_RESPONSES}."
PROOF_HELP = "Do not measure by random walks; stop when the coverage is proved."
BUDGET_HELP = "Stop after this many pages; none: no limit."
_NONE = "none"


class GoalOptions(NamedTuple):
    """The goals on the command line, None where not given. `dropped` names the earlier goals to remove."""

    until: float | None
    budget: int | None
    dropped: frozenset[str]

    @classmethod
    def of(cls, until: str | None, budget: str | None) -> GoalOptions:
        """Parse both options. `--until 1` (everything) also removes the budget, unless one is given."""
        share, pages = _until(until), _budget(budget)
        dropped = {name for name, text in (("until", until), ("budget", budget)) if _is_none(text)}
        if share == 1:
            dropped |= {"until"} if budget is not None else {"until", "budget"}
            share = None
        return cls(share, pages, frozenset(dropped))

    def remaining(self, tables: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
        """Return earlier settings without the dropped goals."""
        crawl = {name: value for name, value in tables.get("crawl", {}).items() if name not in self.dropped}
        return tables | {"crawl": crawl}


def _is_none(text: str | None) -> bool:
    return text is not None and text.strip().lower() == _NONE


def _until(text: str | None) -> float | None:
    if text is None or _is_none(text):
        return None
    number, per = (text.strip()[:-1], 100.0) if text.strip().endswith("%") else (text, 1.0)
    try:
        return float(number) / per
    except ValueError:
        raise InputError(f"--until is {text!r}; it must be a coverage such as 0.98, or none") from None


def _budget(text: str | None) -> int | None:
    if text is None or _is_none(text):
        return None
    try:
        n_pages = int(text.replace(",", ""))
    except ValueError:
        raise InputError(f"--budget is {text!r}; it must be a number of pages, or none") from None
    if n_pages < 1:
        raise InputError("--budget: 1 or more pages, or none")
    return n_pages
