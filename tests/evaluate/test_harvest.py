"""Harvest curves equal counting by hand; the hard site is hard."""

from __future__ import annotations

import numpy as np
import pytest

import orienteer as ori
from experiments.hard_site import hard_site
from orienteer.evaluate.harvest import Task, compare_harvests, harvest, harvest_policies
from orienteer.graph import shapes
from orienteer.graph.reach import distances
from orienteer.policies.trained import Apprentice, ContextGraph
from tests.conftest import random_web
from tests.policies.topics import FOCUSED, labelled

pytestmark = pytest.mark.slow


def test_a_harvest_is_counted() -> None:
    targets = np.array([False, True, True, False, True])
    found = harvest("by hand", np.array([0, 1, 3, 2, 4]), targets)
    assert found.area == pytest.approx(np.mean([0, 1 / 3, 1 / 3, 2 / 3, 1]))
    assert found.pages_until == (4, 5)
    assert found.curve.values[-1] == 1


def test_all_focused_policies_are_compared_and_the_best_is_first(rng: np.random.Generator) -> None:
    web = random_web(rng, 300, 4.0)
    topic = labelled(web, rng)
    task = Task.of(web, int(np.argmax(web.out_degrees())), topic.relevance, text=topic.text, name="a task")
    found = compare_harvests(task)
    assert {result.policy for result in found.results} == set(harvest_policies()) > set(FOCUSED)
    areas = [result.area for result in found.results]
    assert areas == sorted(areas, reverse=True)
    assert max(areas) <= found.best_area
    assert found.as_dict()["policies"][0]["pages_until"].keys() == {"0.5", "0.9"}


def test_targets_out_of_reach_do_not_count() -> None:
    web = ori.LinkGraph.from_links(4, [0, 2], [1, 3])
    found = compare_harvests(Task.of(web, 0, [0, 1, 0, 1]), ["breadth-first"])
    assert (found.n_targets, found.n_reached) == (1, 2)


@pytest.mark.parametrize(
    ("start", "relevance", "message"),
    [
        (0, [0, 0, 0], "labels: no page is relevant"),
        (2, [1, 0, 0], "no relevant page can be reached from the start"),
        (9, [1, 0, 0], "page 9 is not in the graph"),
        (0, [1, 0], "2 values for 3 pages"),
    ],
)
def test_a_task_without_targets_is_one_clear_line(start: int, relevance: list[float], message: str) -> None:
    with pytest.raises(ori.InputError, match=message):
        Task.of(shapes.chain(3), start, relevance)


def test_on_hard_sites_navigational_rank_beats_the_published_baselines() -> None:
    """On two sites; `experiments/navigational` has three more, on one of which the targets come last of all."""
    names = ["breadth-first", "personalized-pagerank", "context-graph", "apprentice", "navigational"]
    areas = np.zeros((2, len(names)))
    for number in range(2):
        site = hard_site(1 + number)
        assert site.relevance is not None
        targets = np.flatnonzero(site.relevance)
        assert len(targets) < 0.03 * site.graph.n_pages
        assert distances(site.graph, [0])[targets].min() > 6
        trained = {"context-graph": ContextGraph(), "apprentice": Apprentice()}
        for policy in trained.values():
            policy.train([hard_site(11 + number)])
        found = compare_harvests(Task.of(site.graph, 0, site.relevance, text=site.text), names, trained)
        by_name = {result.policy: result.area for result in found.results}
        areas[number] = [by_name[name] for name in names]
    means = areas.mean(axis=0)
    assert means[-1] > means[:-1].max() + 0.05
    assert (areas[:, -1] > areas[:, :-1].max(axis=1)).all()
