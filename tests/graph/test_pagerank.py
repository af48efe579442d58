from __future__ import annotations

import numpy as np
import pytest

import orienteer as ori
from orienteer.graph import shapes
from tests.conftest import random_web
from tests.graph.reference import dense_pagerank
from tests.tables import over_rows


def trusts(rng: np.random.Generator, n: int) -> list[np.ndarray]:
    one = np.zeros(n)
    one[rng.integers(n)] = 1.0
    some = rng.random(n) * (rng.random(n) < 0.2)
    some[0] += 0.1
    return [np.full(n, 1 / n), one, some / some.sum()]


@pytest.mark.parametrize("dangling", ["trust", "uniform"])
@pytest.mark.parametrize("damping", [0.0, 0.5, 0.85, 0.99])
def test_pagerank_equals_a_dense_solve(rng: np.random.Generator, damping: float, dangling: str) -> None:
    for n in (1, 2, 7, 40, 150):
        web = random_web(rng, n)
        for trust in trusts(rng, n):
            jump = trust if dangling == "trust" else np.full(n, 1 / n)
            truth = dense_pagerank(web, trust, jump, damping)
            rank = ori.pagerank(web, trust, damping, 1e-12, dangling=dangling)
            assert np.abs(rank - truth).sum() < 1e-10
            assert rank.sum() == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("tolerance", [1e-1, 1e-3, 1e-6, 1e-9])
def test_the_tolerance_bounds_the_true_error(rng: np.random.Generator, tolerance: float) -> None:
    for n in (3, 30, 120):
        web = random_web(rng, n, mean_degree=3)
        for trust in trusts(rng, n):
            truth = dense_pagerank(web, trust, trust, 0.85)
            for start in (None, rng.random(n), truth):
                rank = ori.pagerank(web, trust, tolerance=tolerance, start=start)
                assert np.abs(rank - truth).sum() <= tolerance


def test_the_tolerance_bounds_the_error_of_the_mixture_too(rng: np.random.Generator) -> None:
    web = random_web(rng, 80, mean_degree=2)
    trust = np.zeros(80)
    trust[3] = 1
    truth = dense_pagerank(web, trust, np.full(80, 1 / 80), 0.85)
    for tolerance in (1e-1, 1e-3, 1e-6):
        rank = ori.pagerank(web, trust, tolerance=tolerance, dangling="uniform")
        assert np.abs(rank - truth).sum() <= tolerance


def test_every_page_of_a_cycle_and_of_a_clique_has_the_same_rank() -> None:
    for web in (shapes.cycle(7), shapes.clique(7), shapes.disconnected(7)):
        assert ori.pagerank(web, tolerance=1e-12) == pytest.approx(np.full(7, 1 / 7), abs=1e-12)


def test_the_hub_of_a_star_has_its_closed_form() -> None:
    n, d = 9, 0.85
    rank = ori.pagerank(shapes.star(n), tolerance=1e-12)
    assert rank[0] == pytest.approx((1 + d * n) / ((1 + d) * (n + 1)), abs=1e-12)
    assert len(set(rank[1:].round(13))) == 1


def test_a_chain_from_its_first_page_is_geometric() -> None:
    rank = ori.pagerank(shapes.chain(5), trust=[0], tolerance=1e-12)
    assert rank == pytest.approx(0.85 ** np.arange(5) / (0.85 ** np.arange(5)).sum(), abs=1e-12)


def test_a_graph_of_only_dangling_pages_ranks_by_trust() -> None:
    web = shapes.disconnected(4)
    assert ori.pagerank(web, trust={1: 3.0, 2: 1.0}).tolist() == [0, 0.75, 0.25, 0]
    assert ori.pagerank(web, trust=[1], dangling="uniform")[0] == pytest.approx(0.85 / 4)


def test_trust_may_be_ids_weights_mask_or_mapping() -> None:
    web = shapes.clique_and_cycle(3, 3)
    expected = ori.pagerank(web, trust=[0, 4]).tolist()
    mask = np.array([True, False, False, False, True, False])
    for trust in (np.array([4, 0, 4]), mask, mask * 2.5, {0: 1, 4: 1.0}):
        assert ori.pagerank(web, trust=trust).tolist() == expected


def test_a_warm_start_from_the_answer_needs_no_sweep(rng: np.random.Generator) -> None:
    web = random_web(rng, 300)
    stages: list[str] = []
    rank = ori.pagerank(web, tolerance=1e-10)
    again = ori.pagerank(web, tolerance=1e-8, start=rank, progress=lambda stage, done, total: stages.append(stage))
    assert stages == []
    assert np.abs(rank - again).sum() < 1e-8


def test_progress_goes_from_nothing_to_all() -> None:
    seen: list[tuple[int, int]] = []
    ori.pagerank(shapes.clique_and_cycle(5, 5), progress=lambda stage, done, total: seen.append((done, total)))
    assert seen[0] == (0, 1000)
    assert seen == sorted(seen)


@over_rows(
    ("trust", "message"),
    [
        ([-1.0, 1, 1], "negative for page 0"),
        ([np.nan, 1, 1], "NaN"),
        ([np.inf, 1, 1], "infinite"),
        ([0.0, 0, 0], "zero on every page"),
        ([0.5, 0.5], "2 values .* for 3 pages"),
        ([], "zero on every page"),
        ([3], "page 3 is not in the graph"),
        ([-1], "page -1 is not in the graph"),
        ({7: 1.0}, "page 7 is not in the graph"),
        ({}, "zero on every page"),
        ("abc", "trust"),
        (["a"], "trust"),
        ([[1.0]], "dimensions"),
    ],
)
def test_unusable_trust_is_one_clear_line(trust: object, message: str) -> None:
    with pytest.raises(ori.InputError, match=message) as caught:
        ori.pagerank(shapes.cycle(3), trust=trust)
    assert "\n" not in str(caught.value)


@over_rows(
    ("settings", "message"),
    [
        ({"damping": 1.0}, "damping is 1.0"),
        ({"damping": -0.1}, "damping"),
        ({"damping": float("nan")}, "damping"),
        ({"tolerance": 0}, "tolerance is 0"),
        ({"tolerance": 5}, "tolerance"),
        ({"start": [1.0]}, "start: 1 values for 3 pages"),
        ({"start": [1.0, -1, 1]}, "never negative"),
        ({"start": [0.0, 0, 0]}, "zero on every page"),
        ({"dangling": "nowhere"}, "dangling is 'nowhere'"),
    ],
)
def test_unusable_settings_are_one_clear_line(settings: dict, message: str) -> None:
    with pytest.raises(ori.InputError, match=message):
        ori.pagerank(shapes.cycle(3), **settings)


def test_the_empty_graph_has_no_rank() -> None:
    with pytest.raises(ori.InputError, match="no pages"):
        ori.pagerank(shapes.disconnected(0))
