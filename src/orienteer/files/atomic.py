"""A file appears under its name only when it is complete."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replaced(path: Path) -> Iterator[Path]:
    """A name to write to, which takes the place of `path` when all went well, and is gone when not.

    It ends like `path`, for libraries that look at endings. A pipe or a device is written as it is.
    """
    real = path.resolve()  # a symbolic link stays one
    if real.exists() and not real.is_file():
        yield path
        return
    new = real.with_name(f".new-{os.getpid()}-{real.name}")
    try:
        yield new
        os.replace(new, real)
    finally:
        new.unlink(missing_ok=True)
