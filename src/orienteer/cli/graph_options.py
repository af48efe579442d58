"""Options of commands on graphs: the graph, `--trust`, and the order of a crawl as a text file (`--order-out`)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from orienteer.errors import InputError, OrienteerError
from orienteer.graph.defaults import N_TRUSTED
from orienteer.graph.page_names import is_number, page_named

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from orienteer.graph.link_graph import LinkGraph
    from orienteer.graph.url_table import UrlTable
    from orienteer.progress import Progress

# The backslash is for rich, which would take [weight] for a style.
TRUST_HELP = (
    "Trusted pages: top:K (highest PageRank), host-homes, uniform, ids:1,2,3, or a FILE of lines `page \\[weight]`, "
    "where a page is an id or a URL."
)
DEFAULT_TRUST = f"top:{N_TRUSTED}"  # as in Python: see graph.pagerank.crawl_trust
_WAYS = "top:K, host-homes, uniform, ids:1,2,3, or a file"
_HOME_URL = re.compile(r"https?://[^/?#]+/?", re.IGNORECASE)
ORDER_HELP = "Write the pages to this file in the order fetched, one per line: id, tab, URL (.gz, .zst: compressed)."
_LINES_PER_BLOCK = 1 << 16


def loaded_web(path: Path, format: str | None, progress: Progress) -> LinkGraph:
    """Load the graph of a file, a folder or a crawl; hosts come from its URLs if it has none of its own."""
    from orienteer.graph.link_graph import LinkGraph

    return hosted(LinkGraph.load(path, format, progress=progress))


def hosted(web: LinkGraph) -> LinkGraph:
    """Return the graph with hosts from its URLs, if it has none of its own."""
    from orienteer.graph.hosts import with_hosts

    return with_hosts(web) if web.hosts is None and web.urls is not None else web


def url_of(web: LinkGraph, page: int) -> str | None:
    return None if web.urls is None else web.urls[page]


def trust_named(web: LinkGraph, text: str, progress: Progress) -> NDArray[np.float64]:
    """Return the trust vector that `text` describes: one number per page, summing to 1."""
    from orienteer.graph.pagerank import highest_ranked
    from orienteer.graph.trust import trust_vector

    kind, colon, rest = text.partition(":")
    if web.n_pages == 0 or text == "uniform":
        return trust_vector(web.n_pages)
    if text == "host-homes":
        return trust_vector(web.n_pages, host_homes(web))
    if kind == "top" and colon:
        return trust_vector(web.n_pages, highest_ranked(web, _whole_number(rest), progress))
    if kind == "ids" and colon:
        return trust_vector(web.n_pages, _listed(web, rest))
    return trust_vector(web.n_pages, _in_file(web, Path(text)))


def host_homes(web: LinkGraph) -> NDArray[np.int64]:
    """Return one page per host: the first whose URL has the path "/", else the page with the most in-links."""
    import numpy as np

    if web.hosts is None:
        raise InputError("--trust host-homes needs hosts, and the graph has neither hosts nor URLs")
    is_home = np.zeros(web.n_pages, np.bool_)
    if web.urls is not None:
        is_home = np.fromiter((_HOME_URL.fullmatch(url) is not None for url in web.urls), np.bool_, web.n_pages)
    # Among home pages the first one wins, so their in-links are ignored.
    in_links = np.where(is_home, 0, web.in_degrees())
    best_first = np.lexsort((np.arange(web.n_pages), -in_links, ~is_home, web.hosts))
    return best_first[np.unique(web.hosts[best_first], return_index=True)[1]]


def _whole_number(text: str) -> int:
    if not is_number(text) or int(text) == 0:
        raise InputError(
            f"--trust top:{text}: the number of pages must be a whole number above 0, as in {DEFAULT_TRUST}"
        )
    return int(text)


def _listed(web: LinkGraph, text: str) -> list[int]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        raise InputError("--trust ids: names no page; write ids:1,2,3")
    pages = []
    for name in names:
        if not is_number(name):
            raise InputError(f"--trust ids: {name!r} is not a page id (pages are 0 to {web.n_pages - 1})")
        pages.append(page_named(web, name))
    return pages


def _in_file(web: LinkGraph, path: Path) -> dict[int, float]:
    weights: dict[int, float] = {}
    for number, line in _lines(path):
        try:
            page, weight = _page_and_weight(web, line)
            if page in weights:
                raise InputError(f"page {page} is named twice")
        except OrienteerError as error:
            raise InputError(f"--trust {path}, line {number}: {error}") from None
        weights[page] = weight
    if not weights:
        raise InputError(f"--trust {path}: the file names no page")
    if not any(weights.values()):
        raise InputError(f"--trust {path}: every weight is 0; at least one page must be trusted")
    return weights


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines that are neither empty nor comments, with their numbers."""
    from orienteer.files.compressed import text_of

    text = text_of(path, f"--trust {path}", f"no such file (trusted pages are {_WAYS})")
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip() and not line.lstrip().startswith("#"):
            yield number, line.strip()


def _page_and_weight(web: LinkGraph, line: str) -> tuple[int, float]:
    # Page names that are not URLs may contain spaces: only text after the last space, or a tab, is a weight.
    name, tab, rest = line.partition("\t")
    if not tab:
        if web.urls is not None and web.urls.find(line) is not None:
            return page_named(web, line), 1.0
        name, _, rest = line.rpartition(" ") if " " in line else (line, "", "")
    page = page_named(web, name.strip())
    if not rest.strip():
        return page, 1.0
    try:
        weight = float(rest)
    except ValueError:
        raise InputError(f"the weight {rest.strip()!r} is not a number") from None
    if not 0 <= weight < float("inf"):
        raise InputError(f"the weight {rest.strip()} must be 0 or more, and finite")
    return page, weight


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
