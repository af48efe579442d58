"""Read cookie files in Netscape format, as browser extensions, curl and yt-dlp write them.

A line has seven fields, separated by tabs: domain, whether subdomains count, path, secure, expiry, name, value. From a
file with all cookies of a browser only those for one origin are used.
"""

from __future__ import annotations

from pathlib import Path

from orienteer.credentials.cookies import Cookie, CookieUrl, domain_matches
from orienteer.errors import InputError
from orienteer.files.private import read_private

_HTTP_ONLY = "#HttpOnly_"


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
