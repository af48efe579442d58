"""Where the regions of a web stand on a map: a circle for each, no two of them overlapping.

Areas are in proportion to ranks (but no circle is smaller than a dot that can be seen), and what exchanges much mass
stands together. The regions with the most rank are the *suns*; each of the others circles round a sun:

1. A forest is grown from the suns along the links with the most mass, the strongest first. It says who belongs to whom,
   and so how much room each sun needs.
2. Forces place the suns: all push each other away, links pull, and everything is drawn a little to the middle.
3. From the largest to the smallest, each sun takes the free place nearest to where the forces want it; then the others,
   in the order the forest grew, take the free place nearest to the region they grew from. What no link connects with a
   sun comes last, around the rest.

Everything is determined by the input: the same web gives the same map. The forces cost the square of the number of
suns, which is bounded; a place is looked for in circles of growing size, by a grid of what is near.
"""

from __future__ import annotations

import heapq
import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from orienteer.kernel import allocating_kernel

N_SUNS = 80
DOT = 0.035  # the smallest radius; the largest is 1
GAP = 0.03  # between a dot and anything else

_SUN_GAP, _SUN_GAP_OF_FEW = 0.18, 1.2  # between suns; where there are few of them, there is room for their names
_PACKED = 0.55  # of a room is filled by the circles in it and half the gaps around them
_N_LINKS = 8  # of each region, in and out, that have a say
_N_STEPS = 400
_GOLDEN_ANGLE = math.pi * (3 - math.sqrt(5))
_CELL = 0.25  # of the grid


class Layout(NamedTuple):
    """Circles around (0, 0); the largest has the radius 1."""

    x: NDArray[np.float64]
    y: NDArray[np.float64]
    radius: NDArray[np.float64]


def strongest(
    n: int, sources: NDArray[np.int32], targets: NDArray[np.int32], mass: NDArray[np.float64], k: int
) -> NDArray[np.int64]:
    """Which links are among the k with the most mass from their source, or to their target; in increasing order."""
    is_kept = np.zeros(len(mass), np.bool_)
    for ends in (sources, targets):
        order = np.lexsort((-mass, ends))
        first = np.searchsorted(ends[order], np.arange(n))
        is_kept[order[np.arange(len(mass)) - first[ends[order]] < k]] = True
    return np.flatnonzero(is_kept)


class _Forest(NamedTuple):
    """`order` is the one in which regions joined it; `grew_from` is -1 for suns and for what no link connects."""

    order: NDArray[np.int64]
    grew_from: NDArray[np.int64]
    sun: NDArray[np.int64]


def map_layout(
    rank: NDArray[np.float64], sources: NDArray[np.int32], targets: NDArray[np.int32], mass: NDArray[np.float64]
) -> Layout:
    """Circles for regions with these ranks, and this mass on the links between them."""
    n = len(rank)
    if n == 0:
        return Layout(*np.zeros((3, 0)))
    radius = np.maximum(np.sqrt(rank / max(float(rank.max()), 1e-300)), DOT)
    by_rank = np.argsort(-rank, kind="stable")
    suns = by_rank[:N_SUNS]
    kept = strongest(n, sources, targets, mass, _N_LINKS)
    first, other, weight = _both_ways(n, sources[kept], targets[kept], mass[kept])
    forest = _grown(by_rank, len(suns), first, other, weight)
    room = _room(radius, forest)
    gap = _SUN_GAP + _SUN_GAP_OF_FEW / (1 + n / 5)
    wanted = _pulled(suns, room[suns] + gap / 2, first, other, weight)
    x, y = _placed(suns, wanted, gap, forest, radius, room)
    return _centred(x, y, radius)


def _both_ways(
    n: int, sources: NDArray[np.int32], targets: NDArray[np.int32], mass: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Rows of neighbours, whichever way the link goes: where each row begins, the neighbours, the mass between."""
    here, there = np.concatenate((sources, targets)).astype(np.int64), np.concatenate((targets, sources))
    pairs, at = np.unique(here * n + there, return_inverse=True)
    weight = np.bincount(at, np.concatenate((mass, mass)), len(pairs)).astype(np.float64)
    first = np.searchsorted(pairs, np.arange(n + 1) * n)
    return first, pairs % n, weight


def _grown(
    by_rank: NDArray[np.int64],
    n_suns: int,
    first: NDArray[np.int64],
    other: NDArray[np.int64],
    weight: NDArray[np.float64],
) -> _Forest:
    """The strongest link from what is in to what is not decides who is next; where there is none, a new tree begins."""
    n = len(by_rank)
    grew_from, sun = np.full((2, n), -1)
    is_in = np.zeros(n, np.bool_)
    order: list[int] = []
    waiting: list[tuple[float, int, int]] = []

    def join(region: int, parent: int, of_sun: int) -> None:
        is_in[region], grew_from[region], sun[region] = True, parent, of_sun
        order.append(region)
        for k in range(first[region], first[region + 1]):
            if not is_in[other[k]]:
                heapq.heappush(waiting, (-float(weight[k]), int(other[k]), region))

    for place, root in enumerate(by_rank.tolist()):
        if not is_in[root]:
            join(root, -1, root if place < n_suns else -1)
        while waiting and place >= n_suns - 1:
            _, region, parent = heapq.heappop(waiting)
            if not is_in[region]:
                join(region, parent, int(sun[parent]))
    return _Forest(np.array(order), grew_from, sun)


def _room(radius: NDArray[np.float64], forest: _Forest) -> NDArray[np.float64]:
    """The radius of the room that each sun needs, with all that circles round it; others need room for themselves."""
    room = radius.copy()
    circling = (forest.sun >= 0) & (forest.grew_from >= 0)
    area = np.bincount(forest.sun[circling], (radius[circling] + GAP / 2) ** 2 / _PACKED, len(radius))
    return np.asarray(np.sqrt(room**2 + area))


def _pulled(
    suns: NDArray[np.int64],
    room: NDArray[np.float64],
    first: NDArray[np.int64],
    other: NDArray[np.int64],
    weight: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Where the forces would have the suns: a row (x, y) for each."""
    n = len(suns)
    pull = np.zeros((n, n))
    place = np.full(len(first) - 1, -1)
    place[suns] = np.arange(n)
    for k, sun in enumerate(suns.tolist()):
        row = slice(first[sun], first[sun + 1])
        near = place[other[row]]
        pull[k, near[near >= 0]] = weight[row][near >= 0]
    # Masses differ by orders of magnitude; their fourth roots pull with forces that can be compared.
    pull = (pull / max(float(pull.max(initial=0)), 1e-300)) ** 0.25
    angle = np.arange(n) * _GOLDEN_ANGLE
    distance = np.sqrt(np.arange(n)) * 2 * float(room.mean())
    places = np.asfortranarray(np.column_stack((distance * np.cos(angle), distance * np.sin(angle))))
    _move(places[:, 0], places[:, 1], room, float(room.mean()), pull, _N_STEPS)
    return places


def _placed(
    suns: NDArray[np.int64],
    wanted: NDArray[np.float64],
    gap: float,
    forest: _Forest,
    radius: NDArray[np.float64],
    room: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Where everything is in the end: x and y."""
    x, y = places = np.zeros((2, len(radius)))
    half = 2 * math.sqrt(float((room[suns] ** 2).sum()))
    _place_suns(suns, wanted, room, gap, _new_grid(suns, room, half, float(room[suns].mean())), x, y)
    reach = float((np.hypot(x[suns], y[suns]) + room[suns]).max())
    taken = _new_grid(forest.order, radius, 1.5 * reach + 1, _CELL)
    for sun in suns.tolist():
        _note(taken, sun, x, y, radius)
    turn = np.arange(len(radius)) * _GOLDEN_ANGLE  # so that no side of all is the first to be filled
    others = forest.order[len(suns) :]
    _place_others(others, forest.grew_from, radius, np.zeros(len(radius)), turn, reach, taken, x, y)
    return places


def _centred(x: NDArray[np.float64], y: NDArray[np.float64], radius: NDArray[np.float64]) -> Layout:
    """The middle of the box around all circles is at (0, 0)."""
    middle_x = ((x - radius).min() + (x + radius).max()) / 2
    middle_y = ((y - radius).min() + (y + radius).max()) / 2
    return Layout(x - middle_x, y - middle_y, radius)


# The kernels below are loops over single numbers throughout: operations on arrays would take seconds more to compile,
# and somebody is waiting for the first map.


@allocating_kernel
def _move(x: Any, y: Any, room: Any, spread: float, pull: Any, n_steps: int) -> None:
    """Fruchterman and Reingold's forces: two circles that a full pull connects come to rest side by side."""
    n = len(x)
    moves_x, moves_y = np.empty(n), np.empty(n)
    for step in range(n_steps):
        longest = 2.0 * spread * (1 - step / n_steps) ** 1.5 + 0.01 * spread
        for i in range(n):
            # To the middle, the more the larger: what is large stands in the middle where nothing else decides.
            moves_x[i], moves_y[i] = -x[i] * room[i] / spread, -y[i] * room[i] / spread
        for i in range(n):
            for j in range(i):
                dx, dy = x[i] - x[j], y[i] - y[j]
                distance = max(math.sqrt(dx * dx + dy * dy), 1e-6)
                rest = room[i] + room[j]
                force = (rest * rest / distance - pull[i, j] * distance * distance / rest) / distance
                moves_x[i] += force * dx
                moves_y[i] += force * dy
                moves_x[j] -= force * dx
                moves_y[j] -= force * dy
        for i in range(n):
            length = max(math.sqrt(moves_x[i] * moves_x[i] + moves_y[i] * moves_y[i]), 1e-12)
            x[i] += moves_x[i] / length * min(length, longest)
            y[i] += moves_y[i] / length * min(length, longest)


@allocating_kernel
def _place_suns(suns: Any, wanted: Any, room: Any, gap: float, taken: Any, x: Any, y: Any) -> None:
    """Each nearest to where it is wanted; it keeps the room of all that circles round it free of other suns."""
    for k in range(len(suns)):
        _settle(suns[k], wanted[k, 0], wanted[k, 1], 0.0, 0.0, room, gap, taken, x, y)


@allocating_kernel
def _place_others(
    others: Any, grew_from: Any, radius: Any, nearest: Any, turn: Any, reach: float, taken: Any, x: Any, y: Any
) -> None:
    """Each nearest to what it grew from; what grew from nothing outside of all.

    `nearest` is how far from each region the search for its next neighbour's place begins, `turn` on which side.
    """
    for k in range(len(others)):
        region, parent = others[k], grew_from[others[k]]
        if parent < 0:
            reach, turn[region] = _settle(region, 0.0, 0.0, reach, turn[region], radius, 2 * GAP, taken, x, y)
            continue
        start = max(nearest[parent], radius[parent] + radius[region] + GAP)
        found, turn[parent] = _settle(region, x[parent], y[parent], start, turn[parent], radius, GAP, taken, x, y)
        nearest[parent] = found - radius[region]


@allocating_kernel
def _settle(
    region: int, at_x: float, at_y: float, start: float, turn: float, radius: Any, gap: float, taken: Any, x: Any,
    y: Any,
) -> tuple[float, float]:  # fmt: skip
    """Take the first free place on circles around (at_x, at_y), from radius `start` and the angle `turn` on.

    The radius and the angle where it was.
    """
    step = max(0.5 * (radius[region] + gap), GAP)
    distance = start
    while True:
        n_places = max(1, int(2 * math.pi * distance / step))
        for k in range(n_places):
            angle = turn + 2 * math.pi * k / n_places
            x[region], y[region] = at_x + distance * math.cos(angle), at_y + distance * math.sin(angle)
            if _is_free(taken, region, x, y, radius, gap):
                _note(taken, region, x, y, radius)
                return distance, angle
        distance += step


# The grid: each cell has a chain of the circles whose boxes touch it. What is beyond its edge is in the cells there.


def _new_grid(regions: NDArray[np.int64], radius: NDArray[np.float64], half: float, cell: float) -> Any:
    """Room for these circles, from -half to half both ways: first in chain by cell, next and circle by entry, count."""
    side = math.ceil(2 * half / cell) + 1
    n_cells = (2 * radius[regions] / cell).astype(np.int64) + 2  # each way, that a circle touches
    n_entries = int((n_cells**2).sum())
    return np.full(side * side, -1), np.empty((n_entries, 2), np.int64), np.zeros(1, np.int64), side, half, cell


@allocating_kernel
def _cell(at: float, side: int, half: float, cell: float) -> int:
    return min(max(int((at + half) / cell), 0), side - 1)


@allocating_kernel
def _note(grid: Any, region: int, x: Any, y: Any, radius: Any) -> None:
    chains, entries, n_entries, side, half, cell = grid
    r = radius[region]
    for row in range(_cell(y[region] - r, side, half, cell), _cell(y[region] + r, side, half, cell) + 1):
        for column in range(_cell(x[region] - r, side, half, cell), _cell(x[region] + r, side, half, cell) + 1):
            entry = n_entries[0]
            entries[entry, 0], entries[entry, 1] = chains[row * side + column], region
            chains[row * side + column] = entry
            n_entries[0] += 1


@allocating_kernel
def _is_free(grid: Any, region: int, x: Any, y: Any, radius: Any, gap: float) -> bool:
    chains, entries, _, side, half, cell = grid
    r = radius[region] + gap
    for row in range(_cell(y[region] - r, side, half, cell), _cell(y[region] + r, side, half, cell) + 1):
        for column in range(_cell(x[region] - r, side, half, cell), _cell(x[region] + r, side, half, cell) + 1):
            entry = chains[row * side + column]
            while entry >= 0:
                other = entries[entry, 1]
                dx, dy = x[region] - x[other], y[region] - y[other]
                if dx * dx + dy * dy < (r + radius[other]) ** 2:
                    return False
                entry = entries[entry, 0]
    return True
