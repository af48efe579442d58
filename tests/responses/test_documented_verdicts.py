"""The table of outcomes in the documentation matches the code."""

from __future__ import annotations

import re
from pathlib import Path

from orienteer.pages.outcome import Outcome
from orienteer.responses.verdict import LOST_REDIRECTS, NO_PAGE, VERDICTS, VerdictKind, verdict_kind_of

DOCUMENT = Path(__file__).parents[2] / "docs" / "theory" / "responses.md"


def rows() -> list[tuple[Outcome, str, VerdictKind, str]]:
    found = re.findall(r"^\| `([^`]+)` \| (.+?) \| (.+?) \| (.+?) \|$", DOCUMENT.read_text("utf-8"), re.MULTILINE)
    return [(Outcome(outcome), when, VerdictKind(verdict), counts) for outcome, when, verdict, counts in found]


def test_every_outcome_has_its_row() -> None:
    documented = [(outcome, verdict) for outcome, _, verdict, _ in rows()]
    expected = [*VERDICTS.items(), (Outcome.CLIENT_ERROR, VerdictKind.FAILED)]
    assert sorted(documented) == sorted(expected)


def test_statuses_are_what_the_rows_say() -> None:
    for outcome, when, verdict, _ in rows():
        if outcome is Outcome.CLIENT_ERROR:
            statuses = [int(status) for status in re.findall(r"\b4\d\d\b", when)]
            assert {verdict_kind_of(outcome, status) for status in statuses} == {verdict}
    refusals = [status for status in range(400, 500) if status not in NO_PAGE]
    assert {verdict_kind_of(Outcome.CLIENT_ERROR, status) for status in refusals} == {VerdictKind.BLOCKED}


def test_only_what_is_known_counts_as_covered() -> None:
    known = {VerdictKind.FETCHED, VerdictKind.NOT_MODIFIED, VerdictKind.FAILED, VerdictKind.SKIPPED}
    for outcome, _, verdict, counts in rows():
        assert counts.startswith("covered") == (verdict in known), outcome
        assert counts.startswith("not covered") == (
            verdict in (VerdictKind.BLOCKED, VerdictKind.TRY_AGAIN) and outcome not in LOST_REDIRECTS
        ), outcome
        assert (counts == "behind unknown links") == (outcome in LOST_REDIRECTS), outcome
