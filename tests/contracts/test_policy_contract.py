"""Every policy keeps the same promises, over the registry."""

from __future__ import annotations

import numpy as np
import pytest

import orienteer as ori
from orienteer.graph import shapes
from orienteer.graph.link_graph import LinkGraph
from orienteer.policies import all_policies, make_policy, settings_of
from orienteer.policies.policy import TrustedPages
from tests.conftest import random_web
from tests.graph.reference import dense_pagerank
from tests.policies import reference

NAMES = list(all_policies())
LIVE_NAMES = [name for name, kind in all_policies().items() if not kind.knows_truth]


def web_and_trust(rng: np.random.Generator, n: int = 150) -> tuple[LinkGraph, np.ndarray]:
    web = random_web(rng, n, 3.0, with_hosts=True)
    trust = np.zeros(n)
    trust[rng.choice(n, 5, replace=False)] = [0.4, 0.3, 0.1, 0.1, 0.1]
    return web, trust


@pytest.mark.parametrize("name", NAMES)
def test_step_by_step_equals_in_bulk(name: str, rng: np.random.Generator) -> None:
    for n in (3, 60, 150, 400):
        web, trust = web_and_trust(rng, max(n, 6))
        bulk = ori.simulate(web, name, trust)
        stepped = ori.simulate(web, name, trust, step_by_step=True)
        assert stepped.order.tolist() == bulk.order.tolist()
        assert stepped.stopped_because == bulk.stopped_because == "frontier empty"


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("until", [0.5, 0.9, 0.98])
@pytest.mark.parametrize("by_certificate", [False, True])
def test_they_stop_at_the_same_page(name: str, until: float, by_certificate: bool, rng: np.random.Generator) -> None:
    web, trust = web_and_trust(rng)
    bulk = ori.simulate(web, name, trust, until=until, by_certificate=by_certificate)
    stepped = ori.simulate(web, name, trust, until=until, by_certificate=by_certificate, step_by_step=True)
    assert bulk.stopped_because == stepped.stopped_because == "coverage"
    assert stepped.order.tolist() == bulk.order.tolist()
    assert bulk.guarantee >= until - 1e-12


@pytest.mark.parametrize("name", NAMES)
def test_all_that_can_be_reached_is_fetched_once(name: str, rng: np.random.Generator) -> None:
    web, trust = web_and_trust(rng)
    order = ori.simulate(web, name, trust).order.tolist()
    assert sorted(order) == sorted(reference.breadth_first(web, trust))


@pytest.mark.parametrize("name", LIVE_NAMES)
def test_no_page_is_fetched_before_it_is_known(name: str, rng: np.random.Generator) -> None:
    web, trust = web_and_trust(rng)
    known = set(np.flatnonzero(trust).tolist())
    for page in ori.simulate(web, name, trust).order.tolist():
        assert page in known
        known |= set(web.links(page).tolist())


@pytest.mark.parametrize("name", NAMES)
def test_going_on_later_gives_the_same_order(name: str, rng: np.random.Generator) -> None:
    web, trust = web_and_trust(rng)
    run = make_policy(name).run(web, TrustedPages.of(trust))
    for limit in (1, 2, 3, 10, 50, 51, 1000):
        run.advance(min(limit, web.n_pages), 2.0)
    assert run.is_empty or run.n_fetched == web.n_pages
    assert run.order[: run.n_fetched].tolist() == ori.simulate(web, name, trust).order.tolist()


@pytest.mark.parametrize("name", NAMES)
def test_a_budget_cuts_the_order_short(name: str, rng: np.random.Generator) -> None:
    web, trust = web_and_trust(rng)
    whole = ori.simulate(web, name, trust).order
    for budget in (1, 7, len(whole) - 1):
        for step_by_step in (False, True):
            trace = ori.simulate(web, name, trust, budget=budget, step_by_step=step_by_step)
            assert trace.order.tolist() == whole[:budget].tolist()
            assert trace.stopped_because == "budget"


@pytest.mark.parametrize("name", NAMES)
def test_what_is_guaranteed_is_true(name: str, rng: np.random.Generator) -> None:
    for _ in range(4):
        web, trust = web_and_trust(rng, 80)
        truth = dense_pagerank(web, trust, trust, 0.85)
        trace = ori.simulate(web, name, trust)
        covered = np.cumsum(truth[trace.order])
        if trace.guarantees is not None:
            assert (trace.guarantees <= covered + 1e-12).all()
        positions = np.arange(1, trace.n_fetched + 1)
        for certificate, true in zip(trace.certificates(positions), covered, strict=True):
            assert certificate.lower <= true + 1e-12
            assert certificate.upper >= true - 1e-12
            parts = certificate.lower + certificate.frontier + certificate.blocked + certificate.unsettled
            assert parts == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_many_workers_fetch_the_same_pages(name: str, rng: np.random.Generator) -> None:
    web, trust = web_and_trust(rng)
    alone = ori.simulate(web, name, trust)
    many = ori.simulate(web, name, trust, workers=16, latency_s=lambda page, generator: generator.random())
    assert sorted(many.order.tolist()) == sorted(alone.order.tolist())
    assert many.certificate.lower == pytest.approx(alone.certificate.lower, abs=1e-8)


@pytest.mark.parametrize("name", LIVE_NAMES)
def test_a_lost_page_is_never_asked_for_and_the_crawl_goes_on(name: str, rng: np.random.Generator) -> None:
    web, trust = web_and_trust(rng)
    crawl = ori.Crawl(make_policy(name), TrustedPages.of(trust))
    fetched, lost = [], set()
    while (page := crawl.next()) is not None:
        assert page not in lost
        assert page not in fetched
        if rng.random() < 0.2:
            crawl.blocked(page)
            lost.add(page)
        else:
            crawl.fetched(page, web.links(page))
            fetched.append(page)
    assert crawl.stopped_because == "frontier empty"
    reachable = set(np.flatnonzero(trust).tolist())
    for page in fetched:
        reachable |= set(web.links(page).tolist())
    assert reachable == set(fetched) | lost
    certificate = crawl.certificate()
    assert certificate.lower + certificate.blocked + certificate.unsettled == pytest.approx(1, abs=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_every_policy_says_what_it_is(name: str) -> None:
    kind = all_policies()[name]
    assert kind.__doc__
    assert kind.name == name
    assert ori.simulate(shapes.chain(1), name, trust=[0]).order.tolist() == [0]
    for setting in settings_of(kind):
        with pytest.raises(ori.OrienteerError):
            make_policy(name, **{setting: -5})


def test_wrong_names_get_a_suggestion() -> None:
    with pytest.raises(ori.InputError, match="no policy named 'rankmas'; did you mean 'rankmass'"):
        make_policy("rankmas")
    with pytest.raises(ori.InputError, match="no setting of windowed-rankmass named 'windw'; did you mean 'window'"):
        make_policy("windowed-rankmass", windw=0.1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"until": 0}, "until is 0"),
        ({"until": 1}, "until is 1"),
        ({"until": -0.5}, "until"),
        ({"until": float("nan")}, "until"),
        ({"budget": 0}, "budget is 0"),
        ({"trust": []}, "zero on every page"),
        ({"trust": [99]}, "page 99 is not in the graph"),
        ({"workers": 0}, "workers is 0"),
        ({"politeness": ori.Politeness()}, "needs hosts"),
    ],
)
def test_unusable_arguments_are_one_clear_line(arguments: dict, message: str) -> None:
    with pytest.raises(ori.InputError, match=message):
        ori.simulate(shapes.cycle(5), "fractional", **arguments)
