"""Which fetcher: `libcurl`, `archive:path=FOLDER`, or one of a plug-in."""

from __future__ import annotations

import importlib

from orienteer.errors import InputError, unknown_name
from orienteer.fetch.fetcher import Fetcher
from orienteer.fetch.settings import FetchSettings
from orienteer.registry import made

_OWN = {"libcurl": "libcurl:LibcurlFetcher", "archive": "archive:ArchiveFetcher"}


def make_fetcher(settings: FetchSettings) -> Fetcher:
    """The fetcher that the settings name; what is wrong with that is one line. To be closed by the caller."""
    name, _, rest = settings.fetcher.partition(":")
    if name not in _OWN:
        raise unknown_name("fetcher", name, _OWN)
    module, _, kind = _OWN[name].partition(":")
    own: dict[str, str] = {}
    for part in rest.split(",") if rest else ():
        key, equals, value = part.partition("=")
        if not equals or not key.strip() or not value.strip():
            raise InputError(f"fetcher {settings.fetcher!r}: {part!r} is not a setting; write name=value")
        own[key.strip()] = value.strip()
    kinds = {name: getattr(importlib.import_module(f"orienteer.fetch.{module}"), kind)}
    fetcher: Fetcher = made("fetcher", kinds, name, {"settings": settings, **own})
    return fetcher
