"""A finding while it is made: pages by their ids, and no words of links yet."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class Draft:
    """As `Finding`. `url` takes the place of that of the page; `order` that of the cost, where that is not the order.

    `with_words`: the places are links, whose words are to be read.
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
