from __future__ import annotations

import numpy as np
import pytest

import orienteer as ori
from orienteer.graph.growing_graph import GrowingGraph
from tests.conftest import random_web
from tests.tables import over_rows


def test_a_crawl_in_any_order_freezes_to_the_whole_web(rng: np.random.Generator) -> None:
    web = random_web(rng, 300, with_hosts=True)
    growing = GrowingGraph()
    growing.grow_to(300)
    for page in rng.permutation(300):
        noise = np.concatenate((web.links(page), web.links(page)[:1], [page]))  # repeats and a self-link
        growing.add(int(page), rng.permutation(noise))
    assert growing.n_links == web.n_links
    assert growing.fetched.all()
    assert growing.freeze(hosts=web.hosts) == web


def test_pages_become_known_by_links() -> None:
    growing = GrowingGraph()
    assert (growing.n_pages, growing.n_links) == (0, 0)
    growing.add(0, [5, 2])
    assert growing.n_pages == 6
    assert growing.fetched.tolist() == [True] + [False] * 5
    assert growing.links(0).tolist() == [2, 5]
    assert growing.links(4).tolist() == []
    growing.add(5, [])
    assert growing.fetched[5]


def test_a_page_fetched_again_has_its_new_links() -> None:
    growing = GrowingGraph()
    growing.add(0, [1, 2, 3])
    growing.add(0, [3])
    assert growing.n_links == 1
    growing.add_batch([1, 1], [0, 2, 3], [2, 3, 0])  # twice in one batch: the last one counts
    assert growing.n_links == 2
    assert growing.freeze().targets.tolist() == [3, 0]


def test_batches_are_csr() -> None:
    growing = GrowingGraph()
    growing.add_batch([0, 2, 1], [0, 2, 2, 3], [2, 1, 0])
    offsets, targets = growing.batch([1, 2, 0])
    assert offsets.tolist() == [0, 1, 1, 3]
    assert targets.tolist() == [0, 1, 2]
    assert np.add.reduce(growing.ends - growing.starts) == growing.n_links


def test_it_grows_past_its_first_room(rng: np.random.Generator) -> None:
    web = random_web(rng, 5000, 6)
    growing = GrowingGraph()
    for page in range(5000):
        growing.add(page, web.links(page))
    growing.grow_to(5000)
    assert growing.freeze() == web


@over_rows(
    ("arguments", "message"),
    [
        (([0], [0, 2], [1]), "offsets"),
        (([0], [1, 1], [1]), "offsets"),
        (([0, 1], [0, 1], [1]), "offsets"),
        (([-1], [0, 1], [1]), "page -1"),
        (([0], [0, 1], [-4]), "page -4"),
    ],
)
def test_unusable_batches_change_nothing(arguments: tuple, message: str) -> None:
    growing = GrowingGraph()
    with pytest.raises(ori.InputError, match=message):
        growing.add_batch(*arguments)
    assert (growing.n_pages, growing.n_links) == (0, 0)
