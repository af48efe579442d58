"""Cookies as RFC 6265 has them, with one rule more: a cookie goes back by the scheme and the port that it came by.

libcurl has an engine for cookies, but one for all hosts and ports of a handle, in each worker apart. Here the crawl
keeps them, for each origin of an access file by itself, and says for every request which of them go with it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC
from email.utils import parsedate_to_datetime

from orienteer.url import is_public_suffix

_MAX_COOKIES = 300
_MAX_BYTES = 8192  # of one cookie
_DEFAULT_PORTS = {"http": "80", "https": "443"}
_CONTROLS = re.compile(r"[\x00-\x1f\x7f]")
_ADDRESS = re.compile(r"[\d.]+|\[.*\]")


@dataclass(frozen=True, slots=True)
class Cookie:
    """`way` is the scheme and the port; `expires` is in seconds since 1970, None: with the session."""

    name: str
    value: str = field(repr=False)
    domain: str
    path: str
    way: str
    is_host_only: bool = True
    is_secure: bool = False
    expires: float | None = None

    def goes_to(self, place: Place, now: float) -> bool:
        if self.way != place.way or (self.is_secure and not place.way.startswith("https:")):
            return False
        if self.expires is not None and self.expires <= now:
            return False
        is_there = place.name == self.domain if self.is_host_only else domain_matches(place.name, self.domain)
        return is_there and _path_matches(place.path, self.path)


@dataclass(frozen=True, slots=True)
class Place:
    """A URL as cookies see it."""

    way: str
    name: str
    path: str

    @classmethod
    def of(cls, url: str) -> Place:
        """
        >>> Place.of("https://a.test/b/c?d")
        Place(way='https:443', name='a.test', path='/b/c')
        """
        scheme, _, rest = url.partition("://")
        host, _, path = rest.partition("?")[0].partition("/")
        found = re.fullmatch(r"(\[.*\]|[^:]*)(?::(\d+))?", host)
        name, port = (found[1], found[2]) if found else (host, None)
        return cls(f"{scheme}:{port or _DEFAULT_PORTS.get(scheme, '')}", name, f"/{path}")


class CookieJar:
    """The cookies of one session."""

    def __init__(self, cookies: Iterable[Cookie] = ()) -> None:
        self._cookies: dict[tuple[str, str, str, str], Cookie] = {}
        for cookie in cookies:
            self._put(cookie)

    def take(self, url: str, lines: Iterable[str], now: float) -> None:
        """An answer from this URL set cookies: the values of its `Set-Cookie` headers."""
        for line in lines:
            cookie = cookie_of(url, line, now)
            if cookie is not None:
                self._put(cookie)
                if cookie.expires is not None and cookie.expires <= now:
                    del self._cookies[_key(cookie)]

    def cookies_for(self, url: str, now: float) -> list[Cookie]:
        """Those that go to a URL: the longest path first, as the standard wants it, and the oldest of equals."""
        place = Place.of(url)
        found = [cookie for cookie in self._cookies.values() if cookie.goes_to(place, now)]
        return sorted(found, key=lambda cookie: -len(cookie.path))

    def __len__(self) -> int:
        return len(self._cookies)

    def __repr__(self) -> str:
        return f"<CookieJar with {len(self)}>"

    def _put(self, cookie: Cookie) -> None:
        key = _key(cookie)
        if key in self._cookies or len(self._cookies) < _MAX_COOKIES:
            self._cookies[key] = cookie


def header_of(cookies: Iterable[Cookie]) -> str:
    """The value of a `Cookie` header."""
    return "; ".join(f"{cookie.name}={cookie.value}" for cookie in cookies)


def cookie_of(url: str, line: str, now: float) -> Cookie | None:
    """The cookie that a `Set-Cookie` header states; None where it is none, or is not for whoever sets it."""
    place = Place.of(url)
    pair, *rest = line.split(";")
    name, equals, value = (part.strip() for part in pair.partition("="))
    if not equals or not name or len(line) > _MAX_BYTES or _CONTROLS.search(pair):
        return None
    stated = {key.strip().lower(): said.strip() for key, _, said in (part.partition("=") for part in rest)}
    domain = stated.get("domain", "").lstrip(".").lower()
    if domain and domain != place.name:
        if not domain_matches(place.name, domain) or is_public_suffix(domain):
            return None
    is_host_only = not domain or bool(_ADDRESS.fullmatch(place.name))
    is_secure = "secure" in stated
    if is_secure and not place.way.startswith("https:"):
        return None
    path = stated.get("path", "")
    if not path.startswith("/"):
        path = place.path.rpartition("/")[0] or "/"
    expires = _expiry(stated, now)
    return Cookie(name, value, domain or place.name, path, place.way, is_host_only, is_secure, expires)


def cookies_in_header(text: str, origin: str) -> list[Cookie]:
    """The cookies of a `Cookie` header, for this origin alone."""
    place = Place.of(f"{origin}/")
    pairs = (pair.partition("=") for pair in text.split(";"))
    return [Cookie(name.strip(), value.strip(), place.name, "/", place.way) for name, equals, value in pairs if equals]


def domain_matches(name: str, domain: str) -> bool:
    """
    >>> domain_matches("a.b.test", "b.test"), domain_matches("ab.test", "b.test"), domain_matches("10.0.0.1", "0.1")
    (True, False, False)
    """
    return name == domain or (name.endswith(f".{domain}") and not _ADDRESS.fullmatch(name))


def _path_matches(path: str, cookie_path: str) -> bool:
    if not path.startswith(cookie_path):
        return False
    return len(path) == len(cookie_path) or cookie_path.endswith("/") or path[len(cookie_path)] == "/"


def _expiry(stated: dict[str, str], now: float) -> float | None:
    age = stated.get("max-age", "")
    if re.fullmatch(r"-?\d{1,12}", age):
        return now + int(age) if int(age) > 0 else 0.0
    if stated.get("expires"):
        with suppress(ValueError, OverflowError, IndexError, TypeError):
            date = parsedate_to_datetime(stated["expires"])
            return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()
    return None


def _key(cookie: Cookie) -> tuple[str, str, str, str]:
    return cookie.name, cookie.domain, cookie.path, cookie.way
