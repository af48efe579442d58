"""Fractional PageRank's figures at a reduced size, and with artificial times."""

from __future__ import annotations

import numpy as np
import pytest

from experiments import fractional
from experiments.drawing import panels, png
from experiments.papers import experiments_named
from experiments.timed import TimedRun, clock, timed_run
from experiments.verdict import VERDICTS
from experiments.webs import Webs
from orienteer.crawl.simulate import simulate
from orienteer.evaluate.metrics import Curve
from orienteer.graph.synthetic import synthetic_web
from tests.tables import over_rows


def test_a_quick_run_of_a_small_web_tries_every_claim(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fractional, "QUICK", fractional.Sizes(20_000, (4000,), 5.0))
    (experiment,) = experiments_named("fractional")
    results = fractional.run(experiment, Webs(None, quick=True))
    assert {finding.claim for finding in results.findings} == {claim.name for claim in experiment.claims}
    for finding in results.findings:
        assert finding.verdict in VERDICTS
        assert np.isfinite(finding.value)
    assert [plot.name for plot in results.plots] == ["figure-3", "figure-4"]
    for table in results.tables:
        assert {len(row) for row in table.rows} == {len(table.headings)}


@pytest.mark.slow
def test_processes_side_by_side_find_the_same_shares(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fractional, "QUICK", fractional.Sizes(4000, (3000,), 5.0))
    (experiment,) = experiments_named("fractional")
    alone, several = (fractional.run(experiment, Webs(None, quick=True, n_processes=n)) for n in (1, 2))
    assert several.tables[1] == alone.tables[1]
    assert [row[-2] for row in several.tables[0].rows] == ["3,200"] * 3


def made(power: float, last: int = 1000, limit: int = 1000) -> TimedRun:
    pages = np.linspace(0, last, 101).astype(np.int64)
    return TimedRun("made up", pages, (pages / 1000) ** power, np.empty(0, np.uint32), 0, limit)


def test_growth_is_the_power_of_the_pages() -> None:
    assert made(1.0).growth() == pytest.approx(1.0)
    assert made(2.0).growth() == pytest.approx(2.0, abs=0.05)
    assert made(1.5).whole_s == 1.0
    assert made(1.5).is_complete


def test_unmeasured_sizes_are_extrapolated_with_the_same_power() -> None:
    stopped = made(1.5, last=500)
    assert not stopped.is_complete
    assert stopped.whole_s == pytest.approx(1.0, rel=0.02)
    assert stopped.cpu_s_at(250) == pytest.approx(0.25**1.5, rel=0.02)


def test_a_timed_run_fetches_in_the_order_of_the_simulation() -> None:
    web = synthetic_web(3000)
    for policy in ("fractional:inter_host_weight=20", "windowed-rankmass:window=0.05", "rankmass", "l-neighbor"):
        name, _, setting = policy.partition(":")
        settings = {key: float(value) for key, value in [setting.split("=")]} if setting else {}
        found = timed_run(web, policy, np.array([0, 7]), 2000)
        order = simulate(web, name, [0, 7], budget=2000, **settings).order
        assert found.order.tolist() == order.tolist()
        assert found.pages[0] == 0
        assert found.pages[-1] == len(order)
        assert (np.diff(found.cpu_s) >= 0).all()


def test_batches_are_counted() -> None:
    web = synthetic_web(3000)
    halves = [timed_run(web, f"windowed-rankmass:window={window}", np.array([0]), 2000).n_batches
              for window in (0.4, 0.2, 0.1)]  # fmt: skip
    assert halves[0] < halves[1] < halves[2]


def test_a_run_of_a_web_that_ends_is_complete() -> None:
    web = synthetic_web(3000)
    found = timed_run(web, "fractional", np.array([0]), 10_000)
    assert found.is_complete
    assert found.pages[-1] <= 3000


def test_a_run_whose_time_is_up_stops() -> None:
    found = timed_run(synthetic_web(3000), "fractional", np.array([0]), 2000, budget_s=0.0)
    assert not found.is_complete
    assert found.pages[-1] == 50


def test_the_mean_share_is_the_area_under_the_curve() -> None:
    curve = Curve(np.array([1, 50, 100]), np.array([0.0, 0.5, 1.0]))
    assert fractional.Collected(curve, curve).mean() == pytest.approx(0.49, abs=0.02)


@over_rows(
    ("cpu_s", "text"),
    [(0.123, "0.12 s"), (12.34, "12.3 s"), (125, "2:05 min"), (7500, "2:05 h"), (3599.9, "60:00 min")],
)
def test_times_as_people_read_them(cpu_s: float, text: str) -> None:
    assert clock(cpu_s) == text


def test_images_are_small_and_the_same_again() -> None:
    def drawn() -> bytes:
        figure, axes = panels(4)
        for one in axes:
            one.plot([1, 2, 3], [1, 4, 9])
        return png(figure)

    first = drawn()
    assert first == drawn()
    assert len(first) < 60_000
