"""`--until` and `--budget` of a crawl: a number, or `none`, which takes back what an earlier run was given."""

from __future__ import annotations

from typing import Any, NamedTuple

from orienteer.errors import InputError

UNTIL_HELP = (
    "Stop at this coverage, such as 0.98, measured or proved. 1: fetch everything in reach; none: no such goal."
)
OF_REACHABLE_HELP = "--until is of what is reachable: blocked pages, and what is behind them, do not count."
CONFIDENCE_HELP = "Confidence of a measured coverage (0.999)."
PROOF_HELP = "Do not measure: stop when the coverage is proved."
BUDGET_HELP = "Stop after this many pages; none: no limit."
_NONE = "none"


class GoalOptions(NamedTuple):
    """What was asked for: None where nothing was said. `dropped` are goals of before that are taken back."""

    until: float | None
    budget: int | None
    dropped: frozenset[str]

    @classmethod
    def of(cls, until: str | None, budget: str | None) -> GoalOptions:
        """What was typed. Whoever asks for everything (`--until 1`) has no budget, unless one is given as well."""
        share, pages = _until(until), _budget(budget)
        dropped = {name for name, text in (("until", until), ("budget", budget)) if _is_none(text)}
        if share == 1:
            dropped |= {"until"} if budget is not None else {"until", "budget"}
            share = None
        return cls(share, pages, frozenset(dropped))

    def kept(self, tables: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
        """Settings of before, without the goals that are taken back."""
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
        return int(text.replace(",", ""))
    except ValueError:
        raise InputError(f"--budget is {text!r}; it must be a number of pages, or none") from None
