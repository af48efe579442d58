from __future__ import annotations

import numpy as np
import pytest

from experiments import seed_claims
from experiments.seed_claims import (
    GRAPH_BASED,
    HEURISTICS,
    CoversMore,
    ImprovementMoves,
    over_random,
)
from experiments.verdict import FAILS, HOLDS, IN_SHAPE, VERDICTS
from orienteer.evaluate.seed_compare import SeedComparison, SeedSeries, compare_seeds
from tests.conftest import random_web
from tests.tables import over_rows


def comparison(**by_seeds: list[float]) -> SeedComparison:
    """Curves over three seeds, the same over three hops."""
    series = {name: SeedSeries(np.array(shares), np.array(shares)) for name, shares in by_seeds.items()}
    return SeedComparison(9, 1, None, 3, 3, 3, ("pages",), series, series)


@over_rows(
    ("a", "share", "finding"),
    [
        ([0.3, 0.5, 0.6], 1.0, (HOLDS, "a 1.200 of b, h=3")),
        ([0.1, 0.6, 0.6], 1.0, (IN_SHAPE, "a 0.500 of b, h=1")),
        ([0.1, 0.4, 0.5], 1.0, (FAILS, "a 0.909 of b, h=1..3")),
        ([0.2, 0.4, 0.49], 1.0, (IN_SHAPE, "a 0.980 of b, h=3")),
        ([0.2, 0.4, 0.49], 0.97, (HOLDS, "a 0.980 of b, h=3")),
        ([0.2, 0.4, 0.5], 1.0, (HOLDS, "a 1.000 of b, h=1")),
        ([-0.1, 0.7, 0.7], 1.0, (IN_SHAPE, "a -0.500 of b, h=1")),
    ],
)
def test_who_covers_more(a: list[float], share: float, finding: tuple[str, str]) -> None:
    found = comparison(a=a, b=[0.2, 0.4, 0.5])
    assert CoversMore("", ("a",), ("b", "a"), share).held_against(found, "pages") == finding


def test_the_weakest_pair_decides() -> None:
    found = comparison(a=[0.5, 0.6, 0.7], b=[0.2, 0.4, 0.5], c=[0.3, 0.3, 0.8])
    claim = CoversMore("", ("a", "b"), ("c",))
    assert claim.held_against(found, "pages") == (FAILS, "b 0.786 of c, h=1..3")


def test_a_method_that_covers_nothing_is_surpassed_by_all_others() -> None:
    found = comparison(a=[0.0, 0.1, 0.2], b=[0.0, -0.1, 0.1])
    assert CoversMore("", ("a",), ("b",)).held_against(found, "value").verdict == HOLDS
    found = comparison(a=[-0.2, 0.5, 0.5], b=[0.0, 0.1, 0.1])
    assert CoversMore("", ("a",), ("b",)).held_against(found, "value") == (IN_SHAPE, "a -inf of b, h=1")


@over_rows(
    ("axis", "a", "verdict", "detail"),
    [
        ("k", [0.4, 0.6, 0.8], HOLDS, "a +300 % at k=1, +100 % at k=3"),
        ("k", [0.2, 0.6, 0.6], IN_SHAPE, "a +100 % at k=1, +50 % at k=3"),
        ("k", [0.1, 0.4, 0.8], FAILS, "a +0.0 % at k=1, +100 % at k=3"),
        ("h", [0.1, 0.4, 0.8], HOLDS, "a +0.0 % at h=1, +100 % at h=3"),
        ("h", [0.2, 0.3, 0.9], IN_SHAPE, "a +100 % at h=1, +125 % at h=3"),
        ("h", [0.4, 0.6, 0.8], FAILS, "a +300 % at h=1, +100 % at h=3"),
    ],
)
def test_the_trend_of_the_improvement(axis: str, a: list[float], verdict: str, detail: str) -> None:
    found = comparison(random=[0.1, 0.2, 0.4], a=a)
    assert ImprovementMoves("", ("a",), axis).held_against(found, "pages") == (verdict, detail)


def test_there_is_no_improvement_if_random_covers_nothing() -> None:
    found = comparison(random=[0.0, 0.2, 0.4], a=[0.1, 0.4, 0.4])
    assert ImprovementMoves("", ("a",), "k").held_against(found, "pages") == (FAILS, "random covers nothing")


def test_the_papers_claims_are_about_methods_that_are_compared(rng: np.random.Generator) -> None:
    found = compare_seeds(random_web(rng, 120, 2.0), 3, 2, rng.integers(-1, 5, 120).astype(float))
    assert {*GRAPH_BASED, *HEURISTICS} < set(found.by_seeds)
    claims = [one for one in vars(seed_claims).values() if isinstance(one, CoversMore | ImprovementMoves)]
    assert len({claim.text for claim in claims}) == len(claims) == 9
    for claim in claims:
        for measure in ("pages", "value"):
            assert claim.held_against(found, measure).verdict in VERDICTS


@pytest.mark.parametrize(("share", "text"), [(0.012, "+1.2 %"), (12.345, "+1,234 %"), (-0.5, "-50 %"), (np.nan, "–")])
def test_improvements_as_text(share: float, text: str) -> None:
    assert over_random(share) == text
