from __future__ import annotations

import numpy as np
import pytest

from experiments.domain_runs import COMPLEMENT, METHODS, RANDOM_DRAWS, ROUNDS, run_domain, runs_of
from experiments.domains import SITE, Domain, RankedWeb
from orienteer.graph import shapes
from orienteer.graph.estimation.estimation import estimate_global_rank
from tests.conftest import random_web


@pytest.fixture
def domain(rng: np.random.Generator) -> Domain:
    return Domain(RankedWeb.of("web", random_web(rng, 200, 5.0)), SITE, "", np.arange(30))


@pytest.mark.parametrize("method", METHODS)
def test_a_run_equals_the_rounds_of_an_estimate(domain: Domain, method: str) -> None:
    found = run_domain(domain)
    estimate = estimate_global_rank(domain.web.graph, domain.pages, method=method, truth=True)
    errors = [one.errors for one in estimate.history]
    assert found.errors[method].shape == (ROUNDS + 1, 3)
    assert errors[0] is not None
    assert found.errors[method][0, 0] == pytest.approx(errors[0].l1, abs=1e-5)
    assert np.abs(estimate.rank - domain.truth).sum() == pytest.approx(found.errors[method][-1, 0], abs=1e-6)
    assert len(found.changes[method]) == ROUNDS


def test_random_is_the_mean_of_draws(domain: Domain) -> None:
    runs = {run.select: run for run in runs_of([domain])}
    assert set(runs) == {COMPLEMENT, "pagerank-flow", "outlink-count", "random"}
    draws = [run_domain(domain, "random", rng).errors["paper"] for rng in range(RANDOM_DRAWS)]
    assert runs["random"].errors["paper"] == pytest.approx(np.mean(draws, axis=0))


def test_a_domain_that_is_exact_from_the_start_is_left_out() -> None:
    closed = Domain(RankedWeb.of("cycle", shapes.cycle(8)), SITE, "", np.arange(8))
    assert runs_of([closed]) == []
