"""The protocol of fetchers.

    fetcher.start(request)            begin a fetch, which proceeds in `poll` or in the background
    responses = fetcher.poll(0.25)    finished responses, as soon as there are any, at the latest after this time
    fetcher.n_in_flight               fetches started and not returned by `poll` yet
    fetcher.cancel()                  abort all fetches in flight
    fetcher.close()                   cancel, then close connections, files, processes

Every fetcher guarantees, checked by tests/fetch/contract.py:

- `poll` returns exactly one `Response` for each started request, with the same request object.
- No URL and no response makes `start` or `poll` raise: every failure is an `Outcome`.
- The method is that of the request: GET, or OPTIONS for a CORS preflight.
- Content types that the settings do not accept are refused for a `PageRequest` only. A body beyond the limit is
  TOO_LARGE, but that of a `HostRequest` is truncated.
- `start` does not wait for the network. `poll` returns within its timeout, and earlier if a response is finished.
- Redirects are reported, not followed. Cookies, addresses and limits are those of the FetchSettings, not of the system.
- `request.secrets` are sent to their own origin only. A fetcher that supports them has `takes_secrets = True`; with
  other fetchers a crawl cannot use credentials.
- After `cancel` the next `poll` returns everything in flight, as CANCELLED if it was not finished before.
- `close` may be called twice.

A fetcher is made with the FetchSettings of the crawl, and with settings of its own as keyword arguments, which are
texts. With `uses_network = False` a crawl needs no robots.txt and no delays between requests. Optional members are
`max_in_flight`, the limit of concurrent fetches, and `wake_on(descriptor)`, which makes `poll` return early when the
descriptor is readable. Ours are `libcurl` and `archive:path=FOLDER`; plug-ins are entry points `orienteer.fetchers`.
"""

from __future__ import annotations

import time
from typing import Any, Protocol, runtime_checkable

from orienteer.errors import InputError, unknown_name
from orienteer.fetch.settings import FetchSettings
from orienteer.registry import Registry, settings_of
from orienteer.responses.response import Request, Response

_MAX_STEP_S = 1.0  # between two calls, beyond the intended wait; the rest is skipped
_REQUIRED = ("start", "poll", "cancel", "close", "n_in_flight", "uses_network")


@runtime_checkable
class Fetcher(Protocol):
    uses_network: bool

    @property
    def n_in_flight(self) -> int:
        """Fetches started and not returned by `poll` yet."""

    def start(self, request: Request) -> None:
        """Begin a fetch."""

    def poll(self, timeout_s: float) -> list[Response]:
        """Return finished responses, as soon as there are any, at the latest after this time."""

    def cancel(self) -> None:
        """Abort all fetches in flight; `poll` returns them as cancelled."""

    def close(self) -> None:
        """Cancel, and release all resources."""


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


class LoopClock:
    """Seconds while the loop was running: `now` as of the last call of `advance`; `skipped_s` were not counted.

    A loop that is blocked (by a long computation, a stopped process, a suspended machine) does not read from its
    sockets. That time says nothing about the other side, so it must not count towards a timeout.
    """

    def __init__(self) -> None:
        self.now = 0.0
        self.skipped_s = 0.0
        self._last_time = time.monotonic()

    def advance(self, waited_s: float = 0.0) -> float:
        """Advance the clock and return its time; since the last call the loop intended to wait for `waited_s`."""
        now = time.monotonic()
        elapsed_s = now - self._last_time
        step_s = min(elapsed_s, max(waited_s, 0.0) + _MAX_STEP_S)
        self.now += step_s
        self.skipped_s += elapsed_s - step_s
        self._last_time = now
        return self.now
