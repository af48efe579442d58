"""The contract of all policies in the registry.

A focused policy that receives no relevance is breadth-first, so it is tested twice: without a topic and on one.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

import orienteer as ori
from orienteer.crawl.crawl import Crawl
from orienteer.crawl.politeness import Politeness
from orienteer.crawl.simulate import Trace
from orienteer.graph import shapes
from orienteer.graph.growing_graph import GrowingGraph
from orienteer.graph.link_graph import LinkGraph
from orienteer.policies import all_policies, make_policy, settings_of
from orienteer.policies.focused import FocusedPolicy, LabelledWeb
from orienteer.policies.policy import Run, TrustedPages
from orienteer.policies.policy_state import check_state
from tests.conftest import random_web
from tests.contracts.negative_settings import made_with_minus_five
from tests.graph.reference import dense_pagerank
from tests.policies import reference
from tests.policies.topics import FOCUSED, ON_TOPIC, policy_of, topic_of, with_topics

NAMES = list(all_policies())
CASES = with_topics(NAMES)
LIVE_CASES = with_topics([name for name, kind in all_policies().items() if not kind.knows_truth])


def web_and_trust(rng: np.random.Generator, n: int = 150) -> tuple[LinkGraph, np.ndarray]:
    web = random_web(rng, n, 3.0, with_hosts=True)
    trust = np.zeros(n)
    trust[rng.choice(n, 5, replace=False)] = [0.4, 0.3, 0.1, 0.1, 0.1]
    return web, trust


def crawled(web: LinkGraph, case: str, trust: np.ndarray, **arguments: Any) -> Trace:
    return ori.simulate(web, policy_of(case), trust, **topic_of(case, web), **arguments)


def new_run(web: LinkGraph, case: str, trust: np.ndarray) -> Run:
    policy = policy_of(case)
    if not isinstance(policy, FocusedPolicy):
        return policy.run(web, TrustedPages.of(trust))
    return policy.run_on(LabelledWeb(web, **topic_of(case, web)), TrustedPages.of(trust))


@pytest.mark.parametrize("name", FOCUSED)
def test_a_focused_policy_without_a_topic_is_breadth_first(name: str, rng: np.random.Generator) -> None:
    for n in (6, 150, 400):
        web, trust = web_and_trust(rng, n)
        order = reference.breadth_first(web, trust)
        assert crawled(web, name, trust).order.tolist() == order
        stepped = ori.simulate(web, policy_of(name + ON_TOPIC), trust, step_by_step=True)  # trained, if need be
        assert stepped.order.tolist() == order


@pytest.mark.parametrize("name", FOCUSED)
def test_a_focused_policy_looks_for_the_topic(name: str, rng: np.random.Generator) -> None:
    web, trust = web_and_trust(rng, 400)
    order = crawled(web, name + ON_TOPIC, trust, step_by_step=True).order.tolist()
    assert order != reference.breadth_first(web, trust)


@pytest.mark.parametrize("name", FOCUSED)
def test_a_focused_policy_does_not_look_ahead(name: str, rng: np.random.Generator) -> None:
    """The relevance of pages that have not been fetched changes nothing."""
    web, trust = web_and_trust(rng, 400)
    policy, topic = policy_of(name + ON_TOPIC), topic_of(name + ON_TOPIC, web)
    whole = ori.simulate(web, policy, trust, **topic).order
    for n in (30, 100):
        unfetched = np.setdiff1d(np.arange(web.n_pages), whole[:n])
        changed = topic["relevance"].copy()
        changed[unfetched] = rng.random(len(unfetched))
        other = ori.simulate(web, policy, trust, relevance=changed, text=topic["text"], budget=n + 1)
        assert other.order.tolist() == whole[: n + 1].tolist()


@pytest.mark.parametrize("case", CASES)
def test_step_by_step_equals_in_bulk(case: str, rng: np.random.Generator) -> None:
    for n in (3, 60, 150, 400):
        web, trust = web_and_trust(rng, max(n, 6))
        bulk = crawled(web, case, trust)
        stepped = crawled(web, case, trust, step_by_step=True)
        assert stepped.order.tolist() == bulk.order.tolist()
        assert stepped.stopped_because == bulk.stopped_because == "frontier empty"


@pytest.mark.parametrize("case", CASES)
def test_they_stop_at_the_same_page(case: str, rng: np.random.Generator) -> None:
    web, trust = web_and_trust(rng)
    for goal in [(until, by_certificate) for until in (0.5, 0.9, 0.98) for by_certificate in (False, True)]:
        until, by_certificate = goal
        bulk = crawled(web, case, trust, until=until, by_certificate=by_certificate)
        stepped = crawled(web, case, trust, until=until, by_certificate=by_certificate, step_by_step=True)
        assert bulk.stopped_because == stepped.stopped_because == "coverage", goal
        assert stepped.order.tolist() == bulk.order.tolist(), goal
        assert bulk.guarantee >= until - 1e-12, goal


@pytest.mark.parametrize("case", CASES)
def test_all_that_can_be_reached_is_fetched_once(case: str, rng: np.random.Generator) -> None:
    web, trust = web_and_trust(rng)
    order = crawled(web, case, trust).order.tolist()
    assert sorted(order) == sorted(reference.breadth_first(web, trust))


@pytest.mark.parametrize("case", CASES)
def test_of_equal_priorities_the_lowest_id_comes_first(case: str) -> None:
    """Many pages of these webs are alike. The order in bulk is that of the priorities which the steps return."""
    for web in (shapes.star(30), shapes.clique(12), shapes.clique_and_cycle(8, 9)):
        trust = np.zeros(web.n_pages)
        trust[:2] = 0.5
        assert in_order_of_priorities(web, case, trust) == crawled(web, case, trust).order.tolist(), web


def in_order_of_priorities(web: LinkGraph, case: str, trust: np.ndarray) -> list[int]:
    policy, trusted = policy_of(case), TrustedPages.of(trust)
    if policy.knows_truth:
        policy.learn_truth(web, trusted)
    topic = LabelledWeb(web, **topic_of(case, web))
    known = GrowingGraph()
    known.grow_to(2)
    waiting = dict(zip(*(part.tolist() for part in policy.begin(known, trusted)), strict=True))
    order: list[int] = []
    while waiting:
        page = min(waiting, key=lambda one: (-waiting[one], one))
        order.append(page)
        links = web.links(page)
        known.add(page, links)
        if isinstance(policy, FocusedPolicy) and (about := topic.about(page)) is not None:
            policy.learn(page, about, known)
        changed = policy.fetched(page, known)
        found = {target: waiting.get(target, 0.0) for target in links.tolist()}
        found |= dict(zip(*(part.tolist() for part in changed), strict=True))
        waiting = {one: value for one, value in (waiting | found).items() if one not in set(order)}
    return order


@pytest.mark.parametrize("case", LIVE_CASES)
def test_no_page_is_fetched_before_it_is_known(case: str, rng: np.random.Generator) -> None:
    web, trust = web_and_trust(rng)
    known = set(np.flatnonzero(trust).tolist())
    for page in crawled(web, case, trust).order.tolist():
        assert page in known
        known |= set(web.links(page).tolist())


@pytest.mark.parametrize("case", CASES)
def test_going_on_later_gives_the_same_order(case: str, rng: np.random.Generator) -> None:
    web, trust = web_and_trust(rng)
    run = new_run(web, case, trust)
    for limit in (1, 2, 3, 10, 50, 51, 1000):
        run.advance(min(limit, web.n_pages), 2.0)
    assert run.is_empty or run.n_fetched == web.n_pages
    assert run.order[: run.n_fetched].tolist() == crawled(web, case, trust).order.tolist()


@pytest.mark.parametrize("case", CASES)
def test_a_budget_cuts_the_order_short(case: str, rng: np.random.Generator) -> None:
    web, trust = web_and_trust(rng)
    whole = crawled(web, case, trust).order
    for budget in (1, 7, len(whole) - 1):
        for step_by_step in (False, True):
            trace = crawled(web, case, trust, budget=budget, step_by_step=step_by_step)
            assert trace.order.tolist() == whole[:budget].tolist()
            assert trace.stopped_because == "budget"


@pytest.mark.parametrize("case", CASES)
def test_guarantees_are_true(case: str, rng: np.random.Generator) -> None:
    for _ in range(4):
        web, trust = web_and_trust(rng, 80)
        truth = dense_pagerank(web, trust, trust, 0.85)
        trace = crawled(web, case, trust)
        covered = np.cumsum(truth[trace.order])
        if trace.guarantees is not None:
            assert (trace.guarantees <= covered + 1e-12).all()
        positions = np.arange(1, trace.n_fetched + 1)
        for certificate, true in zip(trace.certificates(positions), covered, strict=True):
            assert certificate.lower <= true + 1e-12
            assert certificate.upper >= true - 1e-12
            total = certificate.lower + certificate.frontier + certificate.blocked + certificate.unsettled
            assert total == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("case", CASES)
def test_many_workers_fetch_the_same_pages(case: str, rng: np.random.Generator) -> None:
    web, trust = web_and_trust(rng)
    alone = crawled(web, case, trust)
    many = crawled(web, case, trust, workers=16, latency_s=lambda page, generator: generator.random())
    assert sorted(many.order.tolist()) == sorted(alone.order.tolist())
    assert many.certificate.lower == pytest.approx(alone.certificate.lower, abs=1e-8)


@pytest.mark.parametrize("case", LIVE_CASES)
def test_a_lost_page_is_never_requested_and_the_crawl_continues(case: str, rng: np.random.Generator) -> None:
    web, trust = web_and_trust(rng)
    crawl = Crawl(policy_of(case), TrustedPages.of(trust))
    topic = LabelledWeb(web, **topic_of(case, web))
    fetched, lost = [], set()
    while (page := crawl.next()) is not None:
        assert page not in lost
        assert page not in fetched
        if rng.random() < 0.2:
            crawl.blocked(page)
            lost.add(page)
        else:
            crawl.fetched(page, web.links(page), about=topic.about(page))
            fetched.append(page)
    assert crawl.stopped_because == "frontier empty"
    reachable = set(np.flatnonzero(trust).tolist())
    for page in fetched:
        reachable |= set(web.links(page).tolist())
    assert reachable == set(fetched) | lost
    certificate = crawl.certificate()
    assert certificate.lower + certificate.blocked + certificate.unsettled == pytest.approx(1, abs=1e-9)


@pytest.mark.parametrize("case", LIVE_CASES)
def test_its_state_can_be_stored(case: str, rng: np.random.Generator) -> None:
    """After every page of a crawl, not only after `begin`."""
    web, trust = web_and_trust(rng, 60)
    crawl = Crawl(policy_of(case), TrustedPages.of(trust))
    topic = LabelledWeb(web, **topic_of(case, web))
    while (page := crawl.next()) is not None:
        if rng.random() < 0.1:
            crawl.blocked(page)
        else:
            crawl.fetched(page, web.links(page), about=topic.about(page))
        check_state(crawl.policy, crawl.web)


@pytest.mark.parametrize("name", NAMES)
def test_every_policy_has_a_description(name: str) -> None:
    kind = all_policies()[name]
    assert kind.__doc__
    assert kind.name == name
    assert ori.simulate(shapes.chain(1), name, trust=[0]).order.tolist() == [0]


@pytest.mark.parametrize("name", NAMES)
def test_a_setting_is_refused_or_works(name: str, rng: np.random.Generator) -> None:
    web, trust = web_and_trust(rng)
    reached = sorted(reference.breadth_first(web, trust))
    for policy in made_with_minus_five(partial(make_policy, name), settings_of(all_policies()[name])):
        assert sorted(ori.simulate(web, policy, trust).order.tolist()) == reached


def test_wrong_names_get_a_suggestion() -> None:
    with pytest.raises(ori.InputError, match="no policy named 'rankmas'; did you mean 'rankmass'"):
        make_policy("rankmas")
    with pytest.raises(ori.InputError, match="no setting of windowed-rankmass named 'windw'; did you mean 'window'"):
        make_policy("windowed-rankmass", windw=0.1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"until": 0}, "until is 0"),
        ({"until": 1.1}, "until is 1.1"),
        ({"until": -0.5}, "until"),
        ({"until": float("nan")}, "until"),
        ({"budget": 0}, "budget is 0"),
        ({"trust": []}, "zero on every page"),
        ({"trust": [99]}, "page 99 is not in the graph"),
        ({"workers": 0}, "workers is 0"),
        ({"politeness": Politeness()}, "needs hosts"),
    ],
)
def test_unusable_arguments_are_one_clear_line(arguments: dict, message: str) -> None:
    with pytest.raises(ori.InputError, match=message):
        ori.simulate(shapes.cycle(5), "fractional", **arguments)
