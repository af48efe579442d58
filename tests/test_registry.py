"""Things by their names: ours, those marked in this process, and those that packages name in entry points."""

from __future__ import annotations

import math
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest

import orienteer as ori
from orienteer.cli.command import REGISTRIES, registry_of
from orienteer.registry import HERE, OURS, ClassRegistry, Origin, Registry
from tests.tables import over_rows

SHAPES = """
from tests.test_registry import current
from tests.test_registry import Shape

class Square(Shape):
    '''Four sides.'''
    name = 'square'
    def area(self): return 4.0
"""


class Shape(ABC):
    name: ClassVar[str]

    @abstractmethod
    def area(self) -> float: ...


class Circle(Shape):
    name = "circle"

    def __init__(self, radius: float = 1.0) -> None:
        self.radius = math.fabs(radius)

    def area(self) -> float:
        return 3.0 * self.radius**2


_current: list[ClassRegistry[Shape]] = []


def current() -> ClassRegistry[Shape]:
    """The registry of the test that runs, for modules that register themselves."""
    return _current[-1]


@pytest.fixture
def shapes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ClassRegistry[Shape]]:
    """A registry of its own for each test, whose own shapes are in a package `own_shapes`: a circle."""
    write_module(tmp_path, "own_shapes/__init__.py", "")
    write_module(
        tmp_path,
        "own_shapes/circle.py",
        "from tests.test_registry import Circle, current\n"
        "Circle.__module__ = 'orienteer.shapes'  # as if it were one of ours\n"
        "current().register(Circle)\n",
    )
    monkeypatch.setattr(Circle, "__module__", Circle.__module__)
    monkeypatch.syspath_prepend(tmp_path)
    before = set(sys.modules)
    _current.append(ClassRegistry("shape", Shape, package="own_shapes", group="tests.shapes"))
    yield _current[-1]
    _current.pop()
    for name in set(sys.modules) - before:
        del sys.modules[name]


def write_module(folder: Path, name: str, text: str) -> None:
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)


def install(folder: Path, package: str, entry_points: str, **modules: str) -> None:
    """As pip leaves a package behind: its modules, and what is said of it."""
    info = folder / f"{package}-1.5.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.5\n")
    (info / "entry_points.txt").write_text(f"[tests.shapes]\n{entry_points}\n")
    for name, text in modules.items():
        write_module(folder, f"{name}.py", text)


def test_ours_are_found_without_a_look_at_others(shapes: ClassRegistry[Shape], tmp_path: Path) -> None:
    install(tmp_path, "squares", "square = square_one:Square", square_one=SHAPES)
    assert shapes.find("circle") is Circle
    assert shapes.make("circle", {"radius": 2.0}).area() == 12.0
    assert shapes.origin("circle") == OURS
    assert list(shapes.own()) == ["circle"]
    assert "square_one" not in sys.modules
    assert shapes.make("square", {}).area() == 4.0
    assert shapes.origin("square") == Origin("squares", "1.5")
    assert list(shapes.all()) == shapes.names() == ["circle", "square"]
    assert list(shapes.own()) == ["circle"]


def test_a_module_registers_what_it_holds(shapes: ClassRegistry[Shape], tmp_path: Path) -> None:
    install(tmp_path, "squares", "any-name = square_one", square_one=SHAPES + "current().register(Square)\n")
    assert shapes.names() == ["circle", "square"]
    assert str(shapes.origin("square")) == "squares 1.5"
    assert shapes.problems == []


def test_one_that_was_marked_before_is_of_its_package(shapes: ClassRegistry[Shape], tmp_path: Path) -> None:
    text = SHAPES + "current().register(Square)\n"
    install(tmp_path, "squares", "square = square_one:Square", square_one=text)
    import square_one  # noqa: F401

    assert shapes.origin("square") == HERE
    shapes.names()
    assert shapes.origin("square") == Origin("squares", "1.5")
    assert shapes.problems == []


def test_the_first_package_by_its_name_stays(shapes: ClassRegistry[Shape], tmp_path: Path) -> None:
    install(tmp_path, "b-squares", "square = square_b:Square", square_b=SHAPES)
    install(tmp_path, "a-squares", "square = square_a:Square", square_a=SHAPES)
    assert shapes.find("square").__module__ == "square_a"
    assert [str(problem) for problem in shapes.problems] == [
        "shape 'square' of b-squares 1.5: the name 'square' is taken by the shape of a-squares 1.5"
    ]


def test_a_plugin_that_lists_names_while_it_is_loaded(shapes: ClassRegistry[Shape], tmp_path: Path) -> None:
    look = "from tests.test_registry import current\nassert current().names() == ['circle']\n"
    install(tmp_path, "squares", "square = square_one:Square", square_one=look + SHAPES)
    assert shapes.names() == ["circle", "square"]
    assert shapes.problems == []


def test_a_package_whose_metadata_is_damaged(shapes: ClassRegistry[Shape], tmp_path: Path) -> None:
    install(tmp_path, "squares", "square = square_one:Square", square_one=SHAPES)
    install(tmp_path, "damaged", "no equals sign here")
    assert "circle" in shapes.names()
    assert shapes.problems == [] or "some package cannot be read" in str(shapes.problems[0])


def test_marked_in_this_process(shapes: ClassRegistry[Shape]) -> None:
    def marked(class_name: str, name: str) -> Any:
        return shapes.register(type(class_name, (Circle,), {"name": name, "__module__": "__main__"}))

    marked("Dot", "dot")
    assert shapes.origin("dot") == HERE
    again = marked("Dot", "dot")  # a cell of a notebook that is run again
    assert shapes.find("dot") is again
    with pytest.raises(ori.InputError, match=r"^the name 'circle' is taken by the shape of orienteer$"):
        marked("Wheel", "circle")
    assert shapes.find("circle") is Circle


@pytest.mark.parametrize(
    ("thing", "message"),
    [
        (Shape, "Shape does not define area"),
        (7, "7 is not a subclass of tests.test_registry.Shape"),
        (type("Nameless", (Shape,), {"area": lambda self: 0.0}), "Nameless does not define its name"),
        (
            type("Open", (Shape,), {"name": "open", "area": lambda self: 0.0, "__init__": lambda self, side: None}),
            "Open has settings without a default value: side",
        ),
    ],
)
def test_what_is_none_is_refused(shapes: ClassRegistry[Shape], thing: object, message: str) -> None:
    with pytest.raises(ori.InputError, match=f"^{message}$"):
        shapes.register(thing)


def test_a_wrong_setting_is_one_line(shapes: ClassRegistry[Shape]) -> None:
    with pytest.raises(ori.InputError, match=r"^no setting of circle named 'radios'; did you mean 'radius'\?"):
        shapes.make("circle", {"radios": 1})
    with pytest.raises(ori.InputError, match=r"^shape circle: must be real number, not str$"):
        shapes.make("circle", {"radius": "wide"})


def test_an_unknown_name_says_what_could_not_be_loaded(shapes: ClassRegistry[Shape], tmp_path: Path) -> None:
    install(tmp_path, "squares", "square = square_one:Square", square_one="raise RuntimeError('two\\nlines')")
    with pytest.raises(ori.InputError) as caught:
        shapes.find("square", where=" in here.toml")
    assert str(caught.value) == (
        "no shape in here.toml named 'square' (choices: circle); "
        "the plug-in of squares 1.5 could not be loaded: RuntimeError: two lines"
    )
    with pytest.raises(ori.InputError, match=r"; plug-ins that could not be loaded: 1 \(see orienteer plugins\)$"):
        shapes.find("oval")


def test_a_reference_is_imported_when_it_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_module(tmp_path, "heavy_module.py", "def lift(): 'Lift it.'\n")
    monkeypatch.syspath_prepend(tmp_path)
    tools: Registry[Any] = Registry("tool", lambda thing: "" if callable(thing) else "cannot be called",
                                    own={"lift": "heavy_module:lift", "print": print})  # fmt: skip
    assert tools.names() == ["lift", "print"]
    assert tools.find("print") is print
    with pytest.raises(ori.InputError, match="the name 'lift' is taken by the tool of orienteer"):
        tools.register(type("lift", (), {}))
    assert "heavy_module" not in sys.modules
    assert tools.find("lift").__doc__ == "Lift it."
    assert list(tools.own()) == list(tools.all()) == ["lift", "print"]

    @tools.register
    def drop() -> None: ...

    assert tools.find("drop") is drop
    del sys.modules["heavy_module"]


@over_rows("group", REGISTRIES)
def test_commands_look_for_plug_ins_in_the_groups_of_the_registries(group: str) -> None:
    assert registry_of(group).group == group
