from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from experiments import global_rank
from experiments.domain_runs import COMPLEMENT, METHODS, ROUNDS, Run
from experiments.domains import SITE, TOPIC, Domain, RankedWeb
from experiments.global_rank import FLOW, OUTLINKS, RANDOM, Errors
from experiments.influence_objective import Candidates
from experiments.verdict import FAILS, HOLDS, IN_SHAPE
from experiments.webs import Webs
from orienteer.graph import synthetic as shapes
from tests.experiments.made_up_data import QUICK, experiment_of

WEB = RankedWeb.of("cycle", shapes.cycle(6))


def errors(**l1: list[list[float]]) -> Errors:
    """L1 of each domain at the beginning, in the first rounds, and at the end; the other measures go with it."""
    made = {}
    for name, domains in l1.items():
        values = np.array([[first] + [early] * 5 + [last] * (ROUNDS - 5) for first, early, last in domains])
        made[name] = np.stack([values, values / 2, 1 - values], axis=2)
    return Errors({COMPLEMENT: made["sc"], FLOW: made["flow"], OUTLINKS: made["outlinks"], RANDOM: made["random"]})


def same(last: float, early: float = 0.2) -> list[list[float]]:
    return [[0.3, early, last]]


@pytest.mark.parametrize(("sc", "verdict", "ratio"), [(0.1, HOLDS, 1.0), (0.05, HOLDS, 0.5), (0.11, FAILS, 1.1)])
def test_the_best_in_all_measures(sc: float, verdict: str, ratio: float) -> None:
    found = global_rank.best_in_all(
        "t", errors(sc=same(sc), flow=same(0.1), outlinks=same(0.2), random=same(0.3)), ROUNDS
    )
    assert (found.verdict, found.value) == (verdict, pytest.approx(ratio))


def test_the_best_in_two_of_three_is_in_shape() -> None:
    made = errors(sc=same(0.1), flow=same(0.2), outlinks=same(0.2), random=same(0.2))
    made.by_selection[FLOW][:, ROUNDS, 2] = 0.95
    assert global_rank.best_in_all("t", made, ROUNDS).verdict == IN_SHAPE


def test_links_beat_random_early() -> None:
    made = errors(sc=same(0.1, 0.2), flow=same(0.1, 0.2), outlinks=same(0.1, 0.25), random=same(0.1, 0.25))
    assert global_rank.early(made).verdict == HOLDS
    made.by_selection[OUTLINKS][:, 1, 0] = 0.26
    made.by_selection[OUTLINKS][:, 2, 0] = 0.24
    assert global_rank.early(made).verdict == IN_SHAPE
    made.by_selection[OUTLINKS][:, 3, 0] = 0.26
    assert global_rank.early(made).verdict == FAILS


@pytest.mark.parametrize(("last", "verdict"), [(0.11, HOLDS), (0.12, FAILS), (0.13, FAILS)])
def test_random_catches_up(last: float, verdict: str) -> None:
    made = errors(sc=same(0.1), flow=same(0.1), outlinks=same(0.1), random=same(last, 0.24))
    assert global_rank.late(made).verdict == verdict


@pytest.mark.parametrize(
    ("domains", "verdict"),
    [
        ([[0.3, 0.2, 0.03], [0.3, 0.2, 0.05]], HOLDS),
        ([[0.3, 0.2, 0.03], [0.3, 0.2, 0.3]], IN_SHAPE),
        ([[0.3, 0.2, 0.04], [0.3, 0.2, 0.04]], FAILS),
    ],
)
def test_ten_times_better(domains: list[list[float]], verdict: str) -> None:
    others = [[0.3, 0.2, 0.2]] * 2
    found = global_rank.tenfold(errors(sc=domains, flow=others, outlinks=others, random=others))
    assert found.verdict == verdict
    assert "of 2 sites" in found.ours


@pytest.mark.parametrize(
    ("last", "verdict", "share"),
    [([0.1, 0.11], HOLDS, 1.0), ([0.1, 0.1, 0.2], IN_SHAPE, 2 / 3), ([0.1, 0.2], FAILS, 0.5)],
)
def test_competitive(last: list[float], verdict: str, share: float) -> None:
    others = [[0.3, 0.2, 0.1]] * len(last)
    ours = [[0.3, 0.2, one * 0.9999] for one in last]
    found = global_rank.competitive(errors(sc=ours, flow=others, outlinks=others, random=others))
    assert (found.verdict, found.value) == (verdict, pytest.approx(share))


def candidates(influence: list[float], links: list[float]) -> Candidates:
    won = np.array([0.1, 0.2, 0.3, 0.4])
    domain = Domain(WEB, SITE, "", np.arange(3))
    return Candidates(domain, np.array(influence), np.array(links), 1 - won, 1 - won)


@pytest.mark.parametrize(
    ("influence", "links", "verdicts"),
    [
        ([1, 2, 3, 4], [2, 1, 1, 2], (HOLDS, HOLDS)),
        ([1, 2, 3, 4], [1, 2, 4, 3], (HOLDS, IN_SHAPE)),
        ([1, 4, 2, 3], [1, 2, 4, 3], (IN_SHAPE, FAILS)),
        ([4, 3, 2, 1], [1, 2, 4, 3], (FAILS, FAILS)),
    ],
)
def test_figure_1(influence: list[float], links: list[float], verdicts: tuple[str, str]) -> None:
    found = global_rank._figure_1([candidates(influence, links)])
    assert tuple(one.verdict for one in found) == verdicts


def test_claims_about_topics_need_topics() -> None:
    rng = np.random.default_rng(1)
    domains = [Domain(WEB, kind, "", np.arange(3)) for kind in (SITE, TOPIC)]

    def run_of(domain: Domain, select: str) -> Run:
        made = {method: rng.random((ROUNDS + 1, 3)) for method in METHODS}
        return Run(domain, select, made, {method: rng.random(ROUNDS) for method in METHODS})

    runs = [run_of(domain, select) for domain in domains for select in (COMPLEMENT, FLOW, OUTLINKS, RANDOM)]
    both, sites = ({one.claim for one in global_rank.findings(some, [])} for some in (runs, runs[:4]))
    assert both - sites == {"table-2"}
    assert "table-1" in sites


@pytest.mark.slow
def test_a_quick_run_has_a_finding_for_each_claim_that_it_can_try(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(global_rank, "_QUICK_PAGES", 1500)
    monkeypatch.setattr(global_rank, "_QUICK_HOSTS", (50, 110))
    experiment = experiment_of("global-rank")
    results = global_rank.run(experiment, QUICK)
    assert {one.claim for one in results.findings} == {claim.name for claim in experiment.claims if claim.quick}
    assert [plot.name for plot in results.plots] == ["influence", "errors"]
    assert all(len(row) == len(table.headings) for table in results.tables for row in table.rows)


def test_without_data_nothing_is_claimed(tmp_path: Path) -> None:
    results = global_rank.run(experiment_of("global-rank"), Webs(tmp_path, quick=False))
    assert (results.findings, results.tables, results.plots) == ([], [], [])
