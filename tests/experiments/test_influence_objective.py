from __future__ import annotations

import numpy as np
import pytest

from experiments import influence_objective
from experiments.domain_runs import known_locally
from experiments.domains import SITE, Domain, RankedWeb
from experiments.influence_objective import candidates_of, correlation
from orienteer.graph import synthetic as shapes
from orienteer.graph.estimation.estimation import Estimation
from tests.conftest import random_web
from tests.graph.estimation.reference import dense_rank, frontier_of
from tests.graph.reference import dense_links


@pytest.mark.parametrize("number", range(4))
def test_the_objective_is_the_error_with_one_page_more(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(influence_objective, "_MIN_PAGES", 2)
    web = random_web(np.random.default_rng(number), 40, 2.5)
    local = np.arange(12)
    domain = Domain(RankedWeb.of("web", web), SITE, "", local)
    found = candidates_of(domain)
    assert found is not None
    links = dense_links(web).astype(float)
    truth = dense_rank(links)[local] / dense_rank(links)[local].sum()
    inside = links[np.ix_(local, local)]
    for k, page in enumerate(frontier_of(links.astype(bool), local)):
        with_page = np.append(local, page)
        grown = links[np.ix_(with_page, with_page)]
        after = dense_rank(grown)[:-1]
        assert found.objective[k] == pytest.approx(np.abs(after / after.sum() - truth).sum(), abs=1e-8)
        grown[-1, :-1] = inside.sum(axis=0) if inside.any() else 1
        after = dense_rank(grown)[:-1]
        assert found.expected[k] == pytest.approx(np.abs(after / after.sum() - truth).sum(), abs=1e-8)
        assert found.n_links[k] == links[local, page].sum()


def test_a_small_frontier_says_nothing() -> None:
    domain = Domain(RankedWeb.of("cycle", shapes.cycle(30)), SITE, "", np.arange(9))
    assert candidates_of(domain) is None


def test_pages_are_drawn_from_a_large_frontier(monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator) -> None:
    monkeypatch.setattr(influence_objective, "_MAX_PAGES", 25)
    domain = Domain(RankedWeb.of("web", random_web(rng, 300, 6.0)), SITE, "", np.arange(60))
    n_frontier = len(Estimation(known_locally(domain), domain.pages).neighborhood.frontier)
    found = candidates_of(domain)
    assert found is not None
    assert n_frontier > len(found.influence) == len(found.objective) == 25
    assert found.correlations.shape == (2, 2)


def test_correlations() -> None:
    won = np.array([0.1, 0.2, 0.3])
    assert correlation(np.array([1.0, 2.0, 3.0]), won) == pytest.approx(1)
    assert correlation(np.array([3.0, 2.0, 1.0]), won) == pytest.approx(-1)
    assert np.isnan(correlation(np.ones(3), won))
    assert np.isnan(correlation(won, np.ones(3)))
