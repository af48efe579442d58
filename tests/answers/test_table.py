"""The table of answers in the documents is the one in the code."""

from __future__ import annotations

import re
from pathlib import Path

from orienteer.answers.meaning import LOST_REDIRECTS, NO_PAGE, VERDICTS, Verdict, verdict_of
from orienteer.pages.outcome import Outcome

DOCUMENT = Path(__file__).parents[2] / "docs" / "theory" / "answers.md"


def rows() -> list[tuple[Outcome, str, Verdict, str]]:
    found = re.findall(r"^\| `([^`]+)` \| (.+?) \| (.+?) \| (.+?) \|$", DOCUMENT.read_text("utf-8"), re.MULTILINE)
    return [(Outcome(outcome), when, Verdict(verdict), counts) for outcome, when, verdict, counts in found]


def test_every_outcome_has_its_row() -> None:
    documented = [(outcome, verdict) for outcome, _, verdict, _ in rows()]
    expected = [*VERDICTS.items(), (Outcome.CLIENT_ERROR, Verdict.FAILED)]
    assert sorted(documented) == sorted(expected)


def test_statuses_are_what_the_rows_say() -> None:
    for outcome, when, verdict, _ in rows():
        if outcome is Outcome.CLIENT_ERROR:
            statuses = [int(status) for status in re.findall(r"\b4\d\d\b", when)]
            assert {verdict_of(outcome, status) for status in statuses} == {verdict}
    refusals = [status for status in range(400, 500) if status not in NO_PAGE]
    assert {verdict_of(Outcome.CLIENT_ERROR, status) for status in refusals} == {Verdict.BLOCKED}


def test_only_what_is_known_counts_as_covered() -> None:
    known = {Verdict.FETCHED, Verdict.NOT_MODIFIED, Verdict.FAILED, Verdict.SKIPPED}
    for outcome, _, verdict, counts in rows():
        assert counts.startswith("covered") == (verdict in known), outcome
        assert counts.startswith("not covered") == (
            verdict in (Verdict.BLOCKED, Verdict.TRY_AGAIN) and outcome not in LOST_REDIRECTS
        ), outcome
        assert (counts == "behind unknown links") == (outcome in LOST_REDIRECTS), outcome
