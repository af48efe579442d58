"""Reading for an index by processes that die of some pages."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from orienteer.search.page_reading import Said, ToRead, index_reading


@contextmanager
def deadly_index_reading(folder: Path) -> Iterator[Callable[[ToRead], Said]]:
    """As ever, but whoever reads a page with "deadly" in its URL is killed."""
    with index_reading(folder) as read:

        def read_or_die(wanted: ToRead) -> Said:
            if "deadly" in wanted.page.url:
                os.kill(os.getpid(), signal.SIGKILL)
            return read(wanted)

        yield read_or_die
