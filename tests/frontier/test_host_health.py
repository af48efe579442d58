"""Hosts in trouble: rests, retries, giving up."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orienteer.errors import InputError
from orienteer.frontier.host_health import MIN_RESTS, HostHealth, RetrySettings


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


retry_settings = st.builds(
    RetrySettings,
    back_off_s=st.floats(0.0, 10.0),
    max_back_off_s=st.floats(10.0, 100.0),
    max_retry_after_s=st.floats(0.0, 1000.0),
    give_up_after=st.integers(1, 6),
)
events = st.lists(
    st.tuples(
        st.integers(0, 2),
        st.floats(0.0, 50.0),
        st.one_of(st.just("answer"), st.none(), st.floats(-10.0, 1e6)),
    ),
    max_size=60,
)


@given(retry_settings, events)
def test_rests_are_bounded_and_only_a_row_of_failures_gives_a_host_up(settings, events):
    health = HostHealth(settings)
    in_a_row = {0: 0, 1: 0, 2: 0}
    now = 0.0
    for host, passed_s, event in events:
        now += passed_s
        if event == "answer":
            health.answered(host)
            in_a_row[host] = 0
            continue
        was_given_up = health.is_given_up(host)
        rest = health.failed(host, now, event)
        in_a_row[host] += 1
        assert (rest is None) == health.is_given_up(host)
        if rest is None:
            assert was_given_up or in_a_row[host] >= max(settings.give_up_after, MIN_RESTS + 1)
        else:
            longest = max(settings.max_back_off_s, settings.max_retry_after_s)
            assert settings.back_off_s * 0.999 <= rest + 1e-9 <= longest * 1.001 + 2e-9
    given_up = [host for host in in_a_row if health.is_given_up(host)]
    failing = [host for host, n in in_a_row.items() if n and host not in given_up]
    assert (health.n_given_up, health.n_failing) == (len(given_up), len(failing))
    assert all(bool(health.reason(host)) == bool(in_a_row[host]) for host in in_a_row)


@given(st.integers(1, 5000))
def test_a_long_row_of_failures_never_overflows(n):
    health = HostHealth(RetrySettings(give_up_after=10_000))
    assert max(rest or 0.0 for rest in failures(health, 1, n)) <= 300.0
