"""The results say what their sections say, and name every benchmark that there is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks.__main__ import EXPERIMENTS, QUICK, RESULTS, SLOW
from benchmarks.goals import GOALS, Goal, goals_table
from benchmarks.missed import REASONS, missed_goals
from benchmarks.results_file import Results
from benchmarks.runs import runs_table
from experiments.verdict import VERDICTS
from tests.tables import over_rows

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def results() -> Results:
    return Results.read(RESULTS, EXPERIMENTS)


def test_every_benchmark_has_a_section_and_every_section_a_benchmark(results: Results) -> None:
    found = {name for name in results.sections if not name.startswith("experiments/")}
    assert found == {*QUICK, *SLOW, "Goals", "Webs", "Growth", "Runs"}
    for name in (*QUICK, *SLOW):
        assert (ROOT / "benchmarks" / f"{name}.py").exists()


def test_the_goals_are_those_of_the_sections(results: Results) -> None:
    """`python -m benchmarks summary` regenerates them."""
    assert goals_table(results).strip() in RESULTS.read_text()


def test_of_every_goal_that_is_missed_it_is_said_why(results: Results) -> None:
    assert missed_goals(results).strip() in RESULTS.read_text()
    assert "nobody has looked into it" not in missed_goals(results)
    assert REASONS.keys() <= {goal.of for goal in GOALS}


@over_rows("goal", GOALS, ids=lambda goal: goal.of)
def test_every_goal_has_been_measured(goal: Goal, results: Results) -> None:
    assert "not measured" not in goal.row(results)


def test_a_goal_is_met_at_its_limit_and_missed_beyond() -> None:
    results = Results({"speed": "| x | s |\n|---|---:|\n| ours | 1,234.5 s |\n| theirs | 2 |\n"})
    for limit, verdict in ((1234.5, "met"), (1234.4, "**missed**")):
        goal = Goal("it", "speed", lambda found: found.number("speed", "ours", "s"), at_most=limit, digits=1)
        assert goal.row(results) == ["it", f"at most {limit:,.1f}", "1,234.5", verdict, "`speed`"]
    for limit, verdict in ((1234.5, "met"), (1234.6, "**missed**")):
        goal = Goal("it", "speed", lambda found: found.number("speed", "ours", "s"), at_least=limit)
        assert verdict in goal.row(results)


def test_when_sections_were_measured() -> None:
    sections = {
        "speed": "| x |\n\nMeasured 2026-11-17 09:05 UTC in 3,600 s; load 0.6 before, 1.1 after.",
        "size": "Measured 2026-11-17 10:06 UTC in 1,800 s; load 1.1 before, 0.9 after.",
        "older": "| x |",
    }
    table = runs_table(Results(sections), ["speed", "older", "size"])
    assert (
        "2 of 3 sections took 1.5 hours; the first began at 2026-11-17 09:05 UTC, the last at 2026-11-17 10:06" in table
    )
    assert "| `speed` | 2026-11-17 09:05 | 3,600 | 0.6 | 1.1 |\n| `older` | not known |" in table


def test_figures_that_are_not_there() -> None:
    results = Results({"speed": "before\n\n| x | s |\n|---|---:|\n| ours | 1 |\n\nafter\n"})
    assert results.number("speed", "ours", "s", below="before") == 1
    assert results.total("speed", "s") == 1
    with pytest.raises(KeyError):
        results.total("speed", "s", "ms")
    for wrong in (
        ("store", "ours", "s"),
        ("speed", "theirs", "s"),
        ("speed", "ours", "ms"),
        ("speed", "ours", "s", "after"),
    ):
        with pytest.raises(KeyError):
            results.number(*wrong)


@over_rows("readme", sorted(EXPERIMENTS.glob("*/README.md")), ids=lambda readme: readme.parent.name)
def test_the_documents_count_the_verdicts_as_they_are(readme: Path) -> None:
    found = dict(re.findall(r"(holds in shape|holds|does not hold): (\d+)", readme.read_text().partition("\n|")[0]))
    counts = [int(found.get(verdict, 0)) for verdict in VERDICTS]
    row = f"| {readme.read_text().partition(chr(10))[0][2:]} | {sum(counts)} | {' | '.join(map(str, counts))} |"
    assert row in (ROOT / "docs" / "papers.md").read_text()


# What is no measurement: versions, the size of the demo's town, and exit codes.
_NO_FIGURES = {"3.11", "2.0", "2,361", "0", "2", "3", "130"}
_FIGURE = re.compile(r"(?<![\w.,-])\d[\d,]*(?:\.\d+)?(?![\w-]|[.,]\d)")


@pytest.mark.parametrize("document", ["README.md", "docs/index.md"])
def test_every_figure_of_the_first_pages_was_measured(document: str) -> None:
    """Figures are from RESULTS.md or an experiment. Commands and their output are tested by `test_blocks`."""
    prose = re.sub(
        r"^```.*?^```|`[^`\n]*`|\]\([^)]*\)", "", (ROOT / document).read_text(), flags=re.MULTILINE | re.DOTALL
    )
    texts = [RESULTS.read_text(), *(path.read_text() for path in EXPERIMENTS.glob("*/*.md"))]
    measured = {figure for text in texts for figure in _FIGURE.findall(text)}
    figures = {figure.rstrip(",") for figure in _FIGURE.findall(prose)} - _NO_FIGURES
    assert figures - measured == set()
    assert figures or document != "README.md"
