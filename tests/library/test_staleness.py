"""The share of a crawl that has changed: closed forms, simulated histories, and a web that changes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from orienteer.ledger.revisiting import DAY_S
from orienteer.library.schedules import pays_at
from orienteer.library.staleness import Staleness, change_rates
from orienteer.pages.states import PageState
from orienteer.store.database import DatabaseView
from orienteer.store.visit_tables import SeenPages
from tests.fake_web.changing import ChangingSite
from tests.fake_web.server import FakeWeb
from tests.fake_web.site import MadeSite
from tests.live.refreshes import Refreshed


def history(n_checks: list[int], n_changes: list[int], days: float) -> SeenPages:
    """Pages that were first seen `days` ago and last fetched at time 0."""
    n = len(n_checks)
    return SeenPages(
        np.arange(n, dtype=np.uint32),
        np.full(n, PageState.FETCHED, np.uint8),
        np.full(n, -days * DAY_S),
        np.zeros(n),
        np.array(n_checks),
        np.array(n_changes),
        np.zeros(n, np.int64),
    )


def uniform(n: int) -> np.ndarray:
    return np.full(n, 1 / n)


def test_no_rate_is_known_before_the_first_revisit() -> None:
    assert Staleness.of_pages(history([0, 0], [0, 0], 0.0), uniform(2)) is None


def test_a_thousand_pages_that_stayed_the_same_will_stay_so() -> None:
    """One revisit of each: a prior of one half would predict that a quarter of them change within a day."""
    stale = Staleness.of_pages(history([1] * 1000, [0] * 1000, 1.0), uniform(1000))
    assert stale is not None
    assert stale.share(DAY_S) == pytest.approx(0.5 / 1001 / 2, rel=0.01)
    assert stale.time_of(0.1) > 100 * DAY_S


def test_the_share_is_that_of_time_and_not_of_pages() -> None:
    seen = history([100, 100], [100, 0], 100.0)
    often, rarely = (Staleness.of_pages(seen, np.array(ranks)) for ranks in ([0.9, 0.1], [0.1, 0.9]))
    assert often is not None
    assert rarely is not None
    assert often.share(DAY_S) > 0.85
    assert rarely.share(DAY_S) < 0.15
    assert often.time_of(0.5) < rarely.time_of(0.5)


def test_the_share_never_falls_and_reaches_the_threshold_when_it_says() -> None:
    rng = np.random.default_rng(1)
    n_checks = rng.integers(0, 9, 200)
    seen = history(n_checks.tolist(), rng.binomial(n_checks, 0.3).tolist(), 20.0)
    stale = Staleness.of_pages(seen, rng.dirichlet(np.ones(200)))
    assert stale is not None
    shares = [stale.share(day * DAY_S) for day in range(100)]
    assert shares[0] == 0.0
    assert shares == sorted(shares)
    for threshold in (0.01, 0.1, 0.5):
        assert stale.share(stale.time_of(threshold)) == pytest.approx(threshold, abs=1e-9)


def test_pages_that_failed_take_no_time() -> None:
    seen = history([10, 10], [10, 0], 10.0)
    seen.states[0] = PageState.FAILED
    stale = Staleness.of_pages(seen, uniform(2))
    assert stale is not None
    assert stale.share(DAY_S) < 0.1


@pytest.mark.parametrize("n_checks_each", [1, 2, 5, 20])
def test_the_expected_share_is_the_true_one_on_simulated_pages(n_checks_each: int) -> None:
    """4,000 pages with widely different change rates, fetched daily: the share that changed one and five days later."""
    rng = np.random.default_rng(n_checks_each)
    rates = rng.gamma(0.5, 0.2, 4000)  # a day
    n_changes = rng.binomial(n_checks_each, -np.expm1(-rates))
    stale = Staleness.of_pages(history([n_checks_each] * 4000, n_changes.tolist(), n_checks_each * 1.0), uniform(4000))
    assert stale is not None
    for days in (1, 5):
        truth = float(-np.expm1(-rates * days).mean())
        assert 0.8 * truth <= stale.share(days * DAY_S) <= 1.25 * truth


def test_rates_of_pages_fetched_twice_at_the_same_time() -> None:
    rates = change_rates(np.array([1]), np.array([1]), np.array([0.0]))
    assert rates is not None
    assert np.isfinite(rates).all()


def test_on_a_web_that_changes(tmp_path: Path) -> None:
    """Twelve pages, three of which change every day: by what was seen on four days, when does a refresh pay?"""
    pages = [f"http://a.test/{k}" for k in range(12)]
    links = " ".join(f"<a href={url}>{url}</a>" for url in pages)
    site = ChangingSite(MadeSite({url: f"<title>{url}</title><p>{url} {links}" for url in pages}))
    with FakeWeb(site) as web:
        crawl = Refreshed(site, web, tmp_path / "crawl", seeds=pages[0], settings={"refresh": {"revisit_chance": 0.0}})
        assert pays_at(crawl.folder, 0.1) is None  # nothing is known
        for day in range(4):
            for url in pages[:3]:
                site.edit(url, f"<title>{url}</title><p>day {day} {links}")
            crawl.refresh()
    with DatabaseView(crawl.folder / "crawl.db") as database:
        stale = Staleness.of(database)
    assert stale is not None
    assert 0.2 < stale.share(crawl.today + DAY_S) < 0.3  # three of twelve, all of the same rank, and a little doubt
    assert stale.share(crawl.today + 10 * DAY_S) < 0.6
    soon, late = pays_at(crawl.folder, 0.1), pays_at(crawl.folder, 0.6)
    assert soon is not None
    assert late is not None
    assert crawl.today < soon < crawl.today + DAY_S
    assert late > crawl.today + 10 * DAY_S
