"""The states of links by the outcomes of their targets."""

from __future__ import annotations

from orienteer.pages.outcome import Outcome
from orienteer.pages.states import PageState
from orienteer.report.page_table import LINK_STATE_OF_BLOCKED, LinkState, link_state
from tests.tables import over_rows

BY_STATUS = {Outcome.CLIENT_ERROR, Outcome.SERVER_ERROR, Outcome.SLOW_DOWN}  # databases have their status


def test_every_outcome_has_a_link_state() -> None:
    assert LINK_STATE_OF_BLOCKED.keys() | BY_STATUS == set(Outcome)


@over_rows(
    ("state", "outcome", "expected"),
    [
        (PageState.FETCHED, "ok", LinkState.FINE),
        (PageState.SKIPPED, "unwanted type", LinkState.FINE),
        (PageState.FAILED, "http 410", LinkState.BROKEN),
        (PageState.BLOCKED, "http 500", LinkState.BROKEN),
        (PageState.BLOCKED, "http 400", LinkState.BROKEN),
        (PageState.BLOCKED, "http 401", LinkState.REFUSED),
        (PageState.BLOCKED, "http 429", LinkState.REFUSED),
        (PageState.BLOCKED, "no address", LinkState.BROKEN),
        (PageState.BLOCKED, "redirect loop", LinkState.BROKEN),
        (PageState.BLOCKED, "robots.txt", LinkState.REFUSED),
        (PageState.BLOCKED, "host given up", LinkState.HOST_GONE),
        (PageState.BLOCKED, "too deep", LinkState.NOT_CHECKED),
        (PageState.BLOCKED, "something of another version", LinkState.NOT_CHECKED),
        (PageState.KNOWN, "", LinkState.NOT_CHECKED),
    ],
)
def test_link_states(state: PageState, outcome: str, expected: LinkState) -> None:
    assert link_state(state, outcome) is expected
