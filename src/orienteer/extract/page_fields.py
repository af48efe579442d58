"""The metadata of a page: description, author, dates, OpenGraph, JSON-LD, other languages.

`reader` collects what the page states. The crawl does not need the fields, only indexes and exports.

Of several sources the most explicit one counts: JSON-LD, then `meta` elements, then `time` elements with a known class.
Other `time` elements may belong to a comment, so the first of them counts for articles only. The Last-Modified header
is the last resort for `changed`, since many servers send the time of the request.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from orienteer.extract.dates import iso_date
from orienteer.extract.parser import Tag
from orienteer.url import canonical_url

MAX_SCRIPTS = 20  # of a page
MAX_SCRIPT_CHARS = 200_000  # larger ones are dropped
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
        published=_first_text(_text(each.get("datePublished")) for each in speaking),
        changed=_first_text(_text(each.get("dateModified")) for each in speaking),
        author=_first_text(_names(each.get("author"), names) for each in speaking),
        description=_first_text(_text(each.get("description")) for each in speaking),
        image=_first_text(_image(each.get("image")) for each in speaking),
        site_name=_first_text(
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


def _first_text(texts: Iterable[str]) -> str:
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


MAX_FIELD_CHARS = 1_000
MAX_NAME_CHARS = 200  # of an author, a site, a kind
MAX_LANGUAGES = 200

# Names of `meta` elements, as `name`, `property` or `itemprop`, in order of preference.
_PUBLISHED = (
    "article:published_time", "og:published_time", "datepublished", "citation_publication_date", "citation_date",
    "dcterms.issued", "dc.date.issued", "dcterms.created", "dc.date.created", "parsely-pub-date", "sailthru.date",
    "pubdate", "publish_date", "publish-date", "publication_date", "dcterms.date", "dc.date", "date",
)  # fmt: skip
_CHANGED = (
    "article:modified_time", "og:updated_time", "datemodified", "dcterms.modified", "dc.date.modified",
    "last-modified", "lastmod", "revised",
)  # fmt: skip
_AUTHOR = ("author", "citation_author", "parsely-author", "dcterms.creator", "dc.creator", "article:author",
           "sailthru.author", "byl")  # fmt: skip
_DESCRIPTION = ("description", "og:description", "twitter:description", "dcterms.description", "dc.description")
_SITE = ("og:site_name", "application-name", "citation_journal_title")
_IMAGE = ("og:image", "og:image:url", "og:image:secure_url", "twitter:image", "twitter:image:src")
_META_NAMES = frozenset((*_PUBLISHED, *_CHANGED, *_AUTHOR, *_DESCRIPTION, *_SITE, *_IMAGE, "og:title", "og:type"))

_PUBLISHED_CLASSES = ("datepublished", "published", "pubdate", "entry-date", "post-date", "posted")
_CHANGED_CLASSES = ("datemodified", "updated", "modified")


@dataclass(frozen=True, slots=True)
class PageFields:
    """The metadata of a page; missing fields are "" or (). Dates are `2025-03-01`, `2025-03` or `2025` (see `dates`).

    `title` and `kind` are from OpenGraph (`og:title`, `og:type`), `types` from JSON-LD. `image` is a canonical URL.
    `languages` are other languages of the page: the language as stated, and a canonical URL.
    """

    description: str = ""
    author: str = ""
    published: str = ""
    changed: str = ""
    title: str = ""
    kind: str = ""
    site_name: str = ""
    image: str = ""
    types: tuple[str, ...] = ()
    languages: tuple[tuple[str, str], ...] = ()


NO_FIELDS = PageFields()


def with_server_date(fields: PageFields, last_modified: str) -> PageFields:
    """Return the fields with the date of a Last-Modified header, unless the page states one."""
    if fields.changed or not last_modified:
        return fields
    changed = iso_date(last_modified)
    return replace(fields, changed=changed) if changed >= fields.published else fields


class FoundFields:
    """Collects what the elements of a page state."""

    def __init__(self) -> None:
        self._metas: dict[str, str] = {}  # by name; several authors are joined
        self._languages: dict[tuple[str, str], None] = {}
        self._scripts: list[str] = []  # of JSON-LD
        self._published = self._changed = self._first_time = ""

    def add_meta(self, tag: Tag) -> None:
        content = tag.attr("content")
        if not content:
            return
        for attribute in ("property", "name", "itemprop", "http-equiv"):
            name = (tag.attr(attribute) or "").strip().lower()
            if name in _META_NAMES:
                before = self._metas.get(name)
                if before is None:
                    self._metas[name] = content[: 4 * MAX_FIELD_CHARS]
                elif name == "citation_author" and len(before) < MAX_NAME_CHARS:
                    self._metas[name] = f"{before}, {content[:MAX_NAME_CHARS]}"
                return

    def add_link(self, tag: Tag) -> None:
        language, reference = (tag.attr("hreflang") or "").strip(), tag.attr("href")
        if not language or not reference or "alternate" not in (tag.attr("rel") or "").lower().split():
            return
        if len(self._languages) < MAX_LANGUAGES:
            self._languages[language[:35], reference] = None

    def add_time(self, tag: Tag) -> None:
        if not (when := iso_date(tag.attr("datetime") or "")):
            return
        self._first_time = self._first_time or when
        classes = f"{tag.attr('itemprop') or ''} {tag.attr('class') or ''}".lower()
        if any(word in classes for word in _CHANGED_CLASSES):
            self._changed = self._changed or when
        elif tag.attr("pubdate") is not None or any(word in classes for word in _PUBLISHED_CLASSES):
            self._published = self._published or when

    def add_script(self, script: str) -> None:
        if len(self._scripts) < MAX_SCRIPTS and len(script) <= MAX_SCRIPT_CHARS:
            self._scripts.append(script)

    def fields(self, base: str) -> PageFields:
        """Return the fields; references are resolved against `base`."""
        metas, data = self._metas, linked_data(self._scripts)
        kind = _short(metas.get("og:type", ""), MAX_NAME_CHARS)
        is_article = kind == "article" or any(name.lower().endswith(("article", "posting")) for name in data.types)
        image = _first(metas, _IMAGE) or data.image
        languages = ((language, canonical_url(reference, base)) for language, reference in self._languages)
        author = data.author or next((metas[name] for name in _AUTHOR if _is_name(metas.get(name, ""))), "")
        return PageFields(
            description=_short(_first(metas, _DESCRIPTION) or data.description, MAX_FIELD_CHARS),
            author=_short(author, MAX_NAME_CHARS),
            published=_date(data.published, *(metas.get(name, "") for name in _PUBLISHED))
            or self._published
            or (self._first_time if is_article else ""),
            changed=_date(data.changed, *(metas.get(name, "") for name in _CHANGED)) or self._changed,
            title=_short(metas.get("og:title", ""), MAX_FIELD_CHARS),
            kind=kind,
            site_name=_short(_first(metas, _SITE) or data.site_name, MAX_NAME_CHARS),
            image=(canonical_url(image.strip(), base) or "") if image.strip() else "",
            types=data.types,
            languages=tuple((language, url) for language, url in languages if url is not None),
        )


def _is_name(text: str) -> bool:
    """Whether a text is a name: `article:author` is often the URL of a profile."""
    return bool(text.strip()) and "://" not in text


def _first(metas: dict[str, str], names: tuple[str, ...]) -> str:
    return next((text for name in names if (text := metas.get(name, "").strip())), "")


def _date(*texts: str) -> str:
    return next((found for text in texts if text and (found := iso_date(text))), "")


def _short(text: str, max_chars: int) -> str:
    text = " ".join(text[: 4 * max_chars].split())
    return text if len(text) <= max_chars else text[:max_chars].rstrip()
