from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orienteer.errors import InputError
from orienteer.ledger.revisiting import DAY_S, after_visit, change_chance, due_pages, is_gone, verdict
from orienteer.ledger.settings import RefreshSettings
from orienteer.pages.states import PageState
from orienteer.store.page_row import PageRow
from orienteer.store.visit_tables import SeenPages
from orienteer.store.visits import Revisits, VisitKind
from tests.tables import over_rows

FETCHED, FAILED, BLOCKED = PageState.FETCHED, PageState.FAILED, PageState.BLOCKED


def chance(n_checks: int, n_changes: int, span_s: float, since_s: float) -> float:
    arrays = (np.array([n_checks]), np.array([n_changes]), np.array([span_s]), np.array([since_s]))
    return float(change_chance(*arrays)[0])


def reference(n_checks: int, n_changes: int, span_s: float, since_s: float) -> float:
    """A rate of changes per second, and the chance of at least one."""
    if n_checks == 0:
        return 1.0
    rate = -math.log((n_checks - n_changes + 0.5) / (n_checks + 1)) / (max(span_s, 1.0) / n_checks)
    return 1 - math.exp(-rate * max(since_s, 0.0))


@given(n=st.integers(0, 1000), share=st.floats(0, 1), span=st.floats(0, 1e9), since=st.floats(-10, 1e9))
def test_the_chance_equals_its_reference(n: int, share: float, span: float, since: float) -> None:
    n_changes = int(share * n)
    assert chance(n, n_changes, span, since) == pytest.approx(reference(n, n_changes, span, since), abs=1e-9)


@given(n=st.integers(1, 100), data=st.data(), span=st.floats(1, 1e8), since=st.floats(0, 1e8))
def test_more_changes_and_more_time_make_a_change_likelier(n: int, data: Any, span: float, since: float) -> None:
    n_changes = data.draw(st.integers(0, n - 1))
    assert 0 <= chance(n, n_changes, span, since) <= chance(n, n_changes + 1, span, since) <= 1
    assert chance(n, n_changes, span, since) <= chance(n, n_changes, span, 2 * since) + 1e-12


def test_the_estimate_is_near_the_truth_for_pages_that_change_at_a_constant_rate() -> None:
    rng = np.random.default_rng(3)
    for rate_per_day in (0.02, 0.1, 0.5, 1.5):
        n_checks = 60
        changed = rng.random((400, n_checks)) < 1 - math.exp(-rate_per_day)
        estimated = [chance(n_checks, int(n), n_checks * DAY_S, DAY_S) for n in changed.sum(axis=1)]
        assert np.mean(estimated) == pytest.approx(1 - math.exp(-rate_per_day), abs=0.02)


def test_a_page_that_never_changes_is_left_alone_for_a_growing_time() -> None:
    """About half of the time that it is known to have been the same."""
    for n in (1, 3, 10, 100):
        span = n * 10 * DAY_S
        assert chance(n, 0, span, 0.4 * span) < 0.2 <= chance(n, 0, span, 0.8 * span)


def seen(**columns: list[Any]) -> SeenPages:
    n = len(columns["pages"])
    filled: dict[str, Any] = {
        "states": [FETCHED] * n, "first_times": [0.0] * n, "checked": [0.0] * n, "n_checks": [0] * n,
        "n_changes": [0] * n, "n_missing": [0] * n,
    } | columns  # fmt: skip
    kinds = (np.uint32, np.uint8, np.float64, np.float64, np.int64, np.int64, np.int64)
    return SeenPages(*(np.array(filled[name], kind) for name, kind in zip(SeenPages._fields, kinds, strict=True)))


def test_pages_are_due_that_may_have_changed_are_missing_or_were_blocked() -> None:
    n_checks = [0, 9, 9, 9, 9]
    pages = seen(
        pages=[8, 2, 5, 1, 3], states=[FETCHED, FETCHED, FETCHED, FETCHED, BLOCKED], checked=[9 * DAY_S] * 5,
        n_checks=n_checks, n_changes=[0, 0, 9, 0, 0], n_missing=[0, 0, 0, 1, 0],
    )  # fmt: skip
    assert due_pages(pages, 10 * DAY_S, 0.2).tolist() == [1, 3, 5, 8]
    assert due_pages(pages, 10 * DAY_S, 0.0).tolist() == [1, 2, 3, 5, 8]
    assert due_pages(pages, 1000 * DAY_S, 0.2).tolist() == [1, 2, 3, 5, 8]


def row(state: PageState, digest: bytes | None = b"a", **more: Any) -> PageRow:
    return PageRow(7, 0, state, digest=digest if state is FETCHED else None, **more)


OLD = row(FETCHED, links=np.array([1, 2], np.uint32))
REDIRECT = row(FETCHED, None, redirect_to=4, links=np.array([4], np.uint32), status=301)


@over_rows(
    ("before", "found", "kind"),
    [
        (None, OLD, VisitKind.NEW),
        (None, row(FAILED), VisitKind.NOTHING),
        (None, row(BLOCKED), VisitKind.NOTHING),
        (row(BLOCKED), OLD, VisitKind.NEW),
        (row(BLOCKED), row(BLOCKED), VisitKind.NOTHING),
        (OLD, OLD, VisitKind.UNCHANGED),
        (OLD, OLD._replace(digest=b"b"), VisitKind.CHANGED),
        (OLD, OLD._replace(links=np.array([1], np.uint32)), VisitKind.UNCHANGED),  # the scope is another one
        (OLD, row(FAILED), VisitKind.MISSING),
        (OLD, row(BLOCKED), VisitKind.UNREACHABLE),
        (OLD, REDIRECT, VisitKind.CHANGED),
        (OLD, REDIRECT._replace(status=302), VisitKind.MISSING),
        (OLD, OLD._replace(digest=b"b", duplicate_of=3), VisitKind.MISSING),
        (OLD._replace(duplicate_of=3), OLD._replace(digest=b"b", duplicate_of=5), VisitKind.CHANGED),
        (REDIRECT, REDIRECT, VisitKind.UNCHANGED),
        (REDIRECT, REDIRECT._replace(redirect_to=5, status=302), VisitKind.CHANGED),
        (REDIRECT, OLD, VisitKind.CHANGED),
        (row(FAILED), row(FAILED), VisitKind.UNCHANGED),
        (row(FAILED), OLD, VisitKind.CHANGED),
        (row(FAILED), row(BLOCKED), VisitKind.UNREACHABLE),
    ],
)
def test_what_is_found_is_held_against_what_is_known(before: PageRow | None, found: PageRow, kind: VisitKind) -> None:
    assert verdict(before, found) is kind


def test_a_page_is_gone_when_it_is_missing_often_and_long_enough() -> None:
    settings = RefreshSettings(gone_after=3, gone_after_days=2.0)
    page = Revisits(7, 0.0, 0.0)
    gone = []
    for day in (10.0, 10.1, 10.2, 11.9, 12.0, 13.0):
        page = after_visit(page, VisitKind.MISSING, day * DAY_S)
        gone.append(is_gone(page, settings, day * DAY_S))
    assert gone == [False, False, False, False, True, True]
    assert (page.n_checks, page.n_missing, page.missing_since) == (0, 6, 10 * DAY_S)


def test_a_page_that_is_back_begins_again() -> None:
    page = after_visit(Revisits(7, 0.0, 0.0), VisitKind.MISSING, 10.0)
    page = after_visit(page, VisitKind.NOT_MODIFIED, 20.0)
    assert page == Revisits(7, 0.0, 20.0, n_checks=1)
    assert after_visit(page, VisitKind.CHANGED, 30.0) == Revisits(7, 0.0, 30.0, n_checks=2, n_changes=1)


@over_rows(
    "bad",
    [
        {"start": "selectd"},
        {"method": "max-weigth"},
        {"n_seeds": 0},
        {"hops": -1},
        {"revisit_chance": 1.1},
        {"revisit_chance": float("nan")},
        {"gone_after": 0},
        {"gone_after_days": -1.0},
        {"gone_after_days": float("inf")},
    ],
)
def test_nonsense_is_refused_in_one_line(bad: dict[str, Any]) -> None:
    with pytest.raises(InputError) as error:
        RefreshSettings(**bad)
    assert next(iter(bad)).split("_")[0] in str(error.value)
    assert "\n" not in str(error.value)
