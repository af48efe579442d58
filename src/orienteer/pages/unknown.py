"""Links of a page that are there, but not known: left out, cut off, or never read."""

from __future__ import annotations

from typing import NamedTuple

NOBODY_KNOWS = -1  # not even how many there are


class UnknownLinks(NamedTuple):
    """How many links of a page are not known (NOBODY_KNOWS), and why."""

    n: int
    why: str = ""


ALL_KNOWN = UnknownLinks(0)
