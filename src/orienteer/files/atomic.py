"""A file appears under its name only when it is complete."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replaced(path: Path) -> Iterator[Path]:
    """Yield a path to write to, which replaces `path` on success, and is deleted on an error.

    It ends like `path`, for libraries that check the extension. A pipe or a device is written directly.
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
