"""Proved and measured coverage as two bands, and the progress of a crawl with refreshes as a single curve."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from orienteer.graph.proved import Certificate
from orienteer.graph.survey.measured import Measured
from orienteer.inspect.crawl_status import CrawlStatus, crawl_status
from orienteer.store.progress_points import ProgressPoint
from orienteer.web.coverage_charts import coverage_bands, whole_progress

PROVED = Certificate(0.9, 0.99)


@pytest.fixture(scope="module")
def status(small_crawl: Path) -> CrawlStatus:
    found = crawl_status(small_crawl)
    assert found.figures is not None
    plan = replace(found.plan, crawl=replace(found.plan.crawl, until=0.98))
    figures = replace(found.figures, certificate=PROVED, until=0.98, measured=None, evidence=None)
    return replace(found, plan=plan, figures=figures)


def walked(status: CrawlStatus, estimate: float, evidence: float) -> CrawlStatus:
    assert status.figures is not None
    measured = Measured(0.9, 0.99, estimate, 0.999, 40, 60)
    return replace(status, figures=replace(status.figures, measured=measured, evidence=evidence))


def test_a_band_reaches_from_at_least_to_at_most(status: CrawlStatus) -> None:
    bands = coverage_bands(status)
    assert bands is not None
    (proved,) = bands.bands
    assert (proved.kind, proved.text) == ("proved", "at least 90.00 %, at most 99.00 %")
    assert 0 < proved.least < (bands.goal or 0) < proved.most < 1000
    assert bands.few_ticks < {tick.label for tick in bands.ticks}, "a phone has room for fewer"


def test_an_estimate_has_no_bounds_before_the_walks_are_sure(status: CrawlStatus) -> None:
    before, after = coverage_bands(walked(status, 0.975, 0.437)), coverage_bands(walked(status, 0.985, 1.0))
    assert before is not None
    assert after is not None
    assert before.bands[1].least == before.bands[1].most == before.bands[1].about
    assert before.bands[1].text == "about 97.5 %; evidence for the goal: 43 %"
    assert after.bands[1].text == "at least 98 %, 99.9 % sure; about 98.5 %"
    assert after.bands[1].least == after.goal
    assert after.bands[1].most == after.bands[0].most


def test_nothing_is_drawn_while_nothing_is_proved(status: CrawlStatus) -> None:
    assert coverage_bands(replace(status, figures=None)) is None


def test_a_refresh_is_one_step_of_the_whole_crawl() -> None:
    first = [ProgressPoint(0, n, n, n / 100, 0.9, 0.0, 1.0, float(n)) for n in (0, 40, 80)]
    refreshed = [ProgressPoint(1, 80 + n, n, n / 50, 0.9, 0.0, 1.0, 100.0 + n) for n in (0, 10, 20)]
    proved = Certificate(0.85, 0.95, 0.01)
    whole = whole_progress([*first, *refreshed], proved)
    assert whole[:3] == first
    assert [(point.n_done, point.lower, point.upper, point.time) for point in whole[3:]] == [(100, 0.85, 0.95, 120.0)]
    assert whole_progress(first, proved) == first
