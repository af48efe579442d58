from __future__ import annotations

import sys
from pathlib import Path

import pytest

from orienteer.errors import InputError, MissingExtraError
from orienteer.evaluate import report
from orienteer.evaluate.compare import Comparison, compare
from orienteer.graph.synthetic import synthetic_web


@pytest.fixture(scope="module")
def found() -> Comparison:
    web = synthetic_web(200, mean_degree=8, rng=2)
    return compare(web, ["optimal", "rankmass", "breadth-first"], [0, 3], levels=[0.5, 0.8], uniform=True)


def legend_of(figure) -> list[str]:
    return [text.get_text() for text in figure.axes[0].get_legend().get_texts()]


def test_the_coverage_plot_draws_each_policy_and_the_best_there_is(found: Comparison) -> None:
    axes = report.coverage_figure(found).axes[0]
    ceiling, *policies = axes.get_lines()
    assert ceiling.get_linestyle() == "--"
    assert len(policies) == 2  # `optimal` is the ceiling
    assert axes.get_xscale() == "log"
    rankmass = next(result for result in found.results if result.policy == "rankmass")
    drawn = [line.get_ydata().tolist() for line in policies]
    assert rankmass.curves["actual"].values.tolist() in drawn


def test_legends_name_policies_with_their_counts_best_first(found: Comparison) -> None:
    names = legend_of(report.coverage_figure(found))
    assert names[0] == "no order can do better"
    counts = [int(name.split("(")[1].rstrip(")")) for name in names[1:]]
    assert counts == sorted(counts)
    proved = legend_of(report.guarantee_figure(found))
    assert any("; own " in name for name in proved)
    assert proved[-2:] == ["certificate", "the policy's own guarantee"]


def test_the_guarantee_plot_has_levels_and_own_guarantees(found: Comparison) -> None:
    axes = report.guarantee_figure(found).axes[0]
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert labels == ["0 %", "50 %", "75 %", "80 %"]
    assert [line.get_linestyle() for line in axes.get_lines()].count(":") == 1
    low, high = axes.get_ylim()
    assert low > high  # what is missing is drawn upside down


def test_a_level_that_was_not_reached_is_labelled() -> None:
    web = synthetic_web(200, mean_degree=8, rng=2)
    short = compare(web, ["random"], [0, 3], levels=[0.99], budget=2)
    assert "random (not reached)" in legend_of(report.coverage_figure(short))
    assert "random (not reached)" in legend_of(report.guarantee_figure(short))


@pytest.mark.parametrize(("ending", "start"), [(".png", b"\x89PNG"), (".SVG", b"<?xml")])
def test_plots_are_written_by_their_ending(found: Comparison, tmp_path: Path, ending: str, start: bytes) -> None:
    written = report.write_plots(found, tmp_path / f"web{ending}")
    assert [path.name for path in written] == [f"web-{name}{ending}" for name in ("coverage", "guarantee", "uniform")]
    assert sorted(tmp_path.iterdir()) == sorted(written)
    for path in written:
        assert path.read_bytes().startswith(start)


def test_the_same_comparison_gives_the_same_file(found: Comparison, tmp_path: Path) -> None:
    one, other = (report.write_plots(found, tmp_path / name) for name in ("a.svg", "b.svg"))
    for path, again in zip(one, other, strict=True):
        assert path.read_bytes() == again.read_bytes()
        assert path.read_bytes().startswith(b"<?xml")


def test_no_global_state_is_touched(found: Comparison) -> None:
    report.coverage_figure(found)
    pyplot = sys.modules.get("matplotlib.pyplot")
    assert pyplot is None or pyplot.get_fignums() == []


def test_an_unwritable_plot_is_an_error_before_the_work(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"ends in \.png or \.svg"):
        report.checked_target(tmp_path / "plot.pdf")
    with pytest.raises(InputError, match="does not exist"):
        report.checked_target(tmp_path / "no" / "plot.png")


def test_without_matplotlib_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'orienteer\[plots\]'"):
        report.checked_target(tmp_path / "plot.png")
