"""A reader of pages that kills its process on some pages."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

from orienteer.search.page_reading import PageToIndex


@contextmanager
def deadly(reading: str, folder: Path) -> Iterator[Callable[[PageToIndex], Any]]:
    """Wrap the reader of this name: a process that reads a page with "deadly" in its URL is killed."""
    with resolve_name(reading)(folder) as read:

        def read_or_die(wanted: PageToIndex) -> Any:
            if "deadly" in wanted.page.url:
                os.kill(os.getpid(), signal.SIGKILL)
            return read(wanted)

        yield read_or_die
