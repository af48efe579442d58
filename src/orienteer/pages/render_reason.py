"""Why a page is shown in a browser."""

from __future__ import annotations

from enum import StrEnum


class RenderReason(StrEnum):
    """With a request goes the widest reason for which its page may be rendered; what it says decides."""

    NONE = ""
    SUSPECT = "suspect"  # if it looks as if scripts make it
    SAMPLE = "sample"  # if it has scripts at all: to see whether pages like this one gain by it
    LEARNED = "learned"  # pages like this one have gained by it
    ASKED = "asked"  # the user wants it
    ROUTE = "route"  # nothing but a browser tells this URL from others: it differs in its fragment
