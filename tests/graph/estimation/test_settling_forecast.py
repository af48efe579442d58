"""When an estimate has settled, and the forecast of its error."""

from __future__ import annotations

import numpy as np
import pytest

import orienteer as ori
from orienteer.graph import shapes
from orienteer.graph.estimation import all_estimators
from orienteer.graph.estimation.estimation import estimate_global_rank
from orienteer.graph.estimation.history import EXPERIENCE, EstimateRound, forecast, recent_change
from tests.conftest import random_web


def history(*changes: float, pages: int = 10, frontier: int = 5) -> list[EstimateRound]:
    rounds = [EstimateRound(pages * (k + 1), frontier, change, 0.25) for k, change in enumerate(changes)]
    return [EstimateRound(0, frontier, None, 0.5), *rounds]


def test_the_change_while_the_last_fifth_was_fetched() -> None:
    assert recent_change(history(), 100) is None
    assert recent_change(history(0.5), 100) is None
    assert recent_change(history(0.5, 0.25), 100) == 0.75
    assert recent_change(history(0.5, 0.25, 0.125), 100) == 0.375
    assert recent_change(history(0.5, 0.25, 0.125), 150) == 0.875
    assert recent_change(history(0.5, 0.25, pages=40), 100) == 0.25
    assert recent_change(history(0.5, frontier=0), 100) == 0.0


def test_figures_of_experience() -> None:
    found = forecast(history(0.5, 0.02, 0.001), 100, "frontier-return")
    assert found.change == pytest.approx(0.021)
    assert (found.most_within, found.leaving) == (0.54, 0.25)
    assert str(found).startswith("changed by 0.021 lately; nine in ten of 182 real domains like this were within 0.54")
    assert "no bound" in str(found)
    assert forecast(history(0.5, 0.002, 0.001), 100, "frontier-return").most_within == 0.36
    with pytest.raises(ori.InputError, match="no estimation method named 'papers'"):
        forecast(history(), 100, "papers")


def test_there_is_no_forecast_without_a_basis() -> None:
    few = forecast(history(0.5), 100, "paper")
    assert (few.change, few.most_within) == (None, None)
    assert str(few).startswith("not known: too few pages were fetched to see a trend; 25 % of the rank leads to")
    alone = forecast(history(0.5, 0.02, 0.001), 100, "paper", has_inner_links=False)
    assert alone.most_within is None
    assert "do not link to each other" in str(alone)


def test_an_estimate_knows_whether_its_pages_link_to_each_other() -> None:
    """Pages 0 to 29 link to the hub 30 alone, which links to all."""
    spokes = np.arange(30)
    sources, targets = np.concatenate([spokes, np.full(30, 30)]), np.concatenate([np.full(30, 30), spokes])
    star = ori.LinkGraph.from_links(31, sources, targets)
    assert estimate_global_rank(star, spokes).forecast.has_inner_links is False
    linked = ori.LinkGraph.from_links(31, [*sources, 3], [*targets, 4])
    assert estimate_global_rank(linked, spokes).forecast.has_inner_links is True


def test_every_estimator_has_its_experience() -> None:
    assert set(EXPERIENCE) == set(all_estimators())
    for rows in EXPERIENCE.values():
        assert (np.diff(np.array(rows), axis=0) >= 0).all()


def test_an_estimate_that_has_settled_stops(rng: np.random.Generator) -> None:
    web = random_web(rng, 3000, 6.0)
    local = np.flatnonzero(web.out_degrees() > 0)[:200]
    all_of_it = estimate_global_rank(web, local)
    limit = 0.05
    settled = estimate_global_rank(web, local, settle=limit)
    assert len(settled.fetched) < len(all_of_it.fetched) == 400
    assert settled.fetched.tolist() == all_of_it.fetched[: len(settled.fetched)].tolist()
    assert settled.forecast.change is not None
    assert settled.forecast.change < limit
    assert settled.estimation.has_settled(limit)
    # A web without a frontier is done at once.
    assert estimate_global_rank(shapes.cycle(5), np.arange(5)).forecast.change == 0.0
