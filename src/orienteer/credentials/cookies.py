"""Cookies by RFC 6265, with a stricter rule: a cookie is sent only by the scheme and to the port that set it.

libcurl has a cookie engine, but it shares cookies between all hosts and ports of a handle, and each worker would have
its own. So the coordinator has one cookie jar per origin of the credentials file, and adds cookies to each request.

Cookie files are in Netscape format, as browser extensions, curl and yt-dlp write them. A line has seven fields,
separated by tabs: domain, whether subdomains count, path, secure, expiry, name, value. From a file with all cookies of
a browser only those for one origin are used.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC
from email.utils import parsedate_to_datetime
from pathlib import Path

from orienteer.errors import InputError
from orienteer.files.plain import read_private
from orienteer.url import is_public_suffix

_MAX_COOKIES = 300
_MAX_BYTES = 8192  # of one cookie
_DEFAULT_PORTS = {"http": "80", "https": "443"}
_CONTROLS = re.compile(r"[\x00-\x1f\x7f]")
_ADDRESS = re.compile(r"[\d.]+|\[.*\]")
_HTTP_ONLY = "#HttpOnly_"


@dataclass(frozen=True, slots=True)
class Cookie:
    """`scheme_port` is like `https:443`; `expires` is in seconds since 1970, None for a session cookie."""

    name: str
    value: str = field(repr=False)
    domain: str
    path: str
    scheme_port: str
    is_host_only: bool = True
    is_secure: bool = False
    expires: float | None = None

    def matches(self, target: CookieUrl, now: float) -> bool:
        if self.scheme_port != target.scheme_port or (self.is_secure and not target.scheme_port.startswith("https:")):
            return False
        if self.expires is not None and self.expires <= now:
            return False
        has_domain = target.name == self.domain if self.is_host_only else domain_matches(target.name, self.domain)
        return has_domain and _path_matches(target.path, self.path)


@dataclass(frozen=True, slots=True)
class CookieUrl:
    """The components of a URL that cookies are matched with."""

    scheme_port: str
    name: str
    path: str

    @classmethod
    def of(cls, url: str) -> CookieUrl:
        """
        >>> CookieUrl.of("https://a.test/b/c?d")
        CookieUrl(scheme_port='https:443', name='a.test', path='/b/c')
        """
        scheme, _, rest = url.partition("://")
        host, _, path = rest.partition("?")[0].partition("/")
        matched = re.fullmatch(r"(\[.*\]|[^:]*)(?::(\d+))?", host)
        name, port = (matched[1], matched[2]) if matched else (host, None)
        return cls(f"{scheme}:{port or _DEFAULT_PORTS.get(scheme, '')}", name, f"/{path}")


class CookieJar:
    """The cookies of one session."""

    def __init__(self, cookies: Iterable[Cookie] = ()) -> None:
        self._cookies: dict[tuple[str, str, str, str], Cookie] = {}
        for cookie in cookies:
            self._put(cookie)

    def take(self, url: str, lines: Iterable[str], now: float) -> None:
        """Apply the `Set-Cookie` header values of a response from this URL."""
        for line in lines:
            cookie = cookie_of(url, line, now)
            if cookie is not None:
                self._put(cookie)
                if cookie.expires is not None and cookie.expires <= now:
                    del self._cookies[_key(cookie)]

    def cookies_for(self, url: str, now: float) -> list[Cookie]:
        """Return the cookies for a URL in the order of RFC 6265: longest path first, then oldest first."""
        target = CookieUrl.of(url)
        matched = [cookie for cookie in self._cookies.values() if cookie.matches(target, now)]
        return sorted(matched, key=lambda cookie: -len(cookie.path))

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
    """Parse a `Set-Cookie` header; None if it is invalid, or for another host than the one that sets it."""
    target = CookieUrl.of(url)
    pair, *rest = line.split(";")
    name, equals, value = (part.strip() for part in pair.partition("="))
    if not equals or not name or len(line) > _MAX_BYTES or _CONTROLS.search(pair):
        return None
    stated = {key.strip().lower(): said.strip() for key, _, said in (part.partition("=") for part in rest)}
    domain = stated.get("domain", "").lstrip(".").lower()
    if domain and domain != target.name:
        if not domain_matches(target.name, domain) or is_public_suffix(domain):
            return None
    is_host_only = not domain or bool(_ADDRESS.fullmatch(target.name))
    is_secure = "secure" in stated
    if is_secure and not target.scheme_port.startswith("https:"):
        return None
    path = stated.get("path", "")
    if not path.startswith("/"):
        path = target.path.rpartition("/")[0] or "/"
    expires = _expiry(stated, now)
    return Cookie(name, value, domain or target.name, path, target.scheme_port, is_host_only, is_secure, expires)


def cookies_in_header(text: str, origin: str) -> list[Cookie]:
    """The cookies of a `Cookie` header, for this origin alone."""
    target = CookieUrl.of(f"{origin}/")
    pairs = (pair.partition("=") for pair in text.split(";"))
    return [
        Cookie(name.strip(), value.strip(), target.name, "/", target.scheme_port)
        for name, equals, value in pairs
        if equals
    ]


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
    return cookie.name, cookie.domain, cookie.path, cookie.scheme_port


def cookies_for(path: Path, origin: str, now: float) -> list[Cookie]:
    """Return the cookies in a file for an origin; InputError if there are none."""
    text = read_private(path).decode("utf-8", "replace")
    lines = [line.removeprefix(_HTTP_ONLY) for line in text.splitlines()]
    rows = [line.split("\t") for line in lines if line.strip() and not line.startswith("#")]
    if not any(len(row) == 7 for row in rows):
        raise InputError(f"{path}: no cookie file in Netscape's format (seven fields on a line, divided by tabs)")
    target = CookieUrl.of(f"{origin}/")
    cookies = [cookie for row in rows if len(row) == 7 and (cookie := _cookie(row, target)) is not None]
    if not cookies:
        raise InputError(f"{path}: it has no cookie for {origin}")
    fresh = [cookie for cookie in cookies if cookie.expires is None or cookie.expires > now]
    if not fresh:
        raise InputError(f"{path}: all its cookies for {origin} have expired")
    return fresh


def _cookie(row: list[str], target: CookieUrl) -> Cookie | None:
    domain, with_hosts_below, path, secure, expiry, name, value = (part.strip() for part in row)
    domain = domain.lstrip(".").lower()
    is_host_only = with_hosts_below.upper() != "TRUE"
    is_secure = secure.upper() == "TRUE"
    has_domain = target.name == domain if is_host_only else domain_matches(target.name, domain)
    if not has_domain or not name or (is_secure and not target.scheme_port.startswith("https:")):
        return None
    expires = float(expiry) if expiry.isdecimal() and int(expiry[:15]) else None
    # The cookie may be valid for other hosts as well; here it is bound to this origin.
    return Cookie(name, value, target.name, path or "/", target.scheme_port, True, is_secure, expires)
