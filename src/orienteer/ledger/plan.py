"""What a crawl was asked to do: all its settings, as `crawl.toml` in the crawl folder holds them.

    [crawl]        seeds and their trust, policy, goal, how many fetches at once
    [scope]        which pages belong to it
    [politeness]   how often a host may be asked
    [fetch]        how a page is fetched: limits, user agent, proxy
    [retry]        what happens when it does not work out
    [refresh]      how the pages are looked at again
    [render]       which pages are shown in a browser
    [store]        where the archive is kept

Some settings say what the crawl *is*: its seeds, trust, policy, damping and scope. They stay for the life of the
folder, since what was proved would mean something else. The others may change from one run to the next.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
import tomli_w
from numpy.typing import NDArray

from orienteer.crawl.goal import Goal
from orienteer.errors import InputError, unknown_name
from orienteer.fetch.settings import FetchSettings
from orienteer.frontier.host_health import RetrySettings
from orienteer.frontier.politeness import Politeness
from orienteer.ledger.render_settings import RenderSettings
from orienteer.ledger.revisiting import RefreshSettings
from orienteer.ledger.scope import ScopeSettings
from orienteer.policies.focused import FocusedPolicy
from orienteer.policies.policy import checked_damping
from orienteer.policies.policy_spec import PolicySpec
from orienteer.settings import from_table, to_table
from orienteer.store.folder_files import FolderFiles
from orienteer.store.store_settings import StoreSettings
from orienteer.url import canonical_url

_DUPLICATE_CHOICES = ("off", "report", "merge")


@dataclass(frozen=True)
class CrawlSettings:
    """What to fetch, in which order, until when.

    `trust` says how much each seed is trusted, a number above 0 for each, in any unit; without, all are trusted alike.
    Seeds that turn out to be one page have their trust added up.

    `until` is a coverage of everything; with `of_reachable`, of what is not kept from the crawl by blocked pages and
    links that are not known. It is measured with this `confidence`, and the crawl stops by what comes first,
    measurement or proof; with `proof` by the proof alone.

    `workers` is how many pages are asked for at a time. `processes` is how many processes fetch and read them: 1 does
    all in one process, 0 begins like that, and starts others when that one is busy all the time.

    Pages are found by links, and besides: in the `sitemaps` that robots.txt names and, where it names none, at
    /sitemap.xml (`guess_sitemap`); as the `feeds` that pages name; as the same page in other `languages`. What is found
    like that counts as a page, but not as a link.

    `duplicates` and `near_duplicates`: "report" notes on a page which other it repeats; "merge" takes it for another
    name of that page, as if it redirected there, and does not follow its links; "off" does not look. `archive`: whether
    pages are kept as they came, or their links alone; with `requisites`, what they are shown with is kept, too:
    pictures, styles, fonts, scripts, frames, wherever they are. `log`: whether log.jsonl is kept. `topic`: whether the
    crawl has a topic, in topic.toml beside the settings. `hooks`: the page hooks of the crawl, by name. Those that are
    installed are run; that of a file, such as `prices.py`, is kept for information, and the file is named with --hook.
    `access`: the origins that the crawl has access to, by name; what they are shown stands in a file that is named with
    --access.
    """

    seeds: tuple[str, ...]
    trust: tuple[float, ...] = ()
    policy: str = "certified"
    damping: float = 0.85
    until: float | None = None
    budget: int | None = None
    by_certificate: bool = False
    of_reachable: bool = False
    confidence: float = 0.999
    proof: bool = False
    workers: int = 32
    processes: int = 0
    robots: bool = True
    sitemaps: bool = True
    guess_sitemap: bool = True
    feeds: bool = True
    languages: bool = True
    duplicates: str = "report"
    near_duplicates: str = "report"
    archive: bool = True
    requisites: bool = False
    commit_every_s: float = 1.0
    log: bool = True
    topic: bool = False
    hooks: tuple[str, ...] = ()
    access: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.seeds:
            raise InputError("seeds is empty; a crawl needs a page to start from, such as https://example.org/")
        trust = _trust_by_seed(self.seeds, self.trust)
        object.__setattr__(self, "seeds", canonical_seeds(self.seeds))
        object.__setattr__(self, "trust", tuple(trust.values()))
        self.goal()
        checked_damping(self.damping)
        policy = PolicySpec.parse(self.policy).make(self.damping)
        if policy.knows_truth:
            raise InputError(f"policy {self.policy} must know the whole web beforehand: it is for simulations only")
        if isinstance(policy, FocusedPolicy) and not self.topic:
            raise InputError(f"policy {self.policy} looks for pages of a topic: name one (--topic FILE)")
        if not 1 <= self.workers <= 10_000:
            raise InputError(f"workers is {self.workers}; it must be from 1 to 10,000")
        if not 0 <= self.processes <= 1_000:
            raise InputError(f"processes is {self.processes}; it must be from 1 to 1,000, or 0: as many as help")
        if not 0 < self.commit_every_s <= 60:
            raise InputError(f"commit_every_s is {self.commit_every_s}; it must be above 0 and at most 60 seconds")
        if self.requisites and not self.archive:
            raise InputError("requisites are kept in the archive, and archive is off; change one of the two")
        for name in ("duplicates", "near_duplicates"):
            if getattr(self, name) not in _DUPLICATE_CHOICES:
                raise unknown_name(f"choice for {name}", getattr(self, name), _DUPLICATE_CHOICES)

    def goal(self) -> Goal:
        confidence = None if self.proof else self.confidence
        return Goal(self.until, self.budget, self.by_certificate, self.of_reachable, confidence=confidence)

    def seed_trust(self) -> NDArray[np.float64]:
        """The trust of each seed, summing to 1."""
        weights = np.array(self.trust or (1.0,) * len(self.seeds))
        return np.asarray(weights / weights.sum())


@dataclass(frozen=True)
class CrawlPlan:
    """All settings of a crawl."""

    crawl: CrawlSettings
    scope: ScopeSettings = field(default_factory=ScopeSettings)
    politeness: Politeness = field(default_factory=Politeness)
    fetch: FetchSettings = field(default_factory=FetchSettings)
    retry: RetrySettings = field(default_factory=RetrySettings)
    refresh: RefreshSettings = field(default_factory=RefreshSettings)
    render: RenderSettings = field(default_factory=RenderSettings)
    store: StoreSettings = field(default_factory=StoreSettings)

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
            "render": RenderSettings,
            "store": StoreSettings,
        }
        for name in tables:
            if name not in kinds:
                raise unknown_name(f"table in {where}", name, kinds)
        parts = {name: from_table(kind, tables.get(name, {}), f"{where} [{name}]") for name, kind in kinds.items()}
        return cls(**parts)

    @classmethod
    def of_folder(cls, folder: FolderFiles) -> CrawlPlan:
        """The plan that the crawl in this folder was made with."""
        return cls.parse(folder.settings_text, str(folder.settings_path))

    @classmethod
    def parse(cls, text: str, where: str) -> CrawlPlan:
        """The plan written in TOML."""
        return cls.of_tables(tables_of(text, where), where)

    def to_toml(self) -> str:
        return tomli_w.dumps({part.name: to_table(getattr(self, part.name)) for part in fields(self)})

    def continued(self, new: CrawlPlan) -> CrawlPlan:
        """This crawl, resumed with new settings; refuses those that would make it another crawl."""
        for name in ("seeds", "trust", "policy", "damping", "topic"):
            old_value, new_value = getattr(self.crawl, name), getattr(new.crawl, name)
            if old_value != new_value:
                raise InputError(f"this crawl was begun with {name} {_shown(old_value)}, not {_shown(new_value)}")
        if self.scope != new.scope:
            changed = [f.name for f in fields(self.scope) if getattr(self.scope, f.name) != getattr(new.scope, f.name)]
            before = getattr(self.scope, changed[0])
            raise InputError(f"this crawl was begun with another scope ({changed[0]} was {_shown(before)})")
        return new

    def goal(self) -> Goal:
        return self.crawl.goal()


def tables_of(text: str, where: str) -> dict[str, dict[str, Any]]:
    """The tables of a settings file; `where` names it in messages."""
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{where}: {error}") from None
    for name, table in tables.items():
        if not isinstance(table, dict):
            raise InputError(f"{where}: {name} is outside a table; settings belong under a heading such as [crawl]")
    return tables


def _shown(value: Any) -> str:
    return ", ".join(map(str, value)) or "none" if isinstance(value, tuple) else str(value)


def canonical_seeds(texts: Sequence[str]) -> tuple[str, ...]:
    """The seeds as canonical URLs, without repeats; `example.org` will do for `https://example.org/`."""
    return tuple(dict.fromkeys(map(_canonical_seed, texts)))


def _canonical_seed(text: str) -> str:
    url = canonical_url(text if "://" in text else f"https://{text}")
    if url is None:
        raise InputError(f"{text!r} is not a valid URL; write it like https://example.org/")
    return url


def _trust_by_seed(seeds: Sequence[str], trust: Sequence[float]) -> dict[str, float]:
    """The trust of each canonical seed; empty where none is given, since all are trusted alike then."""
    if trust and len(trust) != len(seeds):
        raise InputError(f"trust has {len(trust):,} numbers for {len(seeds):,} seeds; it must be one for each, or none")
    by_seed: dict[str, float] = {}
    for seed, weight in zip(map(_canonical_seed, seeds), trust, strict=False):
        if not 0 < weight < math.inf:
            raise InputError(f"trust of {seed} is {weight}; it must be above 0, and finite")
        by_seed[seed] = by_seed.get(seed, 0.0) + weight
    # Far apart enough, the least would be rounded away.
    if by_seed and not min(by_seed.values()) / sum(by_seed.values()) > 0:
        raise InputError("trust: the numbers are too large, or too far apart, to be shares of 1")
    return by_seed
