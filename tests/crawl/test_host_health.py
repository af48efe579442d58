"""Failing hosts: back-offs, retries, and when they are abandoned."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orienteer.crawl.politeness import (
    BROKEN_PAGES,
    MAX_CREDIT,
    MAX_PAGE_BACK_OFF,
    MIN_BACK_OFFS,
    TIMEOUT_FACTOR,
    HostHealth,
    RetrySettings,
)
from orienteer.errors import InputError
from tests.tables import over_rows


def failures(health: HostHealth, host: int, n: int, now: float = 0.0) -> list[float | None]:
    """The back-offs after each of `n` failures, each as soon as the one before is over."""
    back_offs = []
    for _ in range(n):
        back_offs.append(health.record_failure(host, now))
        now += back_offs[-1] or 0.0
    return back_offs


def test_each_failure_in_a_row_doubles_the_back_off_up_to_the_maximum():
    health = HostHealth(RetrySettings(back_off_s=2.0, max_back_off_s=20.0, give_up_after=7))
    assert failures(health, 1, 8) == [2.0, 4.0, 8.0, 16.0, 20.0, 20.0, None, None]


def test_by_default_a_host_is_abandoned_after_some_four_minutes():
    health = HostHealth()
    assert failures(health, 1, 8) == [2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, None]
    assert health.reason(1) == "the host was abandoned after 8 failures in a row within 254 s"


def test_an_answer_makes_all_forgotten():
    health = HostHealth(RetrySettings(give_up_after=4))
    assert failures(health, 1, 3) == [2.0, 4.0, 8.0]
    health.record_success(1)
    assert (health.n_failing, health.reason(1)) == (0, "")
    assert failures(health, 1, 3) == [2.0, 4.0, 8.0]
    health.record_success(99)


def test_hosts_fail_each_on_its_own():
    health = HostHealth(RetrySettings(give_up_after=3))
    failures(health, 1, 3)
    failures(health, 2, 2)
    assert (health.is_abandoned(1), health.is_abandoned(2), health.is_abandoned(3)) == (True, False, False)
    assert (health.n_failing, health.n_abandoned) == (1, 1)


def test_an_abandoned_host_that_responds_after_all_is_healthy_again():
    health = HostHealth(RetrySettings(give_up_after=3))
    failures(health, 1, 3)
    health.record_success(1)
    assert (health.is_abandoned(1), health.n_failing, health.n_abandoned) == (False, 0, 0)


def test_a_longer_retry_after_is_respected_and_a_too_long_one_is_cut():
    health = HostHealth(RetrySettings(max_retry_after_s=100.0))
    assert health.record_failure(1, 0.0, retry_after_s=50.0) == 50.0
    assert health.record_failure(1, 50.0, retry_after_s=1.0) == 4.0
    assert health.record_failure(1, 54.0, retry_after_s=1e9) == 100.0
    assert health.record_failure(2, 0.0, retry_after_s=float("inf")) == 100.0
    assert health.record_failure(3, 0.0, retry_after_s=-5.0) == 2.0


def test_requests_that_fail_together_are_no_reason_to_give_up():
    health = HostHealth(RetrySettings(give_up_after=3))
    back_offs = [health.record_failure(1, now=0.1 * k) for k in range(20)]
    assert None not in back_offs
    now = 2.0 + 300.0
    first = health.record_failure(1, now)
    assert first == 300.0
    assert health.record_failure(1, now + first) is None


def test_a_failure_during_a_back_off_never_shortens_it():
    health = HostHealth()
    assert health.record_failure(1, 0.0, retry_after_s=1000.0) == 1000.0
    assert health.record_failure(1, 10.0) == 990.0


def test_the_reason_names_the_last_failure():
    health = HostHealth(RetrySettings(give_up_after=3))
    assert health.reason(1) == ""
    health.record_failure(1, 0.0, why="timed out")
    assert health.reason(1) == "the host backs off after 1 failure in a row, the last one: timed out"
    health.record_failure(1, 10.0, why="timed out")
    health.record_failure(1, 20.0, why="no connection")
    assert (
        health.reason(1) == "the host was abandoned after 3 failures in a row within 20 s, the last one: no connection"
    )


@over_rows(
    ("settings", "message"),
    [
        ({"max_attempts": 0}, "max_attempts is 0; it must be at least 1"),
        ({"give_up_after": 0}, "give_up_after is 0; it must be at least 1"),
        ({"back_off_s": -1.0}, "back_off_s is -1.0; it must be at least 0"),
        ({"max_retry_after_s": float("nan")}, "max_retry_after_s is nan; it must be at least 0"),
        ({"back_off_s": 400.0}, "max_back_off_s is 300.0; it must be at least back_off_s, 400.0"),
    ],
)
def test_settings_that_make_no_sense_are_refused_in_one_line(settings, message):
    with pytest.raises(InputError, match=f"^{re.escape(message)}$"):
        RetrySettings(**settings)


def page_failures(health: HostHealth, host: int, pages: Iterable[int], got_response: bool) -> list[float | None]:
    """The back-offs after failures of these pages, each as soon as the one before is over."""
    back_offs, now = [], 0.0
    for page in pages:
        back_offs.append(health.record_page_failure(host, page, now, got_response))
        now += (back_offs[-1] or 0.0) + 1.0
    return back_offs


def test_refusals_count_by_distinct_page():
    """While two pages are refused in turn the host backs off as after two failures; each page counts by itself."""
    health = HostHealth(RetrySettings(back_off_s=1.0, max_back_off_s=4.0, give_up_after=5))
    back_offs = [health.record_failure(1, now=10.0 * k, page=k % 2) for k in range(8)]
    assert back_offs == [1.0, *[2.0] * 7]
    assert [health.is_in_doubt(1, page) for page in (0, 1, 2)] == [True, True, False]
    assert not health.is_refused(1, 0)
    assert health.record_failure(1, now=80.0, page=0) == 2.0
    assert [health.is_refused(1, page) for page in (0, 1, "sitemap")] == [True, False, False]
    assert [health.record_failure(1, now=10.0 * k, page=k) for k in (9, 10, 11)] == [4.0, 4.0, None]
    health.record_success(1)
    assert not health.is_refused(1, 0)


def test_a_page_that_is_refused_again_after_a_good_answer_says_nothing_of_its_host():
    """Nor does its `Retry-After`; the row of the host continues as if the page had not been requested."""
    health = HostHealth(RetrySettings(give_up_after=3))
    assert health.record_failure(1, 0.0, page=7, retry_after_s=60.0) == 60.0
    assert not health.is_suspect(1, 7)
    health.record_success(1)
    assert (health.is_suspect(1, 7), health.is_suspect(1, 8), health.is_suspect(2, 7)) == (True, False, False)
    assert [health.record_failure(1, 100.0 * k, page=7, retry_after_s=60.0) for k in range(1, 20)] == [2.0] * 19
    assert not health.is_in_doubt(1, 7)
    assert health.reason(1) == "the host backs off after 19 failures in a row"
    assert health.record_failure(1, 2000.0, page=8) == 2.0
    assert health.page_wait_s(1, 7, 3, back_off_s=2.0) == 10.0
    assert health.page_wait_s(1, 7, 3, back_off_s=2.0, retry_after_s=60.0) == 60.0
    assert health.page_wait_s(1, 7, 3, back_off_s=2.0, retry_after_s=1e9) == 3600.0
    health.forget(1, 7)
    assert not health.is_suspect(1, 7)
    assert health.record_failure(1, 2010.0, page=7) == 4.0


def test_tries_of_one_page_are_one_failure():
    health = HostHealth()
    assert page_failures(health, 1, [5] * 50, got_response=True) == [0.0] * 50
    assert not health.is_abandoned(1)
    assert health.reason(1) == "the host had 1 failure in a row"


def test_from_the_third_page_in_a_row_on_the_host_backs_off():
    health = HostHealth(RetrySettings(back_off_s=2.0, give_up_after=100))
    assert page_failures(health, 1, range(8), got_response=True) == [0.0, 0.0, 2.0, 4.0, 8.0, 8.0, 8.0, 8.0]


@pytest.mark.parametrize(("got_response", "n_pages"), [(False, 8), (True, 32)])
def test_a_host_whose_pages_all_fail_is_abandoned_after_distinct_pages(got_response: bool, n_pages: int):
    health = HostHealth()
    pages = [page for page in range(40) for _ in range(3)]
    back_offs = page_failures(health, 1, pages, got_response)
    assert back_offs.index(None) == 3 * (n_pages - 1)
    assert f" on {n_pages} pages within " in health.reason(1)


@pytest.mark.parametrize("n_good", [3, 60, 3000])
def test_a_host_that_answered_well_may_fail_on_as_many_pages_up_to_a_limit(n_good: int):
    health = HostHealth()
    for _ in range(n_good):
        health.record_success(1)
    back_offs = page_failures(health, 1, range(200), got_response=True)
    assert back_offs.index(None) + 1 == max(32, min(n_good, MAX_CREDIT))


def test_there_is_no_credit_for_pages_that_get_no_answer_at_all():
    health = HostHealth()
    for _ in range(50):
        health.record_success(1)
    assert page_failures(health, 1, range(20), got_response=False).index(None) == 7


def test_any_answer_says_that_the_host_is_there():
    health = HostHealth()
    failures(health, 1, 7)
    assert health.record_page_failure(1, page=3, now=1000.0, got_response=True) == 0.0
    assert failures(health, 1, 7, now=1001.0) == [2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0]


def test_a_page_waits_the_longer_the_more_pages_of_its_host_fail():
    health = HostHealth()
    assert [health.page_wait_s(1, 0, n) for n in (1, 2, 3)] == [2.0, 4.0, 8.0]
    page_failures(health, 1, range(5), got_response=True)
    assert health.page_wait_s(1, 0, 1) == 32.0


class PlainHealth:
    """A reference implementation of the rules: it stores all events of a host, and scans them every time."""

    def __init__(self, settings: RetrySettings) -> None:
        self.settings = settings
        self.events: list[tuple[str, int, bool]] = []  # (kind, page, got response), the last at the end
        self.retry_at = -1.0
        self.has_backed_off = self.is_abandoned = False
        self.n_back_offs = 0
        self.suspects: set[int] = set()  # refused before the last success, with no other response in between

    def row(self, ends: Callable[[tuple[str, int, bool]], bool]) -> list[tuple[str, int, bool]]:
        """The events since the last one of that kind."""
        last = max((k for k, event in enumerate(self.events) if ends(event)), default=-1)
        return self.events[last + 1 :]

    def happens(self, kind: str, page: int, got_response: bool, now: float) -> float | None:
        if kind == "good":
            since_answer = self.row(lambda event: event[2])
            self.suspects |= {page for kind, page, _ in since_answer if kind == "refusal"}
            self.events.append((kind, page, True))
            self.retry_at, self.has_backed_off, self.is_abandoned, self.n_back_offs = -1.0, False, False, 0
            return None
        if self.is_abandoned:
            return None
        self.n_back_offs += self.has_backed_off and now >= self.retry_at
        self.events.append((kind, page, got_response))
        since_good = self.row(lambda event: event[0] == "good")
        since_answer = self.row(lambda event: event[2])
        n_pages = len({page for kind, page, _ in since_good if kind == "page"})
        n_silent = len({page for kind, page, _ in since_answer if kind == "page"})
        refused = {page for kind, page, _ in since_answer if kind == "refusal" and page not in self.suspects}
        n_of_host = sum(kind == "host" for kind, _, _ in since_answer) + len(refused)
        n_good = sum(kind == "good" for kind, _, _ in self.events)
        limit, settings = self.settings.give_up_after, self.settings
        is_suspect = kind == "refusal" and page in self.suspects
        if is_suspect:
            is_over, back_off_s = False, settings.back_off_s
        elif kind in ("host", "refusal"):
            is_over, back_off_s = n_of_host >= limit, settings.back_off_s * 2 ** (n_of_host - 1)
        else:
            is_over = n_silent >= limit or n_pages >= max(TIMEOUT_FACTOR * limit, min(n_good, MAX_CREDIT))
            back_off_s = settings.back_off_s * min(2 ** (n_pages - BROKEN_PAGES - 1), MAX_PAGE_BACK_OFF)
        if is_over and self.n_back_offs >= MIN_BACK_OFFS:
            self.is_abandoned = True
            return None
        if kind in ("host", "refusal") or n_pages > BROKEN_PAGES:
            self.has_backed_off = True
            self.retry_at = max(self.retry_at, now + min(back_off_s, settings.max_back_off_s))
        return max(self.retry_at - now, 0.0)


retry_settings = st.builds(
    RetrySettings,
    back_off_s=st.floats(0.0, 10.0),
    max_back_off_s=st.floats(10.0, 100.0),
    give_up_after=st.integers(1, 4),
)
events = st.lists(
    st.tuples(
        st.sampled_from(["host", "refusal", "refusal", "page", "page", "page", "good"]),
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
    for kind, page, got_response, passed_s in events:
        now += passed_s
        expected = plain.happens(kind, page, kind == "page" and got_response, now)
        if kind == "good":
            health.record_success(1)
        elif kind in ("host", "refusal"):
            assert health.record_failure(1, now, page=page if kind == "refusal" else None) == pytest.approx(expected)
        else:
            assert health.record_page_failure(1, page, now, got_response) == pytest.approx(expected)
        assert health.is_abandoned(1) == plain.is_abandoned
        assert (health.n_abandoned, health.n_failing) == (plain.is_abandoned, kind != "good" and not plain.is_abandoned)
        assert bool(health.reason(1)) == (kind != "good")


@given(st.lists(st.tuples(st.integers(0, 200), st.booleans()), max_size=300))
def test_a_host_with_two_broken_pages_and_any_responses_between_is_never_abandoned(events: list[tuple[int, bool]]):
    health = HostHealth(RetrySettings(give_up_after=3))
    for k, (page, is_good) in enumerate(events):
        if is_good:
            health.record_success(1)
        else:
            assert health.record_page_failure(1, page % 2, float(k), got_response=True) == 0.0


@given(st.integers(1, 5000))
def test_a_long_row_of_failures_never_overflows(n):
    health = HostHealth(RetrySettings(give_up_after=10_000))
    assert max(back_off or 0.0 for back_off in failures(health, 1, n)) <= 300.0
