"""The survey of a fixed set: consistent with the proof, within its budget, reproducible with the same seed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import orienteer as ori
from orienteer.errors import InputError
from orienteer.graph import shapes
from orienteer.graph.coverage import certificate
from orienteer.graph.survey.measured import Measured
from orienteer.graph.survey.survey import _STAKES, Bounds, _bet, survey
from tests.graph.survey.reference import OddWeb, most_wrong, odd_web, plain_web
from tests.tables import over_rows


def surveyed(web: OddWeb, known: np.ndarray, rng: int, **more: Any) -> Measured:
    return survey(
        web.graph, known & ~web.blocked, web.trust, rng=rng, damping=web.damping,
        blocked=np.flatnonzero(web.blocked), aliases=np.flatnonzero(web.alias), n_unknown=web.n_unknown, **more,
    )  # fmt: skip


def some(web: OddWeb, rng: np.random.Generator, share: float = 0.6) -> np.ndarray:
    return ((rng.random(web.n_pages) < share) | (web.trust > 0)) & ~web.blocked


@over_rows("number", range(10))
def test_it_is_within_the_proved_bounds_and_contains_the_truth(number: int) -> None:
    rng = np.random.default_rng(number)
    web = odd_web(rng) if number % 2 else plain_web(rng)
    known = some(web, rng)
    found = surveyed(web, known, number, half_width=0.05)
    least, most = web.coverages(known)
    proved = certificate(
        web.graph, known, web.trust, blocked=np.flatnonzero(web.blocked), aliases=np.flatnonzero(web.alias),
        n_unknown=web.n_unknown,
    )  # fmt: skip
    assert proved.lower - 1e-8 <= found.lower <= found.estimate <= found.upper
    assert found.lower <= least + 1e-6, "holds at 99.9 %, with these random numbers"
    assert found.upper >= most - 1e-6
    if number % 2 == 0:
        assert found.half_width <= 0.05
        assert found.estimate == pytest.approx(least, abs=0.1)


def test_it_ends_at_its_half_width_or_its_budget() -> None:
    web = plain_web(np.random.default_rng(3), 300)
    known = some(web, np.random.default_rng(3), 0.5)
    wide, narrow = (surveyed(web, known, 1, half_width=width) for width in (0.05, 0.01))
    assert narrow.half_width <= 0.01 < wide.half_width <= 0.05
    assert narrow.n_walks > wide.n_walks
    for budget in (0, 1, 7, 20):
        found = surveyed(web, known, 1, budget=budget)
        assert found.n_probes == budget
    assert surveyed(web, known, 1, budget=0).n_walks == 0
    assert surveyed(web, known, 1, half_width=0.05, budget=1000) == wide


def test_the_same_random_numbers_give_the_same_survey() -> None:
    web = odd_web(np.random.default_rng(4), 200)
    known = some(web, np.random.default_rng(4))
    one, again, other = (surveyed(web, known, rng, budget=12) for rng in (1, 1, 2))
    assert one == again
    assert one != other
    generated = survey(web.graph, [0, 1], [0], rng=np.random.default_rng(5), budget=5)
    assert generated == survey(web.graph, [0, 1], [0], rng=5, budget=5)
    assert survey(web.graph, [0, 1], [0], budget=5).n_probes == 5


def test_where_she_never_leaves_all_is_proved() -> None:
    found = survey(shapes.clique(5), range(5), [0])
    assert (found.n_walks, found.n_probes) == (0, 0)
    assert found.lower == pytest.approx(1.0, abs=1e-8)


def test_blocked_and_unknown_mass_is_never_claimed_either_way() -> None:
    """0 links to 1, which is blocked: its links are unknown."""
    web = ori.LinkGraph.from_links(3, [0, 0], [1, 2])
    found = survey(web, [0, 2], [0], blocked=[1], rng=1)
    assert (found.lower, found.upper) == (pytest.approx(certificate(web, [0, 2], [0], blocked=[1]).lower), 1.0)
    found = survey(web, [0, 1, 2], [0], n_unknown=[0, 3, 0], rng=1)
    assert found.lower == pytest.approx(certificate(web, [0, 1, 2], [0], n_unknown=[0, 3, 0]).lower)
    assert found.upper == 1.0


def test_unfetched_names_of_fetched_pages_count_as_fetched() -> None:
    """All of 0's links are other names of 1: the deterministic upper bound is wrong there, the measured one holds."""
    names = list(range(2, 22))
    web = ori.LinkGraph.from_links(22, [0] * 20 + names + [1], names + [1] * 20 + [0])
    found = survey(web, [0, 1], [0], aliases=names, rng=1, half_width=0.01)
    assert found.upper == 1.0
    assert found.lower >= 0.98
    assert certificate(web, [0, 1], [0]).upper < 0.95


@over_rows(
    ("bad", "says"),
    [
        ({"confidence": 1.0}, "confidence is 1.0"),
        ({"confidence": 0.3}, "confidence is 0.3"),
        ({"half_width": 0.0}, "half_width is 0.0"),
        ({"half_width": 0.5}, "half_width is 0.5"),
        ({"budget": -1}, "budget is -1"),
        ({"fetched": [9]}, "fetched"),
        ({"blocked": [-1]}, "blocked"),
        ({"trust": [77]}, "77"),
        ({"damping": 1.0}, "damping is 1.0"),
        ({"n_unknown": [1, 2]}, "n_unknown: expected one number for each of 5 pages, got 2"),
        ({"aliases": [0]}, "aliases: page 0 has 4 links"),
        ({"graph": [[1]]}, "graph"),
    ],
)
def test_bad_arguments_give_one_line(bad: dict[str, Any], says: str) -> None:
    arguments: dict[str, Any] = {"graph": shapes.clique(5), "fetched": [0, 1], "trust": [0]} | bad
    with pytest.raises(InputError) as caught:
        survey(**arguments)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_names_that_lead_round_in_a_circle_are_refused() -> None:
    web = ori.LinkGraph.from_links(4, [0, 1, 2, 3], [1, 2, 3, 1])
    with pytest.raises(InputError, match="page 1 leads to no page"):
        survey(web, [0], [0], aliases=[1, 2, 3])
    assert survey(web, [0], [0], aliases=[1, 2], half_width=0.05, rng=0).n_probes == 3


def test_plain_python_bets_as_compiled_code_to_the_bit() -> None:
    rng = np.random.default_rng(6)
    grid, scores = np.linspace(0.8, 1, 20), rng.random((30, 2))
    for sign in (1.0, -1.0):
        capitals = [np.zeros((len(_STAKES), 20)) for _ in range(2)]
        arguments = (grid, rng.random(20), scores[:, 0].copy(), scores[:, 1] / 5, sign, 1.001)
        _bet.compiled(capitals[0], np.ones(len(_STAKES)), *arguments)
        _bet.plain(capitals[1], np.ones(len(_STAKES)), *arguments)
        assert np.array_equal(*capitals)


def test_bounds_close_in_on_the_mean() -> None:
    """Scores of 0.3 in the mean, a quarter of the mass free: the share outside is 0.075."""
    bounds, rng = Bounds(0.75, 1.0, 1.0, 0.0, 0.25, 0.01), np.random.default_rng(0)
    widths = []
    for _ in range(5):
        scores = np.zeros((200, 3))
        scores[:, 0] = rng.beta(3, 7, 200)
        bounds.add_scores(scores)
        assert bounds.lower <= 0.925 <= bounds.upper
        widths.append(bounds.upper - bounds.lower)
    assert widths == sorted(widths, reverse=True)
    assert widths[-1] < 0.02


# -- laws of confidence: a binomial test that fails by chance once in a million runs, and random numbers are fixed -----


@pytest.mark.parametrize("confidence", [0.8, 0.95])
def test_bounds_are_wrong_no_more_often_than_claimed_at_any_stopping_time(confidence: float) -> None:
    """Each survey is checked after every few pages; one wrong result is enough."""
    n_low = n_high = n = 0
    for number in range(100):
        rng = np.random.default_rng(1000 + number)
        web = odd_web(rng, 30) if number % 2 else plain_web(rng, 30)
        known = some(web, rng, 0.5)
        least, most = web.coverages(known)
        for rng_of_walks in range(2):
            found = surveyed(web, known, rng_of_walks, half_width=0.06, budget=25, confidence=confidence)
            n += 1
            n_low += found.lower > least + 1e-9
            n_high += found.upper < most - 1e-9
    assert n_low <= most_wrong(n, (1 - confidence) / 2)
    assert n_high <= most_wrong(n, (1 - confidence) / 2)
