"""Interchangeable things found by their names: our own, and those that other packages bring as plug-ins.

A thing of ours is one file of a folder, and registers itself by a decorator. Another package names its things in the
entry points of a group (see `importlib.metadata`): the thing itself, or a module whose import registers some.

    find(name)   a name of ours is found without other packages; they are loaded only for a name that is not ours
    all()        ours and theirs

A plug-in that is broken breaks nothing: it is kept as a `Problem`, which `orienteer plugins` shows and the error for an
unknown name mentions. A name stays with whoever has it: we first, then packages in the order of their names.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import sys
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from functools import lru_cache
from types import ModuleType
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from orienteer.errors import InputError, unknown_name

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint, EntryPoints  # it takes 20 ms, and most commands look for no plug-in

Thing = TypeVar("Thing")
Made = TypeVar("Made")
Marked = TypeVar("Marked")


class Origin(NamedTuple):
    """Where a thing is from: a distribution and its version."""

    distribution: str
    version: str = ""

    def __str__(self) -> str:
        return f"{self.distribution} {self.version}".strip()


OURS = Origin("orienteer")
HERE = Origin("this process")  # marked by a decorator, in no package's entry point

_loading: ContextVar[Origin | None] = ContextVar("the package whose plug-in is being loaded", default=None)


def entry_points_of(group: str) -> EntryPoints:
    """Those of all packages that are installed."""
    found: EntryPoints = _all_entry_points(tuple(sys.path)).select(group=group)
    return found


@lru_cache(maxsize=1)
def _all_entry_points(paths: tuple[str, ...]) -> Any:
    """Of all groups at once: where many packages are installed, reading them takes longer than many a command."""
    from importlib.metadata import entry_points

    return entry_points()


class Problem(NamedTuple):
    """A plug-in that could not be loaded, and why."""

    noun: str
    name: str
    origin: Origin
    error: str

    def __str__(self) -> str:
        return f"{self.noun} {self.name!r} of {self.origin}: {self.error}"


class Registered(NamedTuple, Generic[Thing]):
    thing: Thing
    origin: Origin


class Registry(Generic[Thing]):
    """Things by their names.

    `noun` is what they all are; `complaint` says of anything why it is none, in words that follow its name, or "".
    `own` are ours: by name, or as a reference "module:name" that is imported when it is asked for. Where they mark
    themselves with `register`, `package` is the folder whose files do. Plug-ins are the entry points of `group`.
    """

    def __init__(
        self,
        noun: str,
        complaint: Callable[[Any], str],
        *,
        group: str = "",
        package: str = "",
        own: Mapping[str, Thing | str] | None = None,
    ) -> None:
        self.noun = noun
        self.group = group
        self._complaint = complaint
        self._package = package
        self._references: dict[str, str] = {}
        self._things: dict[str, Registered[Thing]] = {}
        for name, thing in (own or {}).items():
            if isinstance(thing, str):
                self._references[name] = thing
            else:
                self._things[name] = Registered(thing, OURS)
        self._is_own_imported = not package
        self._is_loaded = not group
        self._problems: dict[Problem, None] = {}

    def register(self, thing: Marked) -> Marked:
        """Register a thing under its name; used as a decorator. A name that somebody else has is an InputError."""
        name = _name_of(thing)
        origin = _origin_of(thing)
        try:
            self._expect_fit(thing)
            self._add(name, thing, origin)
        except InputError as error:
            if _loading.get() is None:
                raise
            self._problems[Problem(self.noun, name, origin, str(error))] = None  # its neighbours may be all right
        return thing

    def find(self, name: str, where: str = "") -> Thing:
        """The thing of this name; an InputError where there is none, which may say `where` the name stood."""
        self._import_own()
        if name not in self._things and name not in self._references:
            self._load_plugins()
        if name in self._references and name not in self._things:
            self._things[name] = Registered(pkgutil.resolve_name(self._references[name]), OURS)
        if name not in self._things:
            raise self._unknown(name, where)
        return self._things[name].thing

    def names(self) -> list[str]:
        """All names, of plug-ins too."""
        self._import_own()
        self._load_plugins()
        return sorted({*self._things, *self._references})

    def all(self) -> dict[str, Thing]:
        """All things by their names, those of plug-ins too."""
        return {name: self.find(name) for name in self.names()}

    def own(self) -> dict[str, Thing]:
        """Those of this package, whatever else is installed."""
        self._import_own()
        names = {*self._references, *(name for name, one in self._things.items() if one.origin == OURS)}
        return {name: self.find(name) for name in sorted(names)}

    def origin(self, name: str) -> Origin:
        """Where the thing of this name is from."""
        self.find(name)
        return self._things[name].origin

    @property
    def problems(self) -> list[Problem]:
        """What is wrong with plug-ins; loads them."""
        self._load_plugins()
        return list(self._problems)

    def _expect_fit(self, thing: object) -> None:
        if wrong := self._complaint(thing):
            raise InputError(f"{getattr(thing, '__qualname__', repr(thing))} {wrong}")

    def _add(self, name: str, thing: Any, origin: Origin) -> None:
        if origin != OURS:
            self._import_own()  # so that a name of ours is known to be taken
        there = self._things.get(name)
        if there is None and (name not in self._references or origin == OURS):
            self._things[name] = Registered(thing, origin)
        elif there is not None and (_is_same(thing, there.thing) or there.origin == origin == HERE):
            # One that was marked before and now is named by its package; or a cell of a notebook that is run again.
            self._things[name] = Registered(thing, there.origin if origin == HERE else origin)
        else:
            raise InputError(f"the name {name!r} is taken by the {self.noun} of {there.origin if there else OURS}")

    def _import_own(self) -> None:
        if self._is_own_imported:
            return
        for module in pkgutil.iter_modules(importlib.import_module(self._package).__path__):
            importlib.import_module(f"{self._package}.{module.name}")
        self._is_own_imported = True  # not before: another thread may ask meanwhile

    def _load_plugins(self) -> None:
        if self._is_loaded or _loading.get() is not None:  # a plug-in that looks around sees what is there so far
            return
        self._import_own()
        for origin, entry_point in self._entry_points():
            token = _loading.set(origin)
            try:
                self._load(entry_point, origin)
            except (Exception, SystemExit) as error:
                self._problems[Problem(self.noun, entry_point.name, origin, _one_line(error))] = None
            finally:
                _loading.reset(token)
        self._is_loaded = True

    def _entry_points(self) -> list[tuple[Origin, EntryPoint]]:
        """Those of all packages, by the names of these."""
        try:
            found = [(_origin_of_package(one), one) for one in entry_points_of(self.group)]
        except Exception as error:  # Python does not say in which package
            problem = f"the entry points of some package cannot be read ({_one_line(error)})"
            self._problems[Problem(self.noun, "", Origin("?"), problem)] = None
            return []
        return sorted(found, key=lambda pair: (pair[0], pair[1].name))

    def _load(self, entry_point: EntryPoint, origin: Origin) -> None:
        thing = entry_point.load()
        if isinstance(thing, ModuleType):
            return  # its import has registered what it holds
        self._expect_fit(thing)
        said = getattr(thing, "name", entry_point.name)
        if said != entry_point.name:
            raise InputError(f"{entry_point.value} is named {said!r}; its entry point must have the same name")
        self._add(entry_point.name, thing, origin)

    def _unknown(self, name: str, where: str) -> InputError:
        known = self.names()
        error = str(unknown_name(self.noun + where, name, known)) if known else ""
        error = error or f"no {self.noun}{where} named {name!r} is installed"
        for problem in self._problems:
            if problem.name == name:
                return InputError(f"{error}; the plug-in of {problem.origin} could not be loaded: {problem.error}")
        if self._problems:
            error += f"; plug-ins that could not be loaded: {len(self._problems)} (see orienteer plugins)"
        return InputError(error)


class ClassRegistry(Registry[type[Made]], Generic[Made]):
    """Classes with one base, by their attribute `name`. Keyword arguments of `__init__` are the settings of each."""

    def __init__(self, noun: str, base: type[Any], *, package: str, group: str = "") -> None:
        self._base = base
        super().__init__(noun, self._why_not, package=package, group=group)

    def make(self, name: str, settings: Mapping[str, Any]) -> Made:
        """The one of this name, with these settings; a wrong name or setting is one clear line."""
        kind = self.find(name)
        allowed = settings_of(kind)
        for setting in settings:
            if setting not in allowed:
                raise unknown_name(f"setting of {name}", setting, allowed)
        try:
            return kind(**settings)
        except TypeError as error:
            raise InputError(f"{self.noun} {name}: {error}") from None

    def _why_not(self, thing: Any) -> str:
        if not (isinstance(thing, type) and issubclass(thing, self._base)):
            return f"is not a subclass of {self._base.__module__}.{self._base.__qualname__}"
        if missing := sorted(getattr(thing, "__abstractmethods__", ())):
            return f"does not define {', '.join(missing)}"
        said = (name for name, kind in inspect.get_annotations(self._base).items() if "ClassVar" in str(kind))
        if unsaid := [name for name in said if not hasattr(thing, name)]:
            return f"does not say its {', '.join(unsaid)}"
        if required := [name for name, default in settings_of(thing).items() if default is inspect.Parameter.empty]:
            return f"has settings without a default value: {', '.join(required)}"
        return ""


def settings_of(kind: type[Any]) -> dict[str, Any]:
    """The keyword arguments a kind is made with, and their default values."""
    return {name: parameter.default for name, parameter in inspect.signature(kind).parameters.items()}


def _name_of(thing: Any) -> str:
    return str(getattr(thing, "name", None) or getattr(thing, "__name__", thing))


def _origin_of(thing: Any) -> Origin:
    """Where something that is marked by a decorator is from; a class or a function knows its module."""
    if hasattr(thing, "__qualname__") and thing.__module__.startswith(f"{__package__}."):
        return OURS
    return _loading.get() or HERE


def _origin_of_package(entry_point: EntryPoint) -> Origin:
    package = entry_point.dist
    return Origin(str(package.name), str(package.version)) if package is not None else Origin("?")


def _is_same(one: Any, other: Any) -> bool:
    """Whether these are one thing, or one definition that was run twice."""
    place = getattr(one, "__module__", None), getattr(one, "__qualname__", None)
    return one is other or (None not in place and place == (other.__module__, getattr(other, "__qualname__", None)))


def _one_line(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return text if isinstance(error, InputError) else f"{type(error).__name__}: {text}"
