from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from experiments import navigational
from experiments.navigational import BEATEN, NAVIGATIONAL, POLICIES, Harvested
from experiments.topic_tasks import TopicTask
from experiments.verdict import FAILS, HOLDS, IN_SHAPE
from experiments.webs import Webs
from orienteer.evaluate import metrics
from orienteer.evaluate.harvest import Harvest, HarvestComparison
from orienteer.evaluate.metrics import Curve
from orienteer.graph import shapes
from orienteer.graph.link_graph import LinkGraph
from orienteer.policies.focused import LabelledWeb, WebText
from tests.experiments.made_up_data import QUICK, experiment_of
from tests.tables import over_rows

OTHER = BEATEN[0]


def tiny_task(number: int, group: str = "hard") -> TopicTask:
    """Targets among 60 pages; words are by chance."""
    rng = np.random.default_rng(number)
    webs = []
    for _ in range(2):
        cycle = np.arange(60)
        sources, targets = np.concatenate([[cycle, np.roll(cycle, 1)], rng.integers(0, 60, (2, 120))], axis=1)
        graph = LinkGraph.from_links(60, sources, targets)
        link_words, words = rng.integers(1, 99, 2 * graph.n_links), rng.integers(1, 99, 3 * 60)
        text = WebText(
            2 * np.arange(graph.n_links + 1), link_words.astype(np.uint32), 3 * np.arange(61), words.astype(np.uint32)
        )
        webs.append(LabelledWeb(graph, (rng.random(60) < 0.2).astype(float), text))
    return TopicTask(group, f"site {number}", number % 2 == 0, webs[0], 0, webs[1])


def harvest(policy: str, area: float, until: int = 50) -> Harvest:
    return Harvest(policy, area, (until // 2, until), 100, 0.0, Curve(np.array([1, 100]), np.array([0.0, 1.0])))


def harvested(n_targets: int = 2, until: dict[str, int] | None = None, depth: int = 1, **areas: float) -> Harvested:
    """All areas are .5, but for those given; the one target is so many links away from the start."""
    named = {NAVIGATIONAL: areas.get("ours", 0.5), OTHER: areas.get("other", 0.5)}
    results = tuple(harvest(name, named.get(name, 0.5), (until or {}).get(name, 50)) for name in POLICIES)
    relevance = np.zeros(9)
    relevance[depth] = 1
    web = LabelledWeb(shapes.chain(9), relevance)
    task = TopicTask("group", "name", False, web, 0, web)
    return Harvested(task, HarvestComparison("name", 100, 100, n_targets, results))


@over_rows(
    ("areas", "verdict"),
    [
        ([0.6, 0.5], HOLDS),
        ([0.55, 0.491], HOLDS),
        ([0.6, 0.489], IN_SHAPE),
        ([0.53, 0.5], IN_SHAPE),
        ([0.51, 0.49], FAILS),
        ([0.5, 0.5], FAILS),
    ],
)
def test_ahead(areas: list[float], verdict: str) -> None:
    found = navigational.ahead("name", [harvested(ours=area) for area in areas], OTHER)
    assert (found.verdict, found.value) == (verdict, pytest.approx(np.mean(areas) - 0.5))


def test_tasks_with_many_targets_are_reported_but_do_not_decide() -> None:
    few, many = harvested(2, ours=0.6), harvested(3, ours=0.1)
    found = navigational.ahead("name", [few, many], OTHER)
    assert found.verdict == HOLDS
    assert "larger on 1 of 1 tasks" in found.ours
    assert "many -0.400 (1 tasks)" in found.ours


@pytest.mark.parametrize(("ours", "other", "verdict"), [(0.6, 0.5, HOLDS), (0.6, 0.65, FAILS), (0.5, 0.4, FAILS)])
def test_with_a_classifier_all_must_be_beaten(ours: float, other: float, verdict: str) -> None:
    assert navigational.with_classifier([harvested(ours=ours, other=other)]).verdict == verdict


def test_with_a_classifier_on_average_is_in_shape() -> None:
    assert navigational.with_classifier([harvested(ours=0.6), harvested(ours=0.45)]).verdict == IN_SHAPE


@pytest.mark.parametrize(("ours", "verdict"), [(40, HOLDS), (41, IN_SHAPE), (50, FAILS)])
def test_who_finds_most_targets_soonest(ours: int, verdict: str) -> None:
    found = navigational.soon([harvested(until={NAVIGATIONAL: ours, BEATEN[1]: 40})])
    assert (found.verdict, found.value) == (verdict, pytest.approx(ours / 40))


@pytest.mark.parametrize(
    ("areas", "verdict"),
    [([0.5, 0.6, 0.7, 0.8], HOLDS), ([0.6, 0.7, 0.5, 0.8], IN_SHAPE), ([0.8, 0.7, 0.6, 0.5], FAILS)],
)
def test_deep_targets(areas: list[float], verdict: str) -> None:
    harvests = [harvested(depth=k, ours=area) for k, area in enumerate(areas, 1)]
    assert [one.depth for one in harvests] == [1, 2, 3, 4]
    assert navigational.deep(harvests).verdict == verdict


def test_the_quality_of_a_classifier() -> None:
    assert navigational.quality_of(np.array([1.0, 1, 0, 0]), np.array([0.9, 0.1, 0.8, 0.7])) == "0.33 / 0.50"
    assert navigational.quality_of(np.array([1.0, 0]), np.zeros(2)) == "0.00 / 0.00"


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same runs on tiny sites, on which targets are never few; what they cost in memory is of no interest."""
    monkeypatch.setattr(metrics, "_release_memory", lambda: None)
    monkeypatch.setattr(navigational, "_N_HARD_SITES", 3)
    monkeypatch.setattr(navigational, "FEW", 0.9)
    monkeypatch.setattr(navigational, "hard_tasks", lambda numbers: map(tiny_task, numbers))


@pytest.mark.usefixtures("tiny")
def test_a_quick_run_has_a_finding_for_each_claim_that_it_can_try() -> None:
    experiment = experiment_of("navigational")
    results = navigational.run(experiment, QUICK)
    assert [one.claim for one in results.findings] == [claim.name for claim in experiment.claims if claim.quick]
    assert [plot.name for plot in results.plots] == ["hard-sites"]


@pytest.mark.usefixtures("tiny")
@pytest.mark.slow
def test_a_full_run_has_a_finding_for_each_claim(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tasks = [tiny_task(20 + k, group) for k, group in enumerate(("schools", "webkb", "docs"))]
    monkeypatch.setattr(navigational, "real_tasks", lambda data, progress: tasks)
    experiment = replace(experiment_of("navigational"), data=())
    results = navigational.run(experiment, Webs(tmp_path, quick=False))
    assert [one.claim for one in results.findings] == [claim.name for claim in experiment.claims]
    assert [plot.name for plot in results.plots] == ["with-the-truth", "with-a-classifier", "hard-sites"]
    assert all(len(row) == len(table.headings) for table in results.tables for row in table.rows)


@pytest.mark.usefixtures("tiny")
def test_without_the_data_nothing_is_claimed(tmp_path: Path) -> None:
    assert navigational.run(experiment_of("navigational"), Webs(tmp_path, quick=False)).findings == []
