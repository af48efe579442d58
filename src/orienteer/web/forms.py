"""Parse the fields of posted forms."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
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
    typed = text.removesuffix("%").replace(",", ".")
    return _number(text, typed, "the coverage", "per cent, such as 98") / 100 if text else None


def count_in(text: str) -> int | None:
    """Parse a number of pages; None for an empty text."""
    typed = text.replace(",", "").replace(" ", "")
    return int(_number(text, typed, "the limit", "pages, such as 10000", int)) if text else None


def seconds_in(text: str) -> float | None:
    """Parse a number of seconds; None for an empty text."""
    return _number(text, text.replace(",", "."), "the pause", "seconds, such as 1") if text else None


def _number(text: str, typed: str, name: str, unit: str, kind: Callable[[str], float] = float) -> float:
    with suppress(ValueError):
        if math.isfinite(number := kind(typed)):
            return number
    raise InputError(f"{name} is {text[:50]!r}; it must be a number of {unit}")
