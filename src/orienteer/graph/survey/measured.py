"""The result of a survey: the measured coverage with its confidence interval."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from orienteer.graph.proved import percent
from orienteer.notebook import facts_html
from orienteer.wording import SAME_RESPONSES, counted


@dataclass(frozen=True)
class Measured:
    """A coverage measured by random walks.

    It lies between `lower` and `upper` with this `confidence`, at any time of inspection, if SAME_RESPONSES holds; the
    interval is never wider than the proved bounds. `estimate` is the most likely value. `n_probes` pages were fetched
    for `n_walks` walks; both numbers include decoys. With `of_reachable` it is the coverage seen by a surfer who
    restarts at blocked pages and unknown links.
    """

    lower: float
    upper: float
    estimate: float
    confidence: float
    n_walks: int
    n_probes: int
    of_reachable: bool = False

    @property
    def half_width(self) -> float:
        return (self.upper - self.lower) / 2

    def as_dict(self) -> dict[str, Any]:
        return asdict(self) | {"text": str(self), "assumes": SAME_RESPONSES}

    def __str__(self) -> str:
        of_what = " of what is reachable" if self.of_reachable else ""
        return (
            f"measured{of_what}: {100 * self.estimate:.1f} %, between {percent(self.lower)} and "
            f"{percent(self.upper, up=True)} with {confidence_text(self.confidence)} confidence"
        )

    def __repr__(self) -> str:
        return f"<Measured: {self}; {counted(self.n_walks, 'walk')}, {counted(self.n_probes, 'probe')}>"

    def _repr_html_(self) -> str:
        facts = [
            ("estimate", f"{100 * self.estimate:.1f} %"),
            ("at least", percent(self.lower)),
            ("at most", percent(self.upper, up=True)),
            ("confidence", confidence_text(self.confidence)),
            ("assuming that", SAME_RESPONSES),
            ("walks", self.n_walks),
            ("pages fetched for them", self.n_probes),
        ]
        return facts_html("Measured: a surfer's time on pages fetched", facts)


def confidence_text(confidence: float) -> str:
    """Format a confidence, for example as 99.9 %."""
    return f"{100 * confidence:.10g} %"
