"""FindGlobalPR on known graphs and step by step."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import orienteer as ori
from orienteer.graph import shapes
from orienteer.graph.estimation import all_estimators, all_selections, settings_of
from orienteer.graph.estimation.estimation import Estimation, _quotas, estimate_global_rank
from orienteer.graph.growing_graph import GrowingGraph
from orienteer.graph.link_graph import LinkGraph
from tests.conftest import random_web, shared_file
from tests.graph.estimation.reference import dense_find_global, dense_frontier_return
from tests.tables import over_rows

SELECTIONS, ESTIMATORS = list(all_selections()), list(all_estimators())


@pytest.mark.parametrize("select", ["stochastic-complement", "pagerank-flow", "outlink-count"])
def test_equals_the_dense_one(select: str, rng: np.random.Generator) -> None:
    for _ in range(12):
        web = random_web(rng, 60, 3.0)
        local = rng.permutation(60)[:10]
        expected, order = dense_find_global(web, local, [3] * 5, select)
        found = estimate_global_rank(web, local, 15, 5, select, "paper")
        assert found.local.tolist() == local.tolist()
        assert sorted(found.fetched) == sorted(order)
        assert abs(found.rank - expected).sum() < 1e-8


@given(st.integers(0, 10_000))
def test_frontier_return_equals_the_dense_one(number: int) -> None:
    rng = np.random.default_rng(number)
    web = random_web(rng, int(rng.integers(5, 60)), float(rng.choice([1.0, 4.0])))
    local = rng.permutation(web.n_pages)[: int(rng.integers(1, web.n_pages // 2))]
    found = estimate_global_rank(web, local, int(rng.integers(0, web.n_pages)), 4, method="frontier-return")
    expected = dense_frontier_return(web, local, np.append(local, found.fetched))
    assert abs(found.rank - expected).sum() < 1e-8


@pytest.mark.parametrize("method", ESTIMATORS)
@pytest.mark.parametrize("select", SELECTIONS)
def test_promises(select: str, method: str, rng: np.random.Generator) -> None:
    web = random_web(rng, 200, 4.0)
    local = np.sort(rng.permutation(200)[:30])
    mask = np.zeros(200, bool)
    mask[local] = True
    found = estimate_global_rank(web, mask, 40, 8, select, method, truth=True)
    assert found.rank.dtype == np.float64
    assert found.rank.sum() == pytest.approx(1)
    assert (found.rank > 0).all()
    assert found.local.tolist() == local.tolist()
    assert len(set(found.fetched.tolist())) == len(found.fetched) <= 40
    assert not set(found.fetched.tolist()) & set(local.tolist())
    assert found.history[0].n_fetched == 0
    assert found.history[0].change is None
    assert found.history[-1].n_fetched == len(found.fetched)
    truth = ori.pagerank(web, tolerance=1e-10)[local]
    truth /= truth.sum()
    errors = found.history[-1].errors
    assert errors is not None
    assert errors.l1 == pytest.approx(abs(found.rank - truth).sum(), abs=2e-6)
    assert errors.l_inf == pytest.approx(abs(found.rank - truth).max(), abs=2e-6)
    assert -1 <= errors.tau <= 1
    for given_truth in (truth, ori.pagerank(web, tolerance=1e-10)):
        again = estimate_global_rank(web, local, 40, 8, select, method, truth=given_truth)
        assert again.fetched.tolist() == found.fetched.tolist()
        assert again.history[-1].errors is not None
        assert again.history[-1].errors.l1 == pytest.approx(errors.l1, abs=1e-9)


@pytest.mark.parametrize("method", ESTIMATORS)
def test_all_of_the_graph_is_exact(method: str, rng: np.random.Generator) -> None:
    web = random_web(rng, 120, 4.0)
    truth = ori.pagerank(web, tolerance=1e-11)
    found = estimate_global_rank(web, np.arange(120), method=method)
    assert len(found.fetched) == 0
    assert abs(found.rank - truth).sum() < 1e-8
    cycle = estimate_global_rank(shapes.cycle(50), [3, 7], budget=48, method=method, truth=True)
    assert len(cycle.fetched) == 48
    assert cycle.history[-1].errors is not None
    assert cycle.history[-1].errors.l1 < 1e-6


@pytest.mark.parametrize("method", ESTIMATORS)
def test_domains_that_link_to_nothing_outside(method: str) -> None:
    web = LinkGraph.from_links(5, [0, 1, 4], [1, 0, 0])
    found = estimate_global_rank(web, [1, 0], method=method)
    assert found.fetched.tolist() == []
    assert found.rank.tolist() == pytest.approx([0.5, 0.5])
    assert len(found.history) == 1
    alone = estimate_global_rank(LinkGraph.from_links(3, [], []), [2], method=method)
    assert alone.rank.tolist() == [1.0]


def test_without_budget_the_estimate_is_the_local_rank(rng: np.random.Generator) -> None:
    web = random_web(rng, 60, 3.0)
    local = np.arange(20)
    found = estimate_global_rank(web, local, budget=0, method="paper")
    inside = (web.sources() < 20) & (web.targets < 20)
    alone = LinkGraph.from_links(20, web.sources()[inside], web.targets[inside])
    assert abs(found.rank - ori.pagerank(alone, tolerance=1e-10)).sum() < 1e-8
    assert found.fetched.tolist() == []


def test_the_budget_is_spread_evenly_over_the_rounds() -> None:
    assert _quotas(10, 4) == [2, 3, 2, 3]
    assert _quotas(2, 50) == [1, 1]
    assert _quotas(0, 5) == []
    assert sum(_quotas(12_347, 50)) == 12_347


def test_the_default_is_twice_the_domain_in_fifty_rounds(rng: np.random.Generator) -> None:
    web = random_web(rng, 2000, 8.0)
    local = np.flatnonzero(web.out_degrees() > 0)[:60]
    found = estimate_global_rank(web, local)
    assert len(found.fetched) == 120
    assert len(found.history) == 51
    assert (found.select, found.method) == ("stochastic-complement", "frontier-return")


@over_rows(
    ("arguments", "message"),
    [
        ({"local": []}, "no pages; a domain has at least one"),
        ({"local": [0, 99]}, "page 99 is not in the graph"),
        ({"rounds": 0}, "rounds is 0; at least one is needed"),
        ({"settle": -0.1}, "settle is -0.1; it must be 0 or more"),
        ({"budget": -1}, "budget is -1; it must be 0 or more"),
        ({"select": "stochastic"}, "no selection named 'stochastic'; did you mean 'stochastic-complement'"),
        ({"method": "papre"}, "no estimation method named 'papre'; did you mean 'paper'"),
        ({"damping": 1.0}, "damping is 1.0"),
        ({"truth": [1.0]}, "truth: 1 values for 2 local pages"),
        ({"truth": [1.0, -1.0]}, "never negative"),
        ({"select": "random", "rng": -1}, "rng is -1"),
    ],
)
def test_bad_input_is_one_clear_line(arguments: dict, message: str) -> None:
    with pytest.raises(ori.InputError, match=message) as caught:
        estimate_global_rank(shapes.cycle(6), **{"local": [0, 1], **arguments})
    assert "\n" not in str(caught.value)
    with pytest.raises(ori.InputError):
        estimate_global_rank(LinkGraph.from_links(0, [], []), [])


def discovered(web: LinkGraph, local: np.ndarray) -> tuple[GrowingGraph, dict[int, int], list[int]]:
    """The local pages as a live crawl knows them: ids in order of discovery; and where each page has its links."""
    names: list[int] = [int(page) for page in local]
    numbers = {page: number for number, page in enumerate(names)}
    growing = GrowingGraph()
    for number, page in enumerate(names[: len(local)]):
        growing.add(number, numbered(web.links(page), numbers, names))
    return growing, numbers, names


def numbered(pages: np.ndarray, numbers: dict[int, int], names: list[int]) -> list[int]:
    for page in pages.tolist():
        if page not in numbers:
            numbers[page] = len(names)
            names.append(page)
    return [numbers[page] for page in pages.tolist()]


@pytest.mark.parametrize("method", ESTIMATORS)
def test_step_by_step_with_ids_in_order_of_discovery(method: str, rng: np.random.Generator) -> None:
    web = random_web(rng, 400, 5.0)
    local = rng.permutation(400)[:40]
    growing, numbers, names = discovered(web, local)
    estimation = Estimation(growing, np.arange(40), method=method)
    for _ in range(10):
        for number in estimation.next_pages(6).tolist():
            estimation.fetched(number, numbered(web.links(names[number]), numbers, names))
        estimation.round()
    fetched = [names[number] for number in estimation.order.tolist()]
    assert 40 < len(fetched) == estimation.n_fetched <= 60
    # The same pages recorded in one batch, with the graph's own ids, give the same.
    whole = GrowingGraph()
    for page in [*local.tolist(), *fetched]:
        whole.add(page, web.links(page))
    at_once = Estimation(whole, local, method=method)
    assert abs(at_once.rank() - estimation.rank()).sum() < 2e-8
    assert estimation.worth().sum() == pytest.approx(1)


def test_pages_are_returned_once_and_failures_count_as_given() -> None:
    web = GrowingGraph()
    web.add(0, [1, 2, 3, 4, 5])
    web.add(1, [0, 2, 3, 4])
    estimation = Estimation(web, [0, 1], "outlink-count", "paper")
    assert estimation.next_pages(0).tolist() == []
    assert estimation.next_pages(2).tolist() == [2, 3]
    assert estimation.next_pages(9).tolist() == [4, 5]
    assert estimation.next_pages(1).tolist() == []
    estimation.failed(2)
    estimation.failed(3, "no page")
    estimation.failed(4, "unknown")
    estimation.failed(5, "open")
    assert estimation.next_pages(9).tolist() == [5]
    estimation.failed(5, "open")
    assert estimation.order.tolist() == [2]
    assert estimation.neighborhood.pages.tolist() == [0, 1, 2]
    assert estimation.neighborhood.frontier.tolist() == [4, 5]
    assert estimation.neighborhood.degrees().tolist() == [4, 3, 0]
    estimation.fetched(5, [1, 9])
    assert estimation.next_pages(9).tolist() == [9]
    with pytest.raises(ori.InputError, match="no way to count a page named 'gone'"):
        estimation.failed(9, "gone")  # type: ignore[arg-type]
    with pytest.raises(ori.InputError, match="k is -1"):
        estimation.next_pages(-1)


def test_settings_are_checked() -> None:
    for name, kind in all_selections().items():
        assert kind.__doc__
        assert kind.name == name
        for setting in settings_of(kind):
            with pytest.raises(ori.InputError):
                kind(**{setting: -1})
    for name, estimator in all_estimators().items():
        assert estimator.__doc__
        assert estimator.name == name


def test_random_differs_by_rng_alone(rng: np.random.Generator) -> None:
    web = random_web(rng, 500, 6.0)
    local = np.flatnonzero(web.out_degrees() > 0)[:50]
    runs = [estimate_global_rank(web, local, 40, 4, "random", rng=number).fetched.tolist() for number in (0, 0, 1)]
    assert runs[0] == runs[1] != runs[2]


@pytest.mark.parametrize("method", ESTIMATORS)
def test_on_a_real_site_the_error_shrinks(method: str) -> None:
    web = ori.LinkGraph.load(shared_file("graphs/docs-web-dev.npz"))
    assert web.hosts is not None
    found = estimate_global_rank(web, web.hosts == 22, method=method, truth=True)
    errors = [entry.errors for entry in found.history if entry.errors]
    assert errors[-1].l1 < 0.25 * errors[0].l1
    assert errors[-1].tau > 0.9
    assert not math.isnan(errors[0].tau)
