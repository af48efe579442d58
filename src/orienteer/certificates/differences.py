"""Where two tables of facts differ, in lines for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, is_dataclass
from typing import Any

from orienteer.certificates.in_words import utc
from orienteer.wording import plain

_ROUNDING = 1e-6  # what sums may differ by on another machine
_MAX_LINES = 6
_TIMES = ("first_time", "last_time")
_NAMES = {
    "crawl.n_seeds": "the number of seeds",
    "crawl.seeds_sha256": "the digest of all seeds",
    "moment.first_time": "the first answer",
    "moment.last_time": "the last answer",
    "proved.lower": "what is proved at least",
    "proved.upper": "what is proved at most",
    "proved.blocked": "the share that is blocked",
    "proved.unknown": "the share behind unknown links",
    "proved.frontier": "the share of known pages that were not fetched",
    "measured.estimate": "what is measured",
    "measured.n_walks": "the number of walks",
    "measured.is_reached": "whether the measured goal is reached",
    "pages.n_fetched": "the number of pages fetched",
    "pages.n_blocked": "the number of pages blocked",
    "pages.n_failed": "the number of pages that are not there",
    "pages.n_skipped": "the number of pages skipped",
    "run.stopped": "why the crawl stopped",
}


def differences(said: Any, found: Any, name: str) -> list[str]:
    """A line for each value that is not the same, the first few of them; numbers may differ by rounding."""
    lines = [
        f"{_NAMES.get(path, path)} is {_shown(path, one)} in the certificate, and {_shown(path, other)} by the folder"
        for path, one, other in _differing(name, _plain(said), _plain(found))
    ]
    more = len(lines) - _MAX_LINES
    return [*lines[:_MAX_LINES], f"{more} more values of '{name}' differ"] if more > 0 else lines


def _differing(path: str, said: Any, found: Any) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(said, Mapping) and isinstance(found, Mapping):
        for key in dict.fromkeys([*said, *found]):
            yield from _differing(f"{path}.{key}", said.get(key), found.get(key))
    elif not _same(said, found):
        yield path, said, found


def _same(said: Any, found: Any) -> bool:
    if isinstance(said, float) and isinstance(found, float):
        return abs(said - found) <= _ROUNDING * max(1.0, abs(found)) if said == said else False
    if isinstance(said, list | tuple) and isinstance(found, list | tuple):
        return len(said) == len(found) and all(map(_same, said, found))
    return bool(said == found)


def _plain(value: Any) -> Any:
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else value


def _shown(path: str, value: Any) -> str:
    if isinstance(value, float) and path.endswith(_TIMES):
        return utc(value)
    if isinstance(value, float) and path.startswith(("proved.", "measured.")):
        return f"{100 * value:.6g} %"
    if isinstance(value, list | tuple):
        return plain(", ".join(map(str, value)), 150) or "empty"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return plain(str(value), 150) if value is not None else "missing"
