"""Train policies that learn on other sites, from crawled webs (see `topic_web`)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from orienteer.errors import InputError, unknown_name
from orienteer.focus.topic_web import TopicWeb, topic_web
from orienteer.inspect.snapshot import is_crawl_folder
from orienteer.ledger.topic_reading import LoadedTopic
from orienteer.policies.policy_spec import PolicySpec
from orienteer.policies.trained import TrainedPolicy, trained_policies
from orienteer.progress import Progress, silent


class TrainingSite(NamedTuple):
    """A site that a policy was trained on."""

    path: Path
    n_pages: int
    n_on_topic: int


def checked_spec(text: str) -> PolicySpec:
    """Parse the spec of a policy that can be trained."""
    name = text.strip().partition(":")[0]
    if name not in trained_policies():
        raise unknown_name("policy that learns on other sites", name, trained_policies())
    spec = PolicySpec.parse(text)
    if spec.model:
        raise InputError(f"policy {spec}: it is already trained; omit its model to train it again")
    return spec


def policy_trained_on(
    spec: PolicySpec, sites: Sequence[Path], topic: Path | None = None, progress: Progress = silent
) -> tuple[TrainedPolicy, list[TrainingSite]]:
    """Train a policy to find the pages of a topic; without `topic`, of the topic of each crawl folder."""
    policy = trained_policies()[spec.name](**spec.settings)
    if not sites:
        raise InputError(f"{spec.name} needs sites to learn from: crawl folders, or WARC files")
    named = None if topic is None else LoadedTopic(topic)
    webs = [_site(path, named or _own_topic(path), policy, progress) for path in sites]
    thresholds = {web.threshold: path for web, path in zip(webs, sites, strict=True)}
    if len(thresholds) > 1:
        listed = " and ".join(f"{threshold:g} in {path}" for threshold, path in thresholds.items())
        raise InputError(f"the sites have different thresholds of relevance: {listed}; choose one topic with --topic")
    starts = [web.seeds if len(web.seeds) else int(np.argmax(web.web.graph.out_degrees())) for web in webs]
    progress("training", 0, 0)
    policy.train([web.web for web in webs], starts, webs[0].threshold)
    return policy, [
        TrainingSite(path, web.web.graph.n_pages, web.n_on_topic) for path, web in zip(sites, webs, strict=True)
    ]


def _own_topic(path: Path) -> LoadedTopic:
    own = path / "topic.toml"
    if not is_crawl_folder(path) or not own.exists():
        raise InputError(f"{path}: this is no crawl with a topic; choose a topic with --topic FILE")
    return LoadedTopic(own)


def _site(path: Path, topic: LoadedTopic, policy: TrainedPolicy, progress: Progress) -> TopicWeb:
    web = topic_web(path, topic, reads_links=policy.reads_links, reads_pages=policy.reads_pages, progress=progress)
    if web.web.text is None:
        raise InputError(f"{path}: it has no texts, so {policy.name} has nothing to learn from")
    if web.n_on_topic == 0:
        raise InputError(f"{path}: no page in it is on topic (relevance of {web.threshold:g} or more)")
    return web
