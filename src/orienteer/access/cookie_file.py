"""A cookie file in Netscape's format, as browsers' add-ons, curl and yt-dlp write it.

Seven fields on a line, divided by tabs: domain, whether hosts below it count, path, secure, expiry, name, value. Of a
file with the cookies of a whole browser, those for one origin are taken; the others are forgotten.
"""

from __future__ import annotations

from pathlib import Path

from orienteer.access.cookies import Cookie, Place, domain_matches
from orienteer.errors import InputError
from orienteer.files.private import read_private

_HTTP_ONLY = "#HttpOnly_"


def cookies_for(path: Path, origin: str, now: float) -> list[Cookie]:
    """The cookies in a file that go to an origin; InputError where there is none."""
    text = read_private(path).decode("utf-8", "replace")
    lines = [line.removeprefix(_HTTP_ONLY) for line in text.splitlines()]
    rows = [line.split("\t") for line in lines if line.strip() and not line.startswith("#")]
    if not any(len(row) == 7 for row in rows):
        raise InputError(f"{path}: no cookie file in Netscape's format (seven fields on a line, divided by tabs)")
    place = Place.of(f"{origin}/")
    cookies = [cookie for row in rows if len(row) == 7 and (cookie := _cookie(row, place)) is not None]
    if not cookies:
        raise InputError(f"{path}: it has no cookie for {origin}")
    fresh = [cookie for cookie in cookies if cookie.expires is None or cookie.expires > now]
    if not fresh:
        raise InputError(f"{path}: all its cookies for {origin} have expired")
    return fresh


def _cookie(row: list[str], place: Place) -> Cookie | None:
    domain, with_hosts_below, path, secure, expiry, name, value = (part.strip() for part in row)
    domain = domain.lstrip(".").lower()
    is_host_only = with_hosts_below.upper() != "TRUE"
    is_secure = secure.upper() == "TRUE"
    is_there = place.name == domain if is_host_only else domain_matches(place.name, domain)
    if not is_there or not name or (is_secure and not place.way.startswith("https:")):
        return None
    expires = float(expiry) if expiry.isdecimal() and int(expiry[:15]) else None
    # Whatever other hosts the cookie is for: from this file it goes to this one.
    return Cookie(name, value, place.name, path or "/", place.way, True, is_secure, expires)
