"""The order of a crawl as a text file (`--order-out`): a line per page, with its id, and its URL if known."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from orienteer.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from orienteer.graph.url_table import UrlTable

HELP = "Write the pages to this file in the order fetched, one per line: id, tab, URL (.gz, .zst: compressed)."
_LINES_PER_BLOCK = 1 << 16


def check_place(path: Path | None) -> None:
    """Fail before the crawl, not after it, if the folder of the file does not exist."""
    if path is not None and not path.parent.is_dir():
        raise InputError(f"{path}: the folder {path.parent} does not exist")


def write_order(path: Path, order: NDArray[np.uint32], urls: UrlTable | None) -> None:
    """Write the order; without URLs, a line is the id alone."""
    from orienteer.graph.formats.url_lines import refuse_line_breaks

    if urls is not None:
        refuse_line_breaks(urls)
    write_lines(path, (str(page) if urls is None else f"{page}\t{urls[page]}" for page in map(int, order)))


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Write a text file, compressed by its suffix; it appears under its name once complete."""
    from orienteer.files.compressed import byte_writer
    from orienteer.files.plain import replaced

    remaining = iter(lines)
    try:
        with replaced(path) as new, byte_writer(new, path.name) as out:
            while block := list(islice(remaining, _LINES_PER_BLOCK)):
                out.write("".join(f"{line}\n" for line in block).encode("utf-8"))
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None
