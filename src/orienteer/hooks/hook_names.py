"""Where hooks come from, and how they are named.

    prices            installed: a plug-in of the entry-point group `orienteer.page_hooks`
    path/prices.py    a file with a function `on_page(page)`; its name is prices.py
    a callable        a function of a Python program; its name is `function()`

crawl.toml keeps the names of a crawl's hooks. It may come from a stranger, so a folder never runs code on its own: of
the hooks it names, those that are installed are run. A file or a function must be given again by whoever starts the
crawl.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any, NamedTuple

from orienteer.errors import InputError
from orienteer.hooks.hook_page import HookPage
from orienteer.pages.added import Added
from orienteer.registry import Registry
from orienteer.wording import plain

GROUP = "orienteer.page_hooks"
FUNCTION = "on_page"  # of a file
_FILE, _CALLABLE = ".py", "()"

OnPage = Callable[[HookPage], Added | None]
HookGiven = str | Path | OnPage


class Hook(NamedTuple):
    """`name` is what messages and crawl.toml call it."""

    name: str
    run: OnPage


def hooks_given(given: Sequence[HookGiven]) -> tuple[Hook, ...]:
    """The hooks that somebody asks for: by name, by file, or as callables."""
    hooks = tuple(map(_hook_given, given))
    names = [hook.name for hook in hooks]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"two hooks are named {name}; each must have a name of its own")
    return hooks


def hooks_kept(names: Sequence[str], where: str) -> tuple[Hook, ...]:
    """The hooks that the settings of a crawl name. `where` names them in messages; no file is looked at."""
    expect_installed(names, where)
    return tuple(_installed(name) for name in names)


def names_of(hooks: Sequence[Hook] | None) -> tuple[str, ...] | None:
    """What crawl.toml keeps of hooks; None where none were given, and those of the crawl stay."""
    return None if hooks is None else tuple(hook.name for hook in hooks)


def expect_installed(names: Sequence[str], where: str) -> None:
    """Refuse settings with a hook that is no plug-in; says what to type."""
    for name in names:
        shown = plain(name, 200)
        if _is_file(name):
            raise InputError(
                f"{where}: the crawl has the hook {shown}, a file, and no folder runs files on its own; "
                f"name it again (--hook {shown}), or go on without hooks (--no-hooks)"
            )
        if name.endswith(_CALLABLE):
            raise InputError(
                f"{where}: the crawl has the hook {shown}, a function of a Python program; "
                "pass it again (hooks=[...]), or go on without hooks (--no-hooks)"
            )


def _hook_given(given: HookGiven) -> Hook:
    if isinstance(given, str | Path):
        return _of_file(Path(given)) if _is_file(str(given)) else _installed(str(given))
    if not callable(given):
        raise InputError(f"a hook is {given!r:.80}; it must be a name, a file or a function")
    return Hook(f"{getattr(given, '__name__', type(given).__name__)}{_CALLABLE}", given)


def _is_file(name: str) -> bool:
    return name.endswith(_FILE) or "/" in name or "\\" in name


def _installed(name: str) -> Hook:
    return Hook(name, HOOKS.find(name))


def _why_not(thing: Any) -> str:
    return "" if callable(thing) else "is not a function that takes a page"


HOOKS: Registry[OnPage] = Registry("page hook", _why_not, group=GROUP)


def _of_file(path: Path) -> Hook:
    if not path.is_file():
        raise InputError(f"{path}: no such hook file")
    if path.suffix != _FILE:
        raise InputError(f"{path}: the name of a hook file ends in {_FILE}")
    try:
        run = getattr(_loaded(path), FUNCTION, None)
    except (Exception, SystemExit) as error:
        raise InputError(f"{path}: the hook cannot be loaded: {in_one_line(error)}") from None
    if not callable(run):
        raise InputError(f"{path}: there is no function {FUNCTION}(page) in it")
    return Hook(path.name, run)


def _loaded(path: Path) -> Any:
    spec = spec_from_file_location(f"orienteer_hook_{path.stem}", path)
    assert spec is not None
    module = module_from_spec(spec)
    sys.modules[module.__name__] = module  # dataclasses look for themselves there
    # Compiled here, so that no bytecode is kept beside the file: it may be older than the file and look the same age.
    exec(compile(path.read_bytes(), path, "exec"), module.__dict__)
    return module


def in_one_line(error: BaseException) -> str:
    """The kind of an exception and what it says."""
    said = plain(str(error), 300)
    return f"{type(error).__name__}: {said}" if said else type(error).__name__
