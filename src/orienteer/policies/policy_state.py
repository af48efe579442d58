"""Serialization of a policy's state as a JSON-compatible tree and a list of arrays.

A policy's state is its attributes. Allowed values, in any nesting:

- None, bool, int, float, str, bytes, bytearray, and members of enums;
- NumPy arrays and scalars of any type but object, and `array.array` of numbers;
- list, tuple, dict, set, frozenset, deque, Counter, defaultdict, OrderedDict;
- dataclasses and NamedTuples; `random.Random` and `numpy.random.Generator`, which continue their sequences;
- objects of orienteer's own classes, as attributes only: they are restored in place, so they must exist after `begin`.

Shared references stay shared: a list in two attributes is one list after reading, also if it contains itself. Two cases
cannot be stored and are refused: a tuple (or another immutable value) that contains itself, and two arrays that share
memory, such as an array and a view of it. The order of a set may change.

A tree may come from an untrusted file. Reading it runs no code of the file's author: a class is looked up by its name
in modules that are imported already (orienteer's, that of the policy, those of classes found there); it must be an
enum, a NamedTuple or a dataclass, and its attributes are set without calling `__init__`.

The tree: None, bool, float, str and small int are themselves, everything else is a list `[kind, ...]`. Values that can
be shared are numbered in the order in which they begin; `["same", n]` refers to number n. Large arrays are in a list of
their own, without copies.
"""

from __future__ import annotations

import copy
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from orienteer.errors import InputError
from orienteer.graph.growing_graph import GrowingGraph
from orienteer.policies.policy import Policy, TrustedPages
from orienteer.policies.state_classes import StateClasses
from orienteer.policies.state_reader import StateReader
from orienteer.policies.state_writer import StateWriter, Unfit

_RULE = (
    "a policy's state must be numbers, texts, arrays, lists, dicts, sets, enums, dataclasses and the like "
    "(docs/how-to/add-a-policy.md)"
)


class ObjectState(NamedTuple):
    """The state of an object."""

    tree: Any
    arrays: list[NDArray[Any]]


def state_of(owner: object) -> ObjectState:
    """Return the state of a policy or another object of ours; an InputError if a value cannot be stored.

    The arrays are those of the owner, not copies.
    """
    writer = StateWriter(StateClasses(owner))
    name = getattr(owner, "name", type(owner).__name__)
    try:
        return ObjectState(writer.write(owner, in_place=True), writer.arrays)
    except Unfit as unfit:
        raise InputError(f"{name}: {unfit.path.lstrip('.')} {unfit.what}; {_RULE}") from None
    except RecursionError:
        raise InputError(f"{name}: its state is nested too deeply to be stored; {_RULE}") from None


def set_state(owner: object, state: ObjectState) -> None:
    """Restore the state of another object of the same class.

    If that is impossible, it raises a KeyError, ValueError, TypeError or AttributeError; the object may be changed.
    """
    reader = StateReader(StateClasses(owner), state.arrays)
    try:
        reader.read(state.tree, owner)
    except (RecursionError, ArithmeticError, IndexError) as error:
        raise ValueError(f"no state of {type(owner).__name__}: {error!r}") from None


def check_state(policy: Policy) -> None:
    """Raise an InputError if a policy has a value that cannot be stored in a checkpoint."""
    state_of(policy)


def check_policy(policy: Policy) -> None:
    """Check the state of a policy before it begins, and of a copy that has begun a crawl of one page."""
    check_state(policy)
    begun = copy.deepcopy(policy)
    web = GrowingGraph()
    web.grow_to(1)
    begun.begin(web, TrustedPages(np.zeros(1, np.uint32), np.ones(1)))
    check_state(begun)
