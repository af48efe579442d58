"""Circles on a map: none overlap, areas are ranks, neighbours are near, the same web gives the same map."""

from __future__ import annotations

import numpy as np
import pytest

from orienteer.graph.map_layout import DOT, Layout, map_layout, strongest

Web = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def web(rng: np.random.Generator, n: int, n_links: int) -> Web:
    """Ranks with a heavy tail, and links between any two of them."""
    rank = rng.pareto(1.0, n) + 1e-3
    sources, targets = rng.integers(0, n, (2, n_links)).astype(np.int32)
    apart = sources != targets
    return rank / rank.sum(), sources[apart], targets[apart], rng.pareto(1.0, int(apart.sum())) * 1e-3


def no_links(rank: np.ndarray) -> Web:
    return rank, np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0)


def overlaps(layout: Layout) -> int:
    """Pairs of circles that have a point in common."""
    x, y, radius = layout
    distances = np.hypot(x[:, None] - x, y[:, None] - y)
    return int(np.triu(distances < radius[:, None] + radius, 1).sum())


@pytest.mark.parametrize(("n", "n_links"), [(1, 0), (2, 2), (5, 12), (60, 300), (300, 900), (1500, 4000), (1500, 0)])
def test_no_two_circles_overlap(rng: np.random.Generator, n: int, n_links: int) -> None:
    layout = map_layout(*web(rng, n, n_links))
    assert all(np.isfinite(values).all() for values in layout)
    assert overlaps(layout) == 0


def test_thousands_of_regions_linked_to_one(rng: np.random.Generator) -> None:
    n = 2_000
    rank = np.full(n, 1e-5)
    rank[0] = 1 - rank[1:].sum()
    others = np.arange(1, n, dtype=np.int32)
    layout = map_layout(rank, others, np.zeros(n - 1, np.int32), rng.random(n - 1) * 1e-5)
    assert overlaps(layout) == 0
    distance = np.hypot(layout.x - layout.x[0], layout.y - layout.y[0])
    # It is full to about a half: nothing strays.
    assert distance.max() < 3 * np.sqrt((layout.radius**2).sum())


def test_areas_are_in_proportion_to_ranks_down_to_a_dot() -> None:
    layout = map_layout(*no_links(np.array([0.8, 0.2, 1e-9])))
    assert layout.radius == pytest.approx([1.0, 0.5, DOT])


def test_linked_regions_are_close(rng: np.random.Generator) -> None:
    """Eight rings of ten that no link connects: one's neighbours in the ring are nearer than the others."""
    n = 80
    ring = np.arange(n) // 10
    sources = np.arange(n, dtype=np.int32)
    targets = (10 * ring + (sources + 1) % 10).astype(np.int32)
    layout = map_layout(np.full(n, 1 / n), sources, targets, np.full(n, 0.01))
    distances = np.hypot(layout.x[:, None] - layout.x, layout.y[:, None] - layout.y)
    same = ring[:, None] == ring
    assert distances[same].sum() / (same.sum() - n) < 0.6 * distances[~same].mean()


def test_a_small_region_is_next_to_its_target(rng: np.random.Generator) -> None:
    rank = web(rng, 400, 0)[0]
    small = np.argsort(-rank)[80:]
    chosen = rng.choice(np.argsort(-rank)[:80], len(small))
    layout = map_layout(rank, small.astype(np.int32), chosen.astype(np.int32), np.full(len(small), 1e-4))
    suns = np.argsort(-rank)[:80]
    gaps = np.hypot(layout.x[small][:, None] - layout.x[suns], layout.y[small][:, None] - layout.y[suns])
    nearest = suns[np.argmin(gaps - layout.radius[suns], axis=1)]
    assert (nearest == chosen).mean() > 0.8


def test_the_same_web_gives_the_same_map(rng: np.random.Generator) -> None:
    given = web(rng, 200, 700)
    one, other = map_layout(*given), map_layout(*given)
    assert all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


def test_it_is_centred(rng: np.random.Generator) -> None:
    x, y, radius = map_layout(*web(rng, 50, 100))
    assert (x - radius).min() == pytest.approx(-(x + radius).max())
    assert (y - radius).min() == pytest.approx(-(y + radius).max())


def test_no_region_and_no_rank() -> None:
    assert len(map_layout(*no_links(np.empty(0))).x) == 0
    assert overlaps(map_layout(*no_links(np.zeros(10)))) == 0


def test_the_strongest_links_of_each_end(rng: np.random.Generator) -> None:
    _, sources, targets, mass = web(rng, 20, 200)
    expected = set()
    for ends in (sources, targets):
        for region in range(20):
            mine = np.flatnonzero(ends == region)
            expected |= set(mine[np.argsort(-mass[mine], kind="stable")][:3].tolist())
    assert strongest(20, sources, targets, mass, 3).tolist() == sorted(expected)
