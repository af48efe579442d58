"""`--until` and `--budget` as they are typed."""

from __future__ import annotations

import pytest

from orienteer.cli.goal_option import GoalOptions
from orienteer.errors import InputError

BEFORE = {"crawl": {"until": 0.5, "budget": 7, "policy": "opic"}, "scope": {"kind": "web"}}


@pytest.mark.parametrize(
    ("until", "budget", "goal", "remaining"),
    [
        (None, None, (None, None), {"until": 0.5, "budget": 7}),
        ("0.98", None, (0.98, None), {"until": 0.5, "budget": 7}),
        ("98 %", "1,000", (0.98, 1000), {"until": 0.5, "budget": 7}),
        ("none", None, (None, None), {"budget": 7}),
        (None, "None", (None, None), {"until": 0.5}),
        ("1", None, (None, None), {}),
        ("1.0", "20", (None, 20), {"budget": 7}),
        ("100%", "none", (None, None), {}),
    ],
)
def test_goals(
    until: str | None, budget: str | None, goal: tuple[float | None, int | None], remaining: dict[str, float]
) -> None:
    found = GoalOptions.of(until, budget)
    assert (found.until, found.budget) == goal
    assert found.remaining(BEFORE) == {"crawl": {"policy": "opic", **remaining}, "scope": {"kind": "web"}}


@pytest.mark.parametrize(("until", "budget"), [("much", None), (None, "1.5"), ("", None), (None, "")])
def test_what_is_no_goal(until: str | None, budget: str | None) -> None:
    with pytest.raises(InputError, match="or none"):
        GoalOptions.of(until, budget)
