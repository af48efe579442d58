"""The reproduction of a paper: its claims, the findings, and whether they are as expected."""

from __future__ import annotations

import os
import platform
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from experiments.experiment import Claim, Experiment
from experiments.findings import Finding, Results
from experiments.papers import paper_of
from experiments.verdict import VERDICTS
from experiments.webs import Webs
from orienteer import __version__

NOT_TRIED = "not tried"
_PACKAGES = ("numpy", "numba", "scipy")


@dataclass(frozen=True)
class Judged:
    """A claim and what became of it. `difference` says how that differs from what was expected, if it does."""

    claim: Claim
    finding: Finding | None
    difference: str = ""

    @property
    def verdict(self) -> str:
        return NOT_TRIED if self.finding is None else self.finding.verdict

    @property
    def ours(self) -> str:
        return "" if self.finding is None else self.finding.ours

    def as_dict(self) -> dict[str, Any]:
        return {
            "name": self.claim.name,
            "where": self.claim.where,
            "says": self.claim.says,
            "published": self.claim.published,
            "ours": self.ours,
            "value": None if self.finding is None else self.finding.value,
            "verdict": self.verdict,
            "as_expected": not self.difference,
            "difference": self.difference,
        }


@dataclass(frozen=True)
class Reproduction:
    """All that came of a paper. `missing` are files of real data that were not at hand."""

    experiment: Experiment
    results: Results
    judged: tuple[Judged, ...]
    missing: tuple[str, ...]
    quick: bool

    @property
    def differences(self) -> list[str]:
        """A line for each claim that came out otherwise than expected."""
        name = self.experiment.name
        return [f"{name}, {one.claim.name}: {one.difference}" for one in self.judged if one.difference]

    @property
    def notes(self) -> list[str]:
        """What a reader must know of the run."""
        notes = list(self.results.notes)
        if self.quick:
            notes.append("This was a quick run: on small generated webs only.")
        if self.missing:
            untried = sum(one.finding is None for one in self.judged)
            notes.append(f"Not at hand, so that {untried} claims were not tried: {', '.join(self.missing)}.")
        return notes

    @property
    def tally(self) -> str:
        """How many claims got which verdict."""
        counts = Counter(one.verdict for one in self.judged)
        return ", ".join(f"{name}: {counts[name]}" for name in (*VERDICTS, NOT_TRIED) if counts[name])

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {
            "name": self.experiment.name,
            "title": self.experiment.title,
            "paper": self.experiment.paper,
            "claims": [one.as_dict() for one in self.judged],
            "tables": [
                {"title": table.title, "headings": table.headings, "rows": table.rows, "note": table.note}
                for table in self.results.tables
            ],
            "plots": [
                {"file": f"{self.experiment.name}/{plot.name}.png", "shows": plot.shows} for plot in self.results.plots
            ],
            "notes": self.notes,
            "missing": list(self.missing),
        }


def reproduced(experiment: Experiment, webs: Webs) -> Reproduction:
    """Run a paper's experiment, and hold what it gives against what was expected."""
    missing = webs.missing(experiment.data)
    results = paper_of(experiment).run(experiment, webs)
    judged = [_judged(claim, results.finding_of(claim), webs.quick, bool(missing)) for claim in experiment.claims]
    return Reproduction(experiment, results, tuple(judged), tuple(missing), webs.quick)


def _judged(claim: Claim, finding: Finding | None, quick: bool, lacks_data: bool) -> Judged:
    """A claim that could not be tried for want of data is no difference; it says "not tried"."""
    expected = claim.expected(quick)
    difference = ""
    if expected is None:
        difference = "" if finding is None else f"{finding.verdict!r} where none was expected"
    elif finding is None:
        difference = "" if lacks_data else f"not tried; expected {expected.verdict!r}"
    elif finding.verdict != expected.verdict:
        difference = f"{finding.verdict!r} ({finding.value:.4g}); expected {expected.verdict!r} ({expected.value:.4g})"
    elif not finding.is_as(expected):
        difference = f"{finding.value:.4g}; expected {expected.value:.4g} within {expected.tolerance:.4g}"
    return Judged(claim, finding, difference)


def machine() -> str:
    """The machine and the versions, so that a time means something."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    model = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.machine())
    versions = ", ".join([f"orienteer {__version__}", *(f"{name} {version(name)}" for name in _PACKAGES)])
    return f"{model}, {os.cpu_count()} cores, {sys.platform}, Python {platform.python_version()}, {versions}"


def as_document(reproductions: Sequence[Reproduction], command: str) -> dict[str, Any]:
    """All papers of a run, for results.json and for machines."""
    return {
        "command": command,
        "machine": machine(),
        "as_expected": not any(one.differences for one in reproductions),
        "papers": [one.as_dict() for one in reproductions],
    }
