"""Resolve the references of a page to links: canonical URLs, and whether any are missing.

A reference that leads to no web page is no link (`mailto:`, `javascript:`, `data:`, invalid URLs). A reference to a
page that is dropped because of a limit is a missing link and must be reported: the bounds of a crawl are proved only
for pages whose links are all known.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from url import URL, URLError

from orienteer.url import canonical_url, too_long_url

MAX_LINKS = 10_000  # of a page; further ones are dropped

# Reasons why links of a page are unknown; stored with the page.
NOFOLLOW = "nofollow"  # the page asks robots not to follow its links
TOO_MANY_LINKS = "too many links"
URL_TOO_LONG = "URL too long"
UNREADABLE = "unreadable"  # parsing of the markup was abandoned
SCRIPTED = "perhaps made by scripts"  # which were not run, or not to the end; see `script_signs`
NEEDS_CLICK = "links that need a click"  # the rendered page has clickable elements that are no links
COMES_WITH_SCROLLING = "more comes with scrolling"  # beyond the limit of scrolling in the browser
UNCOUNTED = (TOO_MANY_LINKS, UNREADABLE, SCRIPTED, NEEDS_CLICK, COMES_WITH_SCROLLING)  # their number is unknown

_MAX_PARSED_CHARS = 1 << 20
# Encodings of the standard with another name in Python, or covered by a larger codec.
_CODECS = {
    "big5": "big5hkscs",
    "euc-kr": "cp949",
    "gbk": "gb18030",
    "iso-8859-8-i": "iso-8859-8",
    "shift_jis": "cp932",
    "windows-874": "cp874",
    "x-mac-cyrillic": "mac_cyrillic",
}
_FIRST_OF_PATHS = frozenset(string.ascii_letters + string.digits + "./_-%~")
_MAX_CACHED_CHARS = 500
_NOT_ASCII = re.compile(r"[^\x00-\x7f]+")


class Resolved(NamedTuple):
    """`links` maps references to links; `too_long` has substitutes for links whose URLs are too long (too_long_url)."""

    links: dict[str, str]
    too_long: tuple[str, ...]
    is_cut: bool  # further references were ignored because of MAX_LINKS


def resolved(references: Iterable[str], base: str, charset: str) -> Resolved:
    """Resolve references against `base`, on a page of this encoding."""
    references = list(references)
    if not references:
        return Resolved({}, (), is_cut=False)
    links: dict[str, str] = {}
    distinct = set()
    is_utf8, may_be_cut = charset.startswith("utf-"), len(references) > MAX_LINKS
    too_long: dict[str, None] = {}
    folder = _folder(base)
    for n_read, reference in enumerate(references, 1):
        sent = reference if is_utf8 or reference.isascii() else _as_sent(reference, charset)
        is_in_folder = folder and sent[:1] in _FIRST_OF_PATHS and len(sent) <= _MAX_CACHED_CHARS
        link = _link_in(folder, sent) if is_in_folder else canonical_url(sent, base)
        if link is not None:
            links[reference] = link
            if may_be_cut:
                distinct.add(link)
                if len(distinct) == MAX_LINKS and n_read < len(references):
                    return Resolved(links, tuple(too_long), is_cut=True)
        elif (substitute := too_long_url(reference, base)) is not None:
            too_long[substitute] = None
    return Resolved(links, tuple(too_long), is_cut=False)


def _folder(base: str) -> str:
    """Return the folder of a base, which is all that matters for references that begin with a path; "" if unknown."""
    path = base.partition("?")[0]
    return path[: path.rindex("/") + 1] if path.startswith(("http://", "https://")) and path.count("/") > 2 else ""


@lru_cache(maxsize=8192)
def _link_in(folder: str, reference: str) -> str | None:
    """Resolve a reference; the pages of a folder have many in common, such as those of menus."""
    return canonical_url(reference, folder)


def base_url(stated: str | None, url: str) -> str:
    """Return the URL that references are resolved against: that of the page, or of its `base` element.

    As in browsers, a base may have any scheme except two; references relative to `mailto:` are then no links.
    """
    if stated is None or len(stated) > _MAX_PARSED_CHARS:
        return url
    try:
        base = str(URL.parse(url).join(stated))
    except (URLError, UnicodeError):
        return url
    return url if base.startswith(("data:", "javascript:")) else base


def _as_sent(reference: str, charset: str) -> str:
    """Encode the query of a reference in the encoding of the page, as browsers do; all else is UTF-8."""
    path, mark, query = reference.partition("?")
    return path + mark + _NOT_ASCII.sub(lambda found: _escaped(found[0], charset), query)


def _escaped(text: str, charset: str) -> str:
    try:
        return "".join(f"%{byte:02X}" for byte in text.encode(_CODECS.get(charset, charset)))
    except UnicodeEncodeError:
        # A character that the encoding lacks is sent as a character reference.
        return f"%26%23{ord(text)}%3B" if len(text) == 1 else "".join(_escaped(letter, charset) for letter in text)
    except LookupError:
        return text
