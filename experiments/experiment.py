"""An experiment: what a paper claims, what it published, and what our runs are expected to find.

It is read from `experiment.toml`:

    title = "RankMass"
    paper = "J. Cho, U. Schonfeld: ... VLDB 2007"
    command = "python -m experiments rankmass"

    [[data]]                              # what a full run reads, in addition to generated webs
    file = "graphs/cnr-2000-nat.npz"
    sha256 = "..."

    [[claim]]
    name = "near-optimal"                 # what a finding refers to
    where = "Table 2"
    says = "RankMass fetches hardly more pages than the best order could"
    published = "27,939 of 27,101: 1.03"
    full = { verdict = "holds", value = 1.05, tolerance = 0.02 }
    quick = { verdict = "holds", value = 1.04, tolerance = 0.02 }

`full` and `quick` are what the two kinds of runs gave when they were written down. A run *passes* if it gives the same
again, whatever the verdict: a claim that does not hold is a result, and one that should fail and suddenly holds is a
reason to look. Figures that depend on the machine, such as times, are ratios with a wide tolerance.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments.verdict import VERDICTS
from orienteer.errors import InputError


@dataclass(frozen=True)
class Data:
    """A file that a full run reads, under the folder of real data."""

    file: str
    sha256: str


@dataclass(frozen=True)
class Expected:
    """What a run gave before; `value` is the figure that decides the verdict."""

    verdict: str
    value: float
    tolerance: float


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper, or what one of its tables and figures shows."""

    name: str
    where: str
    says: str
    published: str
    full: Expected
    quick: Expected | None = None  # None: a quick run has no web to try it on

    def expected(self, quick: bool) -> Expected | None:
        return self.quick if quick else self.full


@dataclass(frozen=True)
class Experiment:
    """A paper with its claims."""

    name: str
    title: str
    paper: str
    command: str
    data: tuple[Data, ...]
    claims: tuple[Claim, ...]

    @classmethod
    def read(cls, path: Path) -> Experiment:
        """The experiment of the folder that `path`, its experiment.toml, lies in."""
        try:
            written = tomllib.loads(path.read_text())
            experiment = cls(
                path.parent.name,
                written.pop("title"),
                written.pop("paper"),
                written.pop("command"),
                tuple(Data(**one) for one in written.pop("data", [])),
                tuple(_claim(**one) for one in written.pop("claim")),
            )
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InputError(f"{path}: no experiment can be read from it ({error})") from None
        if written:
            raise InputError(f"{path}: unknown {', '.join(sorted(written))}")
        return experiment


def _claim(full: dict[str, Any], quick: dict[str, Any] | None = None, **texts: str) -> Claim:
    expected = Expected(**full), None if quick is None else Expected(**quick)
    for one in expected:
        if one is not None and one.verdict not in VERDICTS:
            raise ValueError(f"no verdict {one.verdict!r}")
    return Claim(full=expected[0], quick=expected[1], **texts)
