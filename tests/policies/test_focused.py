"""Focused policies on webs small enough to draw, and against their definitions."""

from __future__ import annotations

import numpy as np
import pytest

import orienteer as ori
from orienteer.graph.growing_graph import GrowingGraph
from orienteer.policies import make_policy
from orienteer.policies.focused import AboutPage, LabelledWeb, LinkWords
from orienteer.policies.policy import TrustedPages
from orienteer.policies.scent import LinkBayes
from orienteer.policies.trained import Apprentice, ContextGraph, WordClasses, path_credit
from tests.conftest import random_web
from tests.graph.test_navigational import dense_navigational_rank
from tests.policies import reference
from tests.policies.topics import labelled


@pytest.mark.parametrize("gather", ["mean", "sum"])
def test_navigational_fetches_as_defined(gather: str, rng: np.random.Generator) -> None:
    """At each recomputation the best pages come first, by the dense definition on what is known then."""
    for _ in range(2):
        web = random_web(rng, 150, 4.0)
        relevance = (rng.random(150) < 0.1).astype(float)
        start = int(np.argmax(web.out_degrees()))
        order = ori.simulate(web, "navigational", [start], relevance=relevance, batch=7, growth=0, gather=gather).order
        for n in range(7, len(order), 7):
            known = set(order[:n].tolist()) | {target for page in order[:n] for target in web.links(page).tolist()}
            fetched = np.isin(np.arange(150), order[:n])
            scores = dense_navigational_rank(web, relevance, fetched, 0.2, gather == "mean")[1]
            next_pages = [page for page in order[n : n + 7].tolist() if page in known]
            assert len(next_pages) == min(7, len(known) - n)
            waiting = [scores[page] for page in known if page not in order[: n + len(next_pages)]]
            values = [*(scores[page] for page in next_pages), max(waiting, default=0.0)]
            assert (np.diff(values) <= 1e-9).all()


def test_personalized_pagerank_is_pagerank_from_the_targets(rng: np.random.Generator) -> None:
    web = random_web(rng, 80, 4.0)
    relevance = (rng.random(80) < 0.2) * 1.0
    policy = make_policy("personalized-pagerank")
    growing = GrowingGraph()
    growing.grow_to(80)
    policy.begin(growing, TrustedPages(np.array([0], np.uint32), np.ones(1)))
    fetched = rng.choice(80, 50, replace=False)
    for page in fetched.tolist():
        growing.add(page, web.links(page))
        policy.learn(page, AboutPage(float(relevance[page])), growing)
        policy.fetched(page, growing)
    mask = np.isin(np.arange(80), fetched)
    truth = ori.pagerank(web.only_links_of(mask), relevance * mask, tolerance=1e-12)
    found = policy.scores(growing)
    np.testing.assert_allclose(found / found.sum(), truth, atol=1e-8)


@pytest.mark.parametrize("name", ["navigational", "personalized-pagerank"])
def test_until_a_target_is_found_the_order_is_breadth_first(name: str, rng: np.random.Generator) -> None:
    web = random_web(rng, 200, 3.0)
    trust = np.zeros(200)
    trust[:3] = 1 / 3
    order = ori.simulate(web, name, trust, relevance=np.zeros(200)).order
    assert order.tolist() == reference.breadth_first(web, trust)


def test_scent_leaves_a_hub_that_broke_its_promise() -> None:
    # 0 links to the hubs 1 and 2 with twenty pages each, and to a page of both: one of 1 is relevant, and all of 2 are.
    sources = [0, 0, 0, 0, *[1] * 20, *[2] * 20]
    web = ori.LinkGraph.from_links(43, sources, [1, 2, 3, 23, *range(3, 23), *range(23, 43)])
    relevance = (np.arange(43) >= 23) * 1.0
    relevance[3] = 1
    order = ori.simulate(web, "scent", [0], relevance=relevance, batch=4, growth=0).order
    assert relevance[order[:30]].sum() >= 15


def test_words_are_believed_as_far_as_they_were_right(rng: np.random.Generator) -> None:
    honest, random = LinkBayes(), LinkBayes()
    for page in range(300):
        relevance = float(rng.random() < 0.2)
        for bayes, said in ((honest, relevance), (random, float(rng.random() < 0.2))):
            words = np.array([7 if said else 8, rng.integers(20, 40)], np.uint32)
            bayes.add_links(LinkWords(np.array([page], np.uint32), np.array([0, 2]), words), page + 1)
            bayes.add_trial(page, np.log(0.25), relevance)
            bayes.judge(page, relevance)
    assert honest.weight() > 0.5
    assert random.weight() < 0.3
    assert honest.log_odds(np.array([10_000])).tolist() == [0.0]
    waiting = LinkWords(np.array([300, 301], np.uint32), np.array([0, 1, 2]), np.array([7, 8], np.uint32))
    honest.add_links(waiting, 302)
    good, bad = honest.log_odds(np.array([300, 301]))
    assert good > 2 > 0 > bad


def test_credit_goes_along_the_shortest_path() -> None:
    # 0 -> 1 -> 3 -> 4 and 0 -> 2 -> 4: the target 4 is reached by way of 2
    web = ori.LinkGraph.from_links(5, [0, 0, 1, 3, 2], [1, 2, 3, 4, 4])
    credit = path_credit(web, np.array([0, 0, 0, 0, 1]) > 0, 0, 0.5)
    assert credit.tolist() == [0.25, 0, 0.5, 0, 1]


def test_classes_of_words_are_naive_bayes(rng: np.random.Generator) -> None:
    classes = WordClasses(2)
    classes.add(np.array([0, 1]), np.array([0, 3, 4]), np.array([1, 1, 2, 3], np.uint32))
    counts = np.zeros((2, 1 << 16)) + 0.1
    counts[0, 1], counts[0, 2], counts[1, 3] = 2.1, 1.1, 1.1
    likelihood = counts / counts.sum(axis=1, keepdims=True)
    expected = likelihood[:, 1] * likelihood[:, 3] * 0.5
    found = classes.chances(np.array([0, 2, 2]), np.array([1, 3], np.uint32))
    np.testing.assert_allclose(found, [expected / expected.sum(), [0.5, 0.5]])


@pytest.mark.parametrize("policy", [ContextGraph(), Apprentice()])
def test_a_site_to_learn_from_needs_labels_and_text(policy, rng: np.random.Generator) -> None:
    web = random_web(rng, 30)
    for site in (LabelledWeb(web), LabelledWeb(web, np.ones(30)), labelled(web, rng)._replace(relevance=np.zeros(30))):
        with pytest.raises(ori.InputError, match="a training site needs text, and at least one relevant page"):
            policy.train([site])


@pytest.mark.parametrize("name", ["context-graph", "apprentice"])
def test_without_training_it_is_breadth_first(name: str, rng: np.random.Generator) -> None:
    web = random_web(rng, 200, 3.0)
    topic = labelled(web, rng)
    trust = np.zeros(200)
    trust[:3] = 1 / 3
    order = ori.simulate(web, name, trust, relevance=topic.relevance, text=topic.text).order
    assert order.tolist() == reference.breadth_first(web, trust)
