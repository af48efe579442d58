"""The registry of fetchers: `libcurl`, `archive:path=FOLDER`, and plug-ins (entry points `orienteer.fetchers`)."""

from __future__ import annotations

from typing import Any

from orienteer.errors import InputError, unknown_name
from orienteer.fetch.fetcher import Fetcher
from orienteer.fetch.settings import FetchSettings
from orienteer.registry import Registry, settings_of

_REQUIRED = ("start", "poll", "cancel", "close", "n_in_flight", "uses_network")


def _why_not(kind: Any) -> str:
    """Return why something is not a fetcher class, or ""."""
    if not isinstance(kind, type):
        return "is not a class"
    if missing := [name for name in _REQUIRED if not hasattr(kind, name)]:
        return f"does not define {', '.join(missing)}"
    return "" if "settings" in settings_of(kind) else "takes no argument `settings`, the FetchSettings of the crawl"


FETCHERS: Registry[type[Any]] = Registry(
    "fetcher",
    _why_not,
    group="orienteer.fetchers",
    own={
        "libcurl": "orienteer.fetch.libcurl:LibcurlFetcher",
        "archive": "orienteer.fetch.archive:ArchiveFetcher",
    },
)


def make_fetcher(settings: FetchSettings) -> Fetcher:
    """Create the fetcher that the settings name, or raise an InputError. The caller closes it."""
    name, _, rest = settings.fetcher.partition(":")
    kind = FETCHERS.find(name.strip())
    own = _fetcher_settings(settings.fetcher, rest)
    allowed = [setting for setting in settings_of(kind) if setting != "settings"]
    for setting in own:
        if setting not in allowed:
            raise unknown_name(f"setting of {name}", setting, allowed)
    try:
        fetcher: Fetcher = kind(settings=settings, **own)
    except TypeError as error:
        raise InputError(f"fetcher {name}: {error}") from None
    return fetcher


def _fetcher_settings(spec: str, rest: str) -> dict[str, str]:
    """Parse the settings after the colon, `name=value,name=value`."""
    own: dict[str, str] = {}
    for part in rest.split(",") if rest else ():
        key, equals, value = part.partition("=")
        if not equals or not key.strip() or not value.strip():
            raise InputError(f"fetcher {spec!r}: {part!r} is not a setting; write name=value")
        own[key.strip()] = value.strip()
    return own
