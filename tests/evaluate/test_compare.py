"""Comparisons of small webs, against NumPy on the same orders."""

from __future__ import annotations

import json

import numpy as np
import pytest

from orienteer.crawl.simulate import simulate
from orienteer.errors import InputError
from orienteer.evaluate.compare import Comparison, compare
from orienteer.graph import synthetic as shapes
from orienteer.graph.link_graph import LinkGraph
from orienteer.graph.pagerank import pagerank
from orienteer.graph.synthetic import synthetic_web
from orienteer.policies import all_policies
from orienteer.policies.focused import FocusedPolicy
from orienteer.policies.policy_spec import PolicySpec
from tests.graph.reference import dense_links, dense_pagerank

UNFOCUSED = {name for name, kind in all_policies().items() if not issubclass(kind, FocusedPolicy)}
TRUSTED = [0, 40, 90]
LEVELS = (0.5, 0.8, 0.95)


@pytest.fixture(scope="module")
def web() -> LinkGraph:
    return synthetic_web(200, mean_degree=8, rng=2)


@pytest.fixture(scope="module")
def found(web: LinkGraph) -> Comparison:
    return compare(web, [], TRUSTED, levels=LEVELS, uniform=True)


def trust_of(web: LinkGraph) -> np.ndarray:
    trust = np.zeros(web.n_pages)
    trust[TRUSTED] = 1 / len(TRUSTED)
    return trust


def dense_lower_bounds(web: LinkGraph, order: np.ndarray, trust: np.ndarray, damping: float) -> list[float]:
    """After each fetch, the best bound the known links allow: the system restricted to the fetched pages, solved."""
    links = dense_links(web).astype(float)
    degrees = links.sum(axis=1)
    step = damping * (links / np.maximum(degrees, 1)[:, None]).T
    bounds = []
    for k in range(1, len(order) + 1):
        inside = order[:k].astype(np.int64)
        mass = np.zeros(web.n_pages)
        mass[inside] = np.linalg.solve(np.eye(k) - step[np.ix_(inside, inside)], trust[inside])
        left = np.delete(trust + step @ mass, inside).sum()
        bounds.append(1 - left / (1 - damping * mass[degrees == 0].sum()))
    return bounds


def first(values: list[float], level: float) -> int | None:
    return next((k + 1 for k, value in enumerate(values) if value >= level), None)


def test_every_policy_is_compared(found: Comparison) -> None:
    assert {result.policy for result in found.results} == UNFOCUSED


def test_the_web_is_large_enough_to_separate_policies(found: Comparison) -> None:
    assert len({result.fetches["certified"] for result in found.results}) >= 6
    assert max(result.n_fetched for result in found.results) > 100


@pytest.mark.parametrize("name", sorted(UNFOCUSED))
def test_fetches_equal_a_dense_computation(web: LinkGraph, found: Comparison, name: str) -> None:
    result = next(result for result in found.results if result.policy == name)
    order = simulate(web, name, TRUSTED).order[: result.n_fetched]
    trust, uniform = trust_of(web), np.full(web.n_pages, 1 / web.n_pages)
    rank = dense_pagerank(web, trust, trust, 0.85)
    anywhere = dense_pagerank(web, uniform, uniform, 0.85)
    sums = [rank[order[: k + 1]].sum() for k in range(len(order))]
    bounds = dense_lower_bounds(web, order, trust, 0.85)
    assert result.fetches["actual"] == tuple(first(sums, level) for level in LEVELS)
    assert result.fetches["certified"] == tuple(first(bounds, level) for level in LEVELS)
    assert result.fetches["uniform"] == tuple(first(anywhere[order].cumsum().tolist(), level) for level in LEVELS)
    for name_, values in (("actual", sums), ("lower", bounds)):
        curve = result.curves[name_]
        assert np.allclose(curve.values, np.array(values)[curve.positions - 1], atol=1e-5)


def test_truth_certificate_and_own_guarantee_keep_their_order(found: Comparison) -> None:
    for result in found.results:
        for actual, own, certified in zip(*(result.fetches[m] for m in ("actual", "own", "certified")), strict=True):
            assert actual <= certified
            assert own is None or certified <= own
        assert (result.curves["lower"].values <= result.curves["upper"].values).all()
        assert ("own" in result.curves) == result.proves == all_policies()[result.policy].proves


def test_a_policy_runs_until_the_highest_level_is_proved(found: Comparison) -> None:
    for result in found.results:
        needed = result.fetches["own"][-1] if result.proves else result.fetches["certified"][-1]
        assert result.stopped_because == "coverage"
        assert result.n_fetched == needed


def test_the_soonest_certified_comes_first(found: Comparison) -> None:
    counts = [result.fetches["certified"][-1] for result in found.results]
    assert counts == sorted(counts)


def test_no_order_surpasses_the_ceiling(web: LinkGraph, found: Comparison) -> None:
    trust = trust_of(web)
    best = np.sort(dense_pagerank(web, trust, trust, 0.85))[::-1].cumsum()
    ceiling = found.ceilings["actual"]
    assert np.allclose(ceiling.values, best[ceiling.positions - 1])
    for result in found.results:
        curve = result.curves["actual"]
        assert (curve.values <= best[curve.positions - 1] + 1e-9).all()


def test_a_budget_ends_all_and_levels_not_reached_are_none(web: LinkGraph) -> None:
    found = compare(web, ["rankmass", "random"], TRUSTED, levels=[0.2, 0.9999], budget=4)
    for result in found.results:
        assert (result.n_fetched, result.stopped_because) == (4, "budget")
        assert result.fetches["certified"][1] is None


def test_measured_is_another_crawl_for_each_level() -> None:
    large, levels = synthetic_web(5000, rng=5), [0.5, 0.8]
    found = compare(large, ["certified", "breadth-first"], [0], levels=levels, confidence=0.999, rng=3)
    assert found.measures == ("actual", "own", "certified", "measured")
    for result in found.results:
        for level, actual, measured in zip(levels, result.fetches["actual"], result.fetches["measured"], strict=True):
            trace = simulate(large, result.policy, [0], until=level, confidence=0.999, rng=3)
            assert measured == trace.n_fetched
            assert actual is not None
            assert measured is not None
            assert pagerank(large, [0])[trace.order].sum() >= level
    few = compare(large, ["certified"], [0], levels=[0.8], budget=20, confidence=0.999)
    assert few.results[0].fetches["measured"] == (None,)
    assert "measured" not in compare(large, ["certified"], [0], levels=[0.5]).measures


def test_whole_continues_after_the_highest_level(web: LinkGraph) -> None:
    part, whole = (compare(web, ["fractional"], TRUSTED, levels=[0.3], whole=w).results[0] for w in (False, True))
    assert part.n_fetched < whole.n_fetched
    assert whole.stopped_because == "frontier empty"
    assert part.fetches == whole.fetches


def test_settings_are_heeded_and_repeats_dropped() -> None:
    web = synthetic_web(800, mean_degree=8, rng=1)
    specs = ["windowed-rankmass:window=0.05", PolicySpec.parse("windowed-rankmass:window=0.9")]
    found = compare(web, [*specs, "windowed-rankmass:window=0.05"], [0], levels=[0.9])
    by_name = {result.policy: result for result in found.results}
    assert list(by_name) == ["windowed-rankmass:window=0.05", "windowed-rankmass:window=0.9"]
    narrow, wide = by_name.values()
    assert narrow.fetches["own"][0] < wide.fetches["own"][0]


def test_damping_is_that_of_truth_order_and_certificate(web: LinkGraph) -> None:
    trust = trust_of(web)
    found = compare(web, ["breadth-first"], TRUSTED, damping=0.5, levels=[0.9])
    order = simulate(web, "breadth-first", TRUSTED).order
    rank = dense_pagerank(web, trust, trust, 0.5)
    bounds = dense_lower_bounds(web, order, trust, 0.5)
    assert found.results[0].fetches["actual"] == (first(rank[order].cumsum().tolist(), 0.9),)
    assert found.results[0].fetches["certified"] == (first(bounds, 0.9),)


def test_one_page_is_a_web() -> None:
    result = compare(shapes.disconnected(1), ["certified", "rankmass"], levels=[0.9]).results[0]
    assert result.fetches["actual"] == (1,)


def test_as_dict_is_json(found: Comparison) -> None:
    figures = json.loads(json.dumps(found.as_dict()))
    assert (figures["n_pages"], figures["n_trusted"], figures["levels"]) == (200, 3, list(LEVELS))
    for policy, result in zip(figures["policies"], found.results, strict=True):
        assert policy["fetches_until"]["certified"]["0.95"] == result.fetches["certified"][2]
        assert set(policy["curves"]) >= {"actual", "lower", "upper", "uniform"}
        assert policy["cpu_s"] > 0


def test_progress_only_goes_forward(web: LinkGraph) -> None:
    seen: list[tuple[str, int, int]] = []
    compare(web, ["opic", "random"], TRUSTED, levels=[0.9], progress=lambda *step: seen.append(step))
    steps = [done for stage, done, _ in seen if stage in ("opic", "random")]
    assert steps == sorted(steps)
    assert {stage for stage, *_ in seen} >= {"opic", "random"}


@pytest.mark.parametrize("levels", [[], [0.0], [1.0], [0.9, 1.5], [float("nan")]])
def test_levels_are_shares(web: LinkGraph, levels: list[float]) -> None:
    with pytest.raises(InputError, match="levels"):
        compare(web, ["opic"], TRUSTED, levels=levels)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"policies": ["opc"]}, "did you mean 'opic'"),
        ({"trust": [200]}, "page 200 is not in the graph"),
        ({"budget": 0}, "budget is 0"),
        ({"damping": 1.0}, "damping is 1"),
    ],
)
def test_bad_arguments_are_refused(web: LinkGraph, arguments: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        compare(web, **{"policies": ["opic"], "trust": TRUSTED, **arguments})
