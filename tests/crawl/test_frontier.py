from __future__ import annotations

import math

import numpy as np
import pytest

import orienteer as ori
from orienteer.crawl.frontier import Frontier
from orienteer.crawl.politeness import Politeness
from tests.crawl.plain_frontier import HostedFrontier


def taken(frontier: Frontier, now: float) -> int | None:
    page = frontier.take(now)
    return None if page is None else page[0]


def test_the_best_page_goes_first_and_ties_to_the_lowest_id() -> None:
    frontier = HostedFrontier()
    frontier.put([5, 3, 9, 4], [0.5, 0.7, 0.5, 0.5], [0, 0, 0, 0])
    assert [taken(frontier, 0.0) for _ in range(5)] == [3, 4, 5, 9, None]


def test_a_changed_priority_counts_up_or_down() -> None:
    frontier = HostedFrontier()
    frontier.put([1, 2, 3], [0.1, 0.2, 0.3], [0, 0, 0])
    frontier.put([1, 3], [0.9, 0.05], [0, 0])
    assert frontier.best_first(9) == [(1, 0.9), (2, 0.2), (3, 0.05)]
    assert (frontier.position(1), frontier.position(3)) == (0, 2)
    assert [taken(frontier, 0.0) for _ in range(4)] == [1, 2, 3, None]


def test_a_removed_page_is_not_handed_out() -> None:
    frontier = HostedFrontier()
    frontier.put([1, 2], [0.5, 0.4], [0, 0])
    frontier.remove(1)
    frontier.remove(77)
    assert (1 in frontier, 2 in frontier, len(frontier)) == (False, True, 1)
    assert taken(frontier, 0.0) == 2


def test_a_host_has_one_connection_and_then_rests() -> None:
    frontier = HostedFrontier(Politeness(delay_s=2.0))
    frontier.put([1, 2, 3], [0.9, 0.8, 0.1], [7, 7, 8])
    assert taken(frontier, 0.0) == 1
    assert taken(frontier, 0.0) == 3  # host 7 is busy
    assert taken(frontier, 0.0) is None
    frontier.release(7, now=1.0)
    assert frontier.next_time() == 3.0
    assert taken(frontier, 2.9) is None
    assert taken(frontier, 3.0) == 2


def test_more_connections_may_be_allowed() -> None:
    frontier = HostedFrontier(Politeness(delay_s=0.0, connections=2))
    frontier.put([1, 2, 3], [0.9, 0.8, 0.7], [4, 4, 4])
    assert [taken(frontier, 0.0) for _ in range(3)] == [1, 2, None]
    frontier.release(4, now=0.5)
    assert taken(frontier, 0.5) == 3


def test_a_longer_rest_can_be_asked_for() -> None:
    frontier = HostedFrontier(Politeness(delay_s=1.0))
    frontier.put([1, 2], [0.9, 0.8], [4, 4])
    taken(frontier, 0.0)
    frontier.release(4, now=0.0, delay_s=60.0)
    assert taken(frontier, 59.0) is None
    assert taken(frontier, 60.0) == 2


def test_pages_added_to_a_resting_host_wait_with_it() -> None:
    frontier = HostedFrontier(Politeness(delay_s=5.0))
    frontier.put([1], [0.9], [4])
    taken(frontier, 0.0)
    frontier.release(4, now=0.0)
    frontier.put([2], [1.0], [4])
    assert taken(frontier, 1.0) is None
    assert taken(frontier, 5.0) == 2


def test_it_equals_a_plain_search_whatever_happens(rng: np.random.Generator) -> None:
    """`take` returns the best page of the ready hosts, compared with a scan of all of them."""
    frontier = HostedFrontier(Politeness(delay_s=1.0))
    priority: dict[int, float] = {}
    busy: dict[int, int] = {}
    free_at = dict.fromkeys(range(10), 0.0)
    now = 0.0
    for _ in range(4000):
        now += rng.random() * 0.3
        what = rng.random()
        if what < 0.4:
            pages = rng.integers(0, 300, 5)
            values = rng.choice([0.1, 0.2, 0.5, rng.random()], 5)
            pages = np.array([p for p in np.unique(pages) if p not in busy], int)
            frontier.put(pages.tolist(), values[: len(pages)].tolist(), (pages % 10).tolist())
            priority.update(zip(pages.tolist(), values[: len(pages)].tolist(), strict=True))
        elif what < 0.7 and busy:
            page = next(iter(busy))
            del busy[page]
            free_at[page % 10] = now + 1.0
            frontier.release(page % 10, now)
        else:
            free = [p for p in priority if p % 10 not in {b % 10 for b in busy} and free_at[p % 10] <= now]
            expected = min(free, key=lambda p: (-priority[p], p), default=None)
            page = taken(frontier, now)
            assert page == expected
            if page is not None:
                del priority[page]
                busy[page] = page % 10


def test_pages_that_are_added_wait_at_the_end_and_leave_the_others_alone() -> None:
    frontier = HostedFrontier()
    frontier.put([3], [0.5], [0])
    frontier.add(np.array([3, 1, 2], np.uint32), np.zeros(3, np.int32))
    assert frontier.best_first(9) == [(3, 0.5), (1, 0.0), (2, 0.0)]


def test_of_a_page_named_twice_the_last_priority_counts() -> None:
    frontier = HostedFrontier()
    frontier.put([3, 4, 3], [0.5, 0.3, 0.1], [0, 0, 0])
    assert frontier.best_first(9) == [(4, 0.3), (3, 0.1)]
    assert [values.tolist() for values in frontier.all()] == [[3, 4], [0.1, 0.3]]


def test_a_page_put_on_another_host_moves_there() -> None:
    frontier = HostedFrontier(Politeness(delay_s=1.0))
    frontier.put([1, 2], [0.5, 0.4], [7, 7])
    frontier.put([2], [0.4], [8])
    assert [taken(frontier, 0.0) for _ in range(3)] == [1, 2, None]


@pytest.mark.parametrize("is_moved", [False, True])
def test_a_host_without_its_best_page_comes_after_others(is_moved: bool) -> None:
    frontier = HostedFrontier(Politeness(delay_s=1.0))
    frontier.put([1, 2, 3, 4], [0.9, 0.1, 0.5, 0.8], [7, 7, 8, 9])
    for page in (1, 4):  # page 4 is all that host 9 has
        if is_moved:
            frontier.put([page], [0.0], [10])
        else:
            frontier.remove(page)
    assert [taken(frontier, 0.0) for _ in range(4)] == [3, 2, 1 if is_moved else None, None]


def test_a_host_may_have_a_delay_of_its_own() -> None:
    frontier = HostedFrontier(Politeness(delay_s=1.0))
    frontier.set_delay(7, 10.0)
    frontier.put([1, 2, 3], [0.9, 0.8, 0.7], [7, 7, 7])
    taken(frontier, 0.0)
    frontier.release(7, now=0.0)
    assert frontier.next_time() == 10.0
    assert taken(frontier, 10.0) == 2
    frontier.release(7, now=10.0, delay_s=2.0)  # requested for this once
    assert frontier.next_time() == 12.0


def test_a_host_can_be_snoozed_when_nothing_is_in_flight() -> None:
    frontier = HostedFrontier(Politeness(delay_s=1.0))
    frontier.put([1, 2], [0.9, 0.8], [7, 8])
    frontier.snooze(7, until=30.0)
    frontier.snooze(7, until=20.0)  # it is snoozed longer already
    assert (taken(frontier, 0.0), taken(frontier, 29.0)) == (2, None)
    assert frontier.next_time() == 30.0
    assert taken(frontier, 30.0) == 1


def test_the_next_time_is_of_a_host_that_could_be_asked_then() -> None:
    frontier = HostedFrontier(Politeness(delay_s=1.0))
    assert frontier.next_time() is None
    frontier.snooze(7, until=5.0)
    assert frontier.next_time() is None  # it has no page
    frontier.put([1, 2, 3], [0.9, 0.8, 0.7], [7, 7, 8])
    assert frontier.next_time() == 5.0
    assert taken(frontier, 5.0) == 1
    frontier.snooze(7, until=9.0)
    assert frontier.next_time() is None  # its one connection is in use
    frontier.release(7, now=6.0)
    assert frontier.next_time() == 9.0


def test_time_may_be_given_that_has_gone_back() -> None:
    frontier = HostedFrontier(Politeness(delay_s=1.0))
    frontier.put([1, 2], [0.9, 0.8], [7, 8])
    frontier.snooze(7, until=5.0)
    assert taken(frontier, 6.0) == 1
    frontier.put([3], [0.9], [9])
    frontier.snooze(8, until=6.0)
    frontier.take(7.0)
    assert taken(frontier, 5.5) is None
    assert taken(frontier, 6.0) == 2


def test_hosts_and_pages_come_in_any_order_and_grow() -> None:
    frontier = HostedFrontier(Politeness(delay_s=1.0))
    frontier.put([70_000, 2], [0.1, 0.2], [40_000, 3])
    frontier.release(90_000, now=0.0)
    frontier.set_delay(200_000, 3.0)
    assert [taken(frontier, 0.0) for _ in range(3)] == [2, 70_000, None]
    assert 5_000_000 not in frontier
    with pytest.raises(KeyError):
        frontier.priority(5_000_000)


@pytest.mark.parametrize("rising", [True, False])
def test_a_heap_of_any_shape_is_taken_apart(rising: bool) -> None:
    """Rising priorities make a chain as deep as there are pages, falling ones a top with all others below it."""
    n = 200_000
    frontier = HostedFrontier()
    frontier.put(np.arange(n), np.arange(n) if rising else -np.arange(n), np.zeros(n, np.int32))
    frontier.remove(n // 2)
    frontier.put([n // 4], [0.5 - n], [0])
    order = [taken(frontier, 0.0) for _ in range(n - 1)]
    expected = [page for page in (range(n - 1, -1, -1) if rising else range(n)) if page not in (n // 2, n // 4)]
    assert order == [*expected, n // 4]
    assert len(frontier) == 0


def test_nonsense_is_refused_and_changes_nothing() -> None:
    frontier = HostedFrontier(Politeness(delay_s=1.0))
    for pages, priorities, hosts in (
        ([1, 2], [0.5, float("nan")], [0, 0]),
        ([1, -2], [0.5, 0.5], [0, 0]),
        ([1, 2], [0.5, 0.5], [0, -1]),
        ([1, 2**32 - 1], [0.5, 0.5], [0, 0]),
        ([1, 2], [0.5], [0, 0]),
    ):
        with pytest.raises(ValueError, match=r"number|as many"):
            frontier.put(pages, priorities, hosts)
    with pytest.raises(TypeError, match="whole numbers"):
        frontier.put([0.5], [0.5])
    with pytest.raises(ValueError, match="numbered from 0"):
        frontier.snooze(-1, until=3.0)
    with pytest.raises(ori.InputError, match="delay_s is -1"):
        frontier.set_delay(0, -1)
    assert (len(frontier), frontier.best_first(0), frontier.take(0.0)) == (0, [], None)


def test_a_page_takes_24_bytes_and_a_host_84() -> None:
    n_pages, n_hosts = 100_000, 5_000
    frontier = HostedFrontier(Politeness(delay_s=1.0))
    pages = np.arange(n_pages)
    frontier.put(pages, 1 / (1 + pages), pages % n_hosts)
    arrays = [value for value in vars(frontier).values() if isinstance(value, np.ndarray)]
    assert sum(array.nbytes for array in arrays) <= 24 * (n_pages + 1) + 84 * (n_hosts + 2) + 100


def test_all_it_knows_is_in_its_arrays_and_numbers(rng: np.random.Generator) -> None:
    """A frontier that was saved and restored continues as the first would have."""
    frontier = HostedFrontier(Politeness(delay_s=1.0))
    frontier.put(np.arange(500), rng.random(500), np.arange(500) % 20)
    for now in range(100):
        if (page := taken(frontier, now / 10)) is not None:
            frontier.release(page % 20, now / 10 + 0.05)
    again = HostedFrontier(frontier.politeness)
    for old, new in ((frontier, again), (frontier._hosts, again._hosts), (frontier._apart, again._apart)):
        for name, value in vars(old).items():
            if name not in ("politeness", "_hosts", "_apart"):
                assert isinstance(value, np.ndarray | float | int)
                setattr(new, name, value.copy() if isinstance(value, np.ndarray) else value)
    for now in range(100, 300):
        assert frontier.take(now / 10) == again.take(now / 10)
        assert frontier.next_time() == again.next_time()


@pytest.mark.parametrize("settings", [{"delay_s": -1}, {"delay_s": float("nan")}, {"connections": 0}])
def test_impossible_politeness_is_one_clear_line(settings: dict) -> None:
    with pytest.raises(ori.InputError):
        Politeness(**settings)


def test_a_resting_host_can_be_woken() -> None:
    frontier = HostedFrontier(Politeness(delay_s=0.0, connections=9))
    frontier.put([1, 2], [0.9, 0.8], [7, 8])
    frontier.snooze(7, until=float("inf"))
    assert (taken(frontier, 0.0), taken(frontier, 1e9)) == (2, None)
    frontier.wake(7)
    frontier.wake(99)
    assert taken(frontier, 1.0) == 1


@pytest.mark.parametrize("host", [99, 5_000, 3_000_000])
def test_an_unknown_host_can_be_snoozed_and_woken(host: int) -> None:
    frontier = HostedFrontier(Politeness(delay_s=0.0, connections=9))
    frontier.snooze(host, until=5.0)
    frontier.wake(host + 100_000)
    frontier.put([1], [0.5], [host])
    assert (taken(frontier, 0.0), taken(frontier, 5.0)) == (None, 1)


def test_hosts_that_share_a_turn_are_asked_as_if_they_were_one() -> None:
    frontier = HostedFrontier(Politeness(delay_s=1.0))
    frontier.put([1, 2, 3, 4], [0.9, 0.8, 0.7, 0.1], [5, 6, 7, 8])
    frontier.share_slot([5, 6, 7], [1, 2, 3])
    assert [taken(frontier, 0.0) for _ in range(3)] == [1, 4, None]
    frontier.release(5, now=0.5, page=1)
    assert (taken(frontier, 1.0), taken(frontier, 1.5)) == (None, 2)
    frontier.share_slot([7], [3])  # its own slot again, while page 2 is in flight
    assert taken(frontier, 1.5) == 3
    frontier.put([9], [0.9], [5])
    assert taken(frontier, 1.5) is None
    frontier.release(6, now=1.5, page=2)
    assert taken(frontier, 2.5) == 9


def test_when_only_quick_hosts_are_wanted_the_others_wait() -> None:
    frontier = HostedFrontier(Politeness(delay_s=1.0))
    frontier.put([1, 2, 3], [0.9, 0.5, 0.4], [5, 6, 7])
    frontier.set_quick(6, True)
    assert frontier.n_quick_waiting == 1
    assert frontier.take(0.0, only_quick=True) == (2, 0.5)
    assert (frontier.n_quick_waiting, frontier.take(0.0, only_quick=True)) == (0, None)
    assert [taken(frontier, 0.0) for _ in range(3)] == [1, 3, None]


def test_a_page_that_took_a_shared_turn_gives_that_one_back() -> None:
    """Also when its host has its own slot by then."""
    frontier = HostedFrontier(Politeness(delay_s=1.0))
    frontier.put([1, 2, 3], [0.9, 0.8, 0.7], [5, 6, 5])
    frontier.share_slot([5, 6], [1, 2, 3])
    assert taken(frontier, 0.0) == 1
    frontier.share_slot([5], [3])
    frontier.release(5, now=0.0, page=1)
    assert [taken(frontier, 0.0), taken(frontier, 0.0)] == [3, None]
    assert taken(frontier, 1.0) == 2


def test_an_asset_takes_a_slot_like_a_page() -> None:
    frontier = HostedFrontier(Politeness(delay_s=1.0))
    frontier.put([0, 1], [0.5, 0.4], hosts=[7, 7])
    slot = frontier.take_slot(7, now=0.0)
    assert slot is not None
    assert frontier.slot_free_at(7) == math.inf
    assert frontier.take(now=0.0) is None
    assert frontier.take_slot(7, now=0.0) is None
    frontier.end_slot(slot, now=2.0)
    assert frontier.slot_free_at(7) == 3.0
    assert frontier.take(now=2.5) is None
    assert frontier.take(now=3.0) == (0, 0.5)
    assert frontier.take_slot(7, now=9.0) is None
    frontier.release(7, now=9.0)
    assert frontier.take_slot(7, now=9.5) is None
    assert frontier.take_slot(7, now=10.0) == slot
    assert HostedFrontier().take_slot(3, now=0.0) is not None  # without politeness every host is free
