"""Pages from the web: the only code that opens sockets.

A fetcher is a class with `start`, `poll`, `cancel` and `close`, found by its name. Other packages have theirs in the
entry points `orienteer.fetchers`.
"""

from __future__ import annotations

from typing import Any

from orienteer.registry import Registry

__all__ = ["FETCHERS", "all_fetchers", "fetcher"]

_METHODS = ("start", "poll", "cancel", "close")


def _why_not(thing: Any) -> str:
    if not isinstance(thing, type):
        return "is not a class"
    missing = [name for name in _METHODS if not callable(getattr(thing, name, None))]
    return f"does not define {', '.join(missing)}" if missing else ""


FETCHERS: Registry[type[Any]] = Registry(
    "fetcher", _why_not, group="orienteer.fetchers", own={"libcurl": "orienteer.fetch.libcurl:Fetcher"}
)
fetcher = FETCHERS.register  # the decorator that registers a fetcher under its name


def all_fetchers() -> dict[str, type[Any]]:
    """Every fetcher by its name, those of other packages too."""
    return FETCHERS.all()
