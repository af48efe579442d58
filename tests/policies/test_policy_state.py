"""What a policy holds is restored as it was; what cannot be is refused in one line; nothing unsigned is unpickled."""

from __future__ import annotations

import enum
import io
import pickle
import random
import sys
from array import array
from collections import Counter, OrderedDict, defaultdict, deque
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pytest

import orienteer as ori
from orienteer.errors import InputError
from orienteer.evaluate.compare import compare
from orienteer.files.signing import signed_content
from orienteer.graph import shapes
from orienteer.graph.growing_graph import GrowingGraph
from orienteer.policies import policy_state
from orienteer.policies.policy import NO_CHANGE, POLICIES, Policy, Priorities, TrustedPages
from orienteer.policies.policy_state import ObjectState, set_state, state_of
from tests.registered import register_for_now
from tests.tables import over_rows

WEB = GrowingGraph()


class Colour(enum.Enum):
    RED = 1


class Rights(enum.Flag):
    READ = enum.auto()
    WRITE = enum.auto()


class Place(NamedTuple):
    page: int
    depth: int = 0


@dataclass
class Node:
    page: int
    links: list[Any] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Key:
    host: str
    page: int


class Mark:
    """An object of an ordinary class."""

    def __init__(self) -> None:
        self.marks = [1]


class Remembering(Policy):
    """Remembers whatever it is given."""

    name: ClassVar[str] = "remembering"

    def __init__(self, value: Any = None) -> None:
        self.value = value

    def begin(self, web: GrowingGraph, trusted: TrustedPages) -> Priorities:
        return Priorities(trusted.pages, trusted.trust)

    def fetched(self, page: int, web: GrowingGraph) -> Priorities:
        return NO_CHANGE

    def key(self) -> int:
        return 7


def saved(value: Any, policy: Policy | None = None) -> ObjectState:
    return state_of({"policy": policy or Remembering(value)}, WEB)


def restored(state: ObjectState) -> Any:
    policy = Remembering()
    set_state({"policy": policy}, WEB, state)
    return policy.value


def brought_back(value: Any) -> Any:
    """Through the very bytes of a file, to a policy that knows nothing."""
    signed, arrays = saved(value)
    file = io.BytesIO()
    np.savez(file, *arrays)
    file.seek(0)
    with np.load(file, allow_pickle=False) as read:
        return restored(ObjectState(signed, [read[f"arr_{k}"] for k in range(len(arrays))]))


@over_rows(
    "value",
    [
        [None, True, -1, 2**64, 10**6000, 1.5, float("inf"), -0.0, "ä\udc80\x00", b"\x00\xff", bytearray(b"ab")],
        [[], (), {}, set(), frozenset({1}), [1, [2, (3, {4})]], {(1, "x"): None, None: {2: b"k"}}],
        [deque([1, 2, 3], maxlen=3), Counter("abca"), OrderedDict(b=1, a=2), defaultdict(Node, {1: Node(2)})],
        [np.float32(0.1), np.uint64(2**64 - 1), np.datetime64("2026-01-02"), np.str_("é"), array("d", [1.5])],
        [Colour.RED, Rights.READ | Rights.WRITE, Place(1, 2), Node(1, [2]), {Key("h", 4): Key("g", 5)}],
    ],
    ids=["plain", "containers", "collections", "scalars", "classes"],
)
def test_ordinary_objects_round_trip(value: Any) -> None:
    again = brought_back(value)
    assert again == value
    assert list(map(type, again)) == list(map(type, value))


@pytest.mark.parametrize("n", [3, 3000], ids=["small", "large"])
def test_arrays_round_trip(n: int) -> None:
    frozen = np.arange(n)
    frozen.setflags(write=False)
    values = [
        np.arange(n), np.zeros((0, 4)), np.asfortranarray(np.arange(2.0 * n).reshape(2, n)), np.arange(2 * n)[::2],
        np.array(["a", "bc"] * n), np.array([(1, 2.0)] * n, [("a", "i4"), ("b", "f8")]), np.array([None, "x"]), frozen,
    ]  # fmt: skip
    for value, again in zip(values, brought_back(values), strict=True):
        assert (again.dtype, again.tolist()) == (value.dtype, value.tolist())
        assert again.flags.f_contiguous == value.flags.f_contiguous or not value.flags.c_contiguous
        assert again.flags.writeable == value.flags.writeable


@over_rows("kind", [np.random.PCG64, np.random.PCG64DXSM, np.random.MT19937, np.random.Philox,
                                  np.random.SFC64])  # fmt: skip
def test_a_generator_continues_its_sequence(kind: Any) -> None:
    rng = np.random.Generator(kind(7))
    rng.integers(10, size=3, dtype=np.uint32)  # half a word is left over
    rng.spawn(2)
    again = brought_back(rng)
    assert rng.integers(10, size=9, dtype=np.uint32).tolist() == again.integers(10, size=9, dtype=np.uint32).tolist()
    assert rng.spawn(1)[0].random() == again.spawn(1)[0].random()


def test_random_continues_its_sequence() -> None:
    rng = random.Random(3)
    rng.gauss(0, 1)
    again = brought_back(rng)
    assert [rng.gauss(0, 1), rng.random()] == [again.gauss(0, 1), again.random()]


def test_shared_references_stay_shared_also_between_attributes() -> None:
    policy, again = Remembering(), Remembering()
    numbers, big = np.arange(4), np.arange(500)
    node = Node(1)
    node.links.append(node)
    policy.value, policy.other = [numbers, big, node], (numbers, big, node)  # type: ignore[attr-defined]
    set_state({"policy": again}, WEB, saved(None, policy))
    assert all(a is b for a, b in zip(again.value, again.other, strict=True))  # type: ignore[attr-defined]
    assert again.value[2].links[0] is again.value[2]


def test_references_to_the_policy_and_its_web_lead_to_the_new_ones() -> None:
    policy, again, web = Remembering(), Remembering(), GrowingGraph()
    policy.value = [policy, WEB, policy.key]
    set_state({"policy": again}, web, saved(None, policy))
    assert again.value[0] is again
    assert again.value[1] is web
    assert again.value[2].__self__ is again


def test_slots_are_restored() -> None:
    class Slotted(Remembering):
        __slots__ = ("unset", "weight")

    policy, again = Slotted(1), Slotted()
    policy.weight = 3
    set_state({"policy": again}, WEB, saved(None, policy))
    assert (again.value, again.weight, hasattr(again, "unset")) == (1, 3, False)


def test_only_the_visible_part_of_a_view_is_saved() -> None:
    """The rest of the memory may be uninitialised, and then hold what was there before: cookies and passwords."""
    memory = np.frombuffer(b"secret " * 3000, np.uint8).copy()
    memory[7_000:14_000] = 0
    for view in (memory[7_000:7_005], memory[7_000:14_000], memory[7_000:14_000:2], memory[7_000:14_000].view("u8")):
        signed, arrays = saved(view)
        assert b"secret" not in signed + b"".join(array.tobytes() for array in arrays)


# -- what is refused ------------------------------------------------------------------------------------------------


def local() -> Any:
    @dataclass
    class Local:
        value: int = 0

    return Local()


def deep() -> list[Any]:
    value: list[Any] = []
    for _ in range(500_000):
        value = [value]
    return value


UNFIT: dict[str, Any] = {
    "lambda": {"x": lambda page: page},
    "generator": [1, (page for page in ())],
    "factory": defaultdict(lambda: 0),
    "local class": local(),
    "lock in an object": [Node(1, [Lock()])],
    "deep": deep(),
}


@over_rows("name", UNFIT)
def test_other_values_are_one_error_line(name: str) -> None:
    with pytest.raises(
        InputError, match=r"^remembering: value cannot be saved \(.*\); a policy's state must be"
    ) as raised:
        saved(UNFIT[name])
    assert "\n" not in str(raised.value)


def test_arrays_that_share_memory_are_refused() -> None:
    policy, large = Remembering(), np.arange(1000)
    policy.value, policy.other = {"a": large}, [large[3:5]]  # type: ignore[attr-defined]
    with pytest.raises(InputError, match="remembering: other cannot be saved .*shares memory with another array"):
        saved(None, policy)
    assert brought_back([large[:3], large[3:5]])[1].tolist() == [3, 4], "parts that do not overlap"


class Late(Remembering):
    """Its state is well when it is made, and bad when it has begun."""

    name: ClassVar[str] = "late"

    def begin(self, web: GrowingGraph, trusted: TrustedPages) -> Priorities:
        self._cache = {"x": lambda page: page}
        return super().begin(web, trusted)


@pytest.fixture
def late(monkeypatch: pytest.MonkeyPatch) -> str:
    register_for_now(POLICIES, Late, monkeypatch)
    return Late.name


@pytest.mark.parametrize("step_by_step", [False, True])
def test_a_simulation_refuses_it(late: str, step_by_step: bool) -> None:
    with pytest.raises(InputError, match=r"^late: _cache cannot be saved .*; a policy's state must be "):
        ori.simulate(shapes.star(3), late, step_by_step=step_by_step)


def test_a_comparison_refuses_it(late: str) -> None:
    with pytest.raises(InputError, match=r"^late: _cache cannot be saved"):
        compare(shapes.star(3), ["certified", late])


def test_the_check_leaves_no_trace() -> None:
    """What a policy holds when a simulation begins is not that of the crawl that it was tried on."""

    class Counting(Remembering):
        def begin(self, web: GrowingGraph, trusted: TrustedPages) -> Priorities:
            self.value.append(len(trusted.pages))
            return super().begin(web, trusted)

    policy = Counting([])
    ori.simulate(shapes.star(4), policy, trust=[0, 1, 2])
    assert policy.value == [3]


# -- what is not read -----------------------------------------------------------------------------------------------


class Trap:
    """An object whose pickle runs code when it is loaded."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def __reduce__(self) -> Any:
        return Path.touch, (self.file,)


def test_a_pickle_of_others_does_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trap = pickle.dumps(Trap(tmp_path / "run"))
    own = saved("mine").signed
    other_purpose = signed_content("request of a spider", trap)
    with monkeypatch.context() as patched:
        patched.setenv("XDG_STATE_HOME", str(tmp_path / "of another user"))
        by_another = state_of({"policy": Remembering(Trap(tmp_path / "run"))}, WEB).signed
    assert other_purpose
    assert by_another
    damaged = own[:-5] + bytes([own[-5] ^ 1]) + own[-4:]
    for signed in (
        b"",
        trap,
        bytes(32) + trap,
        own[:32] + trap,
        own + trap,
        own[:-1],
        damaged,
        other_purpose,
        by_another,
    ):
        with pytest.raises(ValueError, match="did not sign"):
            restored(ObjectState(signed, []))
    assert not (tmp_path / "run").exists()
    assert restored(saved(Trap(tmp_path / "run"))) is None
    assert (tmp_path / "run").exists(), "it would have run"


def test_without_a_key_nothing_is_signed_or_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = saved("mine")
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    assert saved("mine").signed == b""
    with pytest.raises(ValueError, match="did not sign"):
        restored(own)


def test_the_state_of_another_version_or_policy_or_with_less_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(policy_state, "__version__", "0.0.1")
        older = saved("mine")
    with pytest.raises(ValueError, match=r"version 0\.0\.1"):
        restored(older)
    less = Remembering()
    del less.value
    for policy, state in ((Late(), saved("mine")), (Remembering(), saved(None, less))):
        with pytest.raises(ValueError, match="is not that of a"):
            set_state({"policy": policy}, WEB, state)


def test_a_class_that_is_not_found_any_more_is_a_value_error(monkeypatch: pytest.MonkeyPatch) -> None:
    state = saved([Mark()])
    assert restored(state)[0].marks == [1]
    monkeypatch.delattr(sys.modules[__name__], "Mark")
    with pytest.raises(ValueError, match="cannot be restored: AttributeError"):
        restored(state)


def test_arrays_of_another_size_are_a_value_error() -> None:
    signed, arrays = saved(np.arange(1000))
    for others in ([], [arrays[0][:-1]]):
        with pytest.raises(ValueError, match="cannot be restored"):
            restored(ObjectState(signed, others))
