"""Navigational Rank and hub values equal their definitions."""

from __future__ import annotations

import numpy as np
import pytest

import orienteer as ori
from orienteer.graph import navigational, shapes
from orienteer.graph.navigational import KnownLinks, navigational_rank
from orienteer.policies.scent import mean_over_sources, settle_hub_values
from tests.conftest import random_web
from tests.tables import over_rows


def known_matrix(web: ori.LinkGraph, fetched: np.ndarray) -> np.ndarray:
    """[v, u] is 1 where v was fetched and links to u."""
    matrix = np.zeros((web.n_pages, web.n_pages))
    for page in np.flatnonzero(fetched):
        matrix[page, web.links(page)] = 1
    return matrix


def dense_navigational_rank(
    web: ori.LinkGraph, relevance: np.ndarray, fetched: np.ndarray, s: float, mean: bool
) -> tuple[np.ndarray, np.ndarray]:
    links = known_matrix(web, fetched)
    n_in, n_out = np.maximum(links.sum(axis=0), 1), np.maximum(links.sum(axis=1), 1)
    to_sources = links / n_in / (n_out[:, None] if mean else 1)
    to_targets = (links / n_out[:, None] / n_in).T
    one = np.eye(web.n_pages)
    up = np.linalg.solve(one - (1 - s) * to_sources, s * relevance * fetched)
    return up, np.linalg.solve(one - (1 - s) * to_targets, s * up)


def random_case(rng: np.random.Generator, n: int) -> tuple[ori.LinkGraph, np.ndarray, np.ndarray]:
    web = random_web(rng, n, 3.0)
    fetched = rng.random(n) < rng.choice([0.1, 0.5, 0.9, 1.0])
    relevance = (rng.random(n) < 0.1) * rng.choice([np.ones(n), rng.random(n)])
    return web, relevance, fetched


@pytest.mark.parametrize("gather", ["mean", "sum"])
@pytest.mark.parametrize("own_share", [0.2, 0.05, 1.0])
def test_it_equals_the_dense_reference(gather: str, own_share: float, rng: np.random.Generator) -> None:
    for n in (1, 2, 5, 30, 120):
        for _ in range(5):
            web, relevance, fetched = random_case(rng, n)
            found = navigational_rank(web, relevance, fetched, own_share, gather)
            truth = dense_navigational_rank(web, relevance, fetched, own_share, gather == "mean")
            for values, true in zip(found, truth, strict=True):
                np.testing.assert_allclose(values, true, rtol=0, atol=1e-12)


@pytest.mark.parametrize("mean", [True, False])
@pytest.mark.parametrize("error", [1e-2, 1e-4, 1e-7])
def test_the_error_is_within_its_bound_wherever_it_starts(mean: bool, error: float, rng: np.random.Generator) -> None:
    for _ in range(20):
        web, relevance, fetched = random_case(rng, 60)
        matrix = known_matrix(web, fetched)
        known = web.only_links_of(fetched)
        links = KnownLinks(known.offsets[:-1], known.offsets[1:], known.targets, matrix.sum(axis=0).astype(np.int64))
        up, down = rng.random(60), rng.random(60)
        navigational.climb(links, relevance * fetched, up, 0.2, mean, error)
        true_up, _ = dense_navigational_rank(web, relevance, fetched, 0.2, mean)
        assert np.abs(up - true_up).max() <= error
        navigational.descend(links, true_up, down, 0.2, True, error)
        n_in, n_out = np.maximum(matrix.sum(axis=0), 1), np.maximum(matrix.sum(axis=1), 1)
        to_targets = (matrix / n_out[:, None] / n_in).T
        assert np.abs(down - np.linalg.solve(np.eye(60) - 0.8 * to_targets, 0.2 * true_up)).max() <= error


def test_a_page_that_links_to_everything_leads_nowhere() -> None:
    # 0 links to all, 1 to the two relevant pages alone
    web = ori.LinkGraph.from_links(12, [0] * 11 + [1] * 2, [*range(1, 12), 2, 3])
    relevance = np.isin(np.arange(12), [2, 3]).astype(float)
    up, _ = navigational_rank(web, relevance, range(12))
    assert up[1] > 3 * up[0]
    summed, _ = navigational_rank(web, relevance, range(12), gather="sum")
    assert summed[0] > summed[1]


def test_an_unfetched_page_scores_by_its_sources_alone() -> None:
    web = shapes.chain(4)
    up, down = navigational_rank(web, [0, 1, 1, 1], fetched=[True, True, False, False])
    assert up.tolist() == [0.8 * 0.2, 0.2, 0, 0]
    assert down[2] == pytest.approx(0.8 * down[1])
    assert down[3] == 0


@over_rows(
    ("arguments", "message"),
    [
        ({"relevance": [1, 0]}, "relevance: 2 values for 3 pages"),
        ({"relevance": [1, 0, 2]}, "page 2 has 2.0; it must be from 0 to 1"),
        ({"relevance": [1, 0, float("nan")]}, "page 2 has nan"),
        ({"relevance": ["a", "b", "c"]}, "expected one number per page"),
        ({"fetched": [7]}, "page 7 is not in the graph"),
        ({"fetched": [True]}, "1 marks for 3 pages"),
        ({"own_share": 0}, "own_share is 0"),
        ({"gather": "media"}, "no way to gather named 'media'"),
    ],
)
def test_unusable_arguments_are_one_clear_line(arguments: dict, message: str) -> None:
    with pytest.raises(ori.InputError, match=message):
        navigational_rank(shapes.chain(3), **({"relevance": [0, 0, 1], "fetched": [0]} | arguments))


def test_hub_values_equal_their_definition(rng: np.random.Generator) -> None:
    for n in (1, 5, 40, 120):
        web, relevance, fetched = random_case(rng, n)
        matrix = known_matrix(web, fetched)
        judged = fetched & (rng.random(n) < 0.9)
        mean = float(relevance[judged].mean()) if judged.any() else 0.0
        hub = np.zeros(n)
        for _ in range(200):
            worth = (relevance + (1 - relevance) * 0.3 * hub) * judged
            hub = (matrix @ worth + 2 * mean) / (matrix @ judged + 2)
        known = web.only_links_of(fetched)
        n_in = matrix.sum(axis=0).astype(np.int64)
        links = KnownLinks(known.offsets[:-1], known.offsets[1:], known.targets, n_in)
        found = rng.random(n)
        settle_hub_values(links, relevance * judged, judged, mean, found)
        np.testing.assert_allclose(found, hub, rtol=0, atol=1e-9)
        np.testing.assert_allclose(mean_over_sources(links, found), matrix.T @ found / np.maximum(n_in, 1))
