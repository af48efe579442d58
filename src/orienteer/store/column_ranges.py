"""The valid values of each column of crawl.db, so that a crafted file is rejected when it is read.

SQLite stores any type in any column: text in place of a number, a time of 1e300, a truncated array.
`DatabaseConnection` checks every row that it reads by the names of the columns; an expression has a name only with AS.
SQLite stores NaN as NULL.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from types import NoneType
from typing import Any, NamedTuple

from orienteer.pages.states import PageState
from orienteer.pages.unknown import UNKNOWN_COUNT
from orienteer.store.visits import VisitKind

_FIRST_TIME, _LAST_TIME = -62_135_596_800, 253_402_300_799  # Unix time of the years 1 to 9999
_MAX_ID = 2**32 - 1
_MAX_INT = 2**31 - 1
_MAX_COUNT = 2**62


class Range(NamedTuple):
    """Values of these types from `least` to `most`; for bytes and texts the bounds and `unit` are of the length."""

    types: frozenset[type]
    least: float
    most: float
    unit: int = 1

    def holds(self, value: Any) -> bool:
        if value is None:
            return NoneType in self.types
        if type(value) not in self.types:
            return False
        amount = len(value) if isinstance(value, (bytes, str)) else value
        return self.least <= amount <= self.most and (self.unit == 1 or amount % self.unit == 0)

    def holds_all(self, values: Sequence[Any]) -> bool:
        """Return whether the range holds all values, much faster than one by one."""
        types = set(map(type, values))
        if not types <= self.types:
            return False
        if NoneType in types:
            values = [value for value in values if value is not None]
        if not values:
            return True
        if types & _SIZED:
            values = [len(value) for value in values]
        if not (self.least <= min(values) and max(values) <= self.most):
            return False
        return self.unit == 1 or all(value % self.unit == 0 for value in values)


_SIZED = frozenset((bytes, str))


def _integer(least: int, most: int) -> Range:
    return Range(frozenset((int,)), least, most)


def _number(least: float, most: float) -> Range:
    return Range(frozenset((int, float)), least, most)


def _optional(range: Range) -> Range:
    return range._replace(types=range.types | {NoneType})


_COUNT, _SMALL, _PAGE, _FLAG = _integer(0, _MAX_COUNT), _integer(0, _MAX_INT), _integer(0, _MAX_ID), _integer(0, 1)
_TIME, _SHARE, _ANY_NUMBER = _number(_FIRST_TIME, _LAST_TIME), _number(0.0, 1.0), _number(float("-inf"), float("inf"))
_STATE = _integer(PageState.FETCHED, PageState.SKIPPED)  # of pages that are done
_TEXT = Range(frozenset((str,)), 0, _MAX_INT)
_BLOB = Range(frozenset((bytes,)), 0, _MAX_INT)
_IDS, _WEIGHTS, _DIGEST = _BLOB._replace(unit=4), _BLOB._replace(unit=8), _BLOB._replace(least=20, most=20)


def _named(names: str, range: Range) -> dict[str, Range]:
    return dict.fromkeys(names.split(), range)


RANGES: Mapping[str, Range] = {
    **_named("position id epoch survey number n_told size_bytes", _COUNT),
    **_named("page target n_checks n_changes n_missing", _PAGE),
    **_named("redirect_to duplicate_of near_duplicate_of repeated", _optional(_PAGE)),
    **_named("status depth width n_words_sent n_words n_links_sent n_links n_parts", _SMALL),
    **_named("noindex is_same of_reachable", _FLAG),
    **_named("credentials", _optional(_FLAG)),
    **_named("archive_file dom_file view_file hops", _optional(_SMALL)),
    **_named("archive_offset archive_bytes dom_offset dom_bytes view_offset view_bytes", _optional(_COUNT)),
    **_named("time first_time checked began", _TIME),
    **_named("ended missing_since first_time_or_none last_time_or_none", _optional(_TIME)),
    **_named("until confidence error", _SHARE),
    **_named("allowed stake", _ANY_NUMBER),
    "free": _number(sys.float_info.min, float("inf")),  # walks begin only where there is mass; it is divided by
    **_named("cpu_s", _number(0.0, 1e12)),
    **_named("relevance", _optional(_SHARE)),
    **_named("url outcome content_type language title etag last_modified why trouble", _TEXT),
    **_named("stripped detail value event_kind added seed", _TEXT),
    "missing_as": _optional(_TEXT),
    **_named("links outside pages seeds due entries", _IDS),
    **_named("trust", _WEIGHTS),
    **_named("signature words", _BLOB),
    **_named("digest sent_digest rendered_digest former_digest", _optional(_DIGEST)),
    "redirect_or_none": _integer(-1, _MAX_ID),  # -1: none
    "state": _STATE,
    "state_or_none": _optional(_STATE),
    "links_or_none": _optional(_IDS),
    "kind": _integer(min(VisitKind), max(VisitKind)),
    "n": _integer(UNKNOWN_COUNT, _MAX_INT),
    "n_unknown": _integer(UNKNOWN_COUNT, _MAX_INT),
    "host": _optional(_SMALL),
}


class RowRanges:
    """The ranges of rows with these columns; a column without a range is not checked."""

    def __init__(self, columns: Iterable[str], ranges: Mapping[str, Range] = RANGES) -> None:
        self._columns = [(index, name, ranges[name]) for index, name in enumerate(columns) if name in ranges]

    def check(self, row: Sequence[Any]) -> None:
        """Raise ValueError if a value is out of its range."""
        for index, name, range in self._columns:
            if not range.holds(row[index]):
                raise ValueError(f"{name} is {_describe(row[index])}")

    def check_all(self, rows: Sequence[Sequence[Any]]) -> None:
        for index, _, range in self._columns:
            if not range.holds_all([row[index] for row in rows]):
                for row in rows:
                    self.check(row)


def _describe(value: Any) -> str:
    return f"{len(value)} bytes" if isinstance(value, bytes) else f"{value!r:.60}"
