"""Which fetcher: `libcurl`, `archive:path=FOLDER`, or one of a plug-in (entry points `orienteer.fetchers`)."""

from __future__ import annotations

from typing import Any

from orienteer.errors import InputError, unknown_name
from orienteer.fetch.fetcher import Fetcher
from orienteer.fetch.settings import FetchSettings
from orienteer.registry import Registry, settings_of

_PROMISED = ("start", "poll", "cancel", "close", "n_under_way", "asks_web")


def _why_not(kind: Any) -> str:
    """Why something is no class of fetchers; "" if it is one."""
    if not isinstance(kind, type):
        return "is not a class"
    if missing := [name for name in _PROMISED if not hasattr(kind, name)]:
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
    """The fetcher that the settings name; what is wrong with that is one line. To be closed by the caller."""
    name, _, rest = settings.fetcher.partition(":")
    kind = FETCHERS.find(name.strip())
    own = _own_settings(settings.fetcher, rest)
    allowed = [setting for setting in settings_of(kind) if setting != "settings"]
    for setting in own:
        if setting not in allowed:
            raise unknown_name(f"setting of {name}", setting, allowed)
    try:
        fetcher: Fetcher = kind(settings=settings, **own)
    except TypeError as error:
        raise InputError(f"fetcher {name}: {error}") from None
    return fetcher


def _own_settings(spec: str, rest: str) -> dict[str, str]:
    """The texts behind the colon, `name=value,name=value`."""
    own: dict[str, str] = {}
    for part in rest.split(",") if rest else ():
        key, equals, value = part.partition("=")
        if not equals or not key.strip() or not value.strip():
            raise InputError(f"fetcher {spec!r}: {part!r} is not a setting; write name=value")
        own[key.strip()] = value.strip()
    return own
