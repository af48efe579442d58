from __future__ import annotations

from itertools import islice
from pathlib import Path

import numpy as np

from experiments.hard_site import hard_site
from experiments.real_data import RealData
from experiments.topic_tasks import TopicTask, hard_tasks, real_tasks, restricted
from experiments.webs import Webs
from orienteer.graph.link_graph import LinkGraph
from orienteer.policies.focused import LabelledWeb, WebText
from tests.experiments.made_up_data import experiment_with


def labelled(relevance: list[float], page_words: list[list[int]]) -> LabelledWeb:
    """A chain whose links say the number of their target."""
    n = len(relevance)
    graph = LinkGraph.from_links(n, np.arange(n - 1), np.arange(1, n))
    bounds = np.cumsum([0, *map(len, page_words)]).astype(np.int64)
    words = np.concatenate([np.array(row, np.uint32) for row in page_words])
    text = WebText(np.arange(n, dtype=np.int64), np.arange(1, n, dtype=np.uint32), bounds, words)
    return LabelledWeb(graph, np.array(relevance), text)


def test_a_part_of_a_web_keeps_its_links_and_words() -> None:
    web = labelled([0, 1, 0, 1], [[7], [8, 8], [], [9]])
    part = restricted(web, np.array([0, 1, 3]))
    assert part.graph.offsets.tolist() == [0, 1, 1, 1]
    assert part.graph.targets.tolist() == [1]
    assert part.relevance is not None
    assert part.relevance.tolist() == [0, 1, 1]
    assert part.text is not None
    assert part.text.link_words.tolist() == [1]
    assert (part.text.offsets.tolist(), part.text.words.tolist()) == ([0, 1, 3, 4], [7, 8, 8, 9])


def test_a_classifier_scores_pages_by_words_of_its_training() -> None:
    training = labelled([0, 1, 0, 1], [[5, 5], [6, 6], [5], [6]])
    web = labelled([1, 0, 0], [[6], [5], []])
    predicted = TopicTask("group", "name", False, web, 0, training).predicted()
    assert predicted[0] > 0.8
    assert predicted[1] < 0.2
    assert np.isclose(predicted[2], 0.5)


def test_a_hard_site_is_learned_on_another() -> None:
    (task,) = islice(hard_tasks([3]), 1)
    assert (task.group, task.name, task.start) == ("hard", "site 3", 0)
    assert np.array_equal(task.web.relevance, hard_site(3).relevance)
    assert not np.array_equal(task.web.relevance, task.training.relevance)


def test_without_data_there_are_no_tasks(tmp_path: Path) -> None:
    assert real_tasks(RealData(experiment_with(tmp_path), Webs(tmp_path, quick=False))) == []
