"""Parse the fields of posted forms."""

from __future__ import annotations

import math
from urllib.parse import parse_qs

from starlette.requests import Request

from orienteer.errors import InputError

_MAX_FIELDS = 100


async def fields_of(request: Request) -> dict[str, str]:
    """Return the fields of a form by name; of several with the same name the first."""
    text = (await request.body()).decode(errors="replace")
    try:
        fields = parse_qs(text, keep_blank_values=True, max_num_fields=_MAX_FIELDS)
    except ValueError:
        raise InputError(f"a form has at most {_MAX_FIELDS} fields") from None
    return {name: values[0].strip() for name, values in fields.items()}


def share_in(text: str) -> float | None:
    """Parse a coverage in per cent; None for an empty text."""
    if not text:
        return None
    try:
        share = float(text.removesuffix("%").replace(",", ".")) / 100
    except ValueError:
        share = math.nan
    if not math.isfinite(share):
        raise InputError(f"the coverage is {text[:50]!r}; it must be a number of per cent, such as 98")
    return share


def count_in(text: str) -> int | None:
    """Parse a number of pages; None for an empty text."""
    if not text:
        return None
    try:
        return int(text.replace(",", "").replace(" ", ""))
    except ValueError:
        raise InputError(f"the limit is {text[:50]!r}; it must be a number of pages, such as 10000") from None


def seconds_in(text: str) -> float | None:
    """Parse a number of seconds; None for an empty text."""
    if not text:
        return None
    try:
        seconds = float(text.replace(",", "."))
    except ValueError:
        seconds = math.nan
    if not math.isfinite(seconds):
        raise InputError(f"the pause is {text[:50]!r}; it must be a number of seconds, such as 1")
    return seconds
