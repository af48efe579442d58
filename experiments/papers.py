"""Which papers can be reproduced.

A paper is a folder `experiments/NAME` with an experiment.toml, and a module of the same name in this package (`_` for
`-`) that has `run(experiment, webs)`. There is no other list: a new paper is a new folder and a new module.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Protocol, cast

from experiments.experiment import Experiment
from experiments.findings import Results
from experiments.webs import Webs
from orienteer.errors import InputError, unknown_name

_ALL = "all"


class Paper(Protocol):
    """What the module of a paper has."""

    def run(self, experiment: Experiment, webs: Webs) -> Results:
        """Run all that the paper claims."""


def experiments_folder() -> Path:
    """The folder of the papers' folders: that of the modules."""
    return Path(__file__).parent


def paper_names() -> list[str]:
    """All papers, by the names of their folders."""
    return sorted(path.parent.name for path in experiments_folder().glob("*/experiment.toml"))


def experiments_named(name: str) -> list[Experiment]:
    """The experiment of this name, or all of them."""
    known = paper_names()
    if not known:
        raise InputError(f"{experiments_folder()}: there are no experiments here")
    if name not in (*known, _ALL):
        raise unknown_name("paper", name, [*known, _ALL])
    return [
        Experiment.read(experiments_folder() / one / "experiment.toml") for one in (known if name == _ALL else [name])
    ]


def paper_of(experiment: Experiment) -> Paper:
    """Its module, imported when it is wanted."""
    return cast(Paper, importlib.import_module(f"experiments.{experiment.name.replace('-', '_')}"))
