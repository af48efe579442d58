"""Progress reports of long work.

A function that may take more than two seconds accepts `progress` and calls it as `progress(stage, done, total)`;
`total` is 0 while unknown. The CLI draws a bar from it; the default does nothing.
"""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[str, int, int], None]


def silent(stage: str, done: int, total: int) -> None:
    """Ignore the progress."""
