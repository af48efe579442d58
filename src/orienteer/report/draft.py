"""An unfinished finding: pages are ids, and the texts of links are not known yet."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class FindingDraft:
    """As `Finding`. If set, `url` replaces the URL of the page, and `order` replaces the cost as the sort key.

    `with_words`: the places are links, whose texts have to be read.
    """

    kind: str
    page: int
    why: str
    cost: float
    leads_to: list[int] = field(default_factory=list)
    value: float | None = None
    n_places: int = 0
    places: list[tuple[int, float]] = field(default_factory=list)
    with_words: bool = False
    url: str = ""
    order: float | None = None
