"""The differences of two tables of facts, as lines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, is_dataclass
from typing import Any

from orienteer.certificates.certificate_text import utc
from orienteer.wording import plain

_ROUNDING = 1e-6  # sums may differ by this much on another machine
_MAX_LINES = 6
_TIMES = ("first_time", "last_time")
_NAMES = {
    "crawl.n_seeds": "the number of seeds",
    "crawl.seeds_sha256": "the digest of all seeds",
    "moment.first_time": "the first response",
    "moment.last_time": "the last response",
    "proved.lower": "what is proved at least",
    "proved.upper": "what is proved at most",
    "proved.blocked": "the share that is blocked",
    "proved.unknown": "the share behind unknown links",
    "proved.frontier": "the share of known pages that were not fetched",
    "checked.lower": "what the archive proves at least",
    "checked.upper": "what the archive proves at most",
    "measured.estimate": "what is measured",
    "measured.n_walks": "the number of walks",
    "measured.is_reached": "whether the measured goal is reached",
    "pages.n_fetched": "the number of pages fetched",
    "pages.n_blocked": "the number of pages blocked",
    "pages.n_failed": "the number of pages that are not there",
    "pages.n_skipped": "the number of pages skipped",
    "run.stopped": "why the crawl stopped",
}


def differences(claimed: Any, actual: Any, name: str) -> list[str]:
    """Return a line for each of the first values that differ; numbers may differ by rounding."""
    lines = [
        f"{_NAMES.get(path, path)} is {_display(path, one)} in the certificate, {_display(path, other)} by the folder"
        for path, one, other in _differing(name, _plain(claimed), _plain(actual))
    ]
    more = len(lines) - _MAX_LINES
    return [*lines[:_MAX_LINES], f"{more} more values of '{name}' differ"] if more > 0 else lines


def _differing(path: str, claimed: Any, actual: Any) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(claimed, Mapping) and isinstance(actual, Mapping):
        for key in dict.fromkeys([*claimed, *actual]):
            yield from _differing(f"{path}.{key}", claimed.get(key), actual.get(key))
    elif not _same(claimed, actual):
        yield path, claimed, actual


def _same(claimed: Any, actual: Any) -> bool:
    if isinstance(claimed, float) and isinstance(actual, float):
        return abs(claimed - actual) <= _ROUNDING * max(1.0, abs(actual)) if claimed == claimed else False
    if isinstance(claimed, list | tuple) and isinstance(actual, list | tuple):
        return len(claimed) == len(actual) and all(map(_same, claimed, actual))
    return bool(claimed == actual)


def _plain(value: Any) -> Any:
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else value


def _display(path: str, value: Any) -> str:
    if isinstance(value, float) and path.endswith(_TIMES):
        return utc(value)
    if isinstance(value, float) and path.startswith(("proved.", "checked.", "measured.")):
        return f"{100 * value:.6g} %"
    if isinstance(value, list | tuple):
        return plain(", ".join(map(str, value)), 150) or "empty"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return plain(str(value), 150) if value is not None else "missing"
