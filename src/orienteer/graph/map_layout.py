"""Layout of the map of a web: non-overlapping circles for its regions, hosts or folders.

Areas are proportional to ranks (with a smallest visible radius), and regions that exchange much mass are close to each
other. The regions with the most rank are the *suns*; the others are placed near a sun:

1. A maximum spanning forest grows from the suns along the links with the most mass. It assigns each region to a sun,
   and so determines the room that each sun needs.
2. A force-directed layout positions the suns: they repel each other, links attract, and a weak force pulls to the
   centre.
3. From the largest to the smallest, each sun takes the free position nearest to its position in that layout. Then the
   others, in the order in which the forest grew, take the free position nearest to their parent. Regions that no link
   connects with a sun come last, outside the others.

The layout is deterministic. The forces cost the square of the number of suns, which is bounded; free positions are
searched on circles of increasing radius, with a grid of the circles already placed.
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

_SUN_GAP, _SUN_GAP_OF_FEW = 0.18, 1.2  # between suns; few suns get a larger gap, which has room for their names
_PACKED = 0.55  # the share of a room that its circles and half the gaps between them fill
_N_LINKS = 8  # the strongest links of each region, in and out, that the layout uses
_N_STEPS = 400
_GOLDEN_ANGLE = math.pi * (3 - math.sqrt(5))
_CELL = 0.25  # of the grid


class Layout(NamedTuple):
    """Circles, centred as a whole on (0, 0); the largest has the radius 1."""

    x: NDArray[np.float64]
    y: NDArray[np.float64]
    radius: NDArray[np.float64]


def strongest(
    n: int, sources: NDArray[np.int32], targets: NDArray[np.int32], mass: NDArray[np.float64], k: int
) -> NDArray[np.int64]:
    """Return the indices of the links among the k with the most mass from their source, or to their target."""
    is_strong = np.zeros(len(mass), np.bool_)
    for ends in (sources, targets):
        order = np.lexsort((-mass, ends))
        first = np.searchsorted(ends[order], np.arange(n))
        is_strong[order[np.arange(len(mass)) - first[ends[order]] < k]] = True
    return np.flatnonzero(is_strong)


class _Forest(NamedTuple):
    """`order` lists the regions as they were added; `grew_from`, the parent, is -1 for suns and isolated trees."""

    order: NDArray[np.int64]
    grew_from: NDArray[np.int64]
    sun: NDArray[np.int64]


def map_layout(
    rank: NDArray[np.float64], sources: NDArray[np.int32], targets: NDArray[np.int32], mass: NDArray[np.float64]
) -> Layout:
    """Return the layout of regions with these ranks and this mass on the links between them."""
    n = len(rank)
    if n == 0:
        return Layout(*np.zeros((3, 0)))
    radius = np.maximum(np.sqrt(rank / max(float(rank.max()), 1e-300)), DOT)
    by_rank = np.argsort(-rank, kind="stable")
    suns = by_rank[:N_SUNS]
    strong = strongest(n, sources, targets, mass, _N_LINKS)
    first, other, weight = _undirected(n, sources[strong], targets[strong], mass[strong])
    forest = _grown_forest(by_rank, len(suns), first, other, weight)
    room = _room(radius, forest)
    gap = _SUN_GAP + _SUN_GAP_OF_FEW / (1 + n / 5)
    preferred = _force_positions(suns, room[suns] + gap / 2, first, other, weight)
    x, y = _final_positions(suns, preferred, gap, forest, radius, room)
    return _centred(x, y, radius)


def _undirected(
    n: int, sources: NDArray[np.int32], targets: NDArray[np.int32], mass: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Return rows of neighbours in either direction: row offsets, neighbours, total mass between the two."""
    start, end = np.concatenate((sources, targets)).astype(np.int64), np.concatenate((targets, sources))
    pairs, at = np.unique(start * n + end, return_inverse=True)
    weight = np.bincount(at, np.concatenate((mass, mass)), len(pairs)).astype(np.float64)
    first = np.searchsorted(pairs, np.arange(n + 1) * n)
    return first, pairs % n, weight


def _grown_forest(
    by_rank: NDArray[np.int64],
    n_suns: int,
    first: NDArray[np.int64],
    other: NDArray[np.int64],
    weight: NDArray[np.float64],
) -> _Forest:
    """Grow a maximum spanning forest by Prim's algorithm; without a link to a new region, a new tree begins."""
    n = len(by_rank)
    grew_from, sun = np.full((2, n), -1)
    is_in = np.zeros(n, np.bool_)
    order: list[int] = []
    waiting: list[tuple[float, int, int]] = []

    def add(region: int, parent: int, of_sun: int) -> None:
        is_in[region], grew_from[region], sun[region] = True, parent, of_sun
        order.append(region)
        for k in range(first[region], first[region + 1]):
            if not is_in[other[k]]:
                heapq.heappush(waiting, (-float(weight[k]), int(other[k]), region))

    for position, root in enumerate(by_rank.tolist()):
        if not is_in[root]:
            add(root, -1, root if position < n_suns else -1)
        while waiting and position >= n_suns - 1:
            _, region, parent = heapq.heappop(waiting)
            if not is_in[region]:
                add(region, parent, int(sun[parent]))
    return _Forest(np.array(order), grew_from, sun)


def _room(radius: NDArray[np.float64], forest: _Forest) -> NDArray[np.float64]:
    """Return the radius of the room that each sun needs for itself and its satellites; others need only their own."""
    room = radius.copy()
    is_satellite = (forest.sun >= 0) & (forest.grew_from >= 0)
    area = np.bincount(forest.sun[is_satellite], (radius[is_satellite] + GAP / 2) ** 2 / _PACKED, len(radius))
    return np.asarray(np.sqrt(room**2 + area))


def _force_positions(
    suns: NDArray[np.int64],
    room: NDArray[np.float64],
    first: NDArray[np.int64],
    other: NDArray[np.int64],
    weight: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return the positions (x, y) of the suns in the force-directed layout."""
    n = len(suns)
    pull = np.zeros((n, n))
    position = np.full(len(first) - 1, -1)
    position[suns] = np.arange(n)
    for k, sun in enumerate(suns.tolist()):
        row = slice(first[sun], first[sun + 1])
        near = position[other[row]]
        pull[k, near[near >= 0]] = weight[row][near >= 0]
    # Masses differ by orders of magnitude; their fourth roots give forces of comparable size.
    pull = (pull / max(float(pull.max(initial=0)), 1e-300)) ** 0.25
    angle = np.arange(n) * _GOLDEN_ANGLE
    distance = np.sqrt(np.arange(n)) * 2 * float(room.mean())
    positions = np.asfortranarray(np.column_stack((distance * np.cos(angle), distance * np.sin(angle))))
    _move(positions[:, 0], positions[:, 1], room, float(room.mean()), pull, _N_STEPS)
    return positions


def _final_positions(
    suns: NDArray[np.int64],
    preferred: NDArray[np.float64],
    gap: float,
    forest: _Forest,
    radius: NDArray[np.float64],
    room: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return the final positions of all regions, as x and y."""
    x, y = positions = np.zeros((2, len(radius)))
    half_width = 2 * math.sqrt(float((room[suns] ** 2).sum()))
    _place_suns(suns, preferred, room, gap, _new_grid(suns, room, half_width, float(room[suns].mean())), x, y)
    reach = float((np.hypot(x[suns], y[suns]) + room[suns]).max())
    grid = _new_grid(forest.order, radius, 1.5 * reach + 1, _CELL)
    for sun in suns.tolist():
        _insert(grid, sun, x, y, radius)
    start_angle = (
        np.arange(len(radius)) * _GOLDEN_ANGLE
    )  # spread the first directions, so that no side of the map fills first
    others = forest.order[len(suns) :]
    _place_others(others, forest.grew_from, radius, np.zeros(len(radius)), start_angle, reach, grid, x, y)
    return positions


def _centred(x: NDArray[np.float64], y: NDArray[np.float64], radius: NDArray[np.float64]) -> Layout:
    """Move the centre of the bounding box of all circles to (0, 0)."""
    middle_x = ((x - radius).min() + (x + radius).max()) / 2
    middle_y = ((y - radius).min() + (y + radius).max()) / 2
    return Layout(x - middle_x, y - middle_y, radius)


# The kernels below are loops over scalars only: array operations would take seconds more to compile, and the user waits
# for the first map.


@allocating_kernel
def _move(x: Any, y: Any, room: Any, spread: float, pull: Any, n_steps: int) -> None:
    """Fruchterman and Reingold's forces: at equilibrium, two circles connected by a full pull touch each other."""
    n = len(x)
    force_x, force_y = np.empty(n), np.empty(n)
    for step in range(n_steps):
        longest = 2.0 * spread * (1 - step / n_steps) ** 1.5 + 0.01 * spread
        for i in range(n):
            # To the centre, in proportion to size: large regions are in the centre unless links pull them elsewhere.
            force_x[i], force_y[i] = -x[i] * room[i] / spread, -y[i] * room[i] / spread
        for i in range(n):
            for j in range(i):
                dx, dy = x[i] - x[j], y[i] - y[j]
                distance = max(math.sqrt(dx * dx + dy * dy), 1e-6)
                ideal = room[i] + room[j]
                force = (ideal * ideal / distance - pull[i, j] * distance * distance / ideal) / distance
                force_x[i] += force * dx
                force_y[i] += force * dy
                force_x[j] -= force * dx
                force_y[j] -= force * dy
        for i in range(n):
            length = max(math.sqrt(force_x[i] * force_x[i] + force_y[i] * force_y[i]), 1e-12)
            x[i] += force_x[i] / length * min(length, longest)
            y[i] += force_y[i] / length * min(length, longest)


@allocating_kernel
def _place_suns(suns: Any, preferred: Any, room: Any, gap: float, grid: Any, x: Any, y: Any) -> None:
    """Place each sun nearest to its preferred position, and reserve the room of its satellites."""
    for k in range(len(suns)):
        _settle(suns[k], preferred[k, 0], preferred[k, 1], 0.0, 0.0, room, gap, grid, x, y)


@allocating_kernel
def _place_others(
    others: Any, grew_from: Any, radius: Any, nearest: Any, start_angle: Any, reach: float, grid: Any, x: Any, y: Any
) -> None:
    """Place each region nearest to its parent, and regions without a parent outside all others.

    For each parent, `nearest` and `start_angle` are where the search for its next child's position begins.
    """
    for k in range(len(others)):
        region, parent = others[k], grew_from[others[k]]
        if parent < 0:
            reach, start_angle[region] = _settle(
                region, 0.0, 0.0, reach, start_angle[region], radius, 2 * GAP, grid, x, y
            )
            continue
        start = max(nearest[parent], radius[parent] + radius[region] + GAP)
        found, start_angle[parent] = _settle(
            region, x[parent], y[parent], start, start_angle[parent], radius, GAP, grid, x, y
        )
        nearest[parent] = found - radius[region]


@allocating_kernel
def _settle(
    region: int, at_x: float, at_y: float, start: float, start_angle: float, radius: Any, gap: float, grid: Any, x: Any,
    y: Any,
) -> tuple[float, float]:  # fmt: skip
    """Take the first free position on circles about (at_x, at_y), from the radius `start` and `start_angle` on.

    Return the radius and the angle of the position.
    """
    step = max(0.5 * (radius[region] + gap), GAP)
    distance = start
    while True:
        n_positions = max(1, int(2 * math.pi * distance / step))
        for k in range(n_positions):
            angle = start_angle + 2 * math.pi * k / n_positions
            x[region], y[region] = at_x + distance * math.cos(angle), at_y + distance * math.sin(angle)
            if _is_free(grid, region, x, y, radius, gap):
                _insert(grid, region, x, y, radius)
                return distance, angle
        distance += step


# The grid: each cell has a chain of the circles whose bounding boxes touch it; cells at the edge extend to infinity.


def _new_grid(regions: NDArray[np.int64], radius: NDArray[np.float64], half_width: float, cell: float) -> Any:
    """Return an empty grid with room for these circles: chain heads, entries (next, circle), count, dimensions."""
    side = math.ceil(2 * half_width / cell) + 1
    n_cells = (2 * radius[regions] / cell).astype(np.int64) + 2  # each way, that a circle touches
    n_entries = int((n_cells**2).sum())
    return np.full(side * side, -1), np.empty((n_entries, 2), np.int64), np.zeros(1, np.int64), side, half_width, cell


@allocating_kernel
def _cell(at: float, side: int, half_width: float, cell: float) -> int:
    return min(max(int((at + half_width) / cell), 0), side - 1)


@allocating_kernel
def _insert(grid: Any, region: int, x: Any, y: Any, radius: Any) -> None:
    chains, entries, n_entries, side, half_width, cell = grid
    r = radius[region]
    for row in range(_cell(y[region] - r, side, half_width, cell), _cell(y[region] + r, side, half_width, cell) + 1):
        for column in range(
            _cell(x[region] - r, side, half_width, cell), _cell(x[region] + r, side, half_width, cell) + 1
        ):
            entry = n_entries[0]
            entries[entry, 0], entries[entry, 1] = chains[row * side + column], region
            chains[row * side + column] = entry
            n_entries[0] += 1


@allocating_kernel
def _is_free(grid: Any, region: int, x: Any, y: Any, radius: Any, gap: float) -> bool:
    chains, entries, _, side, half_width, cell = grid
    r = radius[region] + gap
    for row in range(_cell(y[region] - r, side, half_width, cell), _cell(y[region] + r, side, half_width, cell) + 1):
        for column in range(
            _cell(x[region] - r, side, half_width, cell), _cell(x[region] + r, side, half_width, cell) + 1
        ):
            entry = chains[row * side + column]
            while entry >= 0:
                other = entries[entry, 1]
                dx, dy = x[region] - x[other], y[region] - y[other]
                if dx * dx + dy * dy < (r + radius[other]) ** 2:
                    return False
                entry = entries[entry, 0]
    return True
