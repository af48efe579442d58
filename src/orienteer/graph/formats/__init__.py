"""Graph files: the registry of formats, and the format of a path.

A `GraphFormat` has `read(path, progress) -> LinkGraph` and, if it can be written,
`write(graph, path, progress, **options)`. Built-in formats are modules of this package, imported on first use, so
reading an edge list does not import pyarrow. Plug-ins register formats as entry points `orienteer.graph_formats`.
A reader reports every fault of a file as one GraphFileError.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from orienteer.errors import GraphFileError, InputError
from orienteer.graph.link_graph import LinkGraph
from orienteer.progress import Progress, silent
from orienteer.registry import Registry


@dataclass(frozen=True)
class GraphFormat:
    """A file format of graphs; one without `write` is read-only.

    Names of its files end in `suffixes`, followed by .gz or .zst if `compressed`.
    """

    name: str
    about: str
    read: Callable[[Path, Progress], LinkGraph]
    write: Callable[..., None] | None = None
    suffixes: tuple[str, ...] = ()
    compressed: bool = False

    def matches(self, path: Path) -> bool:
        name = path.name.lower()
        endings = ("", ".gz", ".zst") if self.compressed else ("",)
        return any(name.endswith(suffix + ending) for suffix in self.suffixes for ending in endings)


def _builtin(
    name: str, about: str, suffixes: tuple[str, ...] = (), *, compressed: bool = False, writable: bool = True
) -> GraphFormat:
    """Return the format of the module of this name, which is imported when a graph is read or written."""

    def module() -> Any:
        return importlib.import_module(f"{__name__}.{name}")

    def read(path: Path, progress: Progress) -> LinkGraph:
        graph: LinkGraph = module().read(path, progress)
        return graph

    def write(graph: LinkGraph, path: Path, progress: Progress, **options: Any) -> None:
        module().write(graph, path, progress, **options)

    return GraphFormat(name, about, read, write if writable else None, suffixes, compressed)


_FOLDER = _builtin("folder", "graph folder: .npy arrays, memory-mapped")
_BV = _builtin("bv", "WebGraph BV: NAME.graph + NAME.properties", (".graph", ".properties"), writable=False)
_BUILTIN = (
    _FOLDER,
    _builtin("npz", "NumPy archive with indptr, indices, optional host; URLs in NAME.urls.txt.gz", (".npz",)),
    _builtin("edges", "edge list of ids or URLs, one link per line", (".txt", ".csv", ".tsv"), compressed=True),
    _builtin("parquet", "Parquet table with columns source and target", (".parquet",)),
    _builtin("graphml", "GraphML", (".graphml",), compressed=True),
    _BV,
    _builtin("warc", "WARC, WACZ: the links of its HTML pages", (".warc", ".wacz"), compressed=True, writable=False),
)


# The reader of crawl folders depends on the database, a higher layer than graphs, so it is imported by name.
_CRAWL_DATABASE, _READS_CRAWLS = "crawl.db", "orienteer.inspect.snapshot:graph_of_crawl"


def _why_not(thing: Any) -> str:
    return "" if isinstance(thing, GraphFormat) else f"is not a GraphFormat of {__name__}"


FORMATS: Registry[GraphFormat] = Registry(
    "graph format", _why_not, group="orienteer.graph_formats", own={format.name: format for format in _BUILTIN}
)


def all_formats() -> dict[str, GraphFormat]:
    """Return every format by its name, including plug-ins."""
    return FORMATS.all()


def format_of(path: Path) -> GraphFormat:
    """Return the format of a path by its name; a folder, or a name without an ending, is a graph folder.

    Built-in formats take precedence over plug-ins.
    """
    if path.is_dir():
        return _FOLDER
    builtin = next((format for format in _BUILTIN if format.matches(path)), None)
    if builtin is not None:
        return builtin
    if not path.suffix and path.with_name(path.name + ".properties").is_file():
        return _BV
    if not path.suffix and not path.is_file():
        return _FOLDER
    for format in all_formats().values():
        if format.matches(path):
            return format
    ending = f"the ending {path.suffix!r}" if path.suffix else "a name without an ending"
    raise InputError(f"{path}: cannot determine the format from {ending} (known: {known_suffixes()}, a folder)")


def known_suffixes() -> str:
    """Return the endings of all graph formats, for messages."""
    return ", ".join(suffix for format in all_formats().values() for suffix in format.suffixes)


def _chosen(path: Path, name: str | None) -> GraphFormat:
    return format_of(path) if name is None else FORMATS.find(name)


def load(path: str | PathLike[str], format: str | None = None, *, progress: Progress = silent) -> LinkGraph:
    path = Path(path)
    if format is None and (path / _CRAWL_DATABASE).is_file():
        graph: LinkGraph = pkgutil.resolve_name(_READS_CRAWLS)(path)
        return graph
    chosen = _chosen(path, format)
    if not path.exists() and chosen is not _BV:
        raise GraphFileError(f"{path}: no such file or folder")
    with _one_line(path):
        return chosen.read(path, progress)


def save(
    graph: LinkGraph,
    path: str | PathLike[str],
    format: str | None = None,
    *,
    progress: Progress = silent,
    **options: Any,
) -> None:
    path = Path(path)
    chosen = _chosen(path, format)
    if chosen.write is None:
        raise InputError(f"{path}: Orienteer reads {chosen.name} but does not write it")
    if not path.parent.is_dir():
        raise GraphFileError(f"{path}: the folder {path.parent} does not exist")
    with _one_line(path):
        chosen.write(graph, path, progress, **options)


@contextmanager
def _one_line(path: Path) -> Iterator[None]:
    """Turn errors of the system and of libraries into one line that names the file."""
    try:
        yield
    except (GraphFileError, InputError) as error:
        is_named = str(error).startswith(str(path))
        raise GraphFileError(str(error) if is_named else f"{path}: {error}") from error
    except MemoryError as error:
        raise GraphFileError(f"{path}: not enough memory") from error
    except OSError as error:
        raise GraphFileError(f"{path}: {error.strerror or error}") from error
