"""Read the JSON-LD of a page: its types, and a few values that search engines use.

The data is untrusted. Values that are too large, too deep or of an unexpected type are ignored, and the number of
objects is bounded.

The object that describes the page is an article, else a page, else any other object that is not a component of one (a
person, an image, a list of breadcrumbs).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any, NamedTuple

MAX_SCRIPTS = 20  # of a page
_MAX_OBJECTS = 500
_MAX_DEPTH = 64
_MAX_TYPES = 20

_TYPE = re.compile(r"(?:https?://schema\.org/|schema:)?([A-Za-z]\w{0,59})")
_DEEPER = ("@graph", "mainEntity", "mainEntityOfPage")
_PAGES = frozenset(("webpage", "itempage", "aboutpage", "contactpage", "collectionpage", "faqpage", "qapage",
                    "profilepage", "searchresultspage", "medicalwebpage"))  # fmt: skip
_COMPONENTS = frozenset(("person", "organization", "website", "imageobject", "videoobject", "breadcrumblist",
                    "listitem", "searchaction", "readaction", "review", "comment", "offer", "aggregaterating", "rating",
                    "brand", "postaladdress", "place", "localbusiness", "corporation",
                         "newsmediaorganization"))  # fmt: skip
_ARTICLE, _PAGE, _OTHER, _COMPONENT = range(4)


class LinkedData(NamedTuple):
    """The values as they are stated; "" for missing ones."""

    types: tuple[str, ...] = ()
    published: str = ""
    changed: str = ""
    author: str = ""
    description: str = ""
    image: str = ""
    site_name: str = ""


def linked_data(scripts: Iterable[str]) -> LinkedData:
    """Return the values of the JSON-LD scripts of a page.

    >>> linked_data(['{"@type": "NewsArticle", "datePublished": "2025-03-01", "author": [{"name": "A. Writer"}]}'])[:4]
    (('NewsArticle',), '2025-03-01', '', 'A. Writer')
    """
    objects = _objects(value for script in scripts if (value := _parsed(script)) is not None)
    if not objects:
        return LinkedData()
    types = dict.fromkeys(name for each in objects for name in _types(each))
    ranked = sorted(objects, key=_rank)  # stable: document order within a rank
    speaking = [each for each in ranked if _rank(each) != _COMPONENT]
    names = {each["@id"]: each["name"] for each in objects if _is_text(each.get("@id")) and _is_text(each.get("name"))}
    sites = [each for each in objects if "website" in map(str.lower, _types(each))]
    return LinkedData(
        types=tuple(types)[:_MAX_TYPES],
        published=_first(_text(each.get("datePublished")) for each in speaking),
        changed=_first(_text(each.get("dateModified")) for each in speaking),
        author=_first(_names(each.get("author"), names) for each in speaking),
        description=_first(_text(each.get("description")) for each in speaking),
        image=_first(_image(each.get("image")) for each in speaking),
        site_name=_first(
            (*(_text(each.get("name")) for each in sites), *(_names(each.get("publisher"), names) for each in speaking))
        ),
    )


def _parsed(script: str) -> Any:
    """Parse a script as JSON; None if it is invalid. Numbers are dropped: they may have thousands of digits."""
    try:
        return json.loads(script.strip().rstrip(";"), parse_int=_dropped, parse_float=_dropped, strict=False)
    except (ValueError, RecursionError):
        return None


def _dropped(number: str) -> None:
    return None


def _objects(values: Iterable[Any]) -> list[dict[str, Any]]:
    """Return the objects at the top level, in lists, and in the properties of _DEEPER, in document order."""
    found: list[dict[str, Any]] = []
    waiting = [(value, 0) for value in values][::-1]
    n_seen = 0
    while waiting and n_seen < _MAX_OBJECTS:
        value, depth = waiting.pop()
        n_seen += 1
        if depth > _MAX_DEPTH:
            continue
        inner: list[Any] = []
        if isinstance(value, dict):
            found.append(value)
            inner = [value[name] for name in _DEEPER if isinstance(value.get(name), (dict, list))]
        elif isinstance(value, list):
            inner = value[:_MAX_OBJECTS]
        waiting += [(each, depth + 1) for each in inner[::-1]]
    return found


def _types(value: dict[str, Any]) -> list[str]:
    stated = value.get("@type")
    names = stated[:_MAX_TYPES] if isinstance(stated, list) else [stated]
    return [found[1] for name in names if isinstance(name, str) and (found := _TYPE.fullmatch(name)) is not None]


def _rank(value: dict[str, Any]) -> int:
    names = [name.lower() for name in _types(value)]
    if any(name.endswith(("article", "posting", "blogpost", "report")) for name in names):
        return _ARTICLE
    if not _PAGES.isdisjoint(names):
        return _PAGE
    return _COMPONENT if not names or not _COMPONENTS.isdisjoint(names) else _OTHER


def _first(texts: Iterable[str]) -> str:
    return next((text for text in texts if text), "")


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _text(value: Any) -> str:
    if isinstance(value, list) and value:
        value = value[0]
    return value if isinstance(value, str) else ""


def _names(value: Any, by_id: dict[str, str]) -> str:
    """Return the names of persons or organisations: a text, an object with a name or an id, or a list."""
    names: dict[str, None] = {}
    for each in value[:10] if isinstance(value, list) else [value]:
        if isinstance(each, dict):
            each = _text(each.get("name")) or by_id.get(_text(each.get("@id")), "")
        if isinstance(each, str) and each.strip():
            names[each.strip()] = None
    return ", ".join(names)


def _image(value: Any) -> str:
    if isinstance(value, list) and value:
        value = value[0]
    return _text(value.get("url")) or _text(value.get("contentUrl")) if isinstance(value, dict) else _text(value)
