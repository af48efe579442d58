"""The experiments that are committed: complete, and each with a module."""

from __future__ import annotations

import tomllib
from pathlib import Path

from experiments.papers import experiments_folder, experiments_named, paper_names, paper_of
from tests.tables import over_rows

ROOT = Path(__file__).parents[2]
LARGEST_BYTES = 120_000


def test_experiments_of_the_checkout_are_found() -> None:
    assert experiments_folder() == ROOT / "experiments"
    folders = {path.name for path in (ROOT / "experiments").iterdir() if path.is_dir()} - {"__pycache__"}
    assert folders == set(paper_names())
    assert {"fractional", "rankmass"} <= set(paper_names())


def test_the_sources_have_them_and_the_wheel_does_not() -> None:
    targets = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]
    assert targets["wheel"] == {"packages": ["src/orienteer"]}
    assert "/experiments" in targets["sdist"]["include"]


@over_rows("name", paper_names())
def test_every_experiment_has_a_module_and_a_readme_with_its_claims_and_plots(name: str) -> None:
    (experiment,) = experiments_named(name)
    assert callable(paper_of(experiment).run)
    assert experiment.command == f"python -m experiments {name}"
    folder = ROOT / "experiments" / name
    text = (folder / "README.md").read_text()
    names = [claim.name for claim in experiment.claims]
    assert len(set(names)) == len(names)
    for claim in experiment.claims:
        (row,) = [line for line in text.splitlines() if line.startswith(f"| `{claim.name}` |")]
        assert row.endswith(f"| **{claim.full.verdict}** |"), "the README is of another run than experiment.toml"
    plots = {path.name for path in folder.glob("*.png")}
    assert plots
    for plot in plots:
        assert f"]({plot})" in text
        assert (folder / plot).stat().st_size < LARGEST_BYTES
    assert text.count(".png)") == len(plots)
