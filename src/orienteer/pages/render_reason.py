"""Why a page is rendered in a browser."""

from __future__ import annotations

from enum import StrEnum


class RenderReason(StrEnum):
    """The widest reason for which the page of a request may be rendered; its content decides."""

    NONE = ""
    SUSPECT = "suspect"  # if scripts seem to build it
    SAMPLE = "sample"  # if it has scripts at all: to measure whether pages like this one gain by it
    SPARSE = "sparse"  # the same, if it has scripts and little text, or much data for scripts
    LEARNED = "learned"  # pages like this one have gained by it
    REQUESTED = "asked"  # by the settings
    ROUTE = "route"  # the URL differs from others only in its fragment, which only a browser sees
