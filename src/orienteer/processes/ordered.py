"""A function over many items, by several processes, in the order of the items.

    with in_order(reading, (folder,), ((row, row.place) for row in rows), n_processes) as read:
        for row, content in read: ...

Pairs go in: what is kept here, and what is sent to a process. Pairs come out: what was kept, and the result, or
`Failed` (see `pool`). Items are asked for as they are needed, so that there may be any number of them.
"""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import Any, TypeVar

from orienteer.processes.how_many import FEW, sensible_number
from orienteer.processes.pool import Failed, Opening, Pool, opened_pool

_Kept = TypeVar("_Kept")
_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


@contextlib.contextmanager
def in_order(
    opening: Opening[_Item, _Result],
    arguments: tuple[Any, ...],
    items: Iterable[tuple[_Kept, _Item]],
    n_processes: int | None = None,
) -> Iterator[Iterator[tuple[_Kept, _Result | Failed]]]:
    """`n_processes` is a sensible number unless it is given: 1, and none is started, where there are few items."""
    rest = iter(items)
    if n_processes is None:
        first = list(islice(rest, FEW))
        n_processes = sensible_number(len(first))
        rest = chain(first, rest)
    with opened_pool(opening, arguments, n_processes) as pool:
        yield _results(pool, rest)


def _results(
    pool: Pool[_Item, _Result], items: Iterator[tuple[_Kept, _Item]]
) -> Iterator[tuple[_Kept, _Result | Failed]]:
    in_hand: deque[_Kept] = deque()
    for kept, item in items:
        in_hand.append(kept)
        pool.put(item)
        while not pool.has_room:
            yield in_hand.popleft(), pool.take()
    while in_hand:
        yield in_hand.popleft(), pool.take()
