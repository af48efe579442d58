"""Validate the return values of hooks. An invalid one is an error of the hook, with a one-line message.

links     crawlable URLs, at most 1,000 per page; relative to the page
fields    at most 100 per page; names such as `price` or `first_name`, of at most 64 characters; values are strings,
          finite numbers, booleans or lists of strings
tags      strings of 1 to 100 characters, at most 100 per page; white space is collapsed, duplicates are dropped
all       at most 64 KiB of fields and tags per page, as JSON
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

from orienteer.errors import InputError
from orienteer.pages.added import Added, Additions
from orienteer.url import canonical_url

MAX_LINKS = 1_000
MAX_FIELDS = 100
MAX_TAGS = 100
MAX_NAME_CHARS = 64
MAX_TAG_CHARS = 100
MAX_JSON_BYTES = 64 << 10
_MAX_INT = 2**63 - 1  # SQLite and many JSON parsers accept no larger integers

_NAME = re.compile(r"[a-z_][a-z0-9_]*", re.ASCII)


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
