"""Defaults and goals shared by the command line, Python and the policies. It imports little, to keep `--help` fast."""

from __future__ import annotations

from dataclasses import dataclass

from orienteer.errors import InputError
from orienteer.settings import setting

DAMPING = 0.85  # the probability that a surfer follows a link
POLICY = "certified"
# A simulated crawl without explicit trust trusts this many pages of the highest PageRank, as the papers do.
N_TRUSTED = 160


@dataclass(frozen=True)
class SurveyGoal:
    """When a survey ends: its interval is at most `half_width` to each side, or `budget` pages are spent.

    The result holds with the `confidence`, wherever the survey ends.
    """

    half_width: float = setting(
        0.005, "Stop when the coverage is known to within this, on each side.", option="--half-width"
    )
    budget: int | None = setting(None, "Stop after visiting this many other pages.", option="--budget", metavar="N")
    confidence: float = setting(0.999, "Confidence of the result.", option="--confidence")

    def __post_init__(self) -> None:
        from orienteer.graph.survey.crawl_survey import check_confidence

        check_confidence(self.confidence)
        if not 0 < self.half_width < 0.5:
            raise InputError(f"half width is {self.half_width}; it must lie between 0 and 0.5, such as 0.005")
        if self.budget is not None and self.budget < 0:
            raise InputError(f"budget is {self.budget}; it must be 0 or more pages")
