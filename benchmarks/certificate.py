"""Sites made to deceive: is what is proved true?

10,000 random sites of redirects (in chains, in circles, out of the scope and back), refusals, errors, refreshes,
nofollow pages, copies with other links, near-duplicates, sessions, URLs that are too long, odd content types, pages
closed by robots.txt or with too many links, and scopes that become wider in the middle. They are crawled through the
intake of a real crawl, each closed and opened again in between, and what is proved is held against the dense truth
every few pages. *above* is how
often the lower bound was above the truth: it must never be. The upper bound assumes that no page that was not fetched
is another name of a fetched one, and these sites are full of such pages: *below* is how often it was below the truth.
"""

from __future__ import annotations

import os
import tempfile
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np

from benchmarks.measure import machine, table
from benchmarks.sizes import sized
from tests.laws.adversarial_crawl import Moment, crawled
from tests.laws.adversarial_site import random_site

N_SITES = sized(10_000, 2)
_ROUNDING = 1e-9


def run() -> str:
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        moments = [moment for many in pool.map(_on_site, range(N_SITES), chunksize=100) for moment in many]
    lower = np.array([moment.proved.lower for moment in moments])
    upper = np.array([moment.proved.upper for moment in moments])
    truth = np.array([moment.truth for moment in moments])
    too_high, too_low = lower - truth, truth - upper
    rows = [
        ["lower bound above the truth", _count(too_high), _most(too_high)],
        ["upper bound below the truth", _count(too_low), _most(too_low)],
    ]
    means = f"Mean: lower {lower.mean():.3f}, truth {truth.mean():.3f}, upper {upper.mean():.3f}."
    checks = f"{N_SITES:,} sites, {len(moments):,} checks. {means}"
    return checks + "\n\n" + table(["", "times", "most"], rows) + "\n" + machine()


def _on_site(number: int) -> list[Moment]:
    with tempfile.TemporaryDirectory(prefix="orienteer-certificate-") as place:
        return list(crawled(random_site(np.random.default_rng([number, 18])), Path(place) / "crawl"))


def _count(excess: np.ndarray) -> str:
    return f"{int((excess > _ROUNDING).sum()):,}"


def _most(excess: np.ndarray) -> str:
    return f"{max(0.0, float(excess.max())):.4f}" if (excess > _ROUNDING).any() else "-"
