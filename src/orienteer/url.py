"""Canonical URLs, their hosts, sites and sessions.

A page has one URL here: absolute, http or https, serialised by the WHATWG standard (without the default port, without
`..`, the host in lower case), without fragment, credentials and tracking parameters. `canonical_url` makes it;
everything else is derived from it.

    host    the unit of politeness: the DNS name, with `:port` unless it is the default port of the scheme
    site    the registrable domain of a host: `b.example.co.uk` belongs to `example.co.uk`

Tracking parameters identify a visit, not a page: utm_*, gclid, dclid, gbraid, wbraid, fbclid, msclkid, yclid, twclid,
igshid, mc_cid, mc_eid, _ga, _gl, _hsenc, _hsmi, mkt_tok. They are dropped, in upper or lower case; the other parameters
keep their order and spelling, and an empty query loses its `?`.

A session in a URL may also identify a visit, or it may name a resource; the URL does not show which. `session_of` finds
parameters that look like one: phpsessid, jsessionid, aspsessionid*, cfid, cftoken, and `;jsessionid=...` in the path;
sid, session_id, sessionid, session only if the value looks random: 16 or more letters and digits, at least one a digit.
The crawl decides whether it matters (ledger/duplicates).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection
from functools import lru_cache
from typing import NamedTuple

from publicsuffixlist import PublicSuffixList
from url import URL, URLError

MAX_URL_BYTES = 2048

# Parsing may shorten a text (dots, fragment, spaces), but not one of this length: it is refused unread.
_MAX_TEXT_CHARS = 8 * MAX_URL_BYTES

_MARK = (
    "(?:utm_[^=&]*|gclid|dclid|gbraid|wbraid|fbclid|msclkid|yclid|twclid|igshid|mc_cid|mc_eid|_ga|_gl|_hsenc|_hsmi"
    "|mkt_tok)(?:=[^&]*)?(?=&|$)"
)
_MAYBE_MARKED = re.compile("[?&]" + _MARK, re.ASCII)  # for lower case: matching both cases takes twice the time
_QUERY_MARK = re.compile("&" + _MARK, re.ASCII | re.IGNORECASE)  # in a query with a `&` before it

# A session in a URL or in the text of a page; one of the groups is its value.
SESSION_VALUES = (
    r"(?:[?&;]|&amp;)(?:(?:phpsessid|jsessionid|aspsessionid[a-z]*|cfid|cftoken)=([a-z0-9._!~-]+)"
    r"|(?:sid|session_id|sessionid|session)=(?=[a-z]*[0-9])([a-z0-9]{16,})(?![a-z0-9]))"
)
_SESSION = re.compile(SESSION_VALUES, re.ASCII | re.IGNORECASE)

_NOT_IN_FRAGMENT = re.compile(r"[^!-;=?-_a-z~]")  # spaces, quotes, <, >, and all that is not ASCII


def canonical_url(text: str, base: str | None = None) -> str | None:
    """Return the canonical URL of `text`, resolved against `base`; None if a crawler cannot fetch it.

    >>> canonical_url("../Ä?q#top", "HTTPS://me@Example.org:443/a/b/c")
    'https://example.org/a/%C3%84?q'
    """
    if len(text) > _MAX_TEXT_CHARS:
        return None
    try:
        parsed = URL.parse(text) if base is None else _parsed(base).join(text)
        url = str(parsed)
        if not url.startswith(("http://", "https://")):
            return None
        if "@" in url and (parsed.username or parsed.password is not None):
            url = str(parsed.with_username("").with_password(None))
    except (URLError, UnicodeError):  # UnicodeError: a lone surrogate, which no URL can contain
        return None
    url = url.partition("#")[0]  # in a serialised URL the first # starts the fragment
    if "?" in url:
        url = _without_visit_marks(url)
    return url if len(url) <= MAX_URL_BYTES else None


def route_url(text: str, base: str, is_named: bool = False) -> str | None:
    """Return the same for a link of a browser application, whose pages may differ in the fragment alone.

    Such a fragment begins with `#/` or `#!`; any other names a place on a page, unless routes are names (`is_named`).

    >>> route_url("#/item/1", "https://example.org/app#/")
    'https://example.org/app#/item/1'
    """
    url = canonical_url(text, base)
    fragment = text.partition("#")[2]
    if url is None or not fragment or not (is_named or fragment.startswith(("/", "!"))):
        return url
    route = f"{url}#{_NOT_IN_FRAGMENT.sub(_escaped, fragment)}"
    return route if len(route) <= MAX_URL_BYTES else None


def route_fields(route: str) -> dict[str, str]:
    """Return the fields of a route, each of which may name a place on its page, with their values.

    "#" is what follows a second `#`, "?name" a parameter of a query in the fragment.

    >>> route_fields("https://example.org/#/guide?id=install#top")
    {'#': 'top', '?id': 'install'}
    """
    fragment = route.partition("#")[2]
    head, mark, anchor = fragment.partition("#")
    fields = {"#": anchor} if mark else {}
    for pair in filter(None, head.partition("?")[2].split("&")):
        name, _, value = pair.partition("=")
        fields.setdefault(f"?{name}", value)
    return fields


def without_route_fields(route: str, fields: Collection[str]) -> str:
    """Return a route without some of its fields.

    >>> without_route_fields("https://example.org/#/guide?id=install&v=2#top", ("#", "?id"))
    'https://example.org/#/guide?v=2'
    """
    page, _, fragment = route.partition("#")
    head, mark, anchor = fragment.partition("#")
    path, _, query = head.partition("?")
    pairs = [pair for pair in query.split("&") if pair and "?" + pair.partition("=")[0] not in fields]
    left = path + ("?" + "&".join(pairs) if pairs else "") + (mark + anchor if "#" not in fields else "")
    return f"{page}#{left}" if left else page


def too_long_url(text: str, base: str) -> str | None:
    """Return a substitute for a URL that is too long: its beginning, and a digest. None if it is not too long."""
    try:
        url = str(_parsed(base).join(text[:_MAX_TEXT_CHARS])).partition("#")[0]
    except (URLError, UnicodeError):
        return None
    if not url.startswith(("http://", "https://")) or len(url) <= MAX_URL_BYTES:
        return None
    digest = hashlib.blake2b(text.partition("#")[0].encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
    return f"{url[:MAX_URL_BYTES]}...{digest}"


def _escaped(character: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in character[0].encode("utf-8", "replace"))


def _without_visit_marks(url: str) -> str:
    start = url.find("?")
    if not _MAYBE_MARKED.search(url.lower(), start):
        return url
    query = _QUERY_MARK.sub("", "&" + url[start + 1 :])[1:]
    return f"{url[:start]}?{query}" if query else url[:start]


class UrlSession(NamedTuple):
    """A probable session in a URL: the URL without it, and its values."""

    stripped: str
    values: frozenset[str]


def session_of(url: str) -> UrlSession | None:
    """Return the session in a canonical URL, if there seems to be one.

    >>> session_of("http://example.org/a;jsessionid=7F?x=1")
    UrlSession(stripped='http://example.org/a?x=1', values=frozenset({'7F'}))
    >>> session_of("http://example.org/talks?session=keynote")
    """
    if "=" not in url or (";" not in url and "?" not in url):
        return None
    values = frozenset(value for groups in _SESSION.findall(url) for value in groups if value)
    if not values:
        return None
    stripped = _SESSION.sub(lambda found: "?" if found[0][0] == "?" else "", url)
    return UrlSession(stripped.replace("?&", "?").removesuffix("?"), values)


@lru_cache(maxsize=64)
def _parsed(base: str) -> URL:
    # The links of a page are resolved one by one against the same base.
    return URL.parse(base)


def host_of(url: str) -> str:
    """Return the host of a URL, `name`, or `name:port` unless it is the default port; "" if there is none."""
    try:
        parsed = URL.parse(url)
    except (URLError, UnicodeError):
        return ""
    name = parsed.host_str or ""
    return name if parsed.port is None or not name else f"{name}:{parsed.port}"


def canonical_host_of(url: str) -> str:
    """Return `host_of` of a canonical URL without parsing it, as there are millions of links."""
    return url.partition("://")[2].partition("/")[0]


@lru_cache(maxsize=1 << 16)
def site_of(host: str) -> str:
    """Return the registrable domain of a host; an IP address, a single label or a public suffix is its own site.

    >>> site_of("www.bbc.co.uk"), site_of("user.github.io"), site_of("127.0.0.1:8000"), site_of("localhost")
    ('bbc.co.uk', 'user.github.io', '127.0.0.1', 'localhost')
    """
    if host.startswith("["):
        return host.partition("]")[0] + "]"
    name = host.partition(":")[0].rstrip(".")
    # A canonical name ends in a label of digits only if it is an IPv4 address.
    if name.rpartition(".")[2].isdigit():
        return name
    return _suffixes().privatesuffix(name) or name


def is_public_suffix(name: str) -> bool:
    """Whether a name is a public suffix, for which no site may set cookies.

    >>> is_public_suffix("co.uk"), is_public_suffix("example.co.uk")
    (True, False)
    """
    return _suffixes().privatesuffix(name) is None


@lru_cache(maxsize=1)
def _suffixes() -> PublicSuffixList:
    return PublicSuffixList()
