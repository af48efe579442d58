"""The state of a policy and of other objects of a Crawl, as a signed pickle and a list of arrays.

The state of an object is its attributes. They may hold whatever Python can pickle. Shared references stay shared.
References to the objects themselves and to the web are restored as references to those of the new Crawl. Two arrays
that share memory, such as an array and a view of it, are refused: after reading they would be separate.

Reading a pickle can run any code, so `set_state` reads one only if this user signed it (see `files/signing`), and this
version of Orienteer wrote it. The signature is verified on the bytes in memory that are then read: a file could be
replaced in between. Large arrays are not in the pickle, and not copied: it only has their types and shapes.
"""

from __future__ import annotations

import copy
import io
import pickle
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.array_utils import byte_bounds
from numpy.typing import NDArray

from orienteer import __version__
from orienteer.errors import InputError
from orienteer.files.signing import signed_content, verified_content
from orienteer.graph.growing_graph import GrowingGraph
from orienteer.policies.policy import Policy, TrustedPages

_PURPOSE = "state of a policy"
_SMALL_BYTES = 512  # arrays up to this size are in the pickle
_RULE = (
    "a policy's state must be what Python can pickle: numbers, texts, arrays, lists, dicts, sets, dataclasses and the "
    "like (docs/how-to/add-a-policy.md)"
)


class ObjectState(NamedTuple):
    """The state of some objects; `signed` is b"" if this user cannot sign."""

    signed: bytes
    arrays: list[NDArray[np.uint8]]


def state_of(owners: Mapping[str, object], web: GrowingGraph) -> ObjectState:
    """Return the state of these objects, by name; an InputError if a value cannot be pickled.

    The arrays are the memory of those that the objects hold, not copies.
    """
    pickled, arrays = _pickled(owners, web)
    return ObjectState(signed_content(_PURPOSE, pickled) or b"", arrays)


def set_state(owners: Mapping[str, object], web: GrowingGraph, state: ObjectState) -> None:
    """Restore the state of other objects of the same classes; a ValueError if that is impossible.

    The objects may be changed then. Nothing is unpickled that this user did not sign.
    """
    pickled = verified_content(_PURPOSE, state.signed)
    if pickled is None:
        raise ValueError("this user did not sign the state")
    try:
        reader = _Unpickler(pickled, state.arrays, {"web": web, **owners})
        version, names = reader.load()
        if version != __version__:
            raise ValueError(f"the state is of version {version}")
        for name, owner in owners.items():
            kind, attributes = names[name]
            if kind != _class_of(owner) or not _attributes(owner).keys() <= set(attributes):
                raise ValueError(f"the state is not that of a {type(owner).__name__}")
            for attribute in attributes:
                object.__setattr__(owner, attribute, reader.load())
    except Exception as error:  # a class that has changed can raise anything
        raise ValueError(f"the state cannot be restored: {error!r}") from None


def check_state(policy: Policy, web: GrowingGraph | None = None) -> None:
    """Raise an InputError if a policy has a value that cannot be stored in a checkpoint."""
    _pickled({"policy": policy}, web)


def check_policy(policy: Policy) -> None:
    """Check the state of a policy before it begins, and of a copy that has begun a crawl of one page."""
    check_state(policy)
    begun = copy.deepcopy(policy)
    web = GrowingGraph()
    web.grow_to(1)
    begun.begin(web, TrustedPages(np.zeros(1, np.uint32), np.ones(1)))
    check_state(begun, web)


def _pickled(owners: Mapping[str, object], web: GrowingGraph | None) -> tuple[bytes, list[NDArray[np.uint8]]]:
    """Return a sequence of pickles, one for the names and one for each attribute, and the arrays that they refer to."""
    pickler = _Pickler({"web": web, **owners})
    attributes = {name: _attributes(owner) for name, owner in owners.items()}
    pickler.dump((__version__, {name: (_class_of(owners[name]), list(attributes[name])) for name in owners}))
    for name, owner in owners.items():
        for attribute, value in attributes[name].items():
            try:
                pickler.dump(value)
                pickler.check_memory()
            except Exception as error:  # a class of the user can raise anything
                reason = " ".join(str(error).split())
                named = getattr(owner, "name", type(owner).__name__)
                raise InputError(f"{named}: {attribute} cannot be saved ({reason}); {_RULE}") from None
    return pickler.file.getvalue(), pickler.arrays


def _attributes(owner: object) -> dict[str, Any]:
    """Return the attributes in its `__dict__` and in the slots that are set."""
    state: Any = object.__getstate__(owner)
    own, slots = state if isinstance(state, tuple) else (state, None)
    return {**(own or {}), **(slots or {})}


def _class_of(owner: object) -> tuple[str, str]:
    return type(owner).__module__, type(owner).__qualname__


class _Pickler(pickle.Pickler):
    def __init__(self, live: Mapping[str, object]) -> None:
        self.file = io.BytesIO()
        self.arrays: list[NDArray[np.uint8]] = []
        self._memory: list[tuple[int, int]] = []  # first byte and end of each array
        self._n_checked = 0
        self._live = {id(value): name for name, value in live.items() if value is not None}
        super().__init__(self.file, protocol=5, buffer_callback=self._is_small)

    def persistent_id(self, value: object) -> str | None:
        return self._live.get(id(value))

    def reducer_override(self, value: object) -> Any:
        if isinstance(value, np.ndarray) and value.size:
            self._memory.append(byte_bounds(value))
        return NotImplemented

    def check_memory(self) -> None:
        """Raise a ValueError if two arrays share memory."""
        if len(self._memory) > self._n_checked:
            self._memory.sort()
            self._n_checked = len(self._memory)
            if any(end > start for (_, end), (start, _) in pairwise(self._memory)):
                raise ValueError("it shares memory with another array; keep one of them, or a copy")

    def _is_small(self, buffer: pickle.PickleBuffer) -> bool:
        """Return whether the pickle is to contain this memory of an array; otherwise note it."""
        raw = buffer.raw()
        if raw.nbytes > _SMALL_BYTES:
            self.arrays.append(np.frombuffer(raw, np.uint8))
        return raw.nbytes <= _SMALL_BYTES


class _Unpickler(pickle.Unpickler):
    def __init__(self, pickled: bytes, arrays: Sequence[NDArray[np.uint8]], live: Mapping[str, object]) -> None:
        super().__init__(io.BytesIO(pickled), buffers=arrays)
        self._live = live

    def persistent_load(self, name: str) -> object:
        return self._live[name]
