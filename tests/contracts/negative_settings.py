"""The contract of settings: an invalid number is refused with one line, and an accepted one works.

A policy may have a setting that can be below zero, such as a bias. A setting with one of the names below cannot: a name
means the same in all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest

import orienteer as ori

NEVER_NEGATIVE = frozenset(
    (
        *("damping", "rng", "batch", "growth", "window", "layers", "discount", "eagerness", "excursions", "gate"),
        *("own_share", "inter_host_weight", "depth", "exact_up_to", "smoothing", "prior", "buckets", "enough"),
        *("penalty", "passes"),
    )
)


def made_with_minus_five(make: Callable[..., Any], settings: Iterable[str]) -> Iterator[Any]:
    """What is made with -5 for each setting in turn, where that is accepted."""
    for setting in settings:
        try:
            made = make(**{setting: -5})
        except ori.OrienteerError as error:
            assert "\n" not in str(error)
            continue
        if setting in NEVER_NEGATIVE:
            pytest.fail(f"{setting} is -5, and there is no error")
        yield made
