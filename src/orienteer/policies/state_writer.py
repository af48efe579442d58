"""The writer of a policy's state as a tree: see `policy_state`."""

from __future__ import annotations

import enum
import io
import random
import reprlib
from array import array
from base64 import b64encode
from bisect import bisect
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import is_dataclass
from types import BuiltinFunctionType, FunctionType, GeneratorType, MethodType, ModuleType
from typing import Any

import numpy as np
from numpy.lib.array_utils import byte_bounds
from numpy.typing import NDArray

from orienteer.policies.policy import Policy
from orienteer.policies.state_classes import BIT_GENERATORS, FACTORIES, StateClasses, attributes_of, is_ours

PLAIN = frozenset({type(None), bool, float, str})  # types with a direct JSON representation
NUMBERS = "biufcmM"  # kinds of NumPy types whose values are plain bytes
CHARACTERS = "uw"  # type codes of array.array that are not numbers
_WORD = 1 << 63
_SMALL_BYTES = 512  # arrays up to this size are stored in the tree: others become separate files in the checkpoint
_WORDS = {
    FunctionType: "a function",
    BuiltinFunctionType: "a function",
    MethodType: "a method",
    GeneratorType: "a generator",
    ModuleType: "a module",
}


class Unfit(Exception):
    """A value cannot be stored; the `path` to it is extended while the exception propagates."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.what = what
        self.path = ""

    def inside(self, step: str) -> Unfit:
        self.path = step + self.path
        return self


class StateWriter:
    def __init__(self, classes: StateClasses) -> None:
        self.arrays: list[NDArray[Any]] = []
        self._classes = classes
        self._begun: dict[
            int, tuple[int, Any]
        ] = {}  # by id: its number, and the value itself, so that the id is not reused
        self._open: set[int] = set()  # ids of immutable values that are being written
        self._memory: list[tuple[int, int]] = []  # first byte and end of each array, sorted

    def write(self, value: Any, in_place: bool = False) -> Any:
        """Return the tree of a value; `in_place`: the reader will have an object of its class to restore."""
        kind = type(value)
        if kind in PLAIN:
            return value
        if kind is int:
            return value if -_WORD <= value < _WORD else ["int", hex(value)]
        if kind is bytes:
            return ["bytes", b64encode(value).decode()]
        if isinstance(value, enum.Enum):
            return self._enum(value)
        if isinstance(value, np.generic):
            return self._scalar(value)
        if id(value) in self._begun:
            if id(value) in self._open:
                raise Unfit("contains itself")
            return ["same", self._begun[id(value)][0]]
        self._begun[id(value)] = len(self._begun), value
        write = _WRITERS.get(kind)
        return write(self, value) if write else self._object(value, kind, in_place)

    def _items(self, values: Iterable[Any], step: str = "[{}]") -> list[Any]:
        items = []
        for k, value in enumerate(values):
            try:
                items.append(value if type(value) in PLAIN else self.write(value))
            except Unfit as unfit:
                raise unfit.inside(step.format(k)) from None
        return items

    def _pairs(self, values: Mapping[Any, Any]) -> list[Any]:
        items = []
        for key, value in values.items():
            try:
                items.append(key if type(key) in PLAIN else self.write(key))
            except Unfit as unfit:
                raise unfit.inside(" (a key)") from None
            try:
                items.append(value if type(value) in PLAIN else self.write(value))
            except Unfit as unfit:
                raise unfit.inside(f"[{' '.join(reprlib.repr(key).split())}]") from None
        return items

    def _immutable(self, value: Any, write: Callable[[], list[Any]]) -> list[Any]:
        """Write the items of an immutable value, which cannot contain itself."""
        self._open.add(id(value))
        items = write()
        self._open.remove(id(value))
        return items

    def _tuple(self, value: tuple[Any, ...]) -> list[Any]:
        return ["tuple", *self._immutable(value, lambda: self._items(value))]

    def _frozenset(self, value: frozenset[Any]) -> list[Any]:
        return ["frozenset", *self._immutable(value, lambda: self._items(value, " (an element)"))]

    def _defaultdict(self, value: defaultdict[Any, Any]) -> list[Any]:
        factory = value.default_factory
        name: Any = None
        if factory is not None:
            name = getattr(factory, "__name__", None)
            if FACTORIES.get(str(name)) is not factory:
                if not isinstance(factory, type) or not is_dataclass(factory):
                    raise _unfit(factory).inside(".default_factory")
                name = self._class(factory)
        return ["defaultdict", name, *self._pairs(value)]

    def _scalar(self, value: np.generic) -> list[Any]:
        if value.dtype.kind in NUMBERS:
            return ["scalar", value.dtype.str, value.tobytes().hex()]
        return ["item", self.write(np.array(value))]

    def _array(self, value: NDArray[Any]) -> list[Any]:
        if value.dtype.hasobject:
            raise Unfit("is an array of objects")
        self._claim(value)
        if value.nbytes <= _SMALL_BYTES and value.dtype.kind in NUMBERS:
            return ["small", value.dtype.str, list(value.shape), value.tobytes().hex()]
        self.arrays.append(value)
        return ["array", len(self.arrays) - 1]

    def _claim(self, value: NDArray[Any]) -> None:
        """Refuse arrays that share memory: after reading, a change of one would no longer change the other."""
        if value.size == 0:
            return
        first, end = byte_bounds(value)
        at = bisect(self._memory, (first, end))
        if (at and self._memory[at - 1][1] > first) or (at < len(self._memory) and self._memory[at][0] < end):
            raise Unfit("shares its memory with another array of the state (keep one of them, or a copy)")
        self._memory.insert(at, (first, end))

    def _typed(self, value: array[Any]) -> list[Any]:
        if value.typecode in CHARACTERS:
            raise Unfit("is an array of characters")
        return ["typed", value.typecode, value.itemsize, self.write(np.frombuffer(value.tobytes(), np.uint8))]

    def _random(self, value: random.Random) -> list[Any]:
        return ["random", self.write(value.getstate())]

    def _generator(self, value: np.random.Generator) -> list[Any]:
        bits = value.bit_generator
        if BIT_GENERATORS.get(type(bits).__name__) is not type(bits):
            raise Unfit(f"has a bit generator of the class {type(bits).__qualname__}")
        seeds = bits.seed_seq
        spawns = seeds.state if isinstance(seeds, np.random.SeedSequence) else None
        return ["generator", type(bits).__name__, self.write(bits.state), self.write(spawns)]

    def _enum(self, value: enum.Enum) -> list[Any]:
        kind = type(value)
        if kind.__members__.get(str(value.name)) is value:
            return ["enum", *self._class(kind), value.name]
        return ["flags", *self._class(kind), self.write(value.value)]  # a combination of flags has no name

    def _object(self, value: Any, kind: type[Any], in_place: bool) -> list[Any]:
        if not isinstance(value, Policy):
            if isinstance(value, tuple) and hasattr(kind, "_fields"):
                return self._named_tuple(value, kind)
            if is_dataclass(kind):
                return self._dataclass(value, kind)
        if not in_place or not is_ours(value):
            raise _unfit(value)
        return ["object", kind.__module__, kind.__qualname__, self._attributes(value, in_place=True)]

    def _named_tuple(self, value: Any, kind: type[Any]) -> list[Any]:
        if getattr(value, "__dict__", None):
            raise Unfit("has attributes in addition to its fields")
        name = self._class(kind)
        return ["named", *name, *self._immutable(value, lambda: self._items(value))]

    def _dataclass(self, value: Any, kind: type[Any]) -> list[Any]:
        name = self._class(kind)
        hashed: Any = kind.__hash__
        if hashed is None or hashed is object.__hash__:
            return ["data", *name, self._attributes(value)]
        # A dataclass that is hashed by its fields must be complete before it is a key or an element.
        return ["data", *name, *self._immutable(value, lambda: [self._attributes(value)])]

    def _attributes(self, value: Any, in_place: bool = False) -> dict[str, Any]:
        items = {}
        for name, attribute in attributes_of(value).items():
            try:
                items[name] = self.write(attribute, in_place)
            except Unfit as unfit:
                raise unfit.inside(f".{name}") from None
        return items

    def _class(self, kind: type[Any]) -> tuple[str, str]:
        name = self._classes.name_of(kind)
        if name is None:
            raise Unfit(
                f"is of the class {kind.__qualname__}, which is not found by its name in the module of the policy, or "
                "is not a plain one"
            )
        return name


def _unfit(value: Any) -> Unfit:
    if isinstance(value, io.IOBase):
        return Unfit("is an open file")
    if isinstance(value, type):
        return Unfit(f"is the class {value.__qualname__}")
    return Unfit("is " + _WORDS.get(type(value), f"an object of the class {type(value).__qualname__}"))


_WRITERS: dict[type[Any], Callable[[StateWriter, Any], list[Any]]] = {
    list: lambda writer, value: ["list", *writer._items(value)],
    tuple: StateWriter._tuple,
    set: lambda writer, value: ["set", *writer._items(value, " (an element)")],
    frozenset: StateWriter._frozenset,
    dict: lambda writer, value: ["dict", *writer._pairs(value)],
    OrderedDict: lambda writer, value: ["ordered", *writer._pairs(value)],
    Counter: lambda writer, value: ["counter", *writer._pairs(value)],
    defaultdict: StateWriter._defaultdict,
    deque: lambda writer, value: ["deque", value.maxlen, *writer._items(value)],
    bytearray: lambda writer, value: ["bytearray", b64encode(value).decode()],
    array: StateWriter._typed,
    np.ndarray: StateWriter._array,
    random.Random: StateWriter._random,
    np.random.Generator: StateWriter._generator,
}
