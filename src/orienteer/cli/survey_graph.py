"""`orienteer survey --graph`: the survey of pages of a complete graph."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from orienteer.cli import display, trust_option
from orienteer.cli.web_argument import loaded_web
from orienteer.errors import InputError

if TYPE_CHECKING:
    from orienteer.graph.survey.fixed_walks import SurveyGoal
    from orienteer.side_crawls.survey_report import SurveyReport


def survey_on_graph(
    path: Path, fetched: Path | None, trust: str | None, damping: float | None, goal: SurveyGoal, rng: int | None,
    n_gaps: int,
) -> SurveyReport:  # fmt: skip
    from orienteer.graph.page_names import pages_in_file
    from orienteer.side_crawls.survey_report import graph_survey

    if fetched is None:
        raise InputError("--graph needs --fetched: a file of pages, an id or a URL per line")
    with display.progress_bar() as progress:
        web = loaded_web(path, None, progress)
        pages = pages_in_file(web, fetched)
        weights = trust_option.trust_named(web, trust or trust_option.DEFAULT, progress)
        return graph_survey(
            web, pages, weights, goal, 0.85 if damping is None else damping, rng=rng, source=str(fetched),
            n_gaps=n_gaps, progress=progress,
        )  # fmt: skip
