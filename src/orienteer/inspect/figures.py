"""The figures of a crawl: what only the process that crawls knows, which it stores for others.

They are a part of `CrawlStatus`, and all that is known of it several times a second while a crawl runs. They are read
from JSON that an earlier run, another version or another program wrote, and nothing in it is trusted (`record_of`): an
unknown key is ignored, and a value of the wrong type is the default of its field.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, asdict, dataclass, field, fields, is_dataclass, replace
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from orienteer.crawl.goal import Goal
from orienteer.errors import InputError
from orienteer.graph.proved import Certificate
from orienteer.graph.survey.measured import Measured
from orienteer.inspect.survey_progress import SurveyProgress
from orienteer.wording import counted, plain, time_left

MAX_LISTED = 10  # requests in flight
MAX_CHARS = 300  # of a URL
_MAX_WORKERS = 10_000
_NAMED = 3
# The keys of reports and figures that version 0.2 wrote, and their present names.
_FORMER_KEYS = {
    "left_s": "eta_s", "n_under_way": "n_in_flight", "n_hosts_resting": "n_hosts_backing_off",
    "n_hosts_given_up": "n_hosts_abandoned", "n_workers_died": "n_workers_crashed", "n_parts": "n_assets",
    "n_parts_failed": "n_assets_failed", "n_parts_waiting": "n_assets_waiting", "parts_bytes": "assets_bytes",
    "n_in_hand": "n_in_flight", "n_answers": "n_responses", "answers_per_s": "responses_per_s",
    "parts": "assets", "n_wanted": "n_pending", "lost_seeds": "failed_seeds", "n_given_up": "n_abandoned",
    "trouble": "problem", "n_in_trouble": "n_incomplete",
}  # fmt: skip
_FORMER_KEYS_OF_RENDERED = _FORMER_KEYS | {"n_parts": "n_requests"}
_KEYED_BY_DATA = frozenset(("outcomes", "visits", "hook_failures", "failed_seeds", "failures"))
_MAX_NESTING = 4  # of a key in a report: figures, workers, a worker


Record = TypeVar("Record")


@dataclass(frozen=True)
class Fetching:
    """A requested URL, and how long ago the request began."""

    url: str
    for_s: float


@dataclass(frozen=True)
class WorkerNow:
    """A worker: its machine and process, its requests in flight, and its responses so far and per second.

    `busy` is the share of a core that it uses, None if that is not known.
    """

    where: str
    process: int
    n_in_flight: int
    n_responses: int
    responses_per_s: float
    busy: float | None

    @property
    def name(self) -> str:
        return f"{self.where}, process {self.process}" if self.process else self.where


@dataclass(frozen=True)
class CrawlFigures:
    """The state of a crawl in numbers, as its own process knows them.

    Counts cover the whole epoch (0 is the first crawl), rates the last seconds; bytes, times, outcomes and assets cover
    this run. `n_fetched` are pages with content of their own; `n_redirects` are other URLs of pages (with merged
    duplicates). `n_skipped` are files of unwanted types. `n_done` is what a budget counts: the pages that were
    requested and then fetched, failed, skipped, or refused by a response. `n_known` and `n_hosts` count all pages and
    hosts in the scope; `n_frontier` of these pages wait. `visits` counts the visits of a refresh by VisitKind.
    `n_on_topic` is None without a topic. `position` is the ledger position of the figures. `eta_s` is the estimated
    time to the end, usually within a factor of two; None while estimates are not steady, 0 when the crawl is over.
    `of_reachable`: `until` is a share of what is reachable; `goal_is_impossible`: it cannot be proved, since too much
    is unreachable. `measured` is the coverage by random walks; None before they have begun, or without a survey.
    `evidence` is their progress: at 1 the goal is reached with the requested confidence. `workers` are the worker
    processes; `n_workers_crashed` of them crashed. `fetching` are the URLs that have been in flight longest. `n_assets`
    assets are done (images, style sheets, …), `n_assets_failed` of them failed, `n_assets_waiting` are queued or in
    flight.
    """

    certificate: Certificate
    epoch: int = 0
    position: int = -1
    n_done: int = 0
    n_fetched: int = 0
    n_redirects: int = 0
    n_failed: int = 0
    n_skipped: int = 0
    n_blocked: int = 0
    n_known: int = 0
    n_frontier: int = 0
    n_in_flight: int = 0
    n_hosts: int = 0
    n_hosts_backing_off: int = 0
    n_hosts_abandoned: int = 0
    n_bytes: int = 0
    pages_per_s: float = 0.0
    elapsed_s: float = 0.0
    eta_s: float | None = None
    until: float | None = None
    budget: int | None = None
    of_reachable: bool = False
    goal_is_impossible: bool = False
    measured: Measured | None = None
    evidence: float | None = None
    n_on_topic: int | None = None
    outcomes: dict[str, int] = field(default_factory=dict)
    visits: dict[str, int] = field(default_factory=dict)
    workers: tuple[WorkerNow, ...] = ()
    n_workers_crashed: int = 0
    fetching: tuple[Fetching, ...] = ()
    n_assets: int = 0
    n_assets_failed: int = 0
    n_assets_waiting: int = 0
    assets_bytes: int = 0

    @property
    def goal(self) -> Goal:
        """The goal of the run; figures that were edited may have none."""
        try:
            return Goal(self.until, self.budget, of_reachable=self.of_reachable)
        except InputError:
            return Goal()

    @property
    def survey(self) -> SurveyProgress | None:
        """The progress of the random walks; None without a survey."""
        if self.evidence is None or self.until is None:
            return None
        of_reachable = self.of_reachable if self.measured is None else self.measured.of_reachable
        lower = self.certificate.of_reachable if of_reachable else self.certificate.lower
        return SurveyProgress(self.measured, self.evidence, self.until, of_reachable, lower >= self.until)

    def ended(self) -> CrawlFigures:
        """Return the figures of a crawl that does not run any more, whether it stopped or was killed."""
        return replace(
            self, n_in_flight=0, n_hosts_backing_off=0, pages_per_s=0.0, workers=(), n_workers_crashed=0, fetching=()
        )

    def __str__(self) -> str:
        """Return the progress in one line."""
        pages = f"{counted(self.n_done, 'page')} done, {self.n_frontier:,} waiting, {self.pages_per_s:.1f} a second"
        measured = "" if self.measured is None else f"measured: {100 * self.measured.estimate:.1f} %; "
        return f"{pages}; {measured}proved: {self.certificate}; left: {time_left(self.eta_s)}"

    def as_dict(self) -> dict[str, Any]:
        return asdict(self) | {
            "certificate": self.certificate.as_dict(),
            "measured": None if self.measured is None else self.measured.as_dict(),
        }


def figures_of(values: Any) -> CrawlFigures | None:
    """Return stored figures, with bounded texts and lists; None if they are missing or invalid."""
    found = record_of(CrawlFigures, values)
    if found is None:
        return None
    fetching = [replace(one, url=plain(one.url, MAX_CHARS)) for one in found.fetching[:MAX_LISTED]]
    workers = [replace(worker, where=plain(worker.where, 60)) for worker in found.workers[:_MAX_WORKERS]]
    return replace(found, fetching=tuple(fetching), workers=tuple(workers))


def with_present_keys(values: Any, names: Mapping[str, str] = _FORMER_KEYS, depth: int = _MAX_NESTING) -> Any:
    """Return a report or figures with present names for the keys of version 0.2, also in nested tables."""
    if depth == 0:
        return values
    if isinstance(values, list):
        return [with_present_keys(value, names, depth - 1) for value in values]
    if not isinstance(values, dict):
        return values
    present: dict[str, Any] = {}
    for key, value in values.items():
        name = names.get(key, key)
        inner = _FORMER_KEYS_OF_RENDERED if name == "rendered" else names
        present[name] = value if name in _KEYED_BY_DATA else with_present_keys(value, inner, depth - 1)
    return present


def describe_fetching(fetching: Sequence[Fetching], n_in_flight: int) -> str:
    """`https://a.example/, https://b.example/ and 14 more`; empty if nothing is in flight."""
    named = [plain(one.url, 100) for one in fetching[:_NAMED]]
    n_more = n_in_flight - len(named)
    return ", ".join(named) + (f" and {n_more:,} more" if named and n_more > 0 else "")


def describe_workers(workers: Sequence[WorkerNow], n_crashed: int) -> str:
    """`3 processes, 240 responses/s, 92 % busy; 1 crashed`; empty where one process does everything."""
    if not n_crashed and all(worker.process == 0 for worker in workers):
        return ""
    machines = len({worker.where for worker in workers})
    on = f" on {counted(machines, 'machine')}" if machines > 1 else ""
    busy = [worker.busy for worker in workers if worker.busy is not None]
    clauses = [
        counted(len(workers), "process", "processes") + on,
        f"{sum(worker.responses_per_s for worker in workers):,.0f} responses/s",
        f"{100 * sum(busy) / len(busy):.0f} % busy" if busy else "",
    ]
    crashed = f"; {n_crashed:,} crashed and {'was' if n_crashed == 1 else 'were'} replaced" if n_crashed else ""
    return ", ".join(clause for clause in clauses if clause) + crashed


def record_of(kind: type[Record], values: Any) -> Record | None:
    """Return a dataclass with these values; None if a field without a default is missing or invalid."""
    if not isinstance(values, Mapping):
        return None
    found = {}
    for name, (hint, is_required) in _fields(kind).items():  # type: ignore[arg-type]  # classes can be hashed
        try:
            found[name] = _value(hint, values[name])
        except (KeyError, TypeError, ValueError, OverflowError):
            if is_required:
                return None
    return kind(**found)


@cache
def _fields(kind: type[Any]) -> dict[str, tuple[Any, bool]]:
    """Return the types of the fields of a record, and whether they are required."""
    hints = typing.get_type_hints(kind)
    return {
        field.name: (hints[field.name], field.default is MISSING and field.default_factory is MISSING)
        for field in fields(kind)
    }


def _value(hint: Any, value: Any) -> Any:
    """Return the value as the type of a field; a ValueError or TypeError if it is of another type."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is types.UnionType:
        return None if value is None else _value(next(one for one in arguments if one is not types.NoneType), value)
    if origin is tuple and isinstance(value, list):
        return tuple(_value(arguments[0], item) for item in value)
    if origin is dict and isinstance(value, Mapping):
        return {str(key): _value(arguments[1], item) for key, item in value.items()}
    if hint in (int, float) and isinstance(value, int if hint is int else int | float) and not isinstance(value, bool):
        return hint(value)
    if hint in (str, bool) and isinstance(value, hint):
        return value
    if isinstance(hint, type) and issubclass(hint, Enum | Path):
        return hint(value)
    record = record_of(hint, value) if is_dataclass(hint) and isinstance(hint, type) else None
    if record is None:
        raise ValueError
    return record
