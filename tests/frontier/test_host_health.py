"""Hosts in trouble: rests, retries, giving up."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orienteer.errors import InputError
from orienteer.frontier.host_health import (
    BROKEN_PAGES,
    LONGEST_REST,
    MAX_CREDIT,
    MIN_RESTS,
    PATIENCE,
    HostHealth,
    RetrySettings,
)


def failures(health: HostHealth, host: int, n: int, now: float = 0.0) -> list[float | None]:
    """The rests after each of `n` failures, each as soon as the rest before is over."""
    rests = []
    for _ in range(n):
        rests.append(health.failed(host, now))
        now += rests[-1] or 0.0
    return rests


def test_each_failure_in_a_row_doubles_the_rest_up_to_the_longest():
    health = HostHealth(RetrySettings(back_off_s=2.0, max_back_off_s=20.0, give_up_after=7))
    assert failures(health, 1, 8) == [2.0, 4.0, 8.0, 16.0, 20.0, 20.0, None, None]


def test_by_default_a_host_is_given_up_after_some_four_minutes():
    health = HostHealth()
    assert failures(health, 1, 8) == [2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, None]
    assert health.reason(1) == "the host was given up after 8 failures in a row within 254 s"


def test_an_answer_makes_all_forgotten():
    health = HostHealth(RetrySettings(give_up_after=4))
    assert failures(health, 1, 3) == [2.0, 4.0, 8.0]
    health.answered(1)
    assert (health.n_failing, health.reason(1)) == (0, "")
    assert failures(health, 1, 3) == [2.0, 4.0, 8.0]
    health.answered(99)


def test_hosts_fail_each_on_its_own():
    health = HostHealth(RetrySettings(give_up_after=3))
    failures(health, 1, 3)
    failures(health, 2, 2)
    assert (health.is_given_up(1), health.is_given_up(2), health.is_given_up(3)) == (True, False, False)
    assert (health.n_failing, health.n_given_up) == (1, 1)


def test_a_host_given_up_that_answers_after_all_is_well_again():
    health = HostHealth(RetrySettings(give_up_after=3))
    failures(health, 1, 3)
    health.answered(1)
    assert (health.is_given_up(1), health.n_failing, health.n_given_up) == (False, 0, 0)


def test_a_longer_retry_after_is_kept_to_and_a_too_long_one_is_cut():
    health = HostHealth(RetrySettings(max_retry_after_s=100.0))
    assert health.failed(1, 0.0, retry_after_s=50.0) == 50.0
    assert health.failed(1, 50.0, retry_after_s=1.0) == 4.0
    assert health.failed(1, 54.0, retry_after_s=1e9) == 100.0
    assert health.failed(2, 0.0, retry_after_s=float("inf")) == 100.0
    assert health.failed(3, 0.0, retry_after_s=-5.0) == 2.0


def test_requests_that_fail_together_are_no_reason_to_give_up():
    health = HostHealth(RetrySettings(give_up_after=3))
    rests = [health.failed(1, now=0.1 * k) for k in range(20)]
    assert None not in rests
    now = 2.0 + 300.0
    first = health.failed(1, now)
    assert first == 300.0
    assert health.failed(1, now + first) is None


def test_a_failure_during_a_rest_never_shortens_it():
    health = HostHealth()
    assert health.failed(1, 0.0, retry_after_s=1000.0) == 1000.0
    assert health.failed(1, 10.0) == 990.0


def test_the_reason_names_the_last_failure():
    health = HostHealth(RetrySettings(give_up_after=3))
    assert health.reason(1) == ""
    health.failed(1, 0.0, why="timed out")
    assert health.reason(1) == "the host rests after 1 failure in a row, the last one: timed out"
    health.failed(1, 10.0, why="timed out")
    health.failed(1, 20.0, why="no connection")
    assert (
        health.reason(1) == "the host was given up after 3 failures in a row within 20 s, the last one: no connection"
    )


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"max_attempts": 0}, "max_attempts is 0; it must be at least 1"),
        ({"give_up_after": 0}, "give_up_after is 0; it must be at least 1"),
        ({"back_off_s": -1.0}, "back_off_s is -1.0; it must be 0 or more seconds"),
        ({"max_retry_after_s": float("nan")}, "max_retry_after_s is nan; it must be 0 or more seconds"),
        ({"back_off_s": 400.0}, "max_back_off_s is 300.0; it must be at least back_off_s, 400.0"),
    ],
)
def test_settings_that_make_no_sense_are_refused_in_one_line(settings, message):
    with pytest.raises(InputError, match=f"^{re.escape(message)}$"):
        RetrySettings(**settings)


def page_failures(health: HostHealth, host: int, pages: Iterable[int], has_answered: bool) -> list[float | None]:
    """The rests after failures of these pages, each as soon as the rest before is over."""
    rests, now = [], 0.0
    for page in pages:
        rests.append(health.page_failed(host, page, now, has_answered))
        now += (rests[-1] or 0.0) + 1.0
    return rests


def test_a_page_that_goes_first_is_refused_and_counts_once():
    """The others of the host were not asked. Others that go first count as well: in the end the host is given up."""
    health = HostHealth(RetrySettings(back_off_s=1.0, max_back_off_s=4.0, give_up_after=5))
    rests = [health.failed(1, now=10.0 * k, first=k % 2) for k in range(8)]
    assert rests == [1.0, 2.0, *[4.0] * 6]
    assert not health.is_refused(1, 0)
    assert health.failed(1, now=80.0, first=0) == 4.0
    assert [health.is_refused(1, page) for page in (0, 1, "sitemap")] == [True, False, False]
    assert [health.failed(1, now=10.0 * k, first=k) for k in (9, 10, 11)] == [4.0, 4.0, None]
    health.answered(1)
    assert not health.is_refused(1, 0)


def test_tries_of_one_page_are_one_failure():
    health = HostHealth()
    assert page_failures(health, 1, [5] * 50, has_answered=True) == [0.0] * 50
    assert not health.is_given_up(1)
    assert health.reason(1) == "the host had 1 failure in a row"


def test_from_the_third_page_in_a_row_on_the_host_rests():
    health = HostHealth(RetrySettings(back_off_s=2.0, give_up_after=100))
    assert page_failures(health, 1, range(8), has_answered=True) == [0.0, 0.0, 2.0, 4.0, 8.0, 8.0, 8.0, 8.0]


@pytest.mark.parametrize(("has_answered", "n_pages"), [(False, 8), (True, 32)])
def test_a_host_whose_pages_all_fail_is_given_up_after_distinct_pages(has_answered: bool, n_pages: int):
    health = HostHealth()
    pages = [page for page in range(40) for _ in range(3)]
    rests = page_failures(health, 1, pages, has_answered)
    assert rests.index(None) == 3 * (n_pages - 1)
    assert f" on {n_pages} pages within " in health.reason(1)


@pytest.mark.parametrize("n_good", [3, 60, 3000])
def test_a_host_that_answered_well_may_fail_on_as_many_pages_up_to_a_limit(n_good: int):
    health = HostHealth()
    for _ in range(n_good):
        health.answered(1)
    rests = page_failures(health, 1, range(200), has_answered=True)
    assert rests.index(None) + 1 == max(32, min(n_good, MAX_CREDIT))


def test_there_is_no_credit_for_pages_that_get_no_answer_at_all():
    health = HostHealth()
    for _ in range(50):
        health.answered(1)
    assert page_failures(health, 1, range(20), has_answered=False).index(None) == 7


def test_any_answer_says_that_the_host_is_there():
    health = HostHealth()
    failures(health, 1, 7)
    assert health.page_failed(1, page=3, now=1000.0, has_answered=True) == 0.0
    assert failures(health, 1, 7, now=1001.0) == [2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0]


def test_a_page_waits_the_longer_the_more_pages_of_its_host_fail():
    health = HostHealth()
    assert [health.page_rest_s(1, n) for n in (1, 2, 3)] == [2.0, 4.0, 8.0]
    page_failures(health, 1, range(5), has_answered=True)
    assert health.page_rest_s(1, 1) == 32.0


class PlainHealth:
    """The rules as plainly as they can be said: all that happened to a host is kept, and looked at every time."""

    def __init__(self, settings: RetrySettings) -> None:
        self.settings = settings
        self.events: list[tuple[str, int, bool]] = []  # (kind, page, has answered), the last at the end
        self.rests_until = -1.0
        self.has_rested = self.is_given_up = False
        self.n_rests = 0

    def row(self, ends: Callable[[tuple[str, int, bool]], bool]) -> list[tuple[str, int, bool]]:
        """What happened since the last event of that kind."""
        last = max((k for k, event in enumerate(self.events) if ends(event)), default=-1)
        return self.events[last + 1 :]

    def happens(self, kind: str, page: int, has_answered: bool, now: float) -> float | None:
        if kind == "good":
            self.events.append((kind, page, True))
            self.rests_until, self.has_rested, self.is_given_up, self.n_rests = -1.0, False, False, 0
            return None
        if self.is_given_up:
            return None
        self.n_rests += self.has_rested and now >= self.rests_until
        self.events.append((kind, page, has_answered))
        since_good = self.row(lambda event: event[0] == "good")
        since_answer = self.row(lambda event: event[2])
        n_pages = len({page for kind, page, _ in since_good if kind == "page"})
        n_silent = len({page for kind, page, _ in since_answer if kind == "page"})
        n_of_host = sum(kind == "host" for kind, _, _ in since_answer)
        n_good = sum(kind == "good" for kind, _, _ in self.events)
        limit, settings = self.settings.give_up_after, self.settings
        if kind == "host":
            is_over, rest_s = n_of_host >= limit, settings.back_off_s * 2 ** (n_of_host - 1)
        else:
            is_over = n_silent >= limit or n_pages >= max(PATIENCE * limit, min(n_good, MAX_CREDIT))
            rest_s = settings.back_off_s * min(2 ** (n_pages - BROKEN_PAGES - 1), LONGEST_REST)
        if is_over and self.n_rests >= MIN_RESTS:
            self.is_given_up = True
            return None
        if kind == "host" or n_pages > BROKEN_PAGES:
            self.has_rested = True
            self.rests_until = max(self.rests_until, now + min(rest_s, settings.max_back_off_s))
        return max(self.rests_until - now, 0.0)


retry_settings = st.builds(
    RetrySettings,
    back_off_s=st.floats(0.0, 10.0),
    max_back_off_s=st.floats(10.0, 100.0),
    give_up_after=st.integers(1, 4),
)
events = st.lists(
    st.tuples(
        st.sampled_from(["host", "page", "page", "page", "good"]),
        st.integers(0, 9),
        st.booleans(),
        st.sampled_from([0.0, 1.0, 7.0, 200.0]),
    ),
    max_size=60,
)


@given(retry_settings, events)
def test_it_is_as_the_plain_rules_say(settings: RetrySettings, events: list[tuple[str, int, bool, float]]):
    health, plain = HostHealth(settings), PlainHealth(settings)
    now = 0.0
    for kind, page, has_answered, passed_s in events:
        now += passed_s
        expected = plain.happens(kind, page, kind == "page" and has_answered, now)
        if kind == "good":
            health.answered(1)
        elif kind == "host":
            assert health.failed(1, now) == pytest.approx(expected)
        else:
            assert health.page_failed(1, page, now, has_answered) == pytest.approx(expected)
        assert health.is_given_up(1) == plain.is_given_up
        assert (health.n_given_up, health.n_failing) == (plain.is_given_up, kind != "good" and not plain.is_given_up)
        assert bool(health.reason(1)) == (kind != "good")


@given(st.lists(st.tuples(st.integers(0, 200), st.booleans()), max_size=300))
def test_a_host_with_two_broken_pages_and_any_answers_between_is_never_given_up(events: list[tuple[int, bool]]):
    health = HostHealth(RetrySettings(give_up_after=3))
    for k, (page, is_good) in enumerate(events):
        if is_good:
            health.answered(1)
        else:
            assert health.page_failed(1, page % 2, float(k), has_answered=True) == 0.0


@given(st.integers(1, 5000))
def test_a_long_row_of_failures_never_overflows(n):
    health = HostHealth(RetrySettings(give_up_after=10_000))
    assert max(rest or 0.0 for rest in failures(health, 1, n)) <= 300.0
