"""The measured coverage wherever it is reported: never more than the walks show, and never called proved."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from orienteer.cli.crawl_display import CoverageBar, panel, print_report, progress_line
from orienteer.graph.proved import Certificate
from orienteer.graph.survey.measured import Measured
from orienteer.graph.synthetic import synthetic_web
from orienteer.inspect.crawl_status import crawl_status
from orienteer.inspect.explain import describe_page, page_facts
from orienteer.inspect.figures import CrawlFigures, figures_of, record_of
from orienteer.inspect.frontier_top import FrontierTop, replayed_top, written_top
from orienteer.inspect.run_report import Report
from orienteer.inspect.status_text import describe_measured, describe_stopped
from orienteer.inspect.survey_progress import walk_of
from orienteer.live.control import resume_refusal
from orienteer.pages.stop_reason import StopReason
from orienteer.store.progress_points import read_progress
from orienteer.web.pages.crawl import why_waiting
from tests.cli.run import orienteer
from tests.cli.test_crawl_display import FIGURES, FOLDER, one_line, rendered
from tests.cli.test_metrics_server import metrics_text, parsed
from tests.fake_web.graph_site import GraphSite
from tests.fake_web.server import FakeWeb
from tests.live.live_crawls import crawled, hub

MEASURED = Measured(0.98, 0.992, 0.983, 0.999, 412, 603)
SO_FAR = Measured(0.91349, 0.97001, 0.9512, 0.999, 31, 1)
REACHED = dataclasses.replace(FIGURES, measured=MEASURED, evidence=1.0)
UNDER_WAY = dataclasses.replace(FIGURES, measured=SO_FAR, evidence=0.439)
DESCRIPTION = (
    "measured: 98.3 %, at least 98 % with 99.9 % confidence (412 walks, 603 probes), assuming that the response "
    "for a page does not depend on when, in which order or for whom it is fetched"
)
SO_FAR_IN_WORDS = "measured: about 95.1 % (31 walks, 1 probe); evidence for 98 %: 43 %"


# -- words -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [80, 120])
def test_the_panel_and_the_lines(width: int) -> None:
    for figures, printed in ((REACHED, DESCRIPTION), (UNDER_WAY, SO_FAR_IN_WORDS)):
        lines = rendered(panel(FOLDER, figures), width)
        assert len(lines) <= 20
        assert f"proved: at least 91.34 %, at most 97.01 %, goal 98 % {printed}"[:70] in one_line(lines)
        assert printed in one_line(lines)
        assert f"coverage proved: at least 91.34 %, at most 97.01 %, goal 98 %; {printed}; running" in progress_line(
            FOLDER, figures
        )
    before = dataclasses.replace(FIGURES, evidence=0.0)
    assert "measured" not in one_line(rendered(panel(FOLDER, before), width))
    assert "proved" not in progress_line(FOLDER, before)


def test_nothing_is_claimed_before_it_is_reached() -> None:
    for figures in (UNDER_WAY, dataclasses.replace(UNDER_WAY, evidence=0.99999)):
        found = figures.survey
        assert found is not None
        assert found.claimed is None
        assert "confidence" not in found.describe()
        assert "100 %" not in found.describe()


def test_of_what_is_reachable() -> None:
    reachable = dataclasses.replace(MEASURED, of_reachable=True)
    found = dataclasses.replace(REACHED, measured=reachable).survey
    assert found is not None
    assert "at least 98 % of what is reachable with 99.9 % confidence" in found.describe()


def test_figures_of_others_are_no_survey() -> None:
    for values in (None, {}, {"evidence": "much"}):
        assert figures_of(values) is None
    for values in (FIGURES.as_dict(), FIGURES.as_dict() | {"evidence": 1.0, "until": None}, {"evidence": "much"}):
        found = figures_of(FIGURES.as_dict() | values)
        assert found is not None
        assert found.survey is None
    stored = json.loads(json.dumps(REACHED.as_dict()))
    assert figures_of(stored) == REACHED


def test_the_bar_has_a_mark_at_what_is_measured() -> None:
    proved = Certificate(0.5, 0.9)
    assert rendered(CoverageBar(proved, 0.8, dataclasses.replace(MEASURED, estimate=0.7)), 10) == ["█████▒▒◆┃·"]
    assert rendered(CoverageBar(proved, 0.8, dataclasses.replace(MEASURED, estimate=0.84)), 10) == ["█████▒▒▒┃·"]
    assert rendered(CoverageBar(proved, None, dataclasses.replace(MEASURED, estimate=1.0)), 10) == ["█████▒▒▒▒◆"]


@pytest.mark.parametrize(
    ("why", "figures", "printed"),
    [
        (StopReason.MEASURED, REACHED, "reached: a coverage of 98 % is measured, with 99.9 % confidence"),
        (StopReason.COVERAGE, UNDER_WAY, "reached: a coverage of 98 % is proved"),
        (
            StopReason.BUDGET,
            dataclasses.replace(UNDER_WAY, budget=13_023),
            "stopped at your limit of 13,023 pages before a coverage of 98 % was measured or proved; at least ",
        ),
        (
            StopReason.REACHABLE,
            dataclasses.replace(
                REACHED, goal_is_impossible=True, measured=dataclasses.replace(MEASURED, of_reachable=True)
            ),
            "not reached: a coverage of 98 % of what is reachable is measured, with 99.9 % confidence, but 98 % of "
            "everything cannot be proved",
        ),
        (
            StopReason.REACHABLE,
            dataclasses.replace(
                UNDER_WAY,
                goal_is_impossible=True,
                certificate=Certificate(0.95, 0.97, 0.05, 0.0, 0.0),
                measured=dataclasses.replace(SO_FAR, of_reachable=True),
            ),
            "not reached: a coverage of 98 % of what is reachable is proved, but 98 % of everything cannot be proved",
        ),
    ],
)
def test_the_report(why: StopReason, figures: CrawlFigures, printed: str, capsys: pytest.CaptureFixture[str]) -> None:
    print_report(Report(FOLDER, why, figures))
    text = one_line(capsys.readouterr().out.splitlines())
    assert printed in text
    assert "coverage proved: at least " in text
    assert "measured: " in text
    assert json.loads(json.dumps(figures.as_dict()))["measured"]["n_walks"] in (31, 412)


def test_the_metrics() -> None:
    samples, types = parsed(metrics_text(REACHED))
    facts = {name.removeprefix("orienteer_"): value for (name, _), value in samples.items()}
    assert facts["measured_coverage"] == 0.983
    assert (facts["measured_coverage_lower"], facts["measured_coverage_upper"]) == (0.98, 0.992)
    assert (facts["measured_evidence"], facts["measured_confidence"]) == (1.0, 0.999)
    assert (facts["walks_total"], facts["probes_total"]) == (412, 603)
    assert types["orienteer_measured_coverage"] == "gauge"
    before = {name for name, _ in parsed(metrics_text(dataclasses.replace(FIGURES, evidence=0.0)))[0]}
    assert {name for name in before if "measured" in name or "walks" in name} == {"orienteer_measured_evidence"}
    assert not any("measured" in name for name, _ in parsed(metrics_text(FIGURES))[0])


def test_priorities_of_walks() -> None:
    from orienteer.crawl.crawl import FIRST

    assert [walk_of(FIRST / (1 + life)) for life in (0, 1, 2, 999, 123_456)] == [1, 2, 3, 1000, 123_457]
    assert [walk_of(priority) for priority in (1e200, 1.0, 0.0, -1.0, float("-inf"))] == [None] * 5


# -- a real crawl ------------------------------------------------------------------------------------------------------


UNTIL = 0.8


def crawl_on(web: FakeWeb, site: GraphSite, folder: Path, budget: int) -> Report:
    settings = {"crawl": {"stop_when": "measured", "budget": budget, "workers": 2}}
    return crawled(web, hub(site), folder, until=UNTIL, settings=settings)


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A crawl stopped during its walks, and a finished one."""
    folder, site = tmp_path_factory.mktemp("measured"), GraphSite(synthetic_web(5000, rng=5), page_bytes=500)
    with FakeWeb(site) as web:
        for budget in range(400, 900):  # walks are random: at some of these a page that one needs is in the frontier
            crawl_on(web, site, folder / "begun", budget)
            top = written_top(folder / "begun")
            if top is not None and any(page.walk is not None for page in top.pages):
                break
        assert crawl_on(web, site, folder / "whole", 100_000).stopped_because == StopReason.MEASURED
    return folder / "begun", folder / "whole"


def test_the_frontier_says_which_walk_needs_a_page(folders: tuple[Path, Path]) -> None:
    top = written_top(folders[0])
    assert top == replayed_top(folders[0])
    assert top is not None
    first = top.pages[0]
    assert (first.priority, first.walk is None) == (None, False)
    assert f"needed by walk {first.walk} of the survey" in why_waiting(first)
    assert all(page.priority is None or page.priority < 1 for page in top.pages)
    assert record_of(FrontierTop, json.loads(json.dumps(top.as_dict()))) == top
    facts = page_facts(folders[0], first.url)
    assert facts.waiting is not None
    assert facts.waiting.walk == first.walk
    state = dict(describe_page(facts))["state"]
    assert state.startswith(f"waiting: walk {first.walk} of the survey needs it; 0 pages come before it of ")
    facts = json.loads(orienteer("explain", folders[0], first.url, "--json").stdout)
    assert (facts["waiting"]["walk"], facts["waiting"]["priority"]) == (first.walk, None)


def test_a_page_where_a_walk_entered_says_so(folders: tuple[Path, Path]) -> None:
    from orienteer.store.database import Database

    with Database.open(folders[1] / "crawl.db", read_only=True) as database:
        found = database.surveys.last(0)
        assert found is not None
        entry = database.surveys.walks(found[0])[0].entries[0]
        url = database.urls.of(entry)
    assert "walk 1 left the fetched pages here, and requested it" in orienteer("explain", folders[1], url).stdout
    seed = crawl_status(folders[1]).plan.crawl.seeds[0]
    assert page_facts(folders[1], seed).walk is None


def test_the_status(folders: tuple[Path, Path]) -> None:
    begun, whole = (crawl_status(folder) for folder in folders)
    assert whole.survey is not None
    assert whole.survey.claimed == UNTIL
    assert describe_stopped(whole) == "goal reached: a coverage of 80 % is measured, with 99.9 % confidence"
    assert describe_measured(begun).startswith("measured: about ")
    assert "before a coverage of 80 % was measured or proved; at least " in describe_stopped(begun)
    printed = " ".join(orienteer("status", folders[1]).stdout.split())
    assert "coverage proved: at least " in printed
    assert "at least 80 % with 99.9 % confidence" in printed
    facts: dict[str, Any] = json.loads(orienteer("status", folders[1], "--json").stdout)
    assert facts["figures"]["measured"] == facts["report"]["figures"]["measured"]
    assert facts["figures"]["measured"]["lower"] == UNTIL


def test_what_is_measured_need_not_be_measured_again(folders: tuple[Path, Path]) -> None:
    whole = crawl_status(folders[1])
    refused = resume_refusal(whole)
    assert refused is not None
    assert refused.startswith("a coverage of 80 % is measured already")
    assert resume_refusal(whole, until=0.9) is None
    crawl = whole.plan.crawl
    for changes in ({"stop_when": "proved"}, {"stop_when": "measured:0.9999"}):
        plan = dataclasses.replace(whole.plan, crawl=dataclasses.replace(crawl, **changes))
        assert resume_refusal(dataclasses.replace(whole, plan=plan)) is None


def test_the_course(folders: tuple[Path, Path]) -> None:
    points = read_progress(folders[1] / "course.jsonl")
    assert points[0].measured is None
    assert points[-1].claimed == UNTIL
    assert all(point.claimed is None for point in points[:-1] if point.position < points[-1].position)
    assert points[-1].measured is not None
    assert points[-1].lower <= points[-1].measured <= points[-1].upper
