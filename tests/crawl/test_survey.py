"""Crawls that are measured: when they stop, that they can be resumed, and how often they are wrong."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import settings

import orienteer as ori
from orienteer.crawl.crawl import Crawl
from orienteer.crawl.goal import Goal
from orienteer.errors import InputError
from orienteer.graph.coverage import Coverage
from orienteer.graph.growing_graph import GrowingGraph
from orienteer.graph.push import LinkRows
from orienteer.graph.survey.crawl_survey import CrawlSurvey, SurveyRound, SurveyStart, restarted, survey_seed
from orienteer.graph.survey.evidence import Plan
from orienteer.pages.stop_reason import StopReason
from orienteer.policies import all_policies, make_policy
from orienteer.policies.focused import FocusedPolicy
from orienteer.policies.policy import TrustedPages
from tests.conftest import random_web
from tests.graph.survey.reference import OddWeb, most_wrong, odd_web, plain_web
from tests.tables import over_rows

UNTIL, CONFIDENCE = 0.8, 0.99
N_CRAWLS = settings().max_examples * 4 // 3


@pytest.fixture(scope="module")
def web() -> ori.LinkGraph:
    return random_web(np.random.default_rng(5), 400, 6.0)


def trusted_of(graph: ori.LinkGraph) -> list[int]:
    return np.argsort(-graph.out_degrees(), kind="stable")[:3].tolist()


def policy_names() -> list[str]:
    return [name for name, policy in all_policies().items() if not issubclass(policy, FocusedPolicy)]


@pytest.mark.parametrize("name", policy_names())
def test_every_policy_stops_by_what_comes_first(name: str, web: ori.LinkGraph) -> None:
    trusted = trusted_of(web)
    truth = ori.pagerank(web, trusted, tolerance=1e-12)
    proved = ori.simulate(web, name, trusted, UNTIL, by_certificate=True)
    found, again_ = (ori.simulate(web, name, trusted, UNTIL, confidence=CONFIDENCE, rng=1) for _ in range(2))
    assert found.order.tolist() == again_.order.tolist()
    assert found.measured == again_.measured
    assert len(set(found.order.tolist())) == found.n_fetched
    assert found.stopped_because in (StopReason.MEASURED, StopReason.COVERAGE, StopReason.FRONTIER_EMPTY)
    if found.stopped_because is StopReason.MEASURED:
        assert found.measured is not None
        assert found.measured.lower == UNTIL
        assert truth[found.order].sum() >= UNTIL, "with these random numbers"
        assert found.measured.n_probes <= found.n_fetched
    assert found.n_fetched <= proved.n_fetched + (found.measured.n_probes if found.measured else 0)


def test_other_random_numbers_are_other_walks(web: ori.LinkGraph) -> None:
    orders = {
        tuple(ori.simulate(web, "fractional", trusted_of(web), UNTIL, confidence=CONFIDENCE, rng=rng).order.tolist())
        for rng in range(4)
    }
    assert len(orders) > 1


def test_without_a_coverage_to_reach_nothing_is_measured(web: ori.LinkGraph) -> None:
    trace = ori.simulate(web, "fractional", trusted_of(web), budget=50, confidence=CONFIDENCE)
    assert trace.measured is None
    with pytest.raises(InputError, match="confidence is 1"):
        ori.simulate(web, "fractional", trusted_of(web), UNTIL, confidence=1.0)


class Driven:
    """A crawl of a web with all special cases, and all its events."""

    def __init__(self, web: OddWeb, goal: Goal, start: SurveyStart | None = None, policy: str = "fractional") -> None:
        self.web = web
        pages = np.flatnonzero(web.trust)
        self.trusted = TrustedPages(pages.astype(np.uint32), web.trust[pages])
        self.goal, self.policy = goal, policy
        self.crawl = Crawl(make_policy(policy), self.trusted, goal)
        self.events: list[int] = []
        if start is not None:
            self.crawl.begin_survey(start)

    def apply(self, page: int, crawl: Crawl | None = None) -> None:
        crawl, web = crawl or self.crawl, self.web
        if web.blocked[page]:
            crawl.blocked(page)
        elif web.alias[page]:
            crawl.redirected(page, int(web.graph.links(page)[0]))
        else:
            crawl.fetched(page, web.graph.links(page), n_unknown=int(web.n_unknown[page]))

    def drive(self, n_pages: int | None = None) -> None:
        while (n_pages is None or len(self.events) < n_pages) and (page := self.crawl.next()) is not None:
            self.events.append(page)
            self.apply(page)

    def replayed(self, start: SurveyStart, rounds: tuple = ()) -> Crawl:  # type: ignore[type-arg]
        crawl = Crawl(make_policy(self.policy), self.trusted, self.goal, survey=start, rounds=rounds)
        for page in self.events:
            crawl.take(page)
            self.apply(page, crawl)
        return crawl

    def known(self) -> np.ndarray:
        known = np.zeros(self.web.n_pages, bool)
        known[np.array(self.crawl.order, np.int64)] = True
        return known


def start_of(
    until: float, seed: str = "a seed", confidence: float = CONFIDENCE, has_decoys: bool = True
) -> SurveyStart:
    return SurveyStart(until, confidence, survey_seed(seed.encode()) if has_decoys else seed)


@over_rows("number", range(4))
@over_rows("with_rounds", [False, True])
@over_rows("has_decoys", [False, True])
def test_a_crawl_that_is_replayed_has_the_same_walks(number: int, with_rounds: bool, has_decoys: bool) -> None:
    rng = np.random.default_rng(number)
    web = odd_web(rng, 150, 5.0) if number % 2 else plain_web(rng, 150, 5.0)
    driven = Driven(web, Goal(0.6, confidence=CONFIDENCE), start_of(0.6, has_decoys=has_decoys))
    driven.drive(int(rng.integers(20, 100)))
    survey = driven.crawl.survey
    assert survey is not None
    resumed = driven.replayed(survey.start, tuple(survey.rounds) if with_rounds else ())
    assert resumed.survey is not None
    assert [one.entries for one in resumed.survey.rounds] == [one.entries for one in survey.rounds]
    assert [one.stake for one in resumed.survey.rounds] == pytest.approx([one.stake for one in survey.rounds])
    assert resumed.survey.progress == pytest.approx(survey.progress)
    assert resumed.survey.n_walks == survey.n_walks
    assert resumed.stopped_because == driven.crawl.stopped_because
    n_before = len(driven.events)
    driven.drive()
    later = []
    while (page := resumed.next()) is not None:
        later.append(page)
        driven.apply(page, resumed)
    assert later == driven.events[n_before:]


def test_rounds_of_before_begin_at_their_moment_whatever_is_thought_now() -> None:
    driven = Driven(plain_web(np.random.default_rng(3), 300, 6.0), Goal(0.7, confidence=CONFIDENCE), start_of(0.7))
    driven.drive()
    assert driven.crawl.survey is not None
    rounds = driven.crawl.survey.rounds
    assert rounds
    # As by a machine that rounds otherwise: none would begin here and now.
    moved = tuple(replace(one, n_events=one.n_events - 1) for one in rounds[:1])
    resumed = driven.replayed(driven.crawl.survey.start, moved)
    assert resumed.survey is not None
    assert resumed.survey.rounds[0].n_events == rounds[0].n_events - 1
    assert resumed.survey.rounds[0].entries == rounds[0].entries


def counted_rounds(survey: CrawlSurvey) -> list[bool]:
    return [one.stake > 0.0 for one in survey.rounds]


def test_decoys_are_begun_from_the_start_and_change_no_evidence() -> None:
    """At least a tenth of the pages are fetched for walks, long before walks could show that the target is reached."""
    n_decoys = n_rounds = 0
    for number in range(8):
        web = plain_web(np.random.default_rng(number), 400, 6.0)
        driven = Driven(web, Goal(0.9, confidence=CONFIDENCE), start_of(0.9, f"{number}"))
        driven.drive(120)
        survey = driven.crawl.survey
        assert survey is not None
        assert survey.rounds[0].n_events <= 2 * np.count_nonzero(web.trust)
        assert survey.n_probes >= 0.1 * survey.n_events - 4
        last_decoy = max((k for k, counts in enumerate(counted_rounds(survey)) if not counts), default=-1)
        assert last_decoy >= 0
        stakes = survey._evidence.stakes
        before = survey._evidence.peak(survey._gains)
        survey._evidence.scores[: survey.n_walks][stakes[: survey.n_walks] == 0.0] = 0.15
        assert survey._evidence.peak(survey._gains) == before
        driven.drive()
        n_rounds += len(survey.rounds)
        n_decoys += counted_rounds(survey).count(False)
    assert n_decoys > 0.4 * n_rounds


def test_whether_a_round_counts_is_a_fair_coin_of_the_seed() -> None:
    """Where both walk at the same moments, about half of the rounds have a stake."""
    web = plain_web(np.random.default_rng(3), 300, 6.0)
    first = []
    for number in range(200):
        survey = CrawlSurvey(start_of(0.7, f"{number}"), web.trust.copy(), web.damping)
        survey._is_useless = lambda edge: False  # type: ignore[method-assign]
        survey._plan = lambda edge: Plan(0, 1.0, 1)  # type: ignore[method-assign]
        coverage, links = web.settled(np.zeros(web.n_pages, bool)), web.links()
        for page in np.flatnonzero(web.trust).tolist():
            survey.record_page(page, True, coverage, links)
        first.append(counted_rounds(survey)[0])
    assert 70 < sum(first) < 130


def test_of_what_is_reachable() -> None:
    """Much is blocked, so the goal becomes impossible: the survey begins again, and claims nothing about everything."""
    stops = set()
    for number in range(12):
        rng = np.random.default_rng(50 + number)
        web = odd_web(rng, 200, 5.0)
        driven = Driven(web, Goal(0.9, confidence=CONFIDENCE), start_of(0.9))
        driven.drive()
        crawl = driven.crawl
        stops.add(crawl.stopped_because)
        assert crawl.survey is not None
        if not crawl.goal_is_impossible:
            continue
        assert crawl.survey.start.of_reachable
        assert crawl.survey.start.error < 0.9 * (1 - CONFIDENCE) or crawl.survey.start.n_events == 0
        assert crawl.stopped_because is not StopReason.MEASURED
        assert len(crawl.survey._order) == len(set(crawl.survey._order)), "each page is applied once"
        if crawl.survey.is_reached:
            assert web.coverage_of_reachable(driven.known()) >= 0.9
            measured = crawl.survey.measured(crawl.certificate())
            assert measured is not None
            assert measured.of_reachable
            assert "of what is reachable" in str(measured)
    assert StopReason.REACHABLE in stops


def test_a_survey_that_begins_where_the_goal_is_impossible_gets_each_page_once() -> None:
    web = odd_web(np.random.default_rng(50), 200, 5.0)
    for number in range(20):
        web = odd_web(np.random.default_rng(50 + number), 200, 5.0)
        driven = Driven(web, Goal(0.97, budget=60, confidence=CONFIDENCE))
        driven.drive()
        driven.crawl.certificate()
        if driven.crawl.goal_is_impossible:
            break
    assert driven.crawl.goal_is_impossible
    driven.crawl.begin_survey(start_of(0.97))
    survey = driven.crawl.survey
    assert survey is not None
    assert survey.start.of_reachable
    assert survey.n_events == len(driven.crawl.order) + len(driven.crawl.blocked_pages) == survey.start.n_events


def test_more_links_begin_a_new_survey_with_less_error() -> None:
    driven = Driven(plain_web(np.random.default_rng(8), 200, 5.0), Goal(0.95, confidence=CONFIDENCE), start_of(0.95))
    driven.drive(60)
    before = driven.crawl.survey
    assert before is not None
    page = next(page for page in driven.crawl.order if len(driven.web.graph.links(page)))
    driven.crawl.add_unknown_links(np.array([page], np.uint32), np.array([2], np.int32))
    after = driven.crawl.survey
    assert after is not None
    assert after is not before
    assert after.start.seed != before.start.seed
    assert after.start.error == pytest.approx(before.start.error / 10)
    assert after.n_events == 60
    errors, start = [], before.start
    for _ in range(8):
        errors.append(start.error)
        start = restarted(start, False)
    assert sum(errors) <= 1 - CONFIDENCE


def test_what_was_measured_is_said_though_the_first_round_was_enough() -> None:
    survey = CrawlSurvey(start_of(0.5, confidence=0.5), np.array([1.0, 0.0]), 0.85)
    proved = survey._coverage.certificate()
    assert survey.measured(proved) is None
    n_found = 0
    for number in range(30):
        web = plain_web(np.random.default_rng(number), 100, 4.0)
        goal = Goal(0.5, confidence=0.5)
        driven = Driven(web, goal, start_of(0.5, f"{number}", 0.5))
        driven.drive()
        if driven.crawl.stopped_because is StopReason.MEASURED:
            assert driven.crawl.survey is not None
            measured = driven.crawl.survey.measured(driven.crawl.certificate())
            assert measured is not None
            assert measured.lower >= 0.5
            n_found += 1
    assert n_found


# -- laws of confidence: a binomial test that fails by chance once in a million, with random numbers that are fixed ----


@pytest.mark.parametrize(("confidence", "has_decoys"), [(0.8, True), (0.95, False)])
def test_crawls_stop_below_their_target_no_more_often_than_said(confidence: float, has_decoys: bool) -> None:
    """With blocked pages, redirects, links that are not known; stops are when the crawl likes."""
    n_wrong = n = 0
    for number in range(N_CRAWLS):
        rng = np.random.default_rng(3000 + number)
        web = odd_web(rng, 60, 4.0) if number % 2 else plain_web(rng, 60, 4.0)
        until = float(rng.uniform(0.4, 0.9))
        start = start_of(until, f"{number}", confidence, has_decoys)
        driven = Driven(web, Goal(until, confidence=confidence), start, ("certified", "random")[number % 3 == 0])
        driven.drive()
        survey = driven.crawl.survey
        assert survey is not None
        n += 1
        if survey.is_reached:
            of_reachable, known = survey.start.of_reachable, driven.known()
            truth = web.coverage_of_reachable(known) if of_reachable else web.coverages(known)[0]
            n_wrong += truth < until - 1e-9
    assert n_wrong <= most_wrong(n, 1 - confidence)


@pytest.mark.parametrize(("confidence", "has_decoys"), [(0.8, True), (0.95, False)])
def test_an_adversary_who_stays_below_the_target_gets_it_claimed_no_more_often_than_said(
    confidence: float, has_decoys: bool
) -> None:
    """It knows the truth, never records a page that would reach the target, and continues walks all the time."""
    n_claimed = n_walks = n = 0
    for number in range(N_CRAWLS):
        rng = np.random.default_rng(4000 + number)
        web = odd_web(rng, 60, 4.0) if number % 3 == 0 else plain_web(rng, 60, 4.0)
        links, coverage = web.links(), web.settled(np.zeros(web.n_pages, bool))
        worth = web.visits()
        everything = np.flatnonzero(worth > 0)
        until = 0.9 * web.coverages(np.isin(np.arange(web.n_pages), everything) & ~web.blocked)[0]
        if until < 0.1:
            continue
        survey = CrawlSurvey(start_of(until, f"{number}", confidence, has_decoys), web.trust.copy(), web.damping)
        waiting, probes = sorted(everything.tolist(), key=lambda page: -worth[page]), []
        is_recorded = np.zeros(web.n_pages, bool)
        while (waiting or probes) and not survey.is_reached:
            page = probes.pop(0) if probes else waiting.pop(0)
            is_recorded[page], before = True, bool(is_recorded[page])
            if before or web.coverages(is_recorded & ~web.blocked)[0] >= until:
                is_recorded[page] = before
                continue
            probes += [probe for probe, _ in survey.record_page(page, not web.blocked[page], coverage, links)]
        n += 1
        n_claimed += survey.is_reached
        n_walks += survey.n_walks
    assert n_walks > n, "there was something to lose"
    assert n_claimed <= most_wrong(n, 1 - confidence)


def test_walks_that_end_at_once_at_the_last_event_are_no_measurement_yet() -> None:
    """Their scores count from the next event on."""
    web = GrowingGraph()
    web.grow_to(2)
    web.add(0, [1])
    web.add(1, [0])
    links, trust = LinkRows.of(web), np.array([1.0, 0.0])
    coverage = Coverage(trust, 0.85, counts_visits=True)
    rounds = (SurveyRound(2, (1,), 0.1, 0.5, 0.0),)
    survey = CrawlSurvey(SurveyStart(0.9, 0.999, "00"), trust, 0.85, rounds=rounds)
    for page in (0, 1):
        coverage.fetch(np.array([page], np.uint32), links)
        survey.record_page(page, True, coverage, links)
    assert survey.n_walks == 1
    assert survey.measured(coverage.certificate()) is None
