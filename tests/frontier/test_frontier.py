from __future__ import annotations

import numpy as np
import pytest

import orienteer as ori
from orienteer.frontier.frontier import Frontier
from orienteer.frontier.politeness import Politeness


def taken(frontier: Frontier, now: float) -> int | None:
    page = frontier.take(now)
    return None if page is None else page[0]


def test_the_best_page_goes_first_and_ties_to_the_lowest_id() -> None:
    frontier = Frontier()
    frontier.put([5, 3, 9, 4], [0.5, 0.7, 0.5, 0.5], [0, 0, 0, 0])
    assert [taken(frontier, 0.0) for _ in range(5)] == [3, 4, 5, 9, None]


def test_a_changed_priority_counts_up_or_down() -> None:
    frontier = Frontier()
    frontier.put([1, 2, 3], [0.1, 0.2, 0.3], [0, 0, 0])
    frontier.put([1, 3], [0.9, 0.05], [0, 0])
    assert frontier.best_first(9) == [(1, 0.9), (2, 0.2), (3, 0.05)]
    assert (frontier.position(1), frontier.position(3)) == (0, 2)
    assert [taken(frontier, 0.0) for _ in range(4)] == [1, 2, 3, None]


def test_a_removed_page_is_not_handed_out() -> None:
    frontier = Frontier()
    frontier.put([1, 2], [0.5, 0.4], [0, 0])
    frontier.remove(1)
    frontier.remove(77)
    assert (1 in frontier, 2 in frontier, len(frontier)) == (False, True, 1)
    assert taken(frontier, 0.0) == 2


def test_a_host_has_one_connection_and_then_rests() -> None:
    frontier = Frontier(Politeness(delay_s=2.0))
    frontier.put([1, 2, 3], [0.9, 0.8, 0.1], [7, 7, 8])
    assert taken(frontier, 0.0) == 1
    assert taken(frontier, 0.0) == 3  # host 7 is busy
    assert taken(frontier, 0.0) is None
    frontier.release(7, now=1.0)
    assert frontier.next_time() == 3.0
    assert taken(frontier, 2.9) is None
    assert taken(frontier, 3.0) == 2


def test_more_connections_may_be_allowed() -> None:
    frontier = Frontier(Politeness(delay_s=0.0, connections=2))
    frontier.put([1, 2, 3], [0.9, 0.8, 0.7], [4, 4, 4])
    assert [taken(frontier, 0.0) for _ in range(3)] == [1, 2, None]
    frontier.release(4, now=0.5)
    assert taken(frontier, 0.5) == 3


def test_a_longer_rest_can_be_asked_for() -> None:
    frontier = Frontier(Politeness(delay_s=1.0))
    frontier.put([1, 2], [0.9, 0.8], [4, 4])
    taken(frontier, 0.0)
    frontier.release(4, now=0.0, delay_s=60.0)
    assert taken(frontier, 59.0) is None
    assert taken(frontier, 60.0) == 2


def test_pages_added_to_a_resting_host_wait_with_it() -> None:
    frontier = Frontier(Politeness(delay_s=5.0))
    frontier.put([1], [0.9], [4])
    taken(frontier, 0.0)
    frontier.release(4, now=0.0)
    frontier.put([2], [1.0], [4])
    assert taken(frontier, 1.0) is None
    assert taken(frontier, 5.0) == 2


def test_it_equals_a_plain_search_whatever_happens(rng: np.random.Generator) -> None:
    """Always the best page among the hosts that may be asked, against looking at all of them."""
    frontier = Frontier(Politeness(delay_s=1.0))
    priority: dict[int, float] = {}
    busy: dict[int, int] = {}
    rests_until = dict.fromkeys(range(10), 0.0)
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
            rests_until[page % 10] = now + 1.0
            frontier.release(page % 10, now)
        else:
            free = [p for p in priority if p % 10 not in {b % 10 for b in busy} and rests_until[p % 10] <= now]
            expected = min(free, key=lambda p: (-priority[p], p), default=None)
            page = taken(frontier, now)
            assert page == expected
            if page is not None:
                del priority[page]
                busy[page] = page % 10


@pytest.mark.parametrize("settings", [{"delay_s": -1}, {"delay_s": float("nan")}, {"connections": 0}])
def test_impossible_politeness_is_one_clear_line(settings: dict) -> None:
    with pytest.raises(ori.InputError):
        Politeness(**settings)
