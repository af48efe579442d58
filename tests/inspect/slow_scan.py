"""Reads what is new in the archive of a folder, a record at a time: `python -m tests.inspect.slow_scan FOLDER`.

Says `step` after each, and waits for a line before the next.
"""

from __future__ import annotations

import sys
from pathlib import Path

from orienteer.inspect import captures


def step(_: str, done: int, total: int) -> None:
    print("step", flush=True)
    sys.stdin.readline()


if __name__ == "__main__":
    captures._ROWS_PER_STEP = 1
    captures.Captures(Path(sys.argv[1])).update(step)
