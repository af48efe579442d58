"""What a hook may return. Whatever else it returns is an error of the hook, in one line.

links     URLs that a crawler could fetch, at most 1,000 a page; relative ones start from the page
fields    at most 100 a page; names such as `price` or `first_name`, of at most 64 characters; values are texts,
          finite numbers, truth values or lists of texts
tags      texts of 1 to 100 characters, at most 100 a page; white space is collapsed, repeats are dropped
all       at most 64 KiB of fields and tags a page, as JSON
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
_MAX_INT = 2**63 - 1  # what other programs take for a whole number

_NAME = re.compile(r"[a-z_][a-z0-9_]*", re.ASCII)


def together(before: Additions, returned: object, url: str) -> Additions:
    """What was added before, and what one more hook returned for the page at `url`; an InputError if it is no good."""
    if returned is None:
        return before
    if not isinstance(returned, Added):
        raise InputError(f"it returned {type(returned).__name__}; a hook returns None or orienteer.Added(...)")
    links = dict.fromkeys((*before.links, *(_link(link, url) for link in _listed(returned.links, "links"))))
    fields = before.fields | _fields(returned.fields)
    tags = dict.fromkeys((*before.tags, *(_tag(tag) for tag in _listed(returned.tags, "tags"))))
    for what, n, limit in (
        ("links", len(links), MAX_LINKS),
        ("fields", len(fields), MAX_FIELDS),
        ("tags", len(tags), MAX_TAGS),
    ):
        if n > limit:
            raise InputError(f"the page would have {n:,} {what}; {limit:,} may be added to one")
    added = Additions(tuple(links), fields, tuple(tags), before.is_whole)
    n_bytes = len(added.to_json())
    if n_bytes > MAX_JSON_BYTES:
        raise InputError(f"fields and tags of the page would have {n_bytes:,} bytes; {MAX_JSON_BYTES:,} are allowed")
    return added


def _listed(values: object, what: str) -> Iterable[Any]:
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
    """A plain text, without halves of surrogate pairs: they cannot be written to a file."""
    return str(text) if text.isascii() else text.encode(errors="replace").decode()
