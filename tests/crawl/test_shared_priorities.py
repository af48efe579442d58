"""A frontier with the shared priorities of a policy, compared with a dict of pages."""

from __future__ import annotations

import numpy as np
import pytest

from orienteer.crawl.frontier import LAST, Frontier
from orienteer.crawl.politeness import ANY_TIME, Politeness
from orienteer.graph.growing_graph import PageHosts
from tests.tables import over_rows

N = 60


def best_of(waiting: dict[int, float]) -> list[tuple[int, float]]:
    return sorted(waiting.items(), key=lambda item: (-item[1], item[0]))


@over_rows("politeness", [ANY_TIME, Politeness(delay_s=0.0, connections=1000)], ids=["any time", "hosts"])
@over_rows("seed", range(40))
def test_any_sequence_is_that_of_a_dict(seed: int, politeness: Politeness) -> None:
    print(f"seed {seed}")
    rng = np.random.default_rng(seed)
    hosts = PageHosts()
    hosts.set(np.arange(N), rng.integers(0, 7, N))
    priorities, states = np.zeros(N), np.zeros(N, np.uint8)
    frontier, waiting, own = Frontier(politeness, hosts), {}, {}
    frontier.share(priorities)
    for _ in range(120):
        what = rng.random()
        if what < 0.5:  # priorities of several pages rise at once, and a page has links
            changed = rng.integers(0, N, rng.integers(0, 12)).astype(np.uint32)
            links = np.unique(rng.integers(0, N, rng.integers(0, 8))).astype(np.uint32)
            for page in changed.tolist():
                priorities[page] += rng.choice([0.25, 0.5, rng.random()])
            for page in changed.tolist():
                if states[page] == 0:
                    own.pop(page, None)
                    waiting[page] = priorities[page]
            for page in links.tolist():
                if states[page] == 0 and waiting.get(page, LAST) == LAST:
                    own.pop(page, None)
                    waiting[page] = priorities[page]
            for page in waiting:
                waiting[page] = own.get(page, priorities[page])
            frontier.follow(changed, links, states)
        elif what < 0.65:  # some are put there with their own priorities
            pages = rng.integers(0, N, 3)
            pages = pages[states[pages] == 0]
            values = rng.choice([LAST, 0.0, 0.5, 9.0, rng.random()], len(pages))
            frontier.put(pages, values)
            own |= dict(zip(pages.tolist(), values.tolist(), strict=True))
            waiting |= dict(zip(pages.tolist(), values.tolist(), strict=True))
        elif what < 0.75:
            page = int(rng.integers(N))
            frontier.remove(page)
            waiting.pop(page, None)
            own.pop(page, None)
        elif what < 0.95:
            taken = frontier.take_entry(0.0)
            assert (None if taken is None else taken[:2]) == (best_of(waiting)[0] if waiting else None)
            if taken is not None:
                assert taken[2] == (taken[0] in own)
                waiting.pop(taken[0])
                own.pop(taken[0], None)
                states[taken[0]] = 2
        else:
            host = int(rng.integers(7))
            frontier.share_slot([host], np.flatnonzero(hosts.array[:N] == host), int(rng.integers(7)))
        assert frontier.best_first(N) == best_of(waiting)
        assert len(frontier) == len(waiting)
        for page in range(N):
            assert (page in frontier) == (page in waiting)


def test_the_array_must_reach_as_far_as_the_pages() -> None:
    frontier = Frontier()
    frontier.share(np.zeros(3))
    with pytest.raises(ValueError, match="3 priorities, and none of page 5"):
        frontier.follow(np.empty(0, np.uint32), np.array([5], np.uint32), np.zeros(6, np.uint8))


def test_a_frontier_with_its_own_priorities_shares_none() -> None:
    frontier = Frontier()
    frontier.put([1], [0.5])
    with pytest.raises(ValueError, match="its own"):
        frontier.share(np.zeros(3))
