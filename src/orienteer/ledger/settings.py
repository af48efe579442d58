"""The settings of a crawl that its ledger uses: what to fetch, which pages belong to it, and how to revisit them.

This module is imported for the help of a command, so it imports nothing heavy.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import MISSING, dataclass
from typing import TYPE_CHECKING

from orienteer.errors import InputError, unknown_name
from orienteer.settings import check, setting
from orienteer.wording import SAME_RESPONSES

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from orienteer.crawl.goal import Goal

SCOPE_KINDS = ("host", "site", "prefix", "web")
_TRUST_BY = ("uniform", "value")
STARTS = ("selected", "seeds")
MEASURED = "measured:0.999"
_DUPLICATES = ("off", "report", "merge")
_GOAL, _SCOPE, _POLITENESS, _NETWORK, _STORED = "Goal", "Scope", "Politeness", "Network", "Stored"
_SEEDS = "Seeds"


@dataclass(frozen=True)
class CrawlSettings:
    """What to fetch, in which order, until when.

    Pages are found by links, and also in sitemaps, in feeds, and as the same page in other languages. A page found like
    that counts as a page, but not as a link.
    """

    seeds: tuple[str, ...] = setting(MISSING, "Pages to start from.", fixed=True)
    trust: tuple[float, ...] = setting(
        (), "Trust of each seed, above 0 and in any unit; empty: all are trusted equally.", fixed=True
    )
    policy: str = setting(
        "certified",
        "Crawl policy, such as fractional:inter_host_weight=20 or apprentice:model=FILE.",
        option="--policy -p", group=_GOAL, basic=True, fixed=True,
    )  # fmt: skip
    damping: float = setting(0.85, "Probability that a surfer follows a link; at least 0 and below 1.", fixed=True)
    until: float | None = setting(
        None,
        "Stop at this coverage, measured or proved, such as 98%. 1: fetch all that is reachable; none: no such goal.",
        option="--until", metavar="SHARE", group=_GOAL, basic=True,
    )  # fmt: skip
    budget: int | None = setting(
        None,
        "Stop after this many pages; none: no limit.",
        option="--budget", metavar="N", group=_GOAL, basic=True, least=1,
    )  # fmt: skip
    stop_when: str = setting(
        MEASURED,
        "When a coverage is reached. measured:0.999: measured by random walks with this confidence, assuming that "
        f"{SAME_RESPONSES}, or proved, whichever comes first; proved: only proved. Added after a comma: certificate "
        "(it decides, not the policy's own proof), reachable (do not count blocked pages, and pages behind them).",
        option="--stop-when", metavar="measured:C|proved", group=_GOAL, basic=True,
    )  # fmt: skip
    workers: int = setting(
        32, "Concurrent requests for pages, over all hosts.",
        option="--workers", group=_NETWORK, basic=True, least=1, most=10_000,
    )  # fmt: skip
    processes: int = setting(
        0, "Processes that fetch and read pages; 1: a single one, 0: others are added when it is always busy.",
        option="--processes", group=_NETWORK, least=0, most=1_000,
    )  # fmt: skip
    robots: bool = setting(
        True, "Obey robots.txt; ignore it on your own hosts only.", option="--robots/--ignore-robots", group=_POLITENESS
    )
    sitemaps: bool = setting(True, "Read the sitemaps that robots.txt names.")
    guess_sitemap: bool = setting(True, "Read /sitemap.xml where robots.txt names no sitemap.")
    feeds: bool = setting(True, "Read the feeds that pages name.")
    languages: bool = setting(True, "Find the same page in other languages.")
    duplicates: str = setting(
        "report",
        "Pages with the same content. report: store which page a page repeats; merge: treat it as another name of that "
        "page, as if it redirected there, and do not follow its links; off: do not compare.",
        choices=_DUPLICATES,
    )
    near_duplicates: str = setting("report", "The same for pages with nearly the same text.", choices=_DUPLICATES)
    archive: bool = setting(True, "Archive responses; otherwise only their links are stored.")
    assets: bool = setting(
        False, "Also store the assets of pages: images, styles, fonts, scripts and frames, from any host.",
        option="--assets/--no-assets", group=_STORED, basic=True,
    )  # fmt: skip
    commit_every_s: float = setting(1.0, "Seconds between two transactions.", least=0.001, most=60)
    log: bool = setting(True, "Write log.jsonl.")
    topic: bool = setting(False, "Whether the crawl has a topic, in topic.toml next to the settings.", fixed=True)
    hooks: tuple[str, ...] = setting(
        (), "Page hooks, by name. A resumed crawl runs installed ones; a file must be named again with --hook."
    )
    access: tuple[str, ...] = setting((), "Origins that the crawl has access to; the file of --credentials has them.")

    def __post_init__(self) -> None:
        from orienteer.policies.focused import FocusedPolicy
        from orienteer.policies.policy import checked_damping
        from orienteer.policies.policy_spec import PolicySpec

        if not self.seeds:
            raise InputError("seeds is empty; a crawl needs a page to start from, such as https://example.org/")
        trust = _trust_by_seed(self.seeds, self.trust)
        object.__setattr__(self, "seeds", canonical_seeds(self.seeds))
        object.__setattr__(self, "trust", tuple(trust.values()))
        check(self)
        self.goal()
        checked_damping(self.damping)
        policy = PolicySpec.parse(self.policy).make(self.damping)
        if policy.knows_truth:
            raise InputError(f"policy {self.policy} must know the whole web beforehand: it is for simulations only")
        if isinstance(policy, FocusedPolicy) and not self.topic:
            raise InputError(f"policy {self.policy} looks for pages of a topic: name one (--topic FILE)")
        if self.assets and not self.archive:
            raise InputError("assets are stored in the archive, and archive is off; change one of the two")

    def goal(self) -> Goal:
        from orienteer.crawl.goal import Goal

        return Goal.parse(self.until, self.budget, self.stop_when)

    def seed_trust(self) -> NDArray[np.float64]:
        """Return the trust of each seed, summing to 1."""
        import numpy as np

        weights = np.array(self.trust or (1.0,) * len(self.seeds))
        return np.asarray(weights / weights.sum())


@dataclass(frozen=True)
class ScopeSettings:
    """Which pages belong to the crawl, by their URLs."""

    kind: str = setting(
        "host",
        "host or site of the seeds, prefix (their folders) or web.",
        option="--scope", group=_SCOPE, basic=True, fixed=True, choices=SCOPE_KINDS,
    )  # fmt: skip
    allow: tuple[str, ...] = setting(
        (), "Crawl only URLs in which this regular expression is found.",
        option="--allow", metavar="REGEX", group=_SCOPE, basic=True, fixed=True,
    )  # fmt: skip
    deny: tuple[str, ...] = setting(
        (), "Skip URLs in which this regular expression is found.",
        option="--deny", metavar="REGEX", group=_SCOPE, basic=True, fixed=True,
    )  # fmt: skip
    max_depth: int | None = setting(
        None, "Maximum number of links from a seed; 0: the seeds alone.",
        option="--max-depth", metavar="N", group=_SCOPE, basic=True, fixed=True, least=0,
    )  # fmt: skip

    def __post_init__(self) -> None:
        check(self)
        compiled("allow", self.allow)
        compiled("deny", self.deny)


@dataclass(frozen=True)
class RefreshSettings:
    """Where an epoch starts, how far it goes, and when a page is due or gone."""

    start: str = setting(
        "selected",
        "selected: choose new seeds, those that reach the most value; the epoch goes `hops` links from them and from "
        "pages that are due. seeds: the crawl's own seeds, with their trust, as deep as the crawl goes.",
        choices=STARTS,
    )
    n_seeds: int = setting(10, "Number of seeds to choose.", least=1)
    hops: int = setting(5, "Links within which the seeds reach the most; 0: the seeds alone.", least=0)
    method: str = setting("greedy", "Seed method, as orienteer seeds --method.")
    revisit_chance: float = setting(
        0.2, "Request a page again when it has changed with this chance; 0: every page.", least=0, most=1
    )
    gone_after: int = setting(3, "A page is gone when it was missing this many times,", least=1)
    gone_after_days: float = setting(2.0, "and for this many days.", least=0)

    def __post_init__(self) -> None:
        from orienteer.seeds import make_method

        check(self)
        make_method(self.method)


def compiled(name: str, patterns: Sequence[str]) -> list[re.Pattern[str]]:
    """Compile the regular expressions of the setting `name`."""
    if isinstance(patterns, str):
        raise InputError(f"{name} is {patterns!r}; it must be a list of regular expressions")
    found = []
    for pattern in patterns:
        try:
            found.append(re.compile(pattern))
        except (re.error, RecursionError, OverflowError) as error:
            raise InputError(f"{name}: {pattern!r} is no regular expression: {error}") from None
    return found


def canonical_seeds(texts: Sequence[str]) -> tuple[str, ...]:
    """Return the seeds as canonical URLs, without repeats; `example.org` means `https://example.org/`."""
    return tuple(dict.fromkeys(map(_canonical_seed, texts)))


def _canonical_seed(text: str) -> str:
    from orienteer.url import canonical_url

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


@dataclass(frozen=True)
class StartSettings:
    """Settings of the seed selection. With `trust_by` "value", seeds without value are dropped."""

    n_seeds: int = setting(10, "With --seeds-from: number of seeds to choose.", option="--n-seeds", group=_SEEDS)
    hops: int = setting(
        5, "Choose the seeds that cover the most within this many links.", option="--seed-hops", group=_SEEDS
    )
    method: str = setting("greedy", "Seed method, as orienteer seeds --method.", option="--seed-method", group=_SEEDS)
    value: str | None = setting(
        None,
        "Value of pages, as orienteer seeds --value (default: paper for a crawl, 1 each for a graph).",
        option="--seed-value", metavar="FILE|paper", group=_SEEDS,
    )  # fmt: skip
    trust_by: str = setting(
        "uniform",
        "Trust of the seeds: uniform, or in proportion to the value that each adds (value).",
        option="--seed-trust", group=_SEEDS,
    )  # fmt: skip

    def __post_init__(self) -> None:
        if self.n_seeds < 1:
            raise InputError(f"n_seeds is {self.n_seeds}; at least one seed is needed")
        if self.hops < 0:
            raise InputError(f"hops is {self.hops}; it must be 0 or more")
        from orienteer.seeds import make_method

        make_method(self.method)
        if self.trust_by not in _TRUST_BY:
            raise unknown_name("way to trust seeds", self.trust_by, _TRUST_BY)


@dataclass(frozen=True)
class EstimateSettings:
    """How the global rank is estimated."""

    budget: int | None = setting(None, "Pages to fetch outside; none: twice as many as the domain has.")
    rounds: int = setting(50, "Number of rounds; each one chooses pages to fetch.", option="--rounds", metavar="N")
    select: str = setting(
        "stochastic-complement",
        "How to choose pages: stochastic-complement, pagerank-flow, outlink-count or random.",
        option="--select",
    )
    method: str = setting("frontier-return", "Estimator: frontier-return or paper (as published).", option="--method")
    settle: float = setting(
        0.005,
        "Stop when the estimate changes by less than this (L1, at most 2) while pages are fetched, a fifth of the "
        "domain's number; 0: never.",
        option="--settle",
    )

    def __post_init__(self) -> None:
        if self.budget is not None and self.budget < 0:
            raise InputError(f"budget is {self.budget}; it must be 0 or more pages")
        if self.rounds < 1:
            raise InputError(f"rounds is {self.rounds}; at least one is needed")
        if not 0 <= self.settle < 2:
            raise InputError(f"settle is {self.settle}; a change is from 0 to 2")
        from orienteer.graph.estimation import make_estimator, make_selection

        make_selection(self.select)
        make_estimator(self.method)
