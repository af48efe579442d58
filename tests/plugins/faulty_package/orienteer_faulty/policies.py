"""Policies that cannot be used, and one that can."""

from __future__ import annotations

from typing import ClassVar

from orienteer_example.policy import LastFound as Whole

from orienteer.policies.policy import Policy


class Unfinished(Policy):
    """It has no `fetched`."""

    name: ClassVar[str] = "unfinished"

    def begin(self, web, trusted):
        raise NotImplementedError


class NoPolicy:
    """Not a Policy."""

    name = "no-policy"


class BreadthFirst(Whole):
    """It has the name of one of ours."""

    name: ClassVar[str] = "breadth-first"


class LastFound(Whole):
    """It has the name of another package's."""

    name: ClassVar[str] = "last-found"


class Named(Whole):
    """Its entry point says another name."""

    name: ClassVar[str] = "named"


class NoDefault(Whole):
    """It cannot be made without a setting."""

    name: ClassVar[str] = "no-default"

    def __init__(self, bias: float) -> None:
        super().__init__(bias)
