"""The law of sharded certificates (docs/theory/sharding.md): what a sharded crawl could claim, whatever goes wrong.

Sharding is not built. The test documents that the law holds, for crawls beyond one machine.
"""

from __future__ import annotations

import numpy as np
import pytest

from orienteer.graph.link_graph import LinkGraph
from tests.laws.sharded_crawl import DAMPING, Bounds, Faults, ShardedCrawl, bounds_of

ROUNDING = 1e-12
ALL_FAULTS = Faults(loss=0.05, doubling=0.1, kill=0.03)


def random_web(rng: np.random.Generator) -> LinkGraph:
    """Dangling pages, isolated pages, pages with the same links (so that masses tie),
    and a tree, in which no mass ever comes back and the bound is tight."""
    n = int(rng.integers(60, 160))
    n_links = int(rng.integers(1, 4) * n)
    sources, targets = rng.integers(0, n, n_links), (n * rng.random(n_links) ** 2).astype(int)
    is_odd = rng.random(n) < 0.25
    selected = ~(is_odd[sources] & (rng.random(n_links) < 0.9)) & (targets < n - 5)  # the last five stay isolated
    twins = rng.integers(0, n - 5, (2, 3 * 5))
    parents = np.arange(n - 5) // 3
    tree = np.flatnonzero(parents != np.arange(n - 5)) if rng.random() < 0.5 else np.empty(0, int)
    keeps_graph = rng.random() < 0.7 or len(tree) == 0
    pairs = [(parents[tree], tree)]
    if keeps_graph:
        pairs += [(sources[selected], targets[selected]), (twins[0], np.repeat(twins[1][:5], 3))]
    all_sources, all_targets = (np.concatenate(columns) for columns in zip(*pairs, strict=True))
    return LinkGraph.from_links(n, all_sources, all_targets, hosts=rng.integers(0, 20, n))


def true_rank(web: LinkGraph, trust: np.ndarray) -> np.ndarray:
    """PageRank by its definition, with dense matrices; from a dangling page the surfer starts again."""
    steps = np.zeros((web.n_pages, web.n_pages))
    for page in range(web.n_pages):
        links = web.links(page)
        steps[:, page] = trust
        if len(links):
            steps[:, page] = 0.0
            steps[links, page] = 1.0 / len(links)
    return np.linalg.solve(np.eye(web.n_pages) - DAMPING * steps, (1.0 - DAMPING) * trust)


def cuts_of(seed: int, faults: Faults, n_steps: int = 1200) -> list[tuple[Bounds, float]]:
    """Cuts of a crawl: the bounds that each says, and what is true of the pages that are fetched by its reports."""
    rng = np.random.default_rng(seed)
    web = random_web(rng)
    trust = np.zeros(web.n_pages)
    trust[:5] = rng.dirichlet(np.ones(5)) if rng.random() < 0.5 else 0.2
    rank = true_rank(web, trust)
    crawl = ShardedCrawl(web, trust, int(rng.integers(2, 6)), faults, rng)
    cuts = []
    for step in range(n_steps):
        crawl.step()
        if step % 7 == 0 and (reports := crawl.look()) is not None:
            fetched = sorted(frozenset().union(*(one.fetched for one in reports)))
            cuts.append((bounds_of(reports), float(rank[fetched].sum())))
    assert not faults.kill or crawl.n_kills > 0
    return cuts


@pytest.mark.parametrize(
    "faults",
    [Faults(), Faults(kill=0.03), Faults(doubling=0.1), ALL_FAULTS],
    ids=["no faults", "kills", "doubled messages", "all faults"],
)
def test_both_bounds_hold_in_every_cut(faults: Faults) -> None:
    for seed in range(8):
        cuts = cuts_of(seed, faults)
        assert len(cuts) > 100, seed
        for bounds, true in cuts:
            assert bounds.lower <= true + ROUNDING, seed
            assert bounds.upper >= true - ROUNDING, seed


def test_they_say_something() -> None:
    """Where no message is lost the lower bound comes near the truth."""
    last = [cuts_of(seed, Faults(), n_steps=4000)[-1] for seed in range(3)]
    print([(bounds.lower, true) for bounds, true in last])
    assert min(bounds.lower - true for bounds, true in last) > -0.05
    assert max(bounds.lower for bounds, _ in last) > 0.9


def worst(faults: Faults, name: str) -> float:
    """By how much a bound claims too much, at most, over all cuts of some crawls."""
    over = [getattr(bounds, name) - true for seed in range(6) for bounds, true in cuts_of(seed, faults)]
    print(f"seeds 0 to 5, {faults}: {name} too high in {sum(o > ROUNDING for o in over)} of {len(over)} cuts, "
          f"by up to {max(over):.3f}")  # fmt: skip
    return max(over)


def test_the_sum_over_shards_of_what_one_brain_would_claim_is_unsound() -> None:
    """It takes for covered what is on its way."""
    assert worst(Faults(), "naive") > 0.01


def test_a_message_that_counts_twice_makes_it_unsound() -> None:
    assert worst(Faults(doubling=0.3, numbered=False), "lower") > ROUNDING


def test_a_message_that_leaves_before_it_is_committed_makes_it_unsound() -> None:
    """The shard dies, fetches the page once more, and sends the mass a second time."""
    assert worst(Faults(kill=0.09, committed=False, numbered=False), "lower") > ROUNDING
