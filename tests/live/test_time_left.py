"""The estimated time to the end of a crawl, for coverage goals, measured goals, limits and queues."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from benchmarks.time_left import WatchedCrawl, estimated
from orienteer.crawl.goal import Goal
from orienteer.graph.pagerank import pagerank
from orienteer.graph.synthetic import synthetic_web
from orienteer.live.time_left import HostPace, Point, TimeForecast


def watched(
    seconds: int, lower: Callable[[int], float], frontier: Callable[[int], int] = lambda n: 10**9
) -> TimeForecast:
    """Add a point per second of a crawl with ten pages per second; by default far too many pages wait."""
    forecast = TimeForecast()
    for second in range(seconds + 1):
        n_done = 10 * second
        forecast.add(Point(100.0 + second, n_done, lower(n_done), frontier(n_done)))
    return forecast


def shrinking(n_done: int) -> float:
    """Return a coverage whose missing share halves with every thousand pages."""
    return 1 - 0.5 ** (n_done / 1000)


def test_there_is_no_estimate_at_the_beginning() -> None:
    for goal in (Goal(until=0.9), Goal(), Goal(budget=200)):
        assert watched(9, shrinking).eta_s(goal) is None
        assert watched(14, shrinking).eta_s(goal) is None, "not before two estimates a while apart agree"
    assert watched(16, shrinking).eta_s(Goal(budget=200)) == pytest.approx(4.0)


def test_the_missing_share_may_shrink_exponentially() -> None:
    truth_s = 100 * math.log2(1 / 0.1)
    for seconds in (20, 60, 200):
        assert watched(seconds, shrinking).eta_s(Goal(until=0.9)) == pytest.approx(truth_s - seconds, rel=1e-6)


def test_the_missing_share_may_shrink_at_a_constant_pace() -> None:
    """If pages are so densely linked that each one proves as much as the next."""
    assert watched(60, lambda n_done: n_done / 2000).eta_s(Goal(until=0.9)) == pytest.approx(120.0, rel=1e-6)


def test_no_goal_takes_longer_than_everything() -> None:
    forecast = watched(60, shrinking, lambda n_done: 800 - n_done)
    assert forecast.eta_s(Goal(until=0.9)) == forecast.eta_s(Goal()) == pytest.approx(20.0)
    assert forecast.eta_s(Goal(budget=650)) == pytest.approx(5.0)


def test_a_high_limit_is_ignored_for_a_small_site() -> None:
    """With 220 pages and a limit of 10,000, the waiting pages count."""
    forecast = watched(18, shrinking, lambda n_done: 220 - n_done)
    for goal in (Goal(budget=10_000), Goal(until=0.98, budget=10_000)):
        assert forecast.eta_s(goal) == pytest.approx(4.0), goal
    growing = watched(30, shrinking, lambda n_done: n_done)
    assert growing.eta_s(Goal(budget=10_000)) != pytest.approx(970.0)


def test_a_limit_is_certain_where_more_pages_wait_than_it_allows() -> None:
    forecast = watched(30, lambda n_done: 0.5, lambda n_done: 20 * n_done)
    assert forecast.eta_s(Goal(until=0.9)) is None, "the coverage does not rise"
    assert forecast.eta_s(Goal(until=0.9, budget=400)) == pytest.approx(10.0)
    assert forecast.eta_s(Goal(until=0.9, budget=400_000)) is None


def test_there_is_no_estimate_while_estimates_disagree() -> None:
    """A site whose pages are found one by one always looks almost complete."""
    assert watched(100, shrinking, lambda n_done: 30).eta_s(Goal()) is None


def test_while_pages_are_found_everything_takes_longer() -> None:
    still, growing = watched(60, shrinking, lambda n: 5000 - n), watched(60, shrinking, lambda n: 4400 - n // 2 + 300)
    assert still.eta_s(Goal()) == pytest.approx(440.0)
    assert growing.eta_s(Goal()) == pytest.approx(440.0 * math.sqrt(2), rel=0.01)
    assert watched(60, shrinking, lambda n: 4_000 + 10 * n).eta_s(Goal()) == pytest.approx(2 * 1000.0)


def test_a_coverage_that_does_not_rise_has_no_end() -> None:
    assert watched(60, lambda n_done: 0.5).eta_s(Goal(until=0.9)) is None
    assert watched(60, lambda n_done: 0.95).eta_s(Goal(until=0.9)) is None, "it should have ended long ago"


def test_there_is_no_estimate_without_pages() -> None:
    forecast = TimeForecast()
    for second in range(60):
        forecast.add(Point(float(second), 5, 0.1, 7))
    assert forecast.pages_per_s == 0.0
    assert forecast.eta_s(Goal(until=0.9, budget=10)) is None


def test_the_rate_of_sparse_points() -> None:
    forecast = TimeForecast()
    for minute in range(4):
        forecast.add(Point(60.0 * minute, 300 * minute, 0.0, 10))
    assert forecast.pages_per_s == pytest.approx(5.0)


def test_a_measured_goal_is_reached_before_the_proof() -> None:
    measured, proved = Goal(until=0.98, confidence=0.999), Goal(until=0.98)
    for n_walks in (9, 10):
        forecast = TimeForecast()
        for second in range(201):
            lower = shrinking(10 * second)
            point = Point(float(second), 10 * second, lower, 10**9)
            forecast.add(point._replace(n_walks=n_walks, measured=1 - 0.2 * (1 - lower)))
        sooner, later = forecast.eta_s(measured), forecast.eta_s(proved)
        assert later is not None
        if n_walks == 9:
            assert sooner is None, "not before the walks outweigh the prior"
            continue
        assert sooner == pytest.approx(100 * math.log2(1 / 0.062) - 200), "a fifth of what is not proved is missing"
        assert sooner < later


def test_walks_and_evidence_replace_the_prior() -> None:
    """Walks find that far less is missing than by the prior, so the remaining evidence gives the time."""
    goal, forecast = Goal(until=0.98, confidence=0.999), TimeForecast()
    for second in range(201):
        point = Point(float(second), 10 * second, shrinking(10 * second), 10**9)
        forecast.add(point._replace(n_walks=10_000, measured=0.999, evidence=second / 400))
    assert forecast.eta_s(goal) == pytest.approx(200.0)


def test_the_longest_queue_is_worked_off_at_the_pace_of_its_host() -> None:
    pace = HostPace()
    for second in range(0, 101, 5):
        n_done = np.array([2 * second, second])
        queue_s = pace.queue_s(float(second), n_done, np.array([500 - 2 * second, 400 - second, 7]))
    assert queue_s == pytest.approx(300.0)


@pytest.mark.parametrize("goal", [Goal(0.95), Goal()], ids=["proved", "all"])
def test_a_crawl_is_within_a_factor_of_two_most_of_the_time(goal: Goal) -> None:
    """From a tenth of the crawl on, at times with an estimate; the benchmark time_left has more of these crawls."""
    web = synthetic_web(2_000, 12, rng=0)
    crawl = WatchedCrawl(web, int(pagerank(web).argmax()), goal, delay_s=1.0, rng=0).run()
    assert crawl.end_s > 60
    found = estimated(crawl)
    assert found.within_two >= 0.8
    assert found.share_with_forecast >= 0.25


def test_measured_crawls_are_within_a_factor_of_two_most_of_the_time() -> None:
    """When walks end depends on chance, so several crawls are counted together."""
    goal, found = Goal(0.98, confidence=0.999), []
    for rng in range(24):
        web = synthetic_web(2_000, 12, rng=rng)
        found.append(estimated(WatchedCrawl(web, int(pagerank(web).argmax()), goal, delay_s=1.0, rng=rng).run()))
    has_forecast = np.concatenate([one.has_forecast for one in found])
    is_right = np.concatenate([one.is_right for one in found])
    assert is_right[has_forecast].mean() >= 0.8
    assert has_forecast.mean() >= 0.07
