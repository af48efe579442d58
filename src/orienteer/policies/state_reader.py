"""The reader of a policy's state from an untrusted tree: see `policy_state`."""

from __future__ import annotations

import enum
import math
import random
import re
from array import array
from base64 import b64decode
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import is_dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orienteer.policies.state_classes import (
    BIT_GENERATORS,
    FACTORIES,
    StateClasses,
    attributes_of,
    is_ours,
    set_attributes,
)
from orienteer.policies.state_writer import CHARACTERS, NUMBERS, PLAIN

_UNFINISHED = object()
_NUMBER = re.compile(rf"[<>|=][{NUMBERS}]\d+(\[\w+\])?")


class StateReader:
    def __init__(self, classes: StateClasses, arrays: Sequence[NDArray[Any]]) -> None:
        self._classes = classes
        self._arrays = arrays
        self._begun: list[Any] = []  # by number

    def read(self, node: Any, live: Any = None) -> Any:
        """Return the value of a tree; `live` is the present value of the attribute, an object to restore in place."""
        if type(node) is not list:
            if type(node) is dict:
                raise ValueError("attributes without an object")
            return node
        if node[0] in _LEAVES:
            return _LEAVES[node[0]](self, *node[1:])
        number = len(self._begun)
        self._begun.append(_UNFINISHED)
        if node[0] == "object":
            return self._object(number, live, *node[1:])
        made = self._begun[number] = _READERS[node[0]](self, number, *node[1:])
        return made

    def _same(self, number: int) -> Any:
        if number < 0 or self._begun[number] is _UNFINISHED:
            raise ValueError(f"there is no value with the number {number} yet")
        return self._begun[number]

    def _filled(self, number: int, made: Any, nodes: Iterable[Any]) -> Any:
        """Fill a list, a set or a deque, which may contain itself."""
        self._begun[number] = made
        add = made.add if isinstance(made, set) else made.append
        for node in nodes:
            add(node if type(node) in PLAIN else self.read(node))
        return made

    def _paired(self, number: int, made: Any, nodes: Sequence[Any]) -> Any:
        self._begun[number] = made
        each = iter(nodes)
        for key, value in zip(each, each, strict=True):
            made[self.read(key)] = self.read(value)
        return made

    def _defaultdict(self, number: int, factory: Any, *nodes: Any) -> defaultdict[Any, Any]:
        kind = self._classes.named(*factory) if isinstance(factory, list) else factory and FACTORIES[factory]
        return self._paired(number, defaultdict(kind), nodes)  # type: ignore[no-any-return]

    def _scalar(self, kind: str, content: str) -> Any:
        return self._small(-1, kind, [], content)[()]

    def _small(self, _: int, kind: str, shape: list[int], content: str) -> NDArray[Any]:
        if not _NUMBER.fullmatch(kind):  # NumPy reads all kinds of texts, and some raise a SyntaxError
            raise ValueError(f"{kind[:40]} is not a type of numbers")
        dtype, raw = np.dtype(kind), bytearray.fromhex(content)
        if dtype.kind not in NUMBERS or min(shape, default=0) < 0 or math.prod(shape) * dtype.itemsize != len(raw):
            raise ValueError(f"{content[:40]} is not an array of {kind}")
        return np.ndarray(shape, dtype, raw).copy()

    def _large(self, _: int, index: int) -> NDArray[Any]:
        found = self._arrays[index]
        if index < 0 or found.dtype.hasobject:
            raise ValueError(f"there is no array {index}")
        return found

    def _typed(self, _: int, code: str, n_bytes: int, node: Any) -> array[Any]:
        made = array(code)
        if code in CHARACTERS or made.itemsize != n_bytes:
            raise ValueError(f"{code!r} is not the same on this machine")
        made.frombytes(self.read(node).tobytes())
        return made

    def _random(self, _: int, node: Any) -> random.Random:
        made = random.Random()
        made.setstate(self.read(node))
        return made

    def _generator(self, _: int, name: str, node: Any, seeds: Any) -> np.random.Generator:
        state, spawns = self.read(node), self.read(seeds)
        if not 0 <= state.get("buffer_pos", 0) <= 4 or not 0 <= state["state"].get("pos", 0) <= 624:
            raise ValueError("a position outside of the buffer")  # which NumPy does not check
        if spawns is not None and spawns["pool_size"] > 1024:
            raise ValueError("a pool that is too large")
        bits = BIT_GENERATORS[name](0 if spawns is None else np.random.SeedSequence(**spawns))
        bits.state = state
        return np.random.Generator(bits)

    def _enum(self, module: str, name: str, member: str) -> Any:
        return self._classes.named(module, name, enum.Enum).__members__[member]

    def _flags(self, module: str, name: str, node: Any) -> Any:
        value = self.read(node)
        flags = self._classes.named(module, name, enum.Flag)(value)
        if flags.value != value:  # before Python 3.11.4 unknown bits are dropped without an error
            raise ValueError(f"{name} has other flags")
        return flags

    def _named_tuple(self, _: int, module: str, name: str, *nodes: Any) -> Any:
        kind = self._classes.named(module, name, tuple)
        if len(nodes) != len(kind._fields):
            raise ValueError(f"{name} has other fields")
        return tuple.__new__(kind, map(self.read, nodes))

    def _dataclass(self, number: int, module: str, name: str, nodes: Any) -> Any:
        kind = self._classes.named(module, name)
        if not is_dataclass(kind):
            raise ValueError(f"{name} is not a dataclass")
        made: Any = object.__new__(kind)  # type: ignore[arg-type]
        self._begun[number] = made
        set_attributes(made, {key: self.read(node) for key, node in nodes.items()})
        return made

    def _object(self, number: int, live: Any, module: str, name: str, nodes: Any) -> Any:
        kind = type(live)
        known = attributes_of(live)
        if (
            (kind.__module__, kind.__qualname__) != (module, name)
            or not is_ours(live)
            or not known.keys() <= nodes.keys()
        ):
            raise ValueError(f"there is no such {name} to restore")
        self._begun[number] = live
        set_attributes(live, {key: self.read(node, known.get(key)) for key, node in nodes.items()})
        return live


_LEAVES: dict[str, Callable[..., Any]] = {
    "same": StateReader._same,
    "int": lambda reader, digits: int(digits, 16),
    "bytes": lambda reader, text: b64decode(text, validate=True),
    "enum": StateReader._enum,
    "flags": StateReader._flags,
    "scalar": StateReader._scalar,
    "item": lambda reader, node: reader.read(node)[()],
}
_READERS: dict[str, Callable[..., Any]] = {
    "list": lambda reader, number, *nodes: reader._filled(number, [], nodes),
    "tuple": lambda reader, number, *nodes: tuple(map(reader.read, nodes)),
    "set": lambda reader, number, *nodes: reader._filled(number, set(), nodes),
    "frozenset": lambda reader, number, *nodes: frozenset(map(reader.read, nodes)),
    "dict": lambda reader, number, *nodes: reader._paired(number, {}, nodes),
    "ordered": lambda reader, number, *nodes: reader._paired(number, OrderedDict(), nodes),
    "counter": lambda reader, number, *nodes: reader._paired(number, Counter(), nodes),
    "defaultdict": StateReader._defaultdict,
    "deque": lambda reader, number, maxlen, *nodes: reader._filled(number, deque(maxlen=maxlen), nodes),
    "bytearray": lambda reader, number, text: bytearray(b64decode(text, validate=True)),
    "typed": StateReader._typed,
    "small": StateReader._small,
    "array": StateReader._large,
    "random": StateReader._random,
    "generator": StateReader._generator,
    "named": StateReader._named_tuple,
    "data": StateReader._dataclass,
}
