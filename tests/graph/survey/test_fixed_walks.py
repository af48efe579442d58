"""The result of the walks of a survey does not depend on how they are driven."""

from __future__ import annotations

import random

import numpy as np
import pytest

import orienteer as ori
from orienteer.errors import InputError
from orienteer.graph.coverage import Coverage
from orienteer.graph.defaults import SurveyGoal
from orienteer.graph.push import LinkRows
from orienteer.graph.survey.fixed_walks import FixedWalks
from orienteer.graph.survey.survey import FixedSurvey
from orienteer.graph.synthetic import synthetic_web
from orienteer.pages.stop_reason import StopReason

GOAL = SurveyGoal(half_width=0.03)
N_FETCHED = 1000  # of 1,500


@pytest.fixture(scope="module")
def web() -> ori.LinkGraph:
    return synthetic_web(1500, mean_degree=8.0, rng=3)


def begun(web: ori.LinkGraph, width: int = 16, goal: SurveyGoal = GOAL, blocked: tuple[int, ...] = ()) -> FixedWalks:
    coverage, links = Coverage(np.full(web.n_pages, 1.0 / web.n_pages)), LinkRows.of(web)
    coverage.fetch(np.arange(N_FETCHED, dtype=np.uint32), links)
    coverage.block(np.array(blocked, np.int64))
    return FixedWalks(FixedSurvey(coverage, links, "one seed", goal.confidence), goal, width)


def walked(walks: FixedWalks, web: ori.LinkGraph, rng: random.Random | None = None, n_events: int = 10**9) -> list[int]:
    """The recorded pages, in order; requested pages arrive in a random order if there is an `rng`."""
    links, waiting, recorded = LinkRows.of(web), [], []
    while walks.stopped_because is None and len(recorded) < n_events:
        waiting += [page for page, _ in walks.advance(links)]
        if walks.stopped_because is not None:
            break
        page = waiting.pop(0 if rng is None else rng.randrange(len(waiting)))
        walks.record_page(page, True, links)
        recorded.append(page)
    return recorded


def test_the_end_is_the_same_whatever_the_order(web: ori.LinkGraph, fresh_rng: random.Random) -> None:
    ends = []
    for width, rng in ((1, None), (7, None), (16, fresh_rng), (100, fresh_rng)):
        walks = begun(web, width)
        walked(walks, web, rng)
        assert walks.stopped_because is StopReason.PRECISE
        measured = walks.conclude()
        ends.append((measured.lower, measured.upper, measured.estimate, measured.n_walks))
    assert len(set(ends)) == 1
    truth = ori.pagerank(web, tolerance=1e-10)[:N_FETCHED].sum()
    assert ends[0][0] <= truth <= ends[0][1]
    assert (ends[0][1] - ends[0][0]) / 2 <= GOAL.half_width


def test_the_end_is_the_same_after_a_break(web: ori.LinkGraph, fresh_rng: random.Random) -> None:
    whole = begun(web)
    n_events = len(walked(whole, web))
    first, links = begun(web, 16), LinkRows.of(web)
    recorded = walked(first, web, fresh_rng, fresh_rng.randrange(n_events))
    second = begun(web, 5)
    second.restart(first.survey.lives.entries.tolist(), links)
    for page in recorded:
        second.record_page(page, True, links)
    later = walked(second, web, fresh_rng)
    assert second.conclude().n_walks == whole.conclude().n_walks
    assert (second.measured.lower, second.measured.upper) == (whole.measured.lower, whole.measured.upper)
    assert not set(recorded) & set(later), "no page is requested twice"
    assert second.n_probes == len(recorded) + len(later)


@pytest.mark.parametrize("budget", [0, 1, 10, 50])
def test_the_budget_is_not_exceeded(web: ori.LinkGraph, budget: int) -> None:
    goal = SurveyGoal(half_width=0.001, budget=budget)
    walks = begun(web, goal=goal)
    assert len(walked(walks, web)) == walks.n_probes == budget
    assert walks.stopped_because is StopReason.BUDGET
    measured, truth = walks.conclude(), ori.pagerank(web, tolerance=1e-10)[:N_FETCHED].sum()
    assert measured.lower <= truth <= measured.upper
    assert measured.half_width > goal.half_width


def test_unknown_mass_ends_it(web: ori.LinkGraph) -> None:
    """A blocked page keeps the interval open; to walk on would be in vain."""
    rank = ori.pagerank(web, tolerance=1e-10)
    blocked = tuple((N_FETCHED + np.argsort(-rank[N_FETCHED:])[:15]).tolist())
    walks = begun(web, goal=SurveyGoal(half_width=0.01), blocked=blocked)
    walked(walks, web)
    assert walks.stopped_because is StopReason.SETTLED
    measured, least = walks.conclude(), walks.survey.least_half_width
    assert least > 0.005
    assert least - 1e-3 <= measured.half_width <= least + 0.005
    assert measured.lower <= rank[:N_FETCHED].sum() <= measured.upper


def test_a_set_without_a_way_out_needs_no_walk() -> None:
    web = ori.LinkGraph.from_links(3, [0, 1], [1, 0])
    coverage, links = Coverage(np.array([1.0, 0.0, 0.0])), LinkRows.of(web)
    coverage.fetch(np.array([0, 1], np.uint32), links)
    walks = FixedWalks(FixedSurvey(coverage, links, "x"), GOAL, 4)
    assert walks.advance(links) == []
    assert walks.stopped_because is StopReason.PRECISE
    assert walks.conclude().n_walks == 0
    assert walks.measured.lower == pytest.approx(1.0)


def test_a_slow_page_holds_back_no_more_than_some_walks(web: ori.LinkGraph) -> None:
    """One page never comes: others go on for a while, and then wait for it."""
    walks, links = begun(web, 8, SurveyGoal(half_width=0.001)), LinkRows.of(web)
    waiting = [page for page, _ in walks.advance(links)]
    never = waiting[0]
    while ready := [page for page in waiting if page != never]:
        waiting.remove(ready[0])
        walks.record_page(ready[0], True, links)
        waiting += [page for page, _ in walks.advance(links)]
    assert walks.survey.lives.n_begun <= 5 * 8
    assert walks.stopped_because is None


@pytest.mark.parametrize("bad", [{"half_width": 0.0}, {"half_width": 0.5}, {"budget": -1}, {"confidence": 1.0}])
def test_nonsense_is_refused_in_one_line(bad: dict[str, float]) -> None:
    with pytest.raises(InputError) as error:
        SurveyGoal(**bad)  # type: ignore[arg-type]
    assert "\n" not in str(error.value)
