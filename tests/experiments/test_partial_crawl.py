from __future__ import annotations

from collections import deque

import numpy as np
import pytest

import orienteer as ori
from experiments.partial_crawl import CLICKED_SHARE, SPAM_SHARE, made_up_value, partial_crawl
from orienteer.graph import synthetic as shapes
from orienteer.graph.link_graph import LinkGraph
from tests.conftest import random_web


def crawled_slowly(graph: LinkGraph, n_wanted: int, n_entries: int, rng: int) -> set[int]:
    """A breadth-first crawl that enters at some random pages, and at more where it runs dry."""
    entries = np.random.default_rng(rng).permutation(graph.n_pages).tolist()
    queue = deque(entries[:n_entries])
    crawled: set[int] = set()
    while len(crawled) < n_wanted:
        if not queue:
            queue.append(next(page for page in entries if page not in crawled))
        page = queue.popleft()
        crawled.add(page)
        queue.extend(target for target in graph.links(page).tolist() if target not in crawled | set(queue))
    return crawled


@pytest.mark.parametrize("entry_share", [0.0, 0.04, 1.0])
@pytest.mark.parametrize("share", [0.01, 0.3, 0.5, 1.0])
def test_the_crawled_part_equals_a_slow_crawl(rng: np.random.Generator, share: float, entry_share: float) -> None:
    for draw in range(3):
        web = random_web(rng, 150, 1.5)
        crawl = partial_crawl(web, share, draw, entry_share)
        crawled = crawled_slowly(web, round(share * 150), round(entry_share * 150), draw)
        assert set(crawl.pages.tolist()) == crawled
        for place, page in enumerate(crawl.pages.tolist()):
            links = set(web.links(page).tolist())
            assert {int(crawl.pages[target]) for target in crawl.graph.links(place)} == links & crawled
            assert crawl.n_uncrawled[place] == len(links - crawled)


def test_values_follow_the_rule(rng: np.random.Generator) -> None:
    crawl = partial_crawl(random_web(rng, 400, 3.0), 0.5)
    value = made_up_value(crawl, rng=7) - crawl.n_uncrawled
    assert np.count_nonzero(value == -10) == round(200 * SPAM_SHARE)
    assert np.count_nonzero(value == 10) == round(200 * CLICKED_SHARE)
    assert np.count_nonzero(value == 1) == 200 - round(200 * SPAM_SHARE) - round(200 * CLICKED_SHARE)
    assert (made_up_value(crawl, rng=7) == made_up_value(crawl, rng=7)).all()
    assert (made_up_value(crawl, rng=7) != made_up_value(crawl, rng=8)).any()


@pytest.mark.parametrize("share", [0.0, -0.5, 1.5])
def test_a_share_is_a_share(share: float) -> None:
    with pytest.raises(ori.InputError, match=f"^share is {share}"):
        partial_crawl(shapes.cycle(4), share)


@pytest.mark.parametrize("share", [-0.5, 1.5])
def test_an_entry_share_is_one_too(share: float) -> None:
    with pytest.raises(ori.InputError, match=f"entry_share is {share}"):
        partial_crawl(shapes.cycle(4), entry_share=share)
