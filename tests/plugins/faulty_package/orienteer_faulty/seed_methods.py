"""Two methods: the name of one is taken, the other is as it should be."""

from __future__ import annotations

from typing import ClassVar

from orienteer_example.seed_methods import FirstPages

from orienteer.seeds.seed_method import seed_method


@seed_method
class Taken(FirstPages):
    """It has the name of one of ours."""

    name: ClassVar[str] = "max-weight"


@seed_method
class FineAllTheSame(FirstPages):
    """The pages with the lowest ids."""

    name: ClassVar[str] = "fine-all-the-same"
