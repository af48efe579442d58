from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from experiments import seeds
from experiments.seed_claims import CoversMore
from experiments.seeds import ONE_ENTRY, PAGES, VALUE, WORTH_1, Effort, Figures, finding
from experiments.verdict import FAILS, HOLDS, IN_SHAPE
from experiments.webs import Webs
from orienteer.evaluate.seed_compare import SeedComparison, SeedSeries
from tests.experiments.made_up_data import QUICK, experiment_of
from tests.tables import over_rows

A_COVERS_MORE = CoversMore("", ("a",), ("b",))
HOLDING, IN_SHAPE_ONLY, FAILING = [0.3, 0.5, 0.6], [0.1, 0.6, 0.6], [0.1, 0.4, 0.5]


def comparison(a: list[float]) -> SeedComparison:
    series = {"a": SeedSeries(np.array(a), np.array(a)), "b": SeedSeries(*np.array([[0.2, 0.4, 0.5]] * 2))}
    return SeedComparison(9, 1, None, 3, 3, 3, ("pages",), series, series)


def figures(name: str, a: list[float]) -> Figures:
    return Figures(name, "9 pages", *[comparison(a)] * 3)


@over_rows(
    ("curves", "verdict", "share"),
    [
        ([HOLDING, HOLDING], HOLDS, 1.0),
        ([HOLDING, IN_SHAPE_ONLY], IN_SHAPE, 1.0),
        ([HOLDING, HOLDING, FAILING], IN_SHAPE, 2 / 3),
        ([HOLDING, FAILING], FAILS, 0.5),
        ([FAILING], FAILS, 0.0),
    ],
)
def test_the_webs_decide(curves: list[list[float]], verdict: str, share: float) -> None:
    found = finding("name", A_COVERS_MORE, PAGES, [figures(f"web {k}", curve) for k, curve in enumerate(curves)])
    assert (found.claim, found.verdict, found.value) == ("name", verdict, pytest.approx(share))
    assert f"of {len(curves)} webs; web 0: a " in found.ours


def test_each_measure_is_of_its_own_setting() -> None:
    crawled, from_one_entry, whole = comparison(HOLDING), comparison(IN_SHAPE_ONLY), comparison(FAILING)
    found = Figures("", "", crawled, from_one_entry, whole)
    assert found.of(PAGES) == (crawled, "pages")
    assert found.of(VALUE) == (crawled, "value")
    assert found.of(ONE_ENTRY) == (from_one_entry, "value")
    assert found.of(WORTH_1) == (whole, "pages")


def test_a_quick_run_has_a_finding_for_each_claim(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seeds, "_QUICK_PAGES", 900)
    monkeypatch.setattr(seeds, "QUICK", Effort(1, 3))
    experiment = experiment_of("seeds")
    results = seeds.run(experiment, QUICK)
    assert [one.claim for one in results.findings] == [claim.name for claim in experiment.claims]
    assert [plot.name for plot in results.plots] == ["hosts-of-a-generated-web", "generated-web"]
    assert all(len(row) == len(table.headings) for table in results.tables for row in table.rows)


def test_without_data_nothing_is_claimed(tmp_path: Path) -> None:
    results = seeds.run(experiment_of("seeds"), Webs(tmp_path, quick=False))
    assert (results.findings, results.tables, results.plots) == ([], [], [])
