"""What a crawl was asked to do: all its settings, as `crawl.toml` in the crawl folder holds them.

    [crawl]        seeds, policy, goal, how many fetches at once
    [scope]        which pages belong to it
    [politeness]   how often a host may be asked
    [fetch]        how a page is fetched: limits, user agent, proxy
    [retry]        what happens when it does not work out
    [refresh]      how the pages are looked at again

Some settings say what the crawl *is*: its seeds, policy, damping and scope. They stay for the life of the folder, since
what was proved would mean something else. The others may change from one run to the next.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from orienteer.crawl.crawl import Goal
from orienteer.crawl.host_health import RetrySettings
from orienteer.crawl.revisiting import RefreshSettings
from orienteer.crawl.scope import ScopeSettings
from orienteer.errors import InputError, unknown_name
from orienteer.fetch.settings import FetchSettings
from orienteer.frontier.politeness import Politeness
from orienteer.policies.policy import checked_damping
from orienteer.policies.policy_spec import PolicySpec
from orienteer.settings import from_table, to_table, to_toml
from orienteer.url import canonical_url

_DUPLICATE_CHOICES = ("off", "report", "merge")


@dataclass(frozen=True)
class CrawlSettings:
    """What to fetch, in which order, until when.

    `duplicates` and `near_duplicates`: "report" notes on a page which other it repeats; "merge" takes it for another
    name of that page, as if it redirected there, and does not follow its links; "off" does not look. `log`: whether
    log.jsonl is kept.
    """

    seeds: tuple[str, ...]
    policy: str = "certified"
    damping: float = 0.85
    until: float | None = None
    budget: int | None = None
    by_certificate: bool = False
    workers: int = 32
    robots: bool = True
    sitemaps: bool = True
    duplicates: str = "report"
    near_duplicates: str = "report"
    commit_every_s: float = 1.0
    log: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "seeds", canonical_seeds(self.seeds))
        if not self.seeds:
            raise InputError("seeds is empty; a crawl needs a page to start from, such as https://example.org/")
        Goal(self.until, self.budget, self.by_certificate)
        checked_damping(self.damping)
        if PolicySpec.parse(self.policy).make(self.damping).knows_truth:
            raise InputError(f"policy {self.policy} must know the whole web beforehand: it is for simulations only")
        if not 1 <= self.workers <= 10_000:
            raise InputError(f"workers is {self.workers}; it must be from 1 to 10,000")
        if not 0 < self.commit_every_s <= 60:
            raise InputError(f"commit_every_s is {self.commit_every_s}; it must be above 0 and at most 60 seconds")
        for name in ("duplicates", "near_duplicates"):
            if getattr(self, name) not in _DUPLICATE_CHOICES:
                raise unknown_name(f"choice for {name}", getattr(self, name), _DUPLICATE_CHOICES)


@dataclass(frozen=True)
class CrawlPlan:
    """All settings of a crawl."""

    crawl: CrawlSettings
    scope: ScopeSettings = field(default_factory=ScopeSettings)
    politeness: Politeness = field(default_factory=Politeness)
    fetch: FetchSettings = field(default_factory=FetchSettings)
    retry: RetrySettings = field(default_factory=RetrySettings)
    refresh: RefreshSettings = field(default_factory=RefreshSettings)

    @classmethod
    def of_tables(cls, tables: Mapping[str, Any], where: str) -> CrawlPlan:
        """The plan that these tables state; whatever is wrong with them is one line."""
        kinds: dict[str, Any] = {
            "crawl": CrawlSettings,
            "scope": ScopeSettings,
            "politeness": Politeness,
            "fetch": FetchSettings,
            "retry": RetrySettings,
            "refresh": RefreshSettings,
        }
        for name in tables:
            if name not in kinds:
                raise unknown_name(f"table in {where}", name, kinds)
        parts = {name: from_table(kind, tables.get(name, {}), f"{where} [{name}]") for name, kind in kinds.items()}
        return cls(**parts)

    @classmethod
    def parse(cls, text: str, where: str) -> CrawlPlan:
        """The plan written in TOML."""
        return cls.of_tables(tables_of(text, where), where)

    def to_toml(self) -> str:
        return to_toml({part.name: to_table(getattr(self, part.name)) for part in fields(self)})

    def continued(self, new: CrawlPlan) -> CrawlPlan:
        """This crawl gone on with under new settings; refuses those that would make it another crawl."""
        for name in ("seeds", "policy", "damping"):
            old_value, new_value = getattr(self.crawl, name), getattr(new.crawl, name)
            if old_value != new_value:
                raise InputError(f"this crawl was begun with {name} {_shown(old_value)}, not {_shown(new_value)}")
        if self.scope != new.scope:
            changed = [f.name for f in fields(self.scope) if getattr(self.scope, f.name) != getattr(new.scope, f.name)]
            before = getattr(self.scope, changed[0])
            raise InputError(f"this crawl was begun with another scope ({changed[0]} was {_shown(before)})")
        return new

    def goal(self) -> Goal:
        return Goal(self.crawl.until, self.crawl.budget, self.crawl.by_certificate)


def tables_of(text: str, where: str) -> dict[str, dict[str, Any]]:
    """The tables of a settings file; `where` names it in messages."""
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{where}: {error}") from None
    for name, table in tables.items():
        if not isinstance(table, dict):
            raise InputError(f"{where}: {name} stands alone; settings belong under a heading such as [crawl]")
    return tables


def _shown(value: Any) -> str:
    return ", ".join(value) or "none" if isinstance(value, tuple) else str(value)


def canonical_seeds(texts: Sequence[str]) -> tuple[str, ...]:
    """The seeds as canonical URLs, without repeats; `example.org` will do for `https://example.org/`."""
    seeds: dict[str, None] = {}
    for text in texts:
        url = canonical_url(text if "://" in text else f"https://{text}")
        if url is None:
            raise InputError(f"{text!r} is no address of a page; write it like https://example.org/")
        seeds[url] = None
    return tuple(seeds)
