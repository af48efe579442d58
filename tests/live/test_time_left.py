"""How long a crawl will take: what is missing shrinks by a factor, walks are sure at last, queues are worked off."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from benchmarks.time_left import WatchedCrawl, estimated
from orienteer.crawl.goal import Goal
from orienteer.graph.pagerank import pagerank
from orienteer.graph.synthetic import synthetic_web
from orienteer.live.host_pace import HostPace
from orienteer.live.time_left import Outlook, Point


def watched(seconds: int, lower: Callable[[int], float], frontier: Callable[[int], int] = lambda n: 10**9) -> Outlook:
    """Ten pages a second, looked at once a second; by default far too many pages wait."""
    outlook = Outlook()
    for second in range(seconds + 1):
        n_done = 10 * second
        outlook.see(Point(100.0 + second, n_done, lower(n_done), frontier(n_done)))
    return outlook


def shrinking(n_done: int) -> float:
    """Half of what is missing goes with every thousand pages."""
    return 1 - 0.5 ** (n_done / 1000)


def test_nothing_is_said_of_a_coverage_at_the_beginning() -> None:
    assert watched(9, shrinking).left(Goal(until=0.9)) is None
    assert watched(9, shrinking).left(Goal(budget=100)) == 1.0, "a budget is only counted"


def test_what_is_missing_goes_on_shrinking() -> None:
    truth_s = 100 * math.log2(1 / 0.1)
    for seconds in (20, 60, 200):
        assert watched(seconds, shrinking).left(Goal(until=0.9)) == pytest.approx(truth_s - seconds, rel=1e-6)


def test_no_goal_takes_longer_than_everything() -> None:
    outlook = watched(60, shrinking, lambda n_done: 800 - n_done)
    assert outlook.left(Goal(until=0.9)) == outlook.left(Goal()) == pytest.approx(20.0)
    assert outlook.left(Goal(budget=650)) == pytest.approx(5.0)


def test_while_pages_are_found_everything_takes_longer() -> None:
    still, growing = watched(60, shrinking, lambda n: 5000 - n), watched(60, shrinking, lambda n: 4400 - n // 2 + 300)
    assert still.left(Goal()) == pytest.approx(440.0)
    assert growing.left(Goal()) == pytest.approx(440.0 * math.sqrt(2), rel=0.01)
    assert watched(60, shrinking, lambda n: 10 * n).left(Goal()) == pytest.approx(2 * 600.0)


def test_a_coverage_that_does_not_rise_has_no_end() -> None:
    assert watched(60, lambda n_done: 0.5).left(Goal(until=0.9)) is None
    assert watched(60, lambda n_done: 0.95).left(Goal(until=0.9)) == 0.0


def test_nothing_is_known_while_nothing_comes() -> None:
    outlook = Outlook()
    for second in range(60):
        outlook.see(Point(float(second), 5, 0.1, 7))
    assert outlook.pages_per_s == 0.0
    assert outlook.left(Goal(until=0.9, budget=10)) is None


def test_the_rate_is_known_where_one_looks_rarely() -> None:
    outlook = Outlook()
    for minute in range(4):
        outlook.see(Point(60.0 * minute, 300 * minute, 0.0, 10))
    assert outlook.pages_per_s == pytest.approx(5.0)


def test_walks_are_sure_before_it_is_proved() -> None:
    measured, proved = Goal(until=0.98, confidence=0.999), Goal(until=0.98)
    outlook = watched(200, shrinking)
    sooner, later = outlook.left(measured), outlook.left(proved)
    assert sooner is not None
    assert later is not None
    assert sooner == pytest.approx(100 * math.log2(1 / 0.055) - 200), "a fifth of what is not proved is missing"
    assert sooner < later


def test_what_walks_say_is_believed() -> None:
    """They find that far less is missing than as a rule, and then how much evidence is still to come."""
    goal, outlook = Goal(until=0.98, confidence=0.999), Outlook()
    for second in range(201):
        point = Point(float(second), 10 * second, shrinking(10 * second), 10**9)
        outlook.see(point._replace(n_walks=10_000, measured=0.999, evidence=second / 400))
    assert outlook.left(goal) == pytest.approx(200.0)


def test_the_longest_queue_is_worked_off_at_the_pace_of_its_host() -> None:
    pace = HostPace()
    for second in range(0, 101, 5):
        n_done = np.array([2 * second, second])
        queue_s = pace.queue_s(float(second), n_done, np.array([500 - 2 * second, 400 - second, 7]))
    assert queue_s == pytest.approx(300.0)


@pytest.mark.parametrize("goal", [Goal(0.95), Goal(0.98, confidence=0.999), Goal()], ids=["proved", "measured", "all"])
def test_a_crawl_is_within_a_factor_of_two_most_of_the_time(goal: Goal) -> None:
    """From a tenth of the crawl on, in simulated time; more of them: python -m benchmarks time_left."""
    web = synthetic_web(2_000, 12, rng=0)
    course = WatchedCrawl(web, int(pagerank(web).argmax()), goal, delay_s=1.0, rng=0).run()
    assert course.end_s > 60
    assert estimated(course).within_two >= 0.75
