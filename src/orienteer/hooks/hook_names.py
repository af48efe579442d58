"""Load hooks by name.

    prices            installed: a plug-in of the entry-point group `orienteer.page_hooks`
    path/prices.py    a file with a function `on_page(page)`; its name is prices.py
    a callable        a function of a Python program; its name is `function()`

crawl.toml stores the names of a crawl's hooks. A crawl folder is untrusted, so it must not be able to run code: of the
hooks that it names only installed ones are run. A file or a function must be passed again when the crawl is resumed.
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
FUNCTION = "on_page"  # in a hook file
_FILE, _CALLABLE = ".py", "()"

OnPage = Callable[[HookPage], Added | None]
HookSource = str | Path | OnPage


class Hook(NamedTuple):
    """`name` is used in messages and in crawl.toml."""

    name: str
    run: OnPage


def hooks_from_arguments(source: Sequence[HookSource]) -> tuple[Hook, ...]:
    """Load the hooks that the user passes: by name, by file, or as callables."""
    hooks = tuple(map(_hook_of_source, source))
    names = [hook.name for hook in hooks]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"two hooks are named {name}; each must have a name of its own")
    return hooks


def hooks_from_settings(names: Sequence[str], where: str) -> tuple[Hook, ...]:
    """Load the hooks in the settings of a crawl; files are not loaded. `where` is used in messages."""
    expect_installed(names, where)
    return tuple(_installed_hook(name) for name in names)


def names_of(hooks: Sequence[Hook] | None) -> tuple[str, ...] | None:
    """Return the names for crawl.toml; None if no hooks were passed, which keeps those of the crawl."""
    return None if hooks is None else tuple(hook.name for hook in hooks)


def expect_installed(names: Sequence[str], where: str) -> None:
    """Raise an InputError, with the command to use, if a hook in the settings is not a plug-in."""
    for name in names:
        printed = plain(name, 200)
        if _is_file(name):
            raise InputError(
                f"{where}: the crawl has the hook {printed}, a file, and no folder runs files on its own; "
                f"name it again (--hook {printed}), or go on without hooks (--no-hooks)"
            )
        if name.endswith(_CALLABLE):
            raise InputError(
                f"{where}: the crawl has the hook {printed}, a function of a Python program; "
                "pass it again (hooks=[...]), or go on without hooks (--no-hooks)"
            )


def _hook_of_source(source: HookSource) -> Hook:
    if isinstance(source, str | Path):
        return _file_hook(Path(source)) if _is_file(str(source)) else _installed_hook(str(source))
    if not callable(source):
        raise InputError(f"a hook is {source!r:.80}; it must be a name, a file or a function")
    return Hook(f"{getattr(source, '__name__', type(source).__name__)}{_CALLABLE}", source)


def _is_file(name: str) -> bool:
    return name.endswith(_FILE) or "/" in name or "\\" in name


def _installed_hook(name: str) -> Hook:
    return Hook(name, HOOKS.find(name))


def _why_not(thing: Any) -> str:
    return "" if callable(thing) else "is not a function that takes a page"


HOOKS: Registry[OnPage] = Registry("page hook", _why_not, group=GROUP)


def _file_hook(path: Path) -> Hook:
    if not path.is_file():
        raise InputError(f"{path}: no such hook file")
    if path.suffix != _FILE:
        raise InputError(f"{path}: the name of a hook file ends in {_FILE}")
    try:
        run = getattr(_load_module(path), FUNCTION, None)
    except (Exception, SystemExit) as error:
        raise InputError(f"{path}: the hook cannot be loaded: {describe_exception(error)}") from None
    if not callable(run):
        raise InputError(f"{path}: there is no function {FUNCTION}(page) in it")
    return Hook(path.name, run)


def _load_module(path: Path) -> Any:
    spec = spec_from_file_location(f"orienteer_hook_{path.stem}", path)
    assert spec is not None
    module = module_from_spec(spec)
    sys.modules[module.__name__] = module  # dataclasses look up their module there
    # Compiled here to bypass the bytecode cache, which cannot detect an edit within the resolution of timestamps.
    exec(compile(path.read_bytes(), path, "exec"), module.__dict__)
    return module


def describe_exception(error: BaseException) -> str:
    """Return the type and the message of an exception in one line."""
    text = plain(str(error), 300)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
