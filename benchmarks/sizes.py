"""How much a benchmark measures: its real sizes, or tiny ones, by which the tests see that it still runs.

`python -m benchmarks --tiny NAME` runs a benchmark and all processes that it starts with tiny sizes, on generated data
in the formats of the real data. It writes no results.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TypeVar

_Size = TypeVar("_Size")

TINY_OPTION = "--tiny"
_TINY = "ORIENTEER_BENCHMARK_TINY"  # in the environment, for processes of benchmarks
if TINY_OPTION in sys.argv:
    os.environ[_TINY] = "1"
IS_TINY = _TINY in os.environ


class MissingError(Exception):
    """A benchmark cannot run at all without something that is not on this machine."""


def sized(real: _Size, tiny: _Size) -> _Size:
    """Return the size to measure with."""
    return tiny if IS_TINY else real


def _data() -> Path:
    if not IS_TINY:
        return Path(__file__).parents[2] / "shared" / "data"
    from benchmarks.tiny_data import tiny_data

    return tiny_data()


DATA = _data()
