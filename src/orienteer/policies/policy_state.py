"""What a policy knows, as a tree that JSON can say with arrays beside it, and back again.

A policy's state is its attributes. They may hold, nested at will:

- None, bool, int, float, str, bytes, bytearray, and members of enums;
- NumPy arrays and scalars of any type but object, and `array.array` of numbers;
- list, tuple, dict, set, frozenset, deque, Counter, defaultdict, OrderedDict;
- dataclasses and NamedTuples; `random.Random` and `numpy.random.Generator`, which go on where they were;
- objects of orienteer's own classes, as attributes only: one is filled in place, so it must be there after `begin`.

What is shared stays shared: a list that two attributes hold is one list afterwards, also if it holds itself. Two things
cannot be kept, and are refused: a tuple (or another thing that is made at once) that holds itself, and two arrays that
lie in the same memory, such as an array and a view of it. A set may have another order afterwards.

A tree may come from a file that a stranger has made. Reading it runs no code of anybody: a class is looked up by its
name, in modules that are imported already (orienteer's, that of the policy, those of classes found there); it must be
an enum, a NamedTuple or a dataclass, and its attributes are set without its `__init__`.

The tree: None, bool, float, str and small int are themselves, all else is a list `[kind, ...]`. What can be shared is
numbered in the order in which it begins; `["same", n]` is number n again. Arrays of some size stand in a list beside
the tree, and are not copied.
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


class State(NamedTuple):
    """What an object knows."""

    tree: Any
    arrays: list[NDArray[Any]]


def state_of(owner: object) -> State:
    """All that a policy, or another object of ours, knows; an InputError where it holds what cannot be kept.

    The arrays are those of the owner, not copies.
    """
    writer = StateWriter(StateClasses(owner))
    name = getattr(owner, "name", type(owner).__name__)
    try:
        return State(writer.write(owner, in_place=True), writer.arrays)
    except Unfit as unfit:
        raise InputError(f"{name}: {unfit.path.lstrip('.')} {unfit.what}; {_RULE}") from None
    except RecursionError:
        raise InputError(f"{name}: its state is nested too deeply to be kept; {_RULE}") from None


def set_state(owner: object, state: State) -> None:
    """Bring an object to where another of its class was.

    Where that cannot be done it raises a KeyError, ValueError, TypeError or AttributeError; the object may have
    changed then.
    """
    reader = StateReader(StateClasses(owner), state.arrays)
    try:
        reader.read(state.tree, owner)
    except (RecursionError, ArithmeticError, IndexError) as error:
        raise ValueError(f"no state of {type(owner).__name__}: {error!r}") from None


def check_state(policy: Policy) -> None:
    """An InputError where a policy holds what no checkpoint can keep."""
    state_of(policy)


def check_policy(policy: Policy) -> None:
    """The same for a policy that has not begun: a copy of it begins a crawl of one page."""
    check_state(policy)
    begun = copy.deepcopy(policy)
    web = GrowingGraph()
    web.know(1)
    begun.begin(web, TrustedPages(np.zeros(1, np.uint32), np.ones(1)))
    check_state(begun)
