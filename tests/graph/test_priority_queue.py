"""The queue against a sorted list, from kernels as they use it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from orienteer.graph import priority_queue as queues
from orienteer.kernel import kernel


@kernel
def raise_all(pages: Any, amounts: Any, priority: Any, bits: Any, pool: Any, heap: Any) -> None:
    for k in range(len(pages)):
        page = pages[k]
        old = bits[page]
        priority[page] += amounts[k]
        queues.raise_priority(pool, heap, page, old, bits[page], priority[page])


@kernel
def is_full(pool: Any, heap: Any, n: int) -> Any:
    return queues.lacks_room(pool, heap, n)


def popped(queue: queues.PriorityQueue, priority: np.ndarray) -> tuple[int, queues.PriorityQueue]:
    while True:
        page = int(queues.best(*queue, priority, priority.view(np.int64)))
        if page != queues.LACKS_ROOM:
            break
        queue = queues.with_room(queue, 500)
    if page >= 0:
        queues.drop_best(*queue)
        priority[page] = 0.0
    return page, queue


def best(priority: np.ndarray) -> int:
    """The page with the highest priority, of several the one with the lowest id."""
    return int(np.argmax(priority)) if priority.any() else queues.NONE


@pytest.mark.parametrize("spread", ["wide", "narrow", "ties", "huge"])
def test_pages_come_out_best_first_and_ties_by_the_lowest_id(spread: str, rng: np.random.Generator) -> None:
    """Raises and pops in turn; pages come back after they were taken, as in RankMass."""
    n = 400
    priority, queue = np.zeros(n), queues.new_queue(n)
    for _ in range(300):
        pages = rng.integers(0, n, rng.integers(1, 60))
        amounts = {
            "wide": 10.0 ** rng.uniform(-290, 1, len(pages)),
            "narrow": rng.uniform(0.5, 0.6, len(pages)),
            "ties": rng.choice([0.25, 0.5, 1.0], len(pages)),
            "huge": 10.0 ** rng.uniform(15, 40, len(pages)),
        }[spread]
        queue = queues.with_room(queue, len(pages))
        raise_all(pages, amounts, priority, priority.view(np.int64), *queue)
        for _ in range(rng.integers(0, 40)):
            expected = best(priority)
            page, queue = popped(queue, priority)
            assert page == expected
    while True:
        expected = best(priority)
        page, queue = popped(queue, priority)
        assert page == expected
        if page == queues.NONE:
            break


def test_it_says_when_there_is_no_room_and_keeps_everything_when_enlarged(rng: np.random.Generator) -> None:
    n = 200_000
    priority, queue = np.zeros(n), queues.new_queue(10)
    order = rng.permutation(n)
    for start in range(0, n, 1000):
        pages = order[start : start + 1000]
        if is_full(*queue, 1000):
            queue = queues.with_room(queue, 1000)
        assert not is_full(*queue, 1000)
        raise_all(pages, rng.random(1000), priority, priority.view(np.int64), *queue)
    expected = np.lexsort((np.arange(n), -priority))
    found = []
    for _ in range(n):
        page, queue = popped(queue, priority)
        found.append(page)
    assert found == expected.tolist()


def test_a_page_removed_by_its_priority_is_skipped() -> None:
    priority, queue = np.zeros(3), queues.with_room(queues.new_queue(3), 10)
    raise_all(np.array([0, 1, 2]), np.array([0.3, 0.2, 0.1]), priority, priority.view(np.int64), *queue)
    priority[1] = -1.0
    assert popped(queue, priority)[0] == 0
    assert popped(queue, priority)[0] == 2
    assert popped(queue, priority)[0] == queues.NONE


def test_memory_stays_small_when_priorities_keep_changing(rng: np.random.Generator) -> None:
    """Stale entries are freed as their buckets are visited."""
    n = 1000
    priority, queue = np.zeros(n), queues.new_queue(n)
    for _ in range(2000):
        queue = queues.with_room(queue, 200)
        raise_all(rng.integers(0, n, 200), rng.random(200), priority, priority.view(np.int64), *queue)
        for _ in range(100):
            _, queue = popped(queue, priority)
    assert queue.pool.nbytes + queue.heap.nbytes < 4_000_000


def test_pages_that_only_rise_fill_no_memory_and_stay_in_order(rng: np.random.Generator) -> None:
    """Nothing is taken, as where fetched pages gather mass below the priority of the next page to fetch."""
    n = 1000
    priority, queue = np.zeros(n), queues.with_room(queues.new_queue(n), n)
    bits = priority.view(np.int64)
    raise_all(np.arange(n), np.full(n, 0.5), priority, bits, *queue)
    for _ in range(1000):
        assert int(queues.best(*queue, priority, bits)) == best(priority)
        queue = queues.with_room(queue, 200)
        raise_all(rng.integers(0, n, 200), rng.choice([1e-5, 2e-5], 200), priority, bits, *queue)
    assert queue.heap.nbytes < 200_000
    found = []
    expected = np.lexsort((np.arange(n), -priority)).tolist()
    for _ in range(n):
        page, queue = popped(queue, priority)
        found.append(page)
    assert found == expected


def test_a_new_queue_holds_nothing_of_other_memory() -> None:
    """A checkpoint contains the whole arrays, and memory that was used before may contain cookies and passwords."""
    for _ in range(20):
        used = [np.full(array.nbytes, 0xAB, np.uint8) for array in queues.new_queue(10) for _ in range(4)]
        del used
        assert not any((array.view(np.uint8) == 0xAB).any() for array in queues.new_queue(10))
