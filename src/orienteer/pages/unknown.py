"""The links of a page that exist but are not known: left out, truncated, or not read."""

from __future__ import annotations

from typing import NamedTuple

UNKNOWN_COUNT = -1  # the number is not known either


class UnknownLinks(NamedTuple):
    """How many links of a page are not known (UNKNOWN_COUNT), and why."""

    n: int
    why: str = ""


ALL_KNOWN = UnknownLinks(0)
