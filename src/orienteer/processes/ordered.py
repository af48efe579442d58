"""Apply a function to many items in several processes; results come in the order of the items.

    with in_order(reading, (folder,), ((row, row.place) for row in rows), n_processes) as read:
        for row, content in read: ...

The input are pairs of a key, which stays in this process, and an item, which is sent to a process. The output are pairs
of the key and the result, or `Failed` (see `pool`). Items are consumed lazily, so that there may be any number of them.
"""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import Any, TypeVar

from orienteer.processes.parallelism import MIN_ITEMS, default_process_count
from orienteer.processes.pool import Failed, Opening, ProcessPool, opened_pool

_Key = TypeVar("_Key")
_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


@contextlib.contextmanager
def in_order(
    opening: Opening[_Item, _Result],
    arguments: tuple[Any, ...],
    items: Iterable[tuple[_Key, _Item]],
    n_processes: int | None = None,
) -> Iterator[Iterator[tuple[_Key, _Result | Failed]]]:
    """By default `n_processes` depends on the number of items; with 1 no process is started."""
    rest = iter(items)
    if n_processes is None:
        first = list(islice(rest, MIN_ITEMS))
        n_processes = default_process_count(len(first))
        rest = chain(first, rest)
    with opened_pool(opening, arguments, n_processes) as pool:
        yield _results(pool, rest)


def _results(
    pool: ProcessPool[_Item, _Result], items: Iterator[tuple[_Key, _Item]]
) -> Iterator[tuple[_Key, _Result | Failed]]:
    in_flight: deque[_Key] = deque()
    for key, item in items:
        in_flight.append(key)
        pool.put(item)
        while not pool.has_room:
            yield in_flight.popleft(), pool.take()
    while in_flight:
        yield in_flight.popleft(), pool.take()
