"""Page hooks: user-defined Python functions that are called for each page and may add links, fields and tags.

A hook that raises, or returns an invalid value, loses no page. Hooks are loaded by name:

    prices            installed: a plug-in of the entry-point group `orienteer.page_hooks`
    path/prices.py    a file with a function `on_page(page)`; its name is prices.py
    a callable        a function of a Python program; its name is `function()`

crawl.toml stores the names of a crawl's hooks. A crawl folder is untrusted, so it must not be able to run code: of the
hooks that it names only installed ones are run. A file or a function must be passed again when the crawl is resumed.

Return values are validated. An invalid one is an error of the hook, with a one-line message.

    links     crawlable URLs, at most 1,000 per page; relative to the page
    fields    at most 100 per page; names such as `price` or `first_name`, of at most 64 characters; values are strings,
              finite numbers, booleans or lists of strings
    tags      strings of 1 to 100 characters, at most 100 per page; white space is collapsed, duplicates are dropped
    all       at most 64 KiB of fields and tags per page, as JSON
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any, NamedTuple

from orienteer.errors import InputError
from orienteer.extract.page import Page
from orienteer.extract.parser import decoded
from orienteer.pages.added import Added, Additions
from orienteer.registry import Registry
from orienteer.responses.headers import Headers
from orienteer.responses.response import Response
from orienteer.url import canonical_url
from orienteer.wording import plain

MAX_LINKS = 1_000
MAX_FIELDS = 100
MAX_TAGS = 100
MAX_NAME_CHARS = 64
MAX_TAG_CHARS = 100
MAX_JSON_BYTES = 64 << 10
_MAX_INT = 2**63 - 1  # SQLite and many JSON parsers accept no larger integers

_NAME = re.compile(r"[a-z_][a-z0-9_]*", re.ASCII)
GROUP = "orienteer.page_hooks"
FUNCTION = "on_page"  # in a hook file
_FILE, _CALLABLE = ".py", "()"


@dataclass(frozen=True, slots=True)
class HookPage:
    """A fetched and parsed page.

    `content` is the decoded body. The lookup of `headers` is case-insensitive: `page.headers.get("x-price")`. `links`
    are canonical; `headings` are of the first three levels; `language` is declared by the page, or ""; `charset` is
    from the Content-Type header.
    """

    url: str
    status: int
    headers: Headers
    content: bytes
    content_type: str
    charset: str | None
    title: str
    text: str
    language: str
    description: str
    links: tuple[str, ...]
    headings: tuple[str, ...]

    @classmethod
    def of(cls, response: Response, page: Page) -> HookPage:
        return cls(
            url=response.request.url,
            status=response.status,
            headers=response.headers,
            content=response.content,
            content_type=response.content_type,
            charset=response.charset,
            title=page.title,
            text=page.text,
            language=page.language,
            description=page.description,
            links=tuple(page.links),
            headings=tuple(page.headings),
        )

    @property
    def html(self) -> str:
        """The content as text."""
        return decoded(self.content, self.charset)


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


def merged_additions(previous: Additions, returned: object, url: str) -> Additions:
    """Merge the return value of a hook for the page at `url` into the previous additions; InputError if invalid."""
    if returned is None:
        return previous
    if not isinstance(returned, Added):
        raise InputError(f"it returned {type(returned).__name__}; a hook returns None or orienteer.Added(...)")
    links = dict.fromkeys((*previous.links, *(_link(link, url) for link in _iterable(returned.links, "links"))))
    fields = previous.fields | _fields(returned.fields)
    tags = dict.fromkeys((*previous.tags, *(_tag(tag) for tag in _iterable(returned.tags, "tags"))))
    for what, n, limit in (
        ("links", len(links), MAX_LINKS),
        ("fields", len(fields), MAX_FIELDS),
        ("tags", len(tags), MAX_TAGS),
    ):
        if n > limit:
            raise InputError(f"the page would have {n:,} {what}; {limit:,} may be added to one")
    added = Additions(tuple(links), fields, tuple(tags), previous.is_complete)
    n_bytes = len(added.to_json())
    if n_bytes > MAX_JSON_BYTES:
        raise InputError(f"fields and tags of the page would have {n_bytes:,} bytes; {MAX_JSON_BYTES:,} are allowed")
    return added


def _iterable(values: object, what: str) -> Iterable[Any]:
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        raise InputError(f"{what} is {values!r:.80}; it must be a list of texts")
    return values


def _link(link: object, url: str) -> str:
    canonical = canonical_url(link, url) if isinstance(link, str) else None
    if canonical is None:
        raise InputError(f"the link {link!r:.200} is no address of a page")
    return canonical


def _fields(fields: object) -> dict[str, Any]:
    if not isinstance(fields, Mapping):
        raise InputError(f"fields is {fields!r:.80}; it must be a dict of names and values")
    return {_name(name): _value(name, value) for name, value in fields.items()}


def _name(name: object) -> str:
    if not isinstance(name, str) or not _NAME.fullmatch(name) or len(name) > MAX_NAME_CHARS:
        raise InputError(f"a field is named {name!r:.100}; names are of a-z, 0-9 and _, such as 'price'")
    return str(name)


def _value(name: str, value: object) -> Any:
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _clean(value)
    if isinstance(value, int) and abs(value) <= _MAX_INT:
        return int(value)
    if isinstance(value, float) and math.isfinite(value):
        return float(value)
    if isinstance(value, list | tuple) and all(isinstance(item, str) for item in value):
        return [_clean(item) for item in value]
    raise InputError(f"field {name} is {value!r:.80}; it must be a text, a finite number, a bool or a list of texts")


def _tag(tag: object) -> str:
    text = " ".join(_clean(tag).split()) if isinstance(tag, str) else ""
    if not 1 <= len(text) <= MAX_TAG_CHARS:
        raise InputError(f"a tag is {tag!r:.120}; it must be a text of 1 to {MAX_TAG_CHARS} characters")
    return text


def _clean(text: str) -> str:
    """Return a plain str without lone surrogates, which cannot be encoded in UTF-8."""
    return str(text) if text.isascii() else text.encode(errors="replace").decode()


@dataclass(frozen=True)
class HookFailures:
    """The number of pages on which a hook failed in a run; `first` is the URL and the error of the first one."""

    n: int
    first: str


class PageHooks:
    """Runs hooks in their order; each gets the page as fetched. Of fields with the same name the last one wins.
    `on_failure` is called with the hook, the URL and the error."""

    def __init__(self, hooks: Sequence[Hook], on_failure: Callable[[Hook, str, str], None]) -> None:
        self.failures: dict[str, HookFailures] = {}
        self._hooks = tuple(hooks)
        self._on_failure = on_failure

    def __bool__(self) -> bool:
        return bool(self._hooks)

    def additions(self, page: HookPage) -> Additions:
        """Return what the hooks add to a page; hooks that fail add nothing."""
        additions = Additions()
        for hook in self._hooks:
            try:
                additions = merged_additions(additions, hook.run(page), page.url)
            except InputError as error:
                additions = self._failed(additions, hook, page.url, plain(str(error), 400))
            except Exception as error:
                additions = self._failed(additions, hook, page.url, describe_exception(error))
        return additions

    def _failed(self, additions: Additions, hook: Hook, url: str, why: str) -> Additions:
        previous = self.failures.get(hook.name)
        first = f"{plain(url, 300)}: {why}" if previous is None else previous.first
        self.failures[hook.name] = HookFailures(1 if previous is None else previous.n + 1, first)
        self._on_failure(hook, url, why)
        return replace(additions, is_complete=False)
