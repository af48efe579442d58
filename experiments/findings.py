"""What a run of an experiment gives: a finding for each claim, and the tables and figures behind them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from experiments.experiment import Claim, Expected
from experiments.verdict import FAILS, HOLDS, IN_SHAPE


@dataclass(frozen=True)
class Finding:
    """What became of a claim. `value` is the figure that decided it, `ours` the figures as people read them."""

    claim: str
    verdict: str
    value: float
    ours: str

    def is_as(self, expected: Expected) -> bool:
        return self.verdict == expected.verdict and abs(self.value - expected.value) <= expected.tolerance


@dataclass(frozen=True)
class Table:
    """Figures in rows; all columns but the first are aligned to the right."""

    title: str
    headings: list[str]
    rows: list[list[str]]
    note: str = ""


@dataclass(frozen=True)
class Plot:
    """A PNG image, and the name of its file without ending; `shows` is what to see in it."""

    name: str
    shows: str
    image: bytes


@dataclass
class Results:
    """All that a run gives."""

    findings: list[Finding] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    plots: list[Plot] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)  # such as data that was not at hand

    def finding_of(self, claim: Claim) -> Finding | None:
        return next((one for one in self.findings if one.claim == claim.name), None)


def graded(holds: bool, in_shape: bool) -> str:
    """The verdict where it is known whether a claim holds, and if not, whether the direction at least is right."""
    return HOLDS if holds else IN_SHAPE if in_shape else FAILS


def span(values: Sequence[float], decimals: int) -> str:
    """The smallest and the largest of some figures.

    >>> span([0.996, 0.981, 0.99], 2), span([0.5, 0.501], 2)
    ('0.98 to 1.00', '0.50')
    """
    low, high = f"{min(values):.{decimals}f}", f"{max(values):.{decimals}f}"
    return low if low == high else f"{low} to {high}"
