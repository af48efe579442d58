"""From the references of a page to its links: canonical URLs, and whether any are missing.

A reference that leads to no web page is no link (`mailto:`, `javascript:`, `data:`, what no browser can parse). One
that leads to a page and cannot be kept is missing, and a page with missing links has to say so: what is proved of a
crawl holds only for pages whose links are all known.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from url import URL, URLError

from orienteer.url import canonical_url, too_long_url

MAX_LINKS = 10_000  # of one page; what follows is dropped

# Why links of a page are not known.
NOFOLLOW = "nofollow"  # the page asks that its links are not followed
TOO_MANY_LINKS = "too many links"
URL_TOO_LONG = "URL too long"
UNREADABLE = "unreadable"  # the markup was not followed to its end
SCRIPTED = "perhaps made by scripts"  # which were not run, or not to the end; see `script_signs`
NEEDS_CLICK = "links that need a click"  # a browser has seen things to click that are no links
COMES_WITH_SCROLLING = "more comes with scrolling"  # than a browser was to scroll
UNCOUNTED = (TOO_MANY_LINKS, UNREADABLE, SCRIPTED, NEEDS_CLICK, COMES_WITH_SCROLLING)  # nobody knows how many

_MAX_PARSED_CHARS = 1 << 20
# Encodings of the standard that Python has under another name, or that are a part of another.
_CODECS = {
    "big5": "big5hkscs",
    "euc-kr": "cp949",
    "gbk": "gb18030",
    "iso-8859-8-i": "iso-8859-8",
    "shift_jis": "cp932",
    "windows-874": "cp874",
    "x-mac-cyrillic": "mac_cyrillic",
}
_NOT_ASCII = re.compile(r"[^\x00-\x7f]+")


class Resolved(NamedTuple):
    """`links` are by their references; `too_long` is what stands for those whose URLs are (url.too_long_url)."""

    links: dict[str, str]
    too_long: tuple[str, ...]
    is_cut: bool  # there are references that were not looked at, since there were too many


def resolved(references: Iterable[str], base: str, charset: str) -> Resolved:
    """The links that references stand for, seen from `base`, on a page of this encoding."""
    references = list(references)
    links: dict[str, str] = {}
    distinct = set()
    too_long: dict[str, None] = {}
    for n_read, reference in enumerate(references, 1):
        link = canonical_url(_as_sent(reference, charset), base)
        if link is not None:
            links[reference] = link
            distinct.add(link)
            if len(distinct) == MAX_LINKS and n_read < len(references):
                return Resolved(links, tuple(too_long), is_cut=True)
        elif (stand_in := too_long_url(reference, base)) is not None:
            too_long[stand_in] = None
    return Resolved(links, tuple(too_long), is_cut=False)


def base_url(stated: str | None, url: str) -> str:
    """The URL that references start from: that of the page, unless its `base` element states another.

    As browsers have it, a base may be of any scheme but two; what is relative to `mailto:` is then no link.
    """
    if stated is None or len(stated) > _MAX_PARSED_CHARS:
        return url
    try:
        base = str(URL.parse(url).join(stated))
    except (URLError, UnicodeError):
        return url
    return url if base.startswith(("data:", "javascript:")) else base


def _as_sent(reference: str, charset: str) -> str:
    """A reference with its query in the encoding of the page, as browsers send it; all else is UTF-8."""
    if reference.isascii() or "?" not in reference or charset.startswith("utf-"):
        return reference
    path, mark, query = reference.partition("?")
    return path + mark + _NOT_ASCII.sub(lambda found: _escaped(found[0], charset), query)


def _escaped(text: str, charset: str) -> str:
    try:
        return "".join(f"%{byte:02X}" for byte in text.encode(_CODECS.get(charset, charset)))
    except UnicodeEncodeError:
        # A letter that the encoding has not is sent as a character reference.
        return f"%26%23{ord(text)}%3B" if len(text) == 1 else "".join(_escaped(letter, charset) for letter in text)
    except LookupError:
        return text
