"""The classes allowed in a policy's state, looked up by name, and the attributes of their objects."""

from __future__ import annotations

import enum
import sys
from collections import Counter, OrderedDict, deque
from collections.abc import Mapping
from dataclasses import is_dataclass
from functools import cache
from inspect import getattr_static
from types import FunctionType, MemberDescriptorType
from typing import Any

import numpy as np

from orienteer.policies.policy import Policy

FACTORIES = {
    kind.__name__: kind
    for kind in (bool, int, float, str, bytes, list, tuple, dict, set, frozenset, deque, Counter, OrderedDict)
}
BIT_GENERATORS = {
    kind.__name__: kind
    for kind in (np.random.PCG64, np.random.PCG64DXSM, np.random.MT19937, np.random.Philox, np.random.SFC64)
}
_METHODS = (FunctionType, classmethod, staticmethod, property)


class StateClasses:
    """Looks up classes in orienteer's modules, in those of the owner if it is a policy, and of classes found there.

    Nothing is imported, and a class must be an enum, a NamedTuple or a dataclass.
    """

    def __init__(self, owner: object) -> None:
        self._modules = {kind.__module__: None for kind in type(owner).__mro__ if issubclass(kind, Policy)}

    def name_of(self, kind: type[Any]) -> tuple[str, str] | None:
        """Return the module and the name by which `named` finds this class, or None."""
        for module in (kind.__module__, *self._modules):
            try:
                if self.named(module, kind.__qualname__) is kind:
                    return module, kind.__qualname__
            except (KeyError, ValueError):
                continue
        return None

    def named(self, module: str, name: str, base: type[Any] = object) -> Any:
        """Return the class of this name, a subclass of `base`; a KeyError or ValueError if there is none."""
        if module not in self._modules and not _is_our_module(module):
            raise ValueError(f"{module} is not a module of the policy")
        found: Any = sys.modules[module]
        for attribute in name.split("."):
            found = vars(found)[attribute]
            if not isinstance(found, type):
                raise ValueError(f"{module}.{name} is not a class")
        if not issubclass(found, base) or not _is_plain(found):
            raise ValueError(f"{module}.{name} is not an enum, NamedTuple or dataclass")
        self._modules[found.__module__] = None
        return found


def is_ours(value: Any) -> bool:
    """Return whether it is a policy, or an object of one of orienteer's classes with no state but its attributes."""
    kind: Any = type(value)
    return isinstance(value, Policy) or (_is_our_module(kind.__module__) and _is_made_of_attributes(kind))


def attributes_of(value: Any) -> dict[str, Any]:
    """Return the attributes in its `__dict__` and in the slots that are set."""
    kind: Any = type(value)
    attributes = dict(getattr(value, "__dict__", {}))
    for name, slot in _slots(kind).items():
        try:
            attributes[name] = slot.__get__(value)
        except AttributeError:
            continue
    return attributes


def set_attributes(value: Any, attributes: Mapping[str, Any]) -> None:
    """Set attributes without running code of the class; a ValueError if one would hide a method."""
    kind: Any = type(value)
    slots, methods = _slots(kind), _methods(kind)
    for name, attribute in attributes.items():
        if name in methods:
            raise ValueError(f"{name} is a method of {kind.__name__}")
        if name in slots:
            slots[name].__set__(value, attribute)
        else:
            value.__dict__[name] = attribute


def _is_our_module(name: str) -> bool:
    return name.startswith("orienteer.")


@cache
def _is_plain(kind: type[Any]) -> bool:
    """Return whether an object of the class can be created without running its code."""
    if issubclass(kind, enum.Enum):
        return True
    if issubclass(kind, tuple):
        return isinstance(getattr(kind, "_fields", None), tuple)
    return is_dataclass(kind) and _is_made_of_attributes(kind)


@cache
def _is_made_of_attributes(kind: type[Any]) -> bool:
    """Return whether the class is not a subclass of a built-in container and has no `__del__`."""
    if hasattr(kind, "__del__"):
        return False
    try:
        object.__new__(kind)
    except TypeError:
        return False
    return True


@cache
def _slots(kind: type[Any]) -> dict[str, MemberDescriptorType]:
    members = ((name, member) for base in reversed(kind.__mro__) for name, member in vars(base).items())
    return {name: member for name, member in members if isinstance(member, MemberDescriptorType)}


@cache
def _methods(kind: type[Any]) -> frozenset[str]:
    return frozenset(name for name in dir(kind) if isinstance(getattr_static(kind, name, None), _METHODS))
