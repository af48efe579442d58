"""A fictitious paper: an experiment folder and its module, with the results that a test needs."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest

from experiments import papers
from experiments.drawing import png
from experiments.experiment import Experiment
from experiments.findings import Finding, Plot, Results, Table
from experiments.webs import Webs

TOML = """
title = "Made <up>"
paper = "Nobody: Nothing & more"
command = "python -m experiments made-up"

[[data]]
file = "graphs/real.npz"
sha256 = "0000"

[[claim]]
name = "first"
where = "Table 1"
says = "One is <b>one</b>"
published = "1"
full = { verdict = "holds", value = 1.0, tolerance = 0.1 }
quick = { verdict = "holds", value = 1.0, tolerance = 0.1 }

[[claim]]
name = "second"
where = "Table 2"
says = "Two | three"
published = "2"
full = { verdict = "does not hold", value = 3.0, tolerance = 0.0 }
"""
AS_EXPECTED = Finding("first", "holds", 1.05, "1.05 <i>")


class MadeUp:
    """The paper in a folder; `findings` is what its run gives."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder / "experiments"
        self.findings = [AS_EXPECTED]
        self.write(TOML)
        module = ModuleType("experiments.made_up")
        module.run = self.run  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, module.__name__, module)
        monkeypatch.setattr(papers, "experiments_folder", lambda: self.folder)

    @property
    def toml(self) -> Path:
        return self.folder / "made-up" / "experiment.toml"

    def write(self, text: str) -> None:
        self.toml.parent.mkdir(parents=True, exist_ok=True)
        self.toml.write_text(text)

    def experiment(self) -> Experiment:
        return Experiment.read(self.toml)

    def run(self, experiment: Experiment, webs: Webs) -> Results:
        from matplotlib.figure import Figure

        figure = Figure(figsize=(2, 1))
        figure.add_subplot().plot([0, 1], [0, 1])
        webs.progress("working", 1, 2)
        table = Table("Figures & more", ["a", "<b>"], [["x", "<script>alert(1)</script>"]], "a note")
        return Results(list(self.findings), [table], [Plot("curve", 'Shows "it" <all>', png(figure))], ["Mind <this>."])
