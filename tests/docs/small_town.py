"""The town of the demo with fewer than half of its pages: the example.org of the documents."""

from __future__ import annotations

from unittest.mock import patch

from orienteer.fake_web.site import TownSite
from orienteer.fake_web.town import SIZES

_SMALL = {
    "books_per_shelf": 3, "staff": 6, "letters": 14, "cases": 2, "objects": 2, "first_season": 2019, "traders": 8,
    "ads": 30, "ads_per_week": 3, "nights": 10, "double_stars": 6, "articles": 90, "chapters": 6,
}  # fmt: skip


def small_town() -> TownSite:
    with patch.dict(SIZES, _SMALL):
        return TownSite()
