"""Graph files: which formats there are, and which one a path is.

A format is one module here with `read(path, progress) -> LinkGraph` and, where it can be written,
`write(graph, path, progress, **options)`. It is imported when first used, so that no one pays for pyarrow
who reads an edge list. A reader turns whatever is wrong with the file into one GraphFileError.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from types import ModuleType
from typing import Any

from orienteer.errors import GraphFileError, InputError, unknown_name
from orienteer.graph.link_graph import LinkGraph
from orienteer.progress import Progress, silent


@dataclass(frozen=True)
class Format:
    """`suffixes` are what its files end in; a compressed text file may add .gz or .zst where `compressed`."""

    name: str
    about: str
    suffixes: tuple[str, ...] = ()
    compressed: bool = False
    writable: bool = True

    def matches(self, path: Path) -> bool:
        name = path.name.lower()
        endings = ("", ".gz", ".zst") if self.compressed else ("",)
        return any(name.endswith(suffix + ending) for suffix in self.suffixes for ending in endings)

    @property
    def module(self) -> ModuleType:
        return importlib.import_module(f"{__name__}.{self.name}")


FORMATS = {
    format.name: format
    for format in (
        Format("folder", "graph folder: .npy arrays, memory-mapped"),
        Format("npz", "NumPy archive with indptr, indices, optional host; NAME.urls.txt.gz beside it", (".npz",)),
        Format("edges", "edge list of ids or URLs, a link a line", (".txt", ".csv", ".tsv"), compressed=True),
        Format("parquet", "Parquet table with columns source and target", (".parquet",)),
        Format("graphml", "GraphML", (".graphml",), compressed=True),
        Format("bv", "WebGraph BV: NAME.graph + NAME.properties", (".graph", ".properties"), writable=False),
        Format("warc", "WARC, WACZ: the links of its HTML pages", (".warc", ".wacz"), compressed=True, writable=False),
    )
}


def format_of(path: Path) -> Format:
    """The format a path's name stands for; a folder, or a name without an ending, is a graph folder."""
    if path.is_dir():
        return FORMATS["folder"]
    for format in FORMATS.values():
        if format.matches(path):
            return format
    if not path.suffix and path.with_name(path.name + ".properties").is_file():
        return FORMATS["bv"]
    if not path.suffix and not path.is_file():
        return FORMATS["folder"]
    known = ", ".join(suffix for format in FORMATS.values() for suffix in format.suffixes)
    ending = f"the ending {path.suffix!r}" if path.suffix else "a name without an ending"
    raise InputError(f"{path}: cannot tell the format from {ending} (known: {known}, a folder)")


def _chosen(path: Path, name: str | None) -> Format:
    if name is None:
        return format_of(path)
    if name not in FORMATS:
        raise unknown_name("graph format", name, FORMATS)
    return FORMATS[name]


def load(path: str | PathLike[str], format: str | None = None, *, progress: Progress = silent) -> LinkGraph:
    path = Path(path)
    chosen = _chosen(path, format)
    if not path.exists() and chosen.name != "bv":
        raise GraphFileError(f"{path}: no such file or folder")
    with _one_line(path):
        graph: LinkGraph = chosen.module.read(path, progress)
    return graph


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
    if not chosen.writable:
        raise InputError(f"{path}: Orienteer reads {chosen.name} but does not write it")
    if not path.parent.is_dir():
        raise GraphFileError(f"{path}: the folder {path.parent} does not exist")
    with _one_line(path):
        chosen.module.write(graph, path, progress, **options)


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
