"""The order of a crawl as a text file (`--order-out`): a line for each page, its id, and its URL if that is known."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from orienteer.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from orienteer.graph.url_table import UrlTable

HELP = "Write the pages in the order fetched, one a line: id, tab, URL (.gz, .zst: compressed)."
_PAGES_PER_BLOCK = 1 << 16


def check_place(path: Path | None) -> None:
    """Whether the file can be made there is known before the crawl."""
    if path is not None and not path.parent.is_dir():
        raise InputError(f"{path}: the folder {path.parent} does not exist")


def write_order(path: Path, order: NDArray[np.uint32], urls: UrlTable | None) -> None:
    """Without URLs, a line is the id alone."""
    from orienteer.graph.formats.atomic import replaced
    from orienteer.graph.formats.compressed import byte_writer
    from orienteer.graph.formats.url_lines import refuse_line_breaks

    if urls is not None:
        refuse_line_breaks(urls)
    try:
        with replaced(path) as new, byte_writer(new, path.name) as out:
            for first in range(0, len(order), _PAGES_PER_BLOCK):
                pages = order[first : first + _PAGES_PER_BLOCK].tolist()
                lines = (f"{page}\n" if urls is None else f"{page}\t{urls[page]}\n" for page in pages)
                out.write("".join(lines).encode("utf-8"))
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None
