"""Graph files: which formats there are, and which one a path is.

A `Format` has `read(path, progress) -> LinkGraph` and, where it can be written,
`write(graph, path, progress, **options)`. One of ours is a module here, which is imported when it is first used: no one
pays for pyarrow who reads an edge list. Other packages have theirs in the entry points `orienteer.graph_formats`.
A reader turns whatever is wrong with the file into one GraphFileError.
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
class Format:
    """How graphs are read from a kind of files, and written where there is a `write`.

    `suffixes` are what its files end in; a compressed text file may add .gz or .zst where `compressed`.
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


def _ours(
    name: str, about: str, suffixes: tuple[str, ...] = (), *, compressed: bool = False, writable: bool = True
) -> Format:
    """The format of the module of this name, which is imported when a graph is read or written."""

    def module() -> Any:
        return importlib.import_module(f"{__name__}.{name}")

    def read(path: Path, progress: Progress) -> LinkGraph:
        graph: LinkGraph = module().read(path, progress)
        return graph

    def write(graph: LinkGraph, path: Path, progress: Progress, **options: Any) -> None:
        module().write(graph, path, progress, **options)

    return Format(name, about, read, write if writable else None, suffixes, compressed)


_FOLDER = _ours("folder", "graph folder: .npy arrays, memory-mapped")
_BV = _ours("bv", "WebGraph BV: NAME.graph + NAME.properties", (".graph", ".properties"), writable=False)
_OURS = (
    _FOLDER,
    _ours("npz", "NumPy archive with indptr, indices, optional host; NAME.urls.txt.gz beside it", (".npz",)),
    _ours("edges", "edge list of ids or URLs, a link a line", (".txt", ".csv", ".tsv"), compressed=True),
    _ours("parquet", "Parquet table with columns source and target", (".parquet",)),
    _ours("graphml", "GraphML", (".graphml",), compressed=True),
    _BV,
    _ours("warc", "WARC, WACZ: the links of its HTML pages", (".warc", ".wacz"), compressed=True, writable=False),
)


# A crawl folder is read by who knows its database, which stands above graphs: it is looked up as plug-ins are.
_CRAWL_DATABASE, _READS_CRAWLS = "crawl.db", "orienteer.inspect.snapshot:graph_of_crawl"


def _why_not(thing: Any) -> str:
    return "" if isinstance(thing, Format) else f"is no Format of {__name__}"


FORMATS: Registry[Format] = Registry(
    "graph format", _why_not, group="orienteer.graph_formats", own={format.name: format for format in _OURS}
)


def all_formats() -> dict[str, Format]:
    """Every format by its name, those of other packages too."""
    return FORMATS.all()


def format_of(path: Path) -> Format:
    """The format a path's name stands for; a folder, or a name without an ending, is a graph folder.

    Another package's format is for what is none of ours.
    """
    if path.is_dir():
        return _FOLDER
    ours = next((format for format in _OURS if format.matches(path)), None)
    if ours is not None:
        return ours
    if not path.suffix and path.with_name(path.name + ".properties").is_file():
        return _BV
    if not path.suffix and not path.is_file():
        return _FOLDER
    for format in all_formats().values():
        if format.matches(path):
            return format
    ending = f"the ending {path.suffix!r}" if path.suffix else "a name without an ending"
    raise InputError(f"{path}: cannot tell the format from {ending} (known: {known_suffixes()}, a folder)")


def known_suffixes() -> str:
    """What graph files end in, in words."""
    return ", ".join(suffix for format in all_formats().values() for suffix in format.suffixes)


def _chosen(path: Path, name: str | None) -> Format:
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
    """Name the file in errors about it; what the system or a library says of it becomes one line."""
    try:
        yield
    except (GraphFileError, InputError) as error:
        is_named = str(error).startswith(str(path))
        raise GraphFileError(str(error) if is_named else f"{path}: {error}") from error
    except MemoryError as error:
        raise GraphFileError(f"{path}: not enough memory") from error
    except OSError as error:
        raise GraphFileError(f"{path}: {error.strerror or error}") from error
