"""The plan of a crawl: all its settings, as in `crawl.toml` in the crawl folder.

    [crawl]        seeds and their trust, policy, goal, number of concurrent fetches
    [scope]        which pages belong to it
    [politeness]   how often a host may be requested
    [fetch]        how a page is fetched: limits, user agent, proxy
    [retry]        when failed requests are repeated
    [refresh]      how pages are revisited
    [render]       which pages are rendered in a browser
    [store]        where the archive is stored

Some settings identify the crawl: its seeds, trust, policy, damping and scope. They never change within a folder, since
that would change the meaning of the certificate. The others may change from one run to the next.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np
import tomli_w
from numpy.typing import NDArray

from orienteer.browser.render_settings import RenderSettings
from orienteer.crawl.goal import Goal
from orienteer.errors import InputError, unknown_name
from orienteer.fetch.settings import FetchSettings
from orienteer.frontier.host_health import RetrySettings
from orienteer.frontier.politeness import Politeness
from orienteer.ledger.revisiting import RefreshSettings
from orienteer.ledger.scope import ScopeSettings
from orienteer.policies.focused import FocusedPolicy
from orienteer.policies.policy import checked_damping
from orienteer.policies.policy_spec import PolicySpec
from orienteer.settings import from_table, to_table
from orienteer.store.folder_view import FolderFiles
from orienteer.store.object_store import StoreSettings
from orienteer.url import canonical_url, host_of

# Keys of crawl.toml in folders of earlier versions, by table, with the names that they have now.
OLD_KEYS = {
    "crawl": {"requisites": "assets"},
    "fetch": {"max_part_bytes": "max_asset_bytes"},
    "render": {"max_parts": "max_requests"},
}
_DUPLICATE_CHOICES = ("off", "report", "merge")


@dataclass(frozen=True)
class CrawlSettings:
    """What to fetch, in which order, until when.

    `trust` has a number above 0 for each seed, in any unit; if it is empty, all are trusted equally. The numbers of
    seeds with the same canonical URL are added up.

    `until` is a coverage of everything; with `of_reachable`, of everything not behind blocked pages and unknown links.
    It is measured with this `confidence`, and the crawl stops when it is measured or proved; with `proof` only when it
    is proved.

    `workers` is the number of concurrent requests for pages. `processes` is the number of processes that fetch and read
    them: 1 is a single process; 0 begins with one and starts others when it is always busy.

    Pages are found by links, and also: in the `sitemaps` that robots.txt names and, where it names none, at
    /sitemap.xml (`guess_sitemap`); as the `feeds` that pages name; as the same page in other `languages`. A page found
    like that counts as a page, but not as a link.

    `duplicates` and `near_duplicates`: "report" stores which other page a page repeats; "merge" treats it as another
    name of that page, as if it redirected there, and does not follow its links; "off" does not compare. `archive`:
    whether responses are archived, or only their links stored; with `assets`, those of images, styles, fonts, scripts
    and frames of pages are archived, too, on any host. `log`: whether log.jsonl is written. `topic`: whether the crawl
    has a topic, in topic.toml next to the settings. `hooks`: the page hooks of the crawl, by name. Installed ones are
    run; the name of a file, such as `prices.py`, is stored for information only, and --hook names the file. `access`:
    the origins that the crawl has access to, by name; their credentials are in the file of --credentials.
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
    assets: bool = False
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
        if self.assets and not self.archive:
            raise InputError("assets are stored in the archive, and archive is off; change one of the two")
        for name in ("duplicates", "near_duplicates"):
            if getattr(self, name) not in _DUPLICATE_CHOICES:
                raise unknown_name(f"choice for {name}", getattr(self, name), _DUPLICATE_CHOICES)

    def goal(self) -> Goal:
        confidence = None if self.proof else self.confidence
        return Goal(self.until, self.budget, self.by_certificate, self.of_reachable, confidence=confidence)

    def seed_trust(self) -> NDArray[np.float64]:
        """Return the trust of each seed, summing to 1."""
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
        """Build the plan from these tables; raise an InputError of one line if they are invalid."""
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
        return cls(**{
            name: from_table(kind, _with_new_keys(name, tables.get(name, {})), f"{where} [{name}]")
            for name, kind in kinds.items()
        })  # fmt: skip

    @classmethod
    def of_folder(cls, folder: FolderFiles) -> CrawlPlan:
        """Read the plan of the crawl in this folder."""
        return cls.parse(folder.settings_text, str(folder.settings_path))

    @classmethod
    def parse(cls, text: str, where: str) -> CrawlPlan:
        """Parse a plan in TOML."""
        return cls.of_tables(tables_of(text, where), where)

    def to_toml(self) -> str:
        return tomli_w.dumps({table.name: to_table(getattr(self, table.name)) for table in fields(self)})

    def continued(self, new: CrawlPlan) -> CrawlPlan:
        """Return the plan to resume this crawl with new settings; raise InputError if they identify another crawl."""
        for name in ("seeds", "trust", "policy", "damping", "topic"):
            old_value, new_value = getattr(self.crawl, name), getattr(new.crawl, name)
            if old_value != new_value:
                raise InputError(
                    f"this crawl was begun with {name} {_display(old_value)}, not {_display(new_value)}; "
                    "choose another -o for a new crawl"
                )
        if self.scope != new.scope:
            changed = [f.name for f in fields(self.scope) if getattr(self.scope, f.name) != getattr(new.scope, f.name)]
            before = getattr(self.scope, changed[0])
            raise InputError(f"this crawl was begun with another scope ({changed[0]} was {_display(before)})")
        return new

    def goal(self) -> Goal:
        return self.crawl.goal()


def _with_new_keys(name: str, table: Mapping[str, Any]) -> dict[str, Any]:
    """Return the table with the current names of its keys; a key under its new name wins."""
    new_keys = OLD_KEYS.get(name, {})
    renamed = {new_keys[key]: value for key, value in table.items() if key in new_keys}
    return renamed | {key: value for key, value in table.items() if key not in new_keys}


def tables_of(text: str, where: str) -> dict[str, dict[str, Any]]:
    """Parse the tables of a settings file; `where` names it in messages."""
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{where}: {error}") from None
    for name, table in tables.items():
        if not isinstance(table, dict):
            raise InputError(f"{where}: {name} is outside a table; settings belong under a heading such as [crawl]")
    return tables


def _display(value: Any) -> str:
    return ", ".join(map(str, value)) or "none" if isinstance(value, tuple) else str(value)


def canonical_seeds(texts: Sequence[str]) -> tuple[str, ...]:
    """Return the seeds as canonical URLs, without repeats; `example.org` means `https://example.org/`."""
    return tuple(dict.fromkeys(map(_canonical_seed, texts)))


def default_folder(seeds: Sequence[str]) -> Path:
    """Return the folder of a crawl from these URLs, if none is named: `example.org-crawl`."""
    return Path(host_of(seeds[0]).replace(":", "-") + "-crawl")


def _canonical_seed(text: str) -> str:
    url = canonical_url(text if "://" in text else f"https://{text}")
    scheme = text.partition("://")[0] if "://" in text else ""
    if scheme and scheme.strip().lower() not in ("http", "https"):
        raise InputError(f"{text!r}: only http and https can be crawled")
    if url is None:
        raise InputError(f"{text!r} is not a valid URL; write it like https://example.org/")
    return url


def _trust_by_seed(seeds: Sequence[str], trust: Sequence[float]) -> dict[str, float]:
    """Return the trust of each canonical seed; empty if none is given, so that all are trusted equally."""
    if trust and len(trust) != len(seeds):
        raise InputError(f"trust has {len(trust):,} numbers for {len(seeds):,} seeds; it must be one for each, or none")
    by_seed: dict[str, float] = {}
    for seed, weight in zip(map(_canonical_seed, seeds), trust, strict=False):
        if not 0 < weight < math.inf:
            raise InputError(f"trust of {seed} is {weight}; it must be above 0, and finite")
        by_seed[seed] = by_seed.get(seed, 0.0) + weight
    # If they differ by too many orders of magnitude, the smallest share would be rounded to 0.
    if by_seed and not min(by_seed.values()) / sum(by_seed.values()) > 0:
        raise InputError("trust: the numbers are too large, or too far apart, to be shares of 1")
    return by_seed
