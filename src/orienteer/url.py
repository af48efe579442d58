"""Canonical URLs and their parts.

A page has one URL here: absolute, http or https, serialised as the WHATWG standard says (so the default port, `..` and
upper case in the host are gone), without fragment and credentials. `canonical_url` makes it; all else is told from it.

    host    what politeness applies to: the DNS name, with `:port` where it is not the scheme's own
    site    the registrable domain of a host: `b.example.co.uk` belongs to `example.co.uk`
"""

from __future__ import annotations

from functools import lru_cache

from publicsuffixlist import PublicSuffixList
from url import URL, URLError

MAX_URL_BYTES = 2048

# Parsing may shorten a text (dots, fragment, spaces), but not one of this length: it is refused unread.
_MAX_TEXT_CHARS = 8 * MAX_URL_BYTES


def canonical_url(text: str, base: str | None = None) -> str | None:
    """The canonical URL `text` stands for, seen from `base`; None where it names nothing a crawler could fetch.

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
    except (URLError, UnicodeError):  # UnicodeError: half a surrogate pair, which no URL can hold
        return None
    url = url.partition("#")[0]  # in a serialised URL the first # starts the fragment
    return url if len(url) <= MAX_URL_BYTES else None


@lru_cache(maxsize=64)
def _parsed(base: str) -> URL:
    # The links of a page are resolved one by one against the same base.
    return URL.parse(base)


def host_of(url: str) -> str:
    """The host of a URL, `name` or `name:port` where the port is not the scheme's own; "" where there is none."""
    try:
        parsed = URL.parse(url)
    except (URLError, UnicodeError):
        return ""
    name = parsed.host_str or ""
    return name if parsed.port is None or not name else f"{name}:{parsed.port}"


@lru_cache(maxsize=1 << 16)
def site_of(host: str) -> str:
    """The registrable domain of a host; an address, a single label or a public suffix is its own site.

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


@lru_cache(maxsize=1)
def _suffixes() -> PublicSuffixList:
    return PublicSuffixList()
