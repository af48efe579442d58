"""What becomes of somebody who follows a link."""

from __future__ import annotations

import pytest

from orienteer.pages.outcome import Outcome
from orienteer.pages.states import PageState
from orienteer.report.fates import FATE_OF_BLOCKED, Fate, fate_of

BY_STATUS = {Outcome.CLIENT_ERROR, Outcome.SERVER_ERROR, Outcome.SLOW_DOWN}  # databases have their status


def test_every_outcome_has_a_fate() -> None:
    assert FATE_OF_BLOCKED.keys() | BY_STATUS == set(Outcome)


@pytest.mark.parametrize(
    ("state", "outcome", "fate"),
    [
        (PageState.FETCHED, "ok", Fate.FINE),
        (PageState.SKIPPED, "unwanted type", Fate.FINE),
        (PageState.FAILED, "http 410", Fate.BROKEN),
        (PageState.BLOCKED, "http 500", Fate.BROKEN),
        (PageState.BLOCKED, "http 400", Fate.BROKEN),
        (PageState.BLOCKED, "http 401", Fate.REFUSED),
        (PageState.BLOCKED, "http 429", Fate.REFUSED),
        (PageState.BLOCKED, "no address", Fate.BROKEN),
        (PageState.BLOCKED, "redirect loop", Fate.BROKEN),
        (PageState.BLOCKED, "robots.txt", Fate.REFUSED),
        (PageState.BLOCKED, "host given up", Fate.HOST_GONE),
        (PageState.BLOCKED, "too deep", Fate.NOT_CHECKED),
        (PageState.BLOCKED, "something of another version", Fate.NOT_CHECKED),
        (PageState.KNOWN, "", Fate.NOT_CHECKED),
    ],
)
def test_fates(state: PageState, outcome: str, fate: Fate) -> None:
    assert fate_of(state, outcome) is fate
