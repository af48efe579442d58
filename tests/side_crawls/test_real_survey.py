"""An audit of real pages: documentation hosts crawled to a third, exported as WARC, and measured from the export.

The walks are others in every run. Each statement is allowed to be wrong in one run of a thousand.
"""

from __future__ import annotations

import shutil
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

import orienteer as ori
from orienteer.exports.export import export
from orienteer.graph.defaults import SurveyGoal
from orienteer.side_crawls.survey import live_survey, open_live_survey
from orienteer.side_crawls.survey_report import SurveyReport
from orienteer.url import host_of
from tests.conftest import shared_file
from tests.fake_web.faults import Faulty
from tests.fake_web.page_site import PageSite
from tests.fake_web.server import FakeWeb
from tests.live.live_crawls import StoredCrawl, Tables, crawled, true_rank

pytestmark = pytest.mark.slow

ARCHIVE = "dev-docs-web.tar.zst"
# Of 36: all of them take a minute. Three are trusted more than the others, and lack the most.
TRUST = {
    "docs.celeryq.dev": 8.0, "docs.pytest.org": 7.0, "flask.palletsprojects.com": 1.0, "lxml.de": 1.0,
    "werkzeug.palletsprojects.com": 1.0, "www.sphinx-doc.org": 9.0,
}  # fmt: skip
GOAL = SurveyGoal(half_width=0.03)
PLAIN: dict[str, Any] = {"workers": 8, "near_duplicates": "off", "duplicates": "off", "robots": False}


class Audit:
    """The whole web as it is, a third of it as an archive, and surveys of that."""

    def __init__(self, folder: Path) -> None:
        site = PageSite(shared_file(ARCHIVE))
        self.seeds = [f"http://{host}/" for host in TRUST]
        self.trust = list(TRUST.values())
        plain = {"crawl": PLAIN | {"trust": self.trust}}
        with FakeWeb(site) as web:
            crawled(web, self.seeds, folder / "whole", scope="host", settings=plain)
            self.whole = StoredCrawl(folder / "whole")
            third = len(self.whole.order) // 3
            one_by_one: Tables = {"crawl": plain["crawl"] | {"workers": 1}}  # the same pages every time
            named: dict[str, Any] = {"scope": "host", "policy": "breadth-first", "settings": one_by_one}
            crawled(web, self.seeds, folder / "part", budget=third, **named)
            export(folder / "part", "warc", folder / "part.warc.gz")
            ori.import_crawl(folder / "part.warc.gz", folder / "theirs", seeds=self.seeds, settings=plain)
            self.given: Tables = {
                "politeness": {"delay_s": 0.0, "connections": 8},
                "fetch": {"connect_to": web.address},
            }
            with open_live_survey(folder / "theirs", GOAL, overrides=self.given):
                pass  # it has its seed
            shutil.copytree(folder / "theirs", folder / "copy")
            self.report = live_survey(folder / "theirs", GOAL, settings=self.given)
        self.archived = StoredCrawl(folder / "theirs").fetched_urls()
        with FakeWeb(Faulty(site, 0, (0.0, 0.1))) as slow:
            many = self.given | {"crawl": {"workers": 64}, "fetch": {"connect_to": slow.address}}
            self.slow_report = live_survey(folder / "copy", GOAL, settings=many)
        # A surfer's time on each page of the whole web.
        self.time = dict(zip(self.whole.urls, true_rank(self.whole, self.trust).tolist(), strict=True))

    def truth(self) -> float:
        return sum(time for url, time in self.time.items() if url in self.archived)

    def missing_by_host(self) -> dict[str, float]:
        missing: dict[str, float] = defaultdict(float)
        for url, time in self.time.items():
            missing[host_of(url)] += time if url not in self.archived else 0.0
        return dict(sorted(missing.items(), key=lambda item: -item[1]))


@pytest.fixture(scope="module")
def audit(tmp_path_factory: pytest.TempPathFactory) -> Audit:
    return Audit(tmp_path_factory.mktemp("audit"))


def test_a_third_was_given_away(audit: Audit) -> None:
    assert 0.28 < len(audit.archived) / len(audit.whole.order) < 0.35
    assert 0.2 < audit.truth() < 0.95
    largest = list(audit.missing_by_host().values())
    assert largest[2] > 2 * largest[3], "three hosts lack far more than the others"


@pytest.mark.parametrize("which", ["report", "slow_report"])
def test_the_truth_is_measured(audit: Audit, which: str) -> None:
    report: SurveyReport = getattr(audit, which)
    measured = report.measured
    assert report.goal_reached
    assert measured.half_width <= GOAL.half_width
    assert measured.lower <= audit.truth() <= measured.upper
    assert report.proved.lower <= audit.truth() <= report.proved.upper + 1e-9
    assert measured.half_width < (report.proved.upper - report.proved.lower) / 3
    assert measured.n_probes < len(audit.whole.order) - len(audit.archived)


def test_slow_hosts_change_nothing(audit: Audit) -> None:
    assert audit.report.seed == audit.slow_report.seed
    one, other = audit.report, audit.slow_report
    assert (one.measured.lower, one.measured.upper) == (other.measured.lower, other.measured.upper)
    assert [(gap.name, gap.share) for gap in one.hosts] == [(gap.name, gap.share) for gap in other.hosts]


def test_the_largest_gaps_are_named(audit: Audit) -> None:
    missing = audit.missing_by_host()
    assert {gap.name for gap in audit.report.hosts[:3]} == set(list(missing)[:3])
    for gap in audit.report.hosts:
        assert gap.lower <= missing[gap.name] <= gap.upper
        url = audit.report.urls[gap.page]
        assert host_of(url) == gap.name
        assert url not in audit.archived
