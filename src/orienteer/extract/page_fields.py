"""The metadata of a page: description, author, dates, OpenGraph, JSON-LD, other languages.

`reader` collects what the page states. The crawl does not need the fields, only indexes and exports.

Of several sources the most explicit one counts: JSON-LD, then `meta` elements, then `time` elements with a known class.
Other `time` elements may belong to a comment, so the first of them counts for articles only. The Last-Modified header
is the last resort for `changed`, since many servers send the time of the request.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from orienteer.extract.dates import iso_date
from orienteer.extract.linked_data import MAX_SCRIPTS, linked_data
from orienteer.url import canonical_url

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

    def add_meta(self, attributes: dict[str, str]) -> None:
        content = attributes.get("content", "")
        if not content:
            return
        for attribute in ("property", "name", "itemprop", "http-equiv"):
            name = attributes.get(attribute, "").strip().lower()
            if name in _META_NAMES:
                before = self._metas.get(name)
                if before is None:
                    self._metas[name] = content[: 4 * MAX_FIELD_CHARS]
                elif name == "citation_author" and len(before) < MAX_NAME_CHARS:
                    self._metas[name] = f"{before}, {content[:MAX_NAME_CHARS]}"
                return

    def add_link(self, attributes: dict[str, str]) -> None:
        language, reference = attributes.get("hreflang", "").strip(), attributes.get("href", "")
        is_language = bool(language and reference) and "alternate" in attributes.get("rel", "").lower().split()
        if is_language and len(self._languages) < MAX_LANGUAGES:
            self._languages[language[:35], reference] = None

    def add_time(self, attributes: dict[str, str]) -> None:
        if not (when := iso_date(attributes.get("datetime", ""))):
            return
        self._first_time = self._first_time or when
        classes = f"{attributes.get('itemprop', '')} {attributes.get('class', '')}".lower()
        if any(word in classes for word in _CHANGED_CLASSES):
            self._changed = self._changed or when
        elif "pubdate" in attributes or any(word in classes for word in _PUBLISHED_CLASSES):
            self._published = self._published or when

    def add_script(self, script: str) -> None:
        if len(self._scripts) < MAX_SCRIPTS:
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
