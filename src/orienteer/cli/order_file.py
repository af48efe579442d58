"""The order of a crawl as a text file (`--order-out`): a line for each page, its id, and its URL if that is known."""

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

HELP = "Write the pages in the order fetched, one a line: id, tab, URL (.gz, .zst: compressed)."
_LINES_PER_BLOCK = 1 << 16


def check_place(path: Path | None) -> None:
    """Whether the file can be made there is known before the crawl."""
    if path is not None and not path.parent.is_dir():
        raise InputError(f"{path}: the folder {path.parent} does not exist")


def write_order(path: Path, order: NDArray[np.uint32], urls: UrlTable | None) -> None:
    """Without URLs, a line is the id alone."""
    from orienteer.graph.formats.url_lines import refuse_line_breaks

    if urls is not None:
        refuse_line_breaks(urls)
    write_lines(path, (str(page) if urls is None else f"{page}\t{urls[page]}" for page in map(int, order)))


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """A text file, compressed where its name says so; it appears when it is complete."""
    from orienteer.files.atomic import replaced
    from orienteer.files.compressed import byte_writer

    rest = iter(lines)
    try:
        with replaced(path) as new, byte_writer(new, path.name) as out:
            while block := list(islice(rest, _LINES_PER_BLOCK)):
                out.write("".join(f"{line}\n" for line in block).encode("utf-8"))
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None
