"""Which papers can be reproduced.

A paper is a folder `experiments/NAME` with an experiment.toml, and a module of the same name beside this one (`_` for
`-`) that has `run(experiment, webs)`. There is no other list: a new paper is a new folder and a new module.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Protocol, cast

from orienteer.errors import InputError, unknown_name
from orienteer.reproduce.experiment import Experiment
from orienteer.reproduce.findings import Results
from orienteer.reproduce.webs import Webs

_ALL = "all"


class Paper(Protocol):
    """What the module of a paper has."""

    def run(self, experiment: Experiment, webs: Webs) -> Results:
        """Run all that the paper claims."""


def experiments_folder() -> Path:
    """The experiments of the checkout that this file lies in, or those that were installed with it."""
    of_checkout = Path(__file__).parents[3] / "experiments"
    return of_checkout if of_checkout.is_dir() else Path(__file__).parent / "experiments"


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
    return cast(Paper, importlib.import_module(f"orienteer.reproduce.{experiment.name.replace('-', '_')}"))
