"""Work in several processes: results come in order, whoever dies."""

from __future__ import annotations

import itertools
import os
import random
import signal
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from orienteer.errors import InputError, OrienteerError, ProcessError
from orienteer.processes import how_many
from orienteer.processes.ordered import in_order
from orienteer.processes.pool import Failed, Opening, opened_pool
from tests.processes import readings

# `test_child` has them begin at nothing.
pytestmark = [pytest.mark.long, pytest.mark.usefixtures("ready_child_processes")]

AHEAD = 2 * 12 * 16 + 16  # items in hand with two processes, at most


def pairs(items: Iterable[Any]) -> Iterator[tuple[Any, Any]]:
    return ((f"kept {item}", item) for item in items)


@pytest.mark.parametrize("n_processes", [1, 2, 3])
@pytest.mark.parametrize("n_items", [0, 1, 17, 2_000])
def test_results_are_in_order(n_processes: int, n_items: int) -> None:
    with in_order(readings.doubling, (5,), pairs(range(n_items)), n_processes) as results:
        found: Any = list(results)
    assert [(kept, result) for kept, (result, _) in found] == [(f"kept {k}", 2 * k + 5) for k in range(n_items)]
    workers = {pid for _, (_, pid) in found}
    assert (os.getpid() in workers) == (n_processes == 1 and n_items > 0)
    assert not readings.children(os.getpid())


def test_as_many_work_as_are_asked_for(tmp_path: Path) -> None:
    with in_order(readings.meeting, (tmp_path, 3), pairs(range(100)), 3) as results:
        assert [result for _, result in results] == list(range(100))
    assert len(list(tmp_path.iterdir())) == 3


def test_no_more_is_in_hand_than_is_allowed() -> None:
    asked = 0

    def endless() -> Iterator[tuple[int, int]]:
        nonlocal asked
        for asked in itertools.count():
            yield asked, asked

    with in_order(readings.doubling, (0,), endless(), 2) as results:
        for n_taken, (number, result) in enumerate(itertools.islice(results, 3_000)):
            assert not isinstance(result, Failed)
            assert result[0] == 2 * number
            assert asked - n_taken <= AHEAD
        assert readings.children(os.getpid())
    assert not readings.children(os.getpid())


def test_few_things_start_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(how_many, "usable_cores", lambda: 2)
    for n_items, is_here in ((how_many.FEW - 1, True), (how_many.FEW, False)):
        with in_order(readings.doubling, (0,), pairs(range(n_items))) as results:
            found: Any = list(results)
        assert {pid == os.getpid() for _, (_, pid) in found} == {is_here}
    monkeypatch.setattr(how_many, "usable_cores", lambda: 64)
    assert how_many.sensible_number(10**6) == how_many.MOST


def test_more_than_a_channel_holds_goes_both_ways() -> None:
    """Neither side waits for the other for ever."""
    texts = [chr(ord("a") + k % 26) * 100_000 for k in range(150)]
    with in_order(readings.long_texts, (1_000_000,), zip(texts, texts, strict=True), 2) as results:
        for text, result in results:
            assert isinstance(result, str)
            assert (result[0], len(result)) == (text[0], 1_000_000)


@pytest.mark.parametrize("bad", [{0}, {15, 16}, {47, 48, 49, 200}, {499}])
def test_what_kills_is_given_back_as_failed_and_all_else_is_done(bad: set[int], tmp_path: Path) -> None:
    mark = tmp_path / "deaths"
    with in_order(readings.deadly, (bad, mark), pairs(range(500)), 2) as results:
        found = [result for _, result in results]
    assert found == [Failed("killed by SIGKILL") if k in bad else k for k in range(500)]
    deaths = [int(line) for line in mark.read_text().split()]
    assert all(deaths.count(number) >= 2 for number in bad)  # nobody is given up at the first death


def test_one_for_whom_there_is_no_memory_is_failed() -> None:
    with in_order(readings.hungry, (), pairs(range(60)), 2) as results:
        found = [result for _, result in results]
    assert found == [Failed("MemoryError") if k == 40 else k for k in range(60)]


def all_of(reading: Opening[Any, Any], items: Iterable[int], n_processes: int) -> list[Any]:
    with in_order(reading, (), pairs(items), n_processes) as results:
        return [result for _, result in results]


@pytest.mark.parametrize("n_processes", [1, 2])
def test_an_exception_comes_out_in_its_turn(n_processes: int) -> None:
    with in_order(readings.complaining, (), pairs(range(500)), n_processes) as results:
        assert [result for _, result in itertools.islice(results, 100)] == list(range(100))
        with pytest.raises(InputError, match="^100 is too much$"):
            next(results)
    with pytest.raises(OrienteerError, match=r"needs abacus: pip install 'orienteer\[counting\]'"):
        all_of(readings.complaining, [101], n_processes)
    with pytest.raises(KeyError, match="nobody expects this"):
        all_of(readings.complaining, [102], n_processes)


@pytest.mark.parametrize("n_processes", [1, 2])
def test_what_cannot_be_opened_is_told_in_one_line(n_processes: int) -> None:
    with pytest.raises(InputError, match="^there is nothing here to be read$"):
        all_of(readings.refusing, range(500), n_processes)


def test_where_no_process_gets_ready_it_ends() -> None:
    with pytest.raises(ProcessError, match=r"5 processes in a row ended .* killed by SIGKILL"):
        all_of(readings.stillborn, range(500), 2)


def test_where_only_one_gets_ready_it_goes_on_alone(tmp_path: Path) -> None:
    mark = tmp_path / "first"
    with in_order(readings.only_one, (mark,), pairs(range(3_000)), 2) as results:
        assert [result for _, result in results] == list(range(3_000))
    assert len(list(mark.iterdir())) == 5


def test_killed_from_outside_at_random_nothing_is_lost(fresh_rng: random.Random) -> None:
    """Each time whoever gave the last result; the next time when nothing is in hand that it had."""
    next_kill = fresh_rng.randrange(AHEAD)
    killed = set()
    with in_order(readings.doubling, (0,), pairs(range(6_000)), 2) as results:
        for number, (_, result) in enumerate(results):
            assert not isinstance(result, Failed)
            assert result[0] == 2 * number
            if number >= next_kill and result[1] not in killed:
                os.kill(result[1], signal.SIGKILL)
                killed.add(result[1])
                next_kill = number + AHEAD + fresh_rng.randrange(AHEAD)
    assert len(killed) > 3


def test_what_was_put_in_is_taken_out_bit_by_bit() -> None:
    """A pool is put into and taken from in any rhythm."""
    with opened_pool(readings.doubling, (0,), 2) as pool:
        for n in (1, 40, 3, 100, 0, 16):
            for number in range(n):
                pool.put(number)
            for number in range(n):
                result = pool.take()
                assert not isinstance(result, Failed)
                assert result[0] == 2 * number
        assert pool.has_room


@pytest.mark.parametrize("n_processes", [1, 2])
def test_what_cannot_be_done_is_failed_and_all_else_is_done(n_processes: int) -> None:
    with in_order(readings.incapable, (7,), pairs(range(40)), n_processes) as results:
        found = [result for _, result in results]
    assert [result for result in found if isinstance(result, Failed)] == [Failed(f"{n} is refused", died=False) for n in
                                                                         range(0, 40, 7)]  # fmt: skip
    assert [result for result in found if not isinstance(result, Failed)] == [n for n in range(40) if n % 7]
