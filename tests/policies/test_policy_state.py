"""Allowed states of policies round-trip, others are errors of one line, and untrusted trees do no harm."""

from __future__ import annotations

import enum
import io
import json
import math
import random
from array import array
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass, field, is_dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import orienteer as ori
from orienteer.errors import InputError
from orienteer.evaluate.compare import compare
from orienteer.graph import shapes
from orienteer.graph.growing_graph import GrowingGraph
from orienteer.policies.focused import LinkWords
from orienteer.policies.policy import NO_CHANGE, POLICIES, Policy, Priorities, TrustedPages
from orienteer.policies.policy_state import ObjectState, set_state, state_of
from orienteer.policies.scent import LinkBayes
from orienteer.policies.state_classes import attributes_of
from tests.registered import register_for_now

RAISED = (KeyError, ValueError, TypeError, AttributeError)  # after these a ledger replays all events


class Colour(enum.Enum):
    RED = 1
    BLUE = "blue"


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

    made: ClassVar[list[int]] = []

    def __post_init__(self) -> None:
        self.made.append(self.page)
        self.label = f"page {self.page}"  # no field

    def touch(self) -> None:
        self.links.append(self.page)


@dataclass(frozen=True, slots=True)
class Key:
    host: str
    page: int


@dataclass(frozen=True)
class Holder:
    items: list[Any]


class Outer:
    @dataclass
    class Inner:
        value: int = 0


class Mark:
    """An object of a class that is nothing special."""


class Remembering(Policy):
    """Remembers whatever it is given."""

    name: ClassVar[str] = "remembering"

    def __init__(self, value: Any = None) -> None:
        self.value = value

    def begin(self, web: GrowingGraph, trusted: TrustedPages) -> Priorities:
        return Priorities(trusted.pages, trusted.trust)

    def fetched(self, page: int, web: GrowingGraph) -> Priorities:
        return NO_CHANGE


def brought_back(value: Any) -> Any:
    """Through the very bytes of a file, to a policy that knows nothing."""
    state = state_of(Remembering(value))
    file = io.BytesIO()
    np.savez(file, *state.arrays)
    text = json.dumps(state.tree, ensure_ascii=False).encode("utf-8", "surrogatepass")
    file.seek(0)
    with np.load(file, allow_pickle=False) as arrays:
        items = [arrays[f"arr_{k}"] for k in range(len(state.arrays))]
    policy = Remembering()
    set_state(policy, ObjectState(json.loads(text.decode("utf-8", "surrogatepass")), items))
    return policy.value


def assert_alike(a: Any, b: Any) -> None:
    """Equal, and of the same types, to the last part."""
    assert type(a) is type(b)
    if isinstance(a, np.ndarray | np.generic):
        assert a.dtype == b.dtype
        assert a.shape == b.shape
        assert a.tobytes() == b.tobytes()
    elif isinstance(a, float):
        assert a == b or (math.isnan(a) and math.isnan(b))
        assert math.copysign(1, a) == math.copysign(1, b) or math.isnan(a)
    elif isinstance(a, dict):
        assert len(a) == len(b)
        for (key_a, value_a), (key_b, value_b) in zip(a.items(), b.items(), strict=True):
            assert_alike(key_a, key_b)
            assert_alike(value_a, value_b)
    elif isinstance(a, list | tuple | deque):
        assert len(a) == len(b)
        for one, other in zip(a, b, strict=True):
            assert_alike(one, other)
    elif is_dataclass(a):
        assert_alike(attributes_of(a), attributes_of(b))
    else:
        assert a == b


VALUES: dict[str, Any] = {
    "plain": [None, True, False, 0, -1, 1.5, "", "text", "ä\ud83d\ude00\udc80\x00"],
    "floats": [0.1, -0.0, math.inf, -math.inf, math.nan, 1e-320, 1.7976931348623157e308],
    "ints": [2**63 - 1, -(2**63), 2**63, -(2**64), 10**6000, -(10**5000)],
    "bytes": [b"", b"\x00\xff", bytearray(b"ab")],
    "containers": [[], (), {}, set(), frozenset(), [1, [2, (3, {4})]], ((), ((),))],
    "dict by all": {1: "a", "1": "b", (1, "x"): "c", None: "d", 1.5: "e", frozenset((1, 2)): "f", b"k": "g"},
    "order": {3: 1, 1: 2, 2: 3},
    "collections": [deque([1, 2]), deque([1, 2, 3], maxlen=3), Counter("abca"), OrderedDict(b=1, a=2)],
    "defaultdicts": [defaultdict(int, a=1), defaultdict(list), defaultdict(None), defaultdict(Node)],
    "scalars": [np.float64(1.5), np.float32(0.1), np.int8(-3), np.uint64(2**64 - 1), np.bool_(True), np.complex64(1j)],
    "more scalars": [np.datetime64("2026-01-02"), np.timedelta64(5, "s"), np.str_("é"), np.str_(""), np.bytes_(b"x")],
    "scalars as keys": {np.int64(3): np.float64(1), (np.uint32(1), 2): None},
    "small arrays": [np.arange(3), np.zeros((0, 4)), np.array(7), np.array([[1, 2], [3, 4]], "<u2"), np.array([True])],
    "arrays": [np.arange(1000), np.zeros((30, 40), np.float32), np.asfortranarray(np.arange(600.0).reshape(20, 30))],
    "other arrays": [np.array(["a", "bc"]), np.array([b"x"]), np.array([(1, 2.0)], [("a", "i4"), ("b", "f8")])],
    "typed": [array("d", [1.5, 2.5]), array("Q"), array("b", [-1])],
    "enums": [Colour.RED, Colour.BLUE, Rights.READ, Rights.READ | Rights.WRITE, Rights(0), HTTPStatus.NOT_FOUND],
    "named tuples": [Place(1), Place(1, 2), {Place(3, 4): "x"}, LinkWords(np.arange(2), np.arange(3), np.arange(4))],
    "dataclasses": [Node(1, [2]), Key("h", 3), {Key("h", 4): Key("g", 5)}, Outer.Inner(3), Holder([1])],
}  # fmt: skip


@pytest.mark.parametrize("name", VALUES)
def test_allowed_values_round_trip(name: str) -> None:
    value = VALUES[name]
    assert_alike(value, brought_back(value))


def test_a_record_and_the_label_of_a_dataclass_round_trip() -> None:
    record = np.array([(1, 2.0)], [("a", "i4"), ("b", "f8")])[0]
    assert brought_back(record) == record
    assert vars(brought_back(Node(7))) == {"page": 7, "links": [], "label": "page 7"}
    assert brought_back(defaultdict(Node)).default_factory is Node
    assert brought_back(deque([1], maxlen=3)).maxlen == 3


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(width=64) | st.text() | st.binary()
    | st.sampled_from([Colour.RED, np.float32(2.5), np.int16(7)]),
    lambda inner: st.lists(inner) | st.lists(inner).map(tuple) | st.lists(inner).map(deque)
    | st.dictionaries(st.integers() | st.text() | st.tuples(st.integers(), st.text()), inner)
    | st.sets(st.integers()) | st.builds(Holder, st.lists(inner)) | st.builds(Place, inner, inner)
    | st.lists(st.floats(width=64)).map(np.array),
    max_leaves=30,
)  # fmt: skip


@given(ANYTHING)
def test_nested_values_round_trip(value: Any) -> None:
    assert_alike([value], brought_back([value]))


@pytest.mark.parametrize("kind", [np.random.PCG64, np.random.PCG64DXSM, np.random.MT19937, np.random.Philox,
                                  np.random.SFC64])  # fmt: skip
def test_a_generator_continues_its_sequence(kind: Any) -> None:
    rng = np.random.Generator(kind(7))
    rng.integers(10, size=3, dtype=np.uint32)  # half a word is left over
    rng.spawn(2)
    again = brought_back(rng)
    for one in (rng, again):
        assert type(one.bit_generator) is kind
    assert rng.random(5).tolist() == again.random(5).tolist()
    assert rng.integers(10, size=9, dtype=np.uint32).tolist() == again.integers(10, size=9, dtype=np.uint32).tolist()
    assert rng.spawn(1)[0].random() == again.spawn(1)[0].random()


def test_random_continues_its_sequence() -> None:
    rng = random.Random(3)
    rng.gauss(0, 1)
    again = brought_back(rng)
    assert [rng.gauss(0, 1), rng.random()] == [again.gauss(0, 1), again.random()]


def test_shared_references_stay_shared() -> None:
    inner, numbers, big = [1], np.arange(4), np.arange(500)
    value = brought_back({"a": inner, "b": (inner, numbers), "c": numbers, "d": [big, big]})
    assert value["a"] is value["b"][0]
    assert value["b"][1] is value["c"]
    assert value["d"][0] is value["d"][1]
    value["a"].append(2)
    assert value["b"][0] == [1, 2]


def test_a_cycle_stays_one() -> None:
    node = Node(1)
    node.links.append(node)
    again = brought_back(node)
    assert again.links[0] is again
    doubled: Any = ()
    for _ in range(60):  # 2 ** 60 if it were written out
        doubled = (doubled, doubled)
    again = brought_back(doubled)
    assert again[0] is again[1]
    assert again[0][0] is again[1][1]


def test_objects_of_ours_are_filled_in_place() -> None:
    policy, again = Remembering(LinkBayes()), Remembering(LinkBayes())
    policy.value.add_links(LinkWords(np.array([1], np.uint32), np.array([0, 1]), np.array([5], np.uint32)), 3)
    policy.value.judge(1, 1.0)
    there = again.value
    set_state(again, state_of(policy))
    assert again.value is there
    assert again.value.log_odds(np.array([1])) == policy.value.log_odds(np.array([1]))
    with pytest.raises(ValueError, match="no such LinkBayes to restore"):
        set_state(Remembering(), state_of(policy))


def a_generator() -> Iterator[int]:
    yield 1


def itself() -> tuple[Any, ...]:
    inner: list[Any] = []
    held = (inner,)
    inner.append(held)
    return held


def frozen_in_itself() -> Holder:
    held = Holder([])
    held.items.append(held)
    return held


def local() -> Any:
    @dataclass
    class Local:
        value: int = 0

    return Local()


def deep() -> list[Any]:
    value: list[Any] = []
    for _ in range(5000):
        value = [value]
    return value


VIEWED = np.arange(10)
UNFIT: dict[str, tuple[Any, str]] = {
    "function": ({"x": lambda page: page}, r"value\['x'\] is a function"),
    "nested": ([{"a": (1, {2: print})}], r"value\[0\]\['a'\]\[1\]\[2\] is a function"),
    "method": ([].append, "value is a function"),
    "bound": (Remembering().begin, "value is a method"),
    "generator": ([1, a_generator()], r"value\[1\] is a generator"),
    "object": (Mark(), "value is an object of the class Mark"),
    "in a dataclass": (Node(1, [Mark()]), r"value\.links\[0\] is an object of the class Mark"),
    "in a named tuple": (Place(Mark()), r"value\[0\] is an object of the class Mark"),  # type: ignore[arg-type]
    "a key": ({print: 1}, r"value \(a key\) is a function"),
    "an element": ({print}, r"value \(an element\) is a function"),
    "class": (Mark, "value is the class Mark"),
    "factory": (defaultdict(lambda: 0), r"value\.default_factory is a function"),
    "array of objects": (np.array([None]), "value is an array of objects"),
    "texts of any length": (np.array(["a"], np.dtypes.StringDType()), "value is an array of objects"),
    "masked": (np.ma.array([1]), "value is an object of the class MaskedArray"),
    "views": ([VIEWED, VIEWED[3:5]], r"value\[1\] shares its memory with another array"),
    "dict of another kind": (type("D", (dict,), {})(), "value is an object of the class D"),
    "tuple in itself": (itself(), r"value\[0\]\[0\] contains itself"),
    "frozen in itself": (frozen_in_itself(), r"value\.items\[0\] contains itself"),
    "local": (local(), "Local, which is not found by its name in the module of the policy"),
    "deep": (deep(), "nested too deeply"),
    "ours in a list": ([LinkBayes()], r"value\[0\] is an object of the class LinkBayes"),
}  # fmt: skip


@pytest.mark.parametrize("name", UNFIT)
def test_other_values_are_one_error_line(name: str) -> None:
    value, message = UNFIT[name]
    with pytest.raises(InputError, match=message) as raised:
        state_of(Remembering(value))
    said = str(raised.value)
    assert said.startswith("remembering: ")
    assert "a policy's state must be" in said
    assert "\n" not in said


def test_an_open_file_may_not_be_remembered(tmp_path: Path) -> None:
    with (tmp_path / "file").open("w") as file, pytest.raises(InputError, match="value is an open file"):
        state_of(Remembering(file))


# -- where it is checked --------------------------------------------------------------------------------------------


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
    with pytest.raises(InputError, match=r"^late: _cache\['x'\] is a function; a policy's state must be "):
        ori.simulate(shapes.star(3), late, step_by_step=step_by_step)


def test_a_comparison_refuses_it(late: str) -> None:
    with pytest.raises(InputError, match=r"^late: _cache\['x'\] is a function"):
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


# -- untrusted trees ------------------------------------------------------------------------------------------------


def tree_with(node: Any) -> Any:
    tree = state_of(Remembering("here")).tree
    assert tree[3]["value"] == "here"
    tree[3]["value"] = node
    return tree


HERE = __name__
STRANGE: list[Any] = [
    ["list", {}], {"a": 1}, [], [[]], [None], ["nothing"], ["same", 5], ["same", 0, 0], ["same", -1], ["same", "x"],
    ["tuple", ["same", 1]], ["int", "x"], ["int", 5], ["bytes", "%"], ["bytes", 3], ["array", 0], ["array", -1],
    ["dict", 1], ["dict", ["list"], 1], ["set", ["list"]], ["deque", "x"], ["defaultdict", "print"],
    ["defaultdict", ["os", "system"]], ["defaultdict", [HERE, "Mark"]], ["typed", "u", 4, ["small", "<u1", [0], ""]],
    ["typed", "d", 4, ["small", "<u1", [0], ""]], ["small", "O", [1], "00"], ["small", "<i4", [2], "00"],
    ["small", "<i4", [-1], ""], ["small", "<i4", [10**30], ""], ["scalar", "<f8,O", "00"], ["item", 5],
    ["random", ["tuple", 3, ["tuple"], None]], ["random", 1], ["generator", "PCG64", ["dict"], None],
    ["generator", "Mark", ["dict", "state", ["dict"]], None], ["enum", HERE, "Colour", "GREEN"],
    ["enum", HERE, "Mark", "x"], ["flags", HERE, "Colour", 1], ["flags", HERE, "Rights", 64], ["flags", HERE, "Rights"],
    ["named", HERE, "Place", 1], ["named", HERE, "Node", 1], ["named", "builtins", "tuple"],
    ["data", HERE, "Mark", {}], ["data", HERE, "Place", {}], ["data", HERE, "Node", {"touch": 1}],
    ["data", HERE, "Node", {"links": ["nothing"]}], ["data", HERE, "Node", []], ["data", HERE, "Key", {"other": 1}],
    ["data", HERE, "Node.made", {}], ["data", HERE, "Outer.Nothing", {}], ["data", "os", "PathLike", {}],
    ["data", "subprocess", "Popen", {}], ["data", "orienteer.policies.policy", "Policy", {}],
    ["data", "orienteer.nowhere", "X", {}], ["data", HERE, "ori", {}], ["data", 1, 2, {}],
    ["object", HERE, "Mark", {}], ["object", "orienteer.policies.scent", "LinkBayes", {}], ["object", HERE],
]  # fmt: skip


@pytest.mark.parametrize("node", STRANGE, ids=str)
def test_a_strange_tree_is_refused(node: Any) -> None:
    with pytest.raises(RAISED):
        set_state(Remembering(), ObjectState(tree_with(node), []))


def test_a_deep_tree_is_refused() -> None:
    node: Any = ["list"]
    for _ in range(5000):
        node = ["list", node]
    with pytest.raises(ValueError, match="RecursionError"):
        set_state(Remembering(), ObjectState(tree_with(node), []))


@pytest.mark.parametrize(
    "change", [{"fetched": 1}, {"begin": None}, {"run": ["list"]}, {"name": 1, "_repr": ["nothing"]}]
)
def test_no_method_is_replaced(change: dict[str, Any]) -> None:
    tree = state_of(Remembering()).tree
    tree[3] |= change
    with pytest.raises(RAISED):
        set_state(Remembering(), ObjectState(tree, []))


def test_a_state_of_another_policy_or_with_less_is_refused() -> None:
    for policy, tree in ((Late(), state_of(Remembering()).tree), (Remembering(), ["object", HERE, "Remembering", {}])):
        with pytest.raises(ValueError, match="to restore"):
            set_state(policy, ObjectState(tree, []))


def test_no_code_of_a_class_runs() -> None:
    state = state_of(Remembering([Node(5), Key("h", 1)]))
    Node.made.clear()
    policy = Remembering()
    set_state(policy, state)
    assert policy.value[0] == Node(5)
    assert Node.made == [5], "made by the line before, and only there"


def test_positions_outside_of_a_generator_are_refused() -> None:
    for kind, path in ((np.random.MT19937, ("state", "pos")), (np.random.Philox, ("buffer_pos",))):
        bits = kind(1)
        state = bits.state
        item = state
        for key in path[:-1]:
            item = item[key]
        item[path[-1]] = -7
        writer = state_of(Remembering(state))
        node = writer.tree[3]["value"]
        with pytest.raises(ValueError, match="position"):
            set_state(Remembering(), ObjectState(tree_with(["generator", kind.__name__, node, None]), writer.arrays))


@pytest.mark.parametrize("kind", ["0001", "i8,i8", "<i8, 010", "object", "(2,)<i8", "|O8", "<U4", ""])
def test_other_array_types_are_refused(kind: str) -> None:
    with pytest.raises(ValueError, match="is not a type of numbers"):
        set_state(Remembering(), ObjectState(tree_with(["small", kind, [3], "00" * 24]), []))


@settings(max_examples=300)
@given(st.data())
def test_a_damaged_tree_is_read_or_refused(data: st.DataObject) -> None:
    """Something in a tree is replaced, taken out or doubled."""
    values = [{1: [2, (3,)], "a": {4}}, Node(1, [Key("h", 2)]), Colour.RED, np.arange(3), random.Random(1), deque([1])]
    state = state_of(Remembering(values[:-2] + values[-1:]))
    tree = json.loads(json.dumps(state.tree))
    places: list[tuple[Any, Any]] = []
    stack = [tree]
    while stack:
        node = stack.pop()
        items = list(enumerate(node)) if isinstance(node, list) else list(node.items())
        places += [(node, key) for key, _ in items]
        stack += [item for _, item in items if isinstance(item, list | dict)]
    node, key = data.draw(st.sampled_from(places))
    how = data.draw(st.sampled_from(["replace", "remove", "swap"]))
    if how == "remove":
        del node[key]
    elif how == "swap":
        other, there = data.draw(st.sampled_from(places))
        node[key] = json.loads(json.dumps(other[there]))
    else:
        node[key] = data.draw(st.none() | st.integers() | st.text(max_size=3) | st.just([]) | st.just({}) | st.floats())
    try:
        set_state(Remembering(), ObjectState(tree, state.arrays))
    except RAISED:
        return
