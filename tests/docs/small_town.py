"""The town of the demo with fewer than half of its pages, for which all blocks of the documents print the same.

python -m tests.docs.small_town ARGUMENTS     # `orienteer` with these arguments, in a separate process
"""

from __future__ import annotations

from contextlib import ExitStack
from unittest.mock import patch

from orienteer.fake_web.community import civic, leisure, press
from orienteer.fake_web.community.site import CommunitySite

_SIZES = {
    civic: {"BOOKS_PER_SHELF": 3, "N_STAFF": 6, "N_LETTERS": 14},
    leisure: {
        "CASES_PER_ROOM": 2, "OBJECTS_PER_CASE": 2, "FIRST_SEASON": 2019, "N_TRADERS": 8, "N_ADS": 30,
        "ADS_PER_WEEK": 3, "N_NIGHTS": 10, "N_DOUBLE_STARS": 6,
    },
    press: {"N_ARTICLES": 90, "N_CHAPTERS": 6},
}  # fmt: skip


def small_town() -> CommunitySite:
    with smaller():
        return CommunitySite()


def smaller() -> ExitStack:
    """Make towns that are created inside the block small."""
    with ExitStack() as stack:
        for module, sizes in _SIZES.items():
            stack.enter_context(patch.multiple(module, **sizes))
        return stack.pop_all()


if __name__ == "__main__":
    from orienteer.cli.main import run

    with smaller():
        run()
