"""Process pools return results in order, also after crashes."""

from __future__ import annotations

import itertools
import os
import random
import signal
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from orienteer.errors import InputError, OrienteerError
from orienteer.processes import pool as parallelism
from orienteer.processes.pool import Failed, Opening, in_order, opened_pool
from tests.processes import jobs
from tests.tables import over_rows

# `test_child` starts them from scratch.
pytestmark = [pytest.mark.long, pytest.mark.usefixtures("ready_child_processes")]

MAX_IN_FLIGHT = 2 * 12 * 16 + 16  # items in flight with two processes, at most


def pairs(items: Iterable[Any]) -> Iterator[tuple[Any, Any]]:
    return ((f"key {item}", item) for item in items)


@over_rows("n_processes", [1, 2, 3])
@over_rows("n_items", [0, 1, 17, 2_000])
def test_results_are_in_order(n_processes: int, n_items: int) -> None:
    with in_order(jobs.doubling, (5,), pairs(range(n_items)), n_processes) as results:
        found: Any = list(results)
    assert [(key, result) for key, (result, _) in found] == [(f"key {k}", 2 * k + 5) for k in range(n_items)]
    workers = {pid for _, (_, pid) in found}
    assert (os.getpid() in workers) == (n_processes == 1 and n_items > 0)
    assert not jobs.children(os.getpid())


def test_the_given_number_of_processes_works(tmp_path: Path) -> None:
    with in_order(jobs.meeting, (tmp_path, 3), pairs(range(100)), 3) as results:
        assert [result for _, result in results] == list(range(100))
    assert len(list(tmp_path.iterdir())) == 3


def test_the_number_of_items_in_flight_is_limited() -> None:
    n_consumed = 0

    def endless() -> Iterator[tuple[int, int]]:
        nonlocal n_consumed
        for n_consumed in itertools.count():
            yield n_consumed, n_consumed

    with in_order(jobs.doubling, (0,), endless(), 2) as results:
        for n_taken, (number, result) in enumerate(itertools.islice(results, 3_000)):
            assert not isinstance(result, Failed)
            assert result[0] == 2 * number
            assert n_consumed - n_taken <= MAX_IN_FLIGHT
        assert jobs.children(os.getpid())
    assert not jobs.children(os.getpid())


def test_few_items_start_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallelism, "usable_cores", lambda: 2)
    for n_items, is_inline in ((parallelism.MIN_ITEMS - 1, True), (parallelism.MIN_ITEMS, False)):
        with in_order(jobs.doubling, (0,), pairs(range(n_items))) as results:
            found: Any = list(results)
        assert {pid == os.getpid() for _, (_, pid) in found} == {is_inline}
    monkeypatch.setattr(parallelism, "usable_cores", lambda: 64)
    assert parallelism.default_process_count(10**6) == parallelism.MAX_PROCESSES


def test_messages_larger_than_the_pipe_do_not_deadlock() -> None:
    """Neither side blocks the other forever."""
    texts = [chr(ord("a") + k % 26) * 100_000 for k in range(150)]
    with in_order(jobs.long_texts, (1_000_000,), zip(texts, texts, strict=True), 2) as results:
        for text, result in results:
            assert isinstance(result, str)
            assert (result[0], len(result)) == (text[0], 1_000_000)


@pytest.mark.parametrize("bad", [{0}, {15, 16}, {47, 48, 49, 200}, {499}])
def test_items_that_crash_processes_fail_and_others_do_not(bad: set[int], tmp_path: Path) -> None:
    log = tmp_path / "deaths"
    with in_order(jobs.killing, (bad, log), pairs(range(500)), 2) as results:
        found = [result for _, result in results]
    assert found == [Failed("killed by SIGKILL") if k in bad else k for k in range(500)]
    deaths = [int(line) for line in log.read_text().split()]
    assert all(deaths.count(number) >= 2 for number in bad)  # no item is abandoned at the first crash


def test_an_item_that_needs_too_much_memory_fails() -> None:
    with in_order(jobs.out_of_memory, (), pairs(range(60)), 2) as results:
        found = [result for _, result in results]
    assert found == [Failed("MemoryError") if k == 40 else k for k in range(60)]


def all_of(reading: Opening[Any, Any], items: Iterable[int], n_processes: int) -> list[Any]:
    with in_order(reading, (), pairs(items), n_processes) as results:
        return [result for _, result in results]


@pytest.mark.parametrize("n_processes", [1, 2])
def test_an_exception_is_raised_at_the_position_of_its_item(n_processes: int) -> None:
    with in_order(jobs.raising, (), pairs(range(500)), n_processes) as results:
        assert [result for _, result in itertools.islice(results, 100)] == list(range(100))
        with pytest.raises(InputError, match="^100 is too much$"):
            next(results)
    with pytest.raises(OrienteerError, match=r"needs abacus: pip install 'orienteer\[counting\]'"):
        all_of(jobs.raising, [101], n_processes)
    with pytest.raises(KeyError, match="unexpected"):
        all_of(jobs.raising, [102], n_processes)


@pytest.mark.parametrize("n_processes", [1, 2])
def test_an_error_at_start_is_one_line(n_processes: int) -> None:
    with pytest.raises(InputError, match="^there is nothing here to be read$"):
        all_of(jobs.refusing, range(500), n_processes)


def test_a_single_ready_process_is_enough(tmp_path: Path) -> None:
    log = tmp_path / "first"
    with in_order(jobs.only_one, (log,), pairs(range(3_000)), 2) as results:
        assert [result for _, result in results] == list(range(3_000))
    assert len(list(log.iterdir())) == 3


def test_randomly_killed_processes_lose_no_item(fresh_rng: random.Random) -> None:
    """Kill the process of the last result; the next time after all its items are done."""
    next_kill = fresh_rng.randrange(MAX_IN_FLIGHT)
    killed = set()
    with in_order(jobs.doubling, (0,), pairs(range(6_000)), 2) as results:
        for number, (_, result) in enumerate(results):
            assert not isinstance(result, Failed)
            assert result[0] == 2 * number
            if number >= next_kill and result[1] not in killed:
                os.kill(result[1], signal.SIGKILL)
                killed.add(result[1])
                next_kill = number + MAX_IN_FLIGHT + fresh_rng.randrange(MAX_IN_FLIGHT)
    assert len(killed) > 3


def test_items_can_be_put_and_taken_in_any_rhythm() -> None:
    """Calls of `put` and `take` can be interleaved in any order."""
    with opened_pool(jobs.doubling, (0,), 2) as pool:
        for n in (1, 40, 3, 100, 0, 16):
            for number in range(n):
                pool.put(number)
            for number in range(n):
                result = pool.take()
                assert not isinstance(result, Failed)
                assert result[0] == 2 * number
        assert pool.has_room


@pytest.mark.parametrize("n_processes", [1, 2])
def test_items_that_cannot_be_done_fail_and_others_do_not(n_processes: int) -> None:
    with in_order(jobs.partly_failing, (7,), pairs(range(40)), n_processes) as results:
        found = [result for _, result in results]
    assert [result for result in found if isinstance(result, Failed)] == [Failed(f"{n} is refused", died=False) for n in
                                                                         range(0, 40, 7)]  # fmt: skip
    assert [result for result in found if not isinstance(result, Failed)] == [n for n in range(40) if n % 7]
