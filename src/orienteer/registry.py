"""Registries of interchangeable objects by name: built-in ones, and plug-ins of other packages.

A built-in object is one file of a folder, and is registered by a decorator. Another package declares plug-ins in the
entry points of a group (see `importlib.metadata`): the object itself, or a module whose import registers some.

    find(name)   a built-in name is found without importing other packages, which are loaded only for other names
    all()        built-in objects and plug-ins

A broken plug-in is stored as a `Problem`, which `orienteer plugins` lists and the error for an unknown name mentions. A
name belongs to the first that registers it: built-in ones, then packages in the order of their names.
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
    from importlib.metadata import EntryPoint, EntryPoints  # the import takes 20 ms, and most commands need no plug-in

Thing = TypeVar("Thing")
Made = TypeVar("Made")
Marked = TypeVar("Marked")


class Origin(NamedTuple):
    """The origin of an object: a distribution and its version."""

    distribution: str
    version: str = ""

    def __str__(self) -> str:
        return f"{self.distribution} {self.version}".strip()


OURS = Origin("orienteer")
HERE = Origin("this process")  # registered by a decorator outside of any entry point

_loading: ContextVar[Origin | None] = ContextVar("the package whose plug-in is being loaded", default=None)


def entry_points_of(group: str) -> EntryPoints:
    """Return the entry points of a group of all installed packages."""
    result: EntryPoints = _all_entry_points(tuple(sys.path)).select(group=group)
    return result


@lru_cache(maxsize=1)
def _all_entry_points(paths: tuple[str, ...]) -> Any:
    """Read all groups at once: with many installed packages, reading takes longer than some commands."""
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
    """Objects by their names.

    `noun` is their kind; `complaint` returns why an object is invalid, as text to follow its name, or "". `own` are the
    built-in ones: by name, or as a reference "module:name" that is imported on demand. Where they use `register`,
    `package` is the folder of their files. Plug-ins are the entry points of `group`.
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
        """Register an object under its name; used as a decorator. A taken name is an InputError."""
        name = _name_of(thing)
        origin = _origin_of(thing)
        try:
            self._expect_fit(thing)
            self._add(name, thing, origin)
        except InputError as error:
            if _loading.get() is None:
                raise
            self._problems[Problem(self.noun, name, origin, str(error))] = None  # its other objects may be valid
        return thing

    def find(self, name: str, where: str = "") -> Thing:
        """Return the object of this name; an InputError if there is none, with `where` the name came from."""
        self._import_own()
        if name not in self._things and name not in self._references:
            self._load_plugins()
        if name in self._references and name not in self._things:
            self._things[name] = Registered(pkgutil.resolve_name(self._references[name]), OURS)
        if name not in self._things:
            raise self._unknown(name, where)
        return self._things[name].thing

    def names(self) -> list[str]:
        """Return all names, with those of plug-ins."""
        self._import_own()
        self._load_plugins()
        return sorted({*self._things, *self._references})

    def all(self) -> dict[str, Thing]:
        """Return all objects by name, with plug-ins."""
        return {name: self.find(name) for name in self.names()}

    def own(self) -> dict[str, Thing]:
        """Return the built-in objects by name."""
        self._import_own()
        names = {*self._references, *(name for name, one in self._things.items() if one.origin == OURS)}
        return {name: self.find(name) for name in sorted(names)}

    def origin(self, name: str) -> Origin:
        """Return the origin of the object of this name."""
        self.find(name)
        return self._things[name].origin

    @property
    def problems(self) -> list[Problem]:
        """The problems of plug-ins; loads them."""
        self._load_plugins()
        return list(self._problems)

    def _expect_fit(self, thing: object) -> None:
        if wrong := self._complaint(thing):
            raise InputError(f"{getattr(thing, '__qualname__', repr(thing))} {wrong}")

    def _add(self, name: str, thing: Any, origin: Origin) -> None:
        if origin != OURS:
            self._import_own()  # so that built-in names are taken first
        existing = self._things.get(name)
        if existing is None and (name not in self._references or origin == OURS):
            self._things[name] = Registered(thing, origin)
        elif existing is not None and (_is_same(thing, existing.thing) or existing.origin == origin == HERE):
            # It was registered by a decorator before its entry point; or a cell of a notebook runs again.
            self._things[name] = Registered(thing, existing.origin if origin == HERE else origin)
        else:
            raise InputError(
                f"the name {name!r} is taken by the {self.noun} of {existing.origin if existing else OURS}"
            )

    def _import_own(self) -> None:
        if self._is_own_imported:
            return
        for module in pkgutil.iter_modules(importlib.import_module(self._package).__path__):
            importlib.import_module(f"{self._package}.{module.name}")
        self._is_own_imported = True  # not before: another thread may call `find` meanwhile

    def _load_plugins(self) -> None:
        if self._is_loaded or _loading.get() is not None:  # a plug-in that calls `find` sees those loaded so far
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
        """Return the entry points of all packages, in the order of the packages' names."""
        try:
            result = [(_origin_of_package(one), one) for one in entry_points_of(self.group)]
        except Exception as error:  # Python does not say in which package
            problem = f"the entry points of some package cannot be read ({_one_line(error)})"
            self._problems[Problem(self.noun, "", Origin("?"), problem)] = None
            return []
        return sorted(result, key=lambda pair: (pair[0], pair[1].name))

    def _load(self, entry_point: EntryPoint, origin: Origin) -> None:
        thing = entry_point.load()
        if isinstance(thing, ModuleType):
            return  # its import has registered its objects
        self._expect_fit(thing)
        named = getattr(thing, "name", entry_point.name)
        if named != entry_point.name:
            raise InputError(f"{entry_point.value} is named {named!r}; its entry point must have the same name")
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
        """Make an instance of the class with this name and these settings; a wrong name or setting is an InputError."""
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
        named = (name for name, kind in inspect.get_annotations(self._base).items() if "ClassVar" in str(kind))
        if missing_names := [name for name in named if not hasattr(thing, name)]:
            return f"does not define its {', '.join(missing_names)}"
        if required := [name for name, default in settings_of(thing).items() if default is inspect.Parameter.empty]:
            return f"has settings without a default value: {', '.join(required)}"
        return ""


def settings_of(kind: type[Any]) -> dict[str, Any]:
    """Return the keyword arguments of a class, and their default values."""
    return {name: parameter.default for name, parameter in inspect.signature(kind).parameters.items()}


def _name_of(thing: Any) -> str:
    return str(getattr(thing, "name", None) or getattr(thing, "__name__", thing))


def _origin_of(thing: Any) -> Origin:
    """Return the origin of an object that a decorator registers; a class or a function has a module."""
    if hasattr(thing, "__qualname__") and thing.__module__.startswith(f"{__package__}."):
        return OURS
    return _loading.get() or HERE


def _origin_of_package(entry_point: EntryPoint) -> Origin:
    package = entry_point.dist
    return Origin(str(package.name), str(package.version)) if package is not None else Origin("?")


def _is_same(one: Any, other: Any) -> bool:
    """Whether these are one object, or one definition that was run twice."""
    place = getattr(one, "__module__", None), getattr(one, "__qualname__", None)
    return one is other or (None not in place and place == (other.__module__, getattr(other, "__qualname__", None)))


def _one_line(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return text if isinstance(error, InputError) else f"{type(error).__name__}: {text}"
