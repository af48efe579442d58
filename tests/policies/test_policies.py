"""Each policy equals its reference on random webs with dangling pages, isolated pages, several hosts and ties."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest

import orienteer as ori
from orienteer.graph import spread
from orienteer.graph import synthetic as shapes
from orienteer.graph.pagerank import pagerank
from orienteer.graph.synthetic import synthetic_web
from orienteer.policies.pushing import Certified
from tests.conftest import random_web
from tests.graph.reference import dense_pagerank
from tests.policies import reference

DAMPINGS = [0.5, 0.85]


def cases(rng: np.random.Generator):
    """(web, trust): some webs have many ties, since all trust and many degrees are alike."""
    for n in (1, 2, 9, 40, 120):
        for degree in (1.5, 4.0):
            web = random_web(rng, n, degree, with_hosts=True)
            trusted = rng.choice(n, min(n, 4), replace=False)
            trust = np.zeros(n)
            trust[trusted] = 1 / len(trusted)
            yield web, trust
            trust = np.zeros(n)
            trust[trusted] = rng.random(len(trusted)) + 0.1
            yield web, trust / trust.sum()
    for web in (shapes.star(12), shapes.clique(7), shapes.clique_and_cycle(5, 6), shapes.cycle(8), shapes.chain(6)):
        trust = np.zeros(web.n_pages)
        trust[:2] = 0.5
        yield web, trust


@pytest.mark.parametrize("damping", DAMPINGS)
def test_fractional_equals_its_reference(rng: np.random.Generator, damping: float) -> None:
    for web, trust in cases(rng):
        order = ori.simulate(web, "fractional", trust, damping=damping).order.tolist()
        assert order == reference.fractional(web, trust, damping)


@pytest.mark.parametrize("weight", [1, 2, 20, 100, 0.5])
def test_fractional_with_an_inter_host_weight_equals_its_reference(rng: np.random.Generator, weight: float) -> None:
    for web, trust in cases(rng):
        scattered = rng.integers(0, 5, web.n_pages)  # hosts that are not contiguous
        for hosts in (scattered, scattered if web.hosts is None else web.hosts):
            hosted = ori.LinkGraph.from_links(web.n_pages, web.sources(), web.targets, hosts=hosts)
            order = ori.simulate(hosted, "fractional", trust, inter_host_weight=weight).order.tolist()
            assert order == reference.fractional(hosted, trust, 0.85, weight)


def test_a_weight_of_one_is_plain_fractional(rng: np.random.Generator) -> None:
    for web, trust in cases(rng):
        plain = ori.LinkGraph(web.offsets, web.targets)
        weighted = ori.simulate(web, "fractional", trust, inter_host_weight=1.0)
        assert weighted.order.tolist() == ori.simulate(plain, "fractional", trust).order.tolist()


def test_opic_equals_its_reference(rng: np.random.Generator) -> None:
    for web, trust in cases(rng):
        assert ori.simulate(web, "opic", trust).order.tolist() == reference.fractional(web, trust, 1.0, per_trust=1.0)


def test_in_links_equals_its_reference(rng: np.random.Generator) -> None:
    for web, trust in cases(rng):
        assert ori.simulate(web, "in-links", trust).order.tolist() == reference.in_links(web, trust)


@pytest.mark.parametrize("damping", DAMPINGS)
@pytest.mark.parametrize("until", [0.3, 0.9, 0.99])
def test_rankmass_equals_its_reference(rng: np.random.Generator, damping: float, until: float) -> None:
    for web, trust in cases(rng):
        trace = ori.simulate(web, "rankmass", trust, until=until, damping=damping)
        order, proved = reference.rankmass(web, trust, damping, until)
        assert trace.order.tolist() == order
        assert trace.guarantees == pytest.approx(proved, abs=1e-12)
        assert trace.stopped_because == "coverage"
        assert trace.guarantee >= until - 1e-12


@pytest.mark.parametrize("window", [0.05, 0.1, 0.5, 1.0])
def test_windowed_rankmass_equals_its_reference(rng: np.random.Generator, window: float) -> None:
    for web, trust in cases(rng):
        trace = ori.simulate(web, "windowed-rankmass", trust, window=window)
        order, proved = reference.windowed(web, trust, 0.85, window)
        assert trace.order.tolist() == order
        ends = np.array(list(proved)) - 1
        assert trace.guarantees[ends] == pytest.approx(list(proved.values()), abs=1e-12)


def test_a_window_of_everything_fetches_level_by_level(rng: np.random.Generator) -> None:
    for web, trust in cases(rng):
        order = ori.simulate(web, "windowed-rankmass", trust, window=1.0).order.tolist()
        for level in reference.by_level(web, trust):
            assert sorted(order[: len(level)]) == level
            order = order[len(level) :]


@pytest.mark.parametrize("damping", DAMPINGS)
def test_l_neighbor_fetches_levels_and_guarantees_them(rng: np.random.Generator, damping: float) -> None:
    for web, trust in cases(rng):
        levels = reference.by_level(web, trust)
        trace = ori.simulate(web, "l-neighbor", trust, damping=damping)
        assert trace.order.tolist() == [page for level in levels for page in level]
        ends = np.cumsum([len(level) for level in levels])
        for complete, end in enumerate(ends[:-1]):
            assert trace.guarantees[end - 1] == pytest.approx(1 - damping ** (complete + 1))
            if len(levels[complete]) > 1:
                assert trace.guarantees[end - 2] == pytest.approx(1 - damping**complete)


def test_breadth_first_equals_its_reference(rng: np.random.Generator) -> None:
    for web, trust in cases(rng):
        assert ori.simulate(web, "breadth-first", trust).order.tolist() == reference.breadth_first(web, trust)


def test_random_draws_once_for_every_page(rng: np.random.Generator) -> None:
    for web, trust in cases(rng):
        draws = spread.drawn(np.arange(web.n_pages, dtype=np.uint64), np.uint64(5))
        policy = ori.policies.make_policy("random", rng=5)
        assert ori.simulate(web, policy, trust).order.tolist() == reference.first_known_by(web, trust, draws)


def test_draws_are_between_0_and_1_and_spread_evenly() -> None:
    draws = spread.drawn(np.arange(100_000, dtype=np.uint64), np.uint64(1))
    assert 0 < draws.min() < 1e-3
    assert 1 - 1e-3 < draws.max() < 1
    assert draws.mean() == pytest.approx(0.5, abs=0.01)
    assert len(np.unique(draws)) == 100_000


def test_optimal_is_the_order_of_the_true_rank(rng: np.random.Generator) -> None:
    for web, trust in cases(rng):
        truth = dense_pagerank(web, trust, trust, 0.85)
        order = ori.simulate(web, "optimal", trust).order
        assert len(order) == (truth > 1e-14).sum()
        assert (np.diff(truth[order]) <= 1e-11).all()


def test_pagerank_takes_the_best_of_the_known_graph(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("orienteer.policies.pagerank._TOLERANCE", 1e-12)
    monkeypatch.setattr("orienteer.policies.pagerank.PageRank.batch_size", lambda self, n_fetched: 5)
    for web, trust in cases(rng):
        order = ori.simulate(web, "pagerank", trust).order
        assert sorted(order.tolist()) == sorted(reference.breadth_first(web, trust))
        for done in range(0, len(order), 5):
            known = (trust > 0).astype(float)
            keep = np.isin(web.sources(), order[:done])
            known[web.targets[keep]] = 1
            part = ori.LinkGraph.from_links(web.n_pages, web.sources()[keep], web.targets[keep])
            rank = dense_pagerank(part, known / known.sum(), known / known.sum(), 0.85)
            batch = order[done : done + 5]
            ranked = batch[known[batch] > 0]
            waiting = np.setdiff1d(np.flatnonzero(known), order[: done + 5])
            assert (rank[ranked].min(initial=1) >= rank[waiting] - 1e-9).all()
            assert batch[: len(ranked)].tolist() == ranked.tolist()  # pages without a rank come after
            assert len(ranked) == len(batch) or len(waiting) == 0


@pytest.mark.parametrize("eagerness", [1.0, 0.3, 0.01])
@pytest.mark.parametrize("floor", [0.0, Certified.floor, 0.3])
def test_certified_equals_its_reference(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, eagerness: float, floor: float
) -> None:
    monkeypatch.setattr(Certified, "floor", floor)
    for web, trust in cases(rng):
        order = ori.simulate(web, "certified", trust, eagerness=eagerness, budget=40).order.tolist()
        steps = islice(reference.certified(web, trust, 0.85, eagerness, floor), 40)
        assert order == [page for page, _, _ in steps]


def test_rankmass_is_its_identity_at_every_step(rng: np.random.Generator) -> None:
    """CRM = 1 - sum(rm) / (1 - d), with rm summed again."""
    for web, trust in cases(rng):
        run = ori.policies.make_policy("rankmass").run(web, ori.policies.policy.TrustedPages.of(trust))
        for limit in range(1, min(web.n_pages, 40) + 1):
            run.advance(limit, 2.0)
            assert run.guarantee == pytest.approx(1 - run._pushed.p.sum() / 0.15, abs=1e-9)


def test_deep_pages_are_fetched_though_their_share_vanishes() -> None:
    """A share that underflows would make a page unknown; a long chain of hubs has such pages."""
    n, fan = 400, 9
    sources = np.repeat(np.arange(n) * (fan + 1), fan + 1)
    targets = np.concatenate([np.arange(k * (fan + 1) + 1, (k + 1) * (fan + 1) + 1) for k in range(n)])
    web = ori.LinkGraph.from_links(n * (fan + 1) + 1, sources, targets)
    for name in ("fractional", "rankmass", "certified", "opic", "breadth-first"):
        assert ori.simulate(web, name, trust=[0]).n_fetched == web.n_pages, name


def test_certified_needs_fewer_fetches_than_rankmass_proves(rng: np.random.Generator) -> None:
    web = synthetic_web(20_000, rng=5)
    trust = np.argsort(-pagerank(web), kind="stable")[:40]
    certified = ori.simulate(web, "certified", trust, until=0.98)
    rankmass = ori.simulate(web, "rankmass", trust, until=0.98)
    assert certified.n_fetched < 0.9 * rankmass.n_fetched
    assert certified.stopped_because == rankmass.stopped_because == "coverage"
