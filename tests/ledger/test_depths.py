"""Depths, against a dictionary."""

from __future__ import annotations

import numpy as np

from orienteer.ledger.event_replay import Depths
from tests.tables import over_rows


@over_rows("seed", range(5))
def test_a_page_is_as_deep_as_its_shortest_way(seed: int) -> None:
    rng = np.random.default_rng(seed)
    depths, expected = Depths(), dict[int, int]()
    for _ in range(400):
        pages = rng.integers(0, int(rng.choice([10, 1_000, 30_000])), int(rng.integers(0, 50)))
        depth = int(rng.choice([0, 1, 2, 5, 70_000]))
        kind = rng.choice(["list", "int64", "uint32"])
        depths.reach(pages.tolist() if kind == "list" else pages.astype(kind), depth)
        for page in pages.tolist():
            expected[page] = min(expected.get(page, 70_000), depth)
    for page in range(30_000):
        assert depths.of(page) == min(expected.get(page, 0), 65_000), f"seed {seed}, page {page}"
    assert depths.of(10**6) == 0
