"""The town of the demo with a third of its pages: every block of the documents still prints what it shows.

python -m tests.docs.small_town ARGUMENTS     # `orienteer` with these arguments, in a process of its own
"""

from __future__ import annotations

from contextlib import ExitStack
from unittest.mock import patch

from orienteer.fake_web.community import civic, leisure, press
from orienteer.fake_web.community.site import CommunitySite

_SIZES = {
    civic: {"N_MEETINGS": 20, "BOOKS_PER_SHELF": 2, "N_CLASSES": 5, "N_STAFF": 6, "N_LETTERS": 8},
    leisure: {
        "N_ROOMS": 5, "CASES_PER_ROOM": 2, "OBJECTS_PER_CASE": 2, "N_STATIONS": 6, "FIRST_SEASON": 2022, "N_TRADERS": 6,
        "N_ADS": 20, "ADS_PER_WEEK": 3, "N_NIGHTS": 6, "N_DOUBLE_STARS": 4, "N_WALKS": 4,
    },
    press: {"N_ARTICLES": 50, "N_CHAPTERS": 4, "KITCHEN_POSTS": 12, "BIRDS_POSTS": 14, "GARDEN_POSTS": 10},
}  # fmt: skip


def small_town() -> CommunitySite:
    with smaller():
        return CommunitySite()


def smaller() -> ExitStack:
    """Towns that are founded inside are small."""
    with ExitStack() as stack:
        for module, sizes in _SIZES.items():
            stack.enter_context(patch.multiple(module, **sizes))
        return stack.pop_all()


if __name__ == "__main__":
    from orienteer.cli.main import run

    with smaller():
        run()
