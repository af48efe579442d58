"""Topics for webs without content: artificial relevance and words for focused policies."""

from __future__ import annotations

import numpy as np

from orienteer.graph.link_graph import LinkGraph
from orienteer.policies import all_policies, make_policy
from orienteer.policies.focused import FocusedPolicy, LabelledWeb, WebText
from orienteer.policies.policy import Policy

FOCUSED = [name for name, kind in all_policies().items() if issubclass(kind, FocusedPolicy)]
ON_TOPIC = " on a topic"  # suffix of the name of a focused policy that receives relevance


def with_topics(names: list[str]) -> list[str]:
    """Each policy as it is, and the focused ones on a topic, too."""
    return [*names, *(name + ON_TOPIC for name in names if name in FOCUSED)]


def policy_of(case: str) -> Policy:
    """The policy of a case; one that must be trained is, where it is on a topic."""
    policy = make_policy(case.removesuffix(ON_TOPIC))
    if case.endswith(ON_TOPIC) and hasattr(policy, "train"):
        rng = np.random.default_rng(5)
        web = LinkGraph.from_links(60, rng.integers(0, 60, 240), rng.integers(0, 60, 240))
        policy.train([labelled(web, rng)])
    return policy


def topic_of(case: str, web: LinkGraph) -> dict:
    """The arguments of `simulate` in this case."""
    if not case.endswith(ON_TOPIC):
        return {}
    topic = labelled(web, np.random.default_rng(web.n_links))
    return {"relevance": topic.relevance, "text": topic.text}


def labelled(web: LinkGraph, rng: np.random.Generator) -> LabelledWeb:
    """Some pages are relevant, some of them more than others; words are weak evidence for it."""
    relevance = (rng.random(web.n_pages) < 0.15) * rng.choice([1.0, 0.7], web.n_pages)
    of_links = [_words(relevance[target], rng) for target in web.targets]
    of_pages = [_words(relevance[page], rng) for page in range(web.n_pages)]
    return LabelledWeb(web, relevance, WebText(*_rows(of_links), *_rows(of_pages)))


def _words(relevance: float, rng: np.random.Generator) -> np.ndarray:
    return rng.integers(1, 30, rng.integers(0, 4)) + (20 if relevance > 0 else 0)


def _rows(rows: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    offsets = np.cumsum([0, *map(len, rows)]).astype(np.int64)
    return offsets, np.concatenate([np.empty(0, np.uint32), *rows]).astype(np.uint32)
