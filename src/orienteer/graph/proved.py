"""The certificate of a set of fetched pages: the proved bounds on its coverage."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from orienteer.notebook import facts_html

UPPER_ASSUMES = "no unfetched URL is another name of a fetched page"

_NOTHING = 1e-12  # of the mass


@dataclass(frozen=True)
class Certificate:
    """The proved bounds on the coverage of a set of fetched pages.

    Invariant: lower + frontier + blocked + unknown + unsettled = 1. Mass that is not proved covered is on pages that
    can be fetched, on pages that cannot, behind unknown links, or not pushed far enough yet.
    """

    lower: float
    upper: float
    blocked: float = 0.0
    frontier: float = 0.0
    unsettled: float = 0.0
    unknown: float = 0.0

    @property
    def of_reachable(self) -> float:
        """The proved share of the mass that is neither on blocked pages nor behind unknown links."""
        reachable = 1.0 - self.blocked - self.unknown
        return min(self.lower / reachable, 1.0) if reachable > _NOTHING else 0.0

    def as_dict(self) -> dict[str, Any]:
        more = {"of_reachable": self.of_reachable, "text": str(self), "upper_assumes": UPPER_ASSUMES}
        return asdict(self) | more

    def __repr__(self) -> str:
        return f"<Certificate: {self}>"

    def _repr_html_(self) -> str:
        facts = [
            ("at least", percent(self.lower)),
            ("at most", percent(self.upper, up=True)),
            ("on pages to fetch", percent(self.frontier, up=True)),
            ("blocked", percent(self.blocked, up=True) if self.blocked else ""),
            ("behind unknown links", percent(self.unknown, up=True) if self.unknown else ""),
        ]
        return facts_html("Certificate: a surfer's time on pages fetched", facts)

    def __str__(self) -> str:
        text = f"at least {percent(self.lower)}, at most {percent(self.upper, up=True)}"
        text += f"; {percent(self.blocked, up=True)} blocked" if self.blocked else ""
        return text + (f"; {percent(self.unknown, up=True)} behind unknown links" if self.unknown else "")


def percent(share: float, up: bool = False) -> str:
    """Format a share as a percentage, rounded in the direction that keeps the bound valid."""
    scaled = np.ceil(share * 1e4) if up else np.floor(share * 1e4)
    return f"{scaled / 100:.2f} %"
