"""When an estimate has settled, and what experience says of it."""

from __future__ import annotations

import numpy as np
import pytest

import orienteer as ori
from orienteer.graph import shapes
from orienteer.graph.estimation import all_estimators
from orienteer.graph.estimation.history import Round
from orienteer.graph.estimation.outlook import EXPERIENCE, outlook, recent_change
from tests.conftest import random_web


def history(*changes: float, pages: int = 10, frontier: int = 5) -> list[Round]:
    rounds = [Round(pages * (k + 1), frontier, change, 0.25) for k, change in enumerate(changes)]
    return [Round(0, frontier, None, 0.5), *rounds]


def test_the_change_while_the_last_fifth_was_fetched() -> None:
    assert recent_change(history(), 100) is None
    assert recent_change(history(0.5), 100) is None
    assert recent_change(history(0.5, 0.25), 100) == 0.75
    assert recent_change(history(0.5, 0.25, 0.125), 100) == 0.375
    assert recent_change(history(0.5, 0.25, 0.125), 150) == 0.875
    assert recent_change(history(0.5, 0.25, pages=40), 100) == 0.25
    assert recent_change(history(0.5, frontier=0), 100) == 0.0


def test_what_experience_says() -> None:
    found = outlook(history(0.5, 0.02, 0.001), 100, "frontier-return")
    assert found.change == pytest.approx(0.021)
    assert (found.most_within, found.leaving) == (0.41, 0.25)
    assert str(found).startswith("changed by 0.021 lately; nine in ten of 78 real domains like this were within 0.41")
    unknown = outlook(history(), 100, "paper")
    assert unknown.most_within == EXPERIENCE["paper"][-1][1]
    assert str(unknown).startswith("too few pages for a trend")
    assert "no bound" in str(unknown)
    with pytest.raises(ori.InputError, match="no estimation method named 'papers'"):
        outlook(history(), 100, "papers")


def test_every_estimator_has_its_experience() -> None:
    assert set(EXPERIENCE) == set(all_estimators())
    for rows in EXPERIENCE.values():
        assert (np.diff(np.array(rows), axis=0) >= 0).all()


def test_an_estimate_that_has_settled_stops(rng: np.random.Generator) -> None:
    web = random_web(rng, 3000, 6.0)
    local = np.flatnonzero(web.out_degrees() > 0)[:200]
    all_of_it = ori.estimate_global_rank(web, local)
    limit = 0.05
    settled = ori.estimate_global_rank(web, local, settle=limit)
    assert len(settled.fetched) < len(all_of_it.fetched) == 400
    assert settled.fetched.tolist() == all_of_it.fetched[: len(settled.fetched)].tolist()
    assert settled.outlook.change is not None
    assert settled.outlook.change < limit
    assert settled.estimation.has_settled(limit)
    # A web without a frontier is done at once.
    assert ori.estimate_global_rank(shapes.cycle(5), np.arange(5)).outlook.change == 0.0
