"""Pages that link to a page, against the definition."""

from __future__ import annotations

import numpy as np
import pytest

from orienteer.graph.growing_graph import GrowingGraph, sources_of
from tests.conftest import random_web


def reference(web: GrowingGraph, page: int, rank: np.ndarray) -> tuple[int, int]:
    """How many link to the page, and the first of those that pass on the most."""
    sources = [source for source in range(web.n_pages) if page in web.links(source)]
    passed_on = [rank[source] / len(web.links(source)) for source in sources]
    return len(sources), sources[int(np.argmax(passed_on))] if sources else -1


@pytest.mark.parametrize("ties", [False, True])
def test_sources_are_those_of_the_definition(rng: np.random.Generator, ties: bool) -> None:
    for n_pages in (2, 5, 40):
        graph = random_web(rng, n_pages)
        web = GrowingGraph()
        web.grow_to(n_pages)
        web.add_batch(np.arange(n_pages), graph.offsets, graph.targets)
        web.add(0, web.links(0))  # its old links stay behind, and do not count
        rank = np.ones(n_pages) if ties else rng.random(n_pages)
        pages = rng.permutation(n_pages)[: n_pages // 2 + 1]
        found = sources_of(web, pages, rank)
        expected = [reference(web, page, rank) for page in pages]
        assert list(zip(found.counts.tolist(), found.strongest.tolist(), strict=True)) == expected


def test_no_pages_have_no_sources() -> None:
    web = GrowingGraph()
    web.add(0, [1])
    found = sources_of(web, [], np.ones(2))
    assert (len(found.counts), len(found.strongest)) == (0, 0)
