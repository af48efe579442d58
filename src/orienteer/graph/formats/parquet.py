"""Parquet: a table of links, one row per link.

    NAME.parquet          source, target   page ids, or URLs (numbered in order of first appearance)
    NAME.pages.parquet    page, url, host  one row per page in order of page ids (if URLs or hosts are known)

In an export of a crawl the links are NAME.links.parquet, and the pages are NAME.parquet, with more columns.
The columns may also be named src and dst, or from and to; otherwise the first two columns are used.
Files written here have the number of pages in their metadata (orienteer.n_pages); otherwise it is the highest id + 1.
Files are streamed and may be larger than memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orienteer.errors import GraphFileError, InputError, MissingExtraError, OrienteerError
from orienteer.files.plain import replaced
from orienteer.graph import csr
from orienteer.graph.formats.node_columns import HostNumbering
from orienteer.graph.link_graph import LinkGraph
from orienteer.graph.link_sorter import LinkSorter
from orienteer.graph.url_table import GrowingUrlTable, UrlTable
from orienteer.progress import Progress, silent

_LINK_COLUMNS = (("source", "target"), ("src", "dst"), ("from", "to"))
_LINKS = ".links.parquet"
_N_PAGES = b"orienteer.n_pages"
_ROWS_PER_BATCH = 1 << 18
_LINKS_PER_ROW_GROUP = 1 << 20
_WRITING: dict[str, Any] = {"compression": "zstd", "use_dictionary": False, "write_page_checksum": True}


def read(path: Path, progress: Progress = silent) -> LinkGraph:
    arrow = _pyarrow("reading")
    with _opened(arrow, path) as file, LinkSorter() as sorter:
        columns = _link_columns(path, file.schema_arrow.names)
        kind = _shared_kind(arrow, file.schema_arrow, columns)
        batches = _batches(arrow, file, columns, progress)
        if kind == "text":
            table = GrowingUrlTable()
            for sources, targets in batches:
                sorter.add(*_interned(table, _text(arrow, sources), _text(arrow, targets)))
            return sorter.graph(len(table), urls=table.freeze())
        for sources, targets in batches:
            sorter.add(sources.to_numpy(zero_copy_only=False), targets.to_numpy(zero_copy_only=False))
        n_pages = _declared_pages(file.schema_arrow.metadata or {})
        pages = _pages_of(path)
        if pages is None:
            return sorter.graph(n_pages)
        n_rows, hosts, urls = _read_pages(arrow, pages, progress)
        if n_pages is not None and n_rows != n_pages:
            raise GraphFileError(f"{pages.name} has {n_rows:,} rows, but the graph has {n_pages:,} pages")
        return sorter.graph(n_rows, hosts, urls)


def write(graph: LinkGraph, path: Path, progress: Progress = silent) -> None:
    arrow = _pyarrow("writing")
    pages_known = graph.urls is not None or graph.hosts is not None
    pages = _pages_name(path)
    if pages.exists() and not pages_known:
        raise InputError(
            f"this graph has no URLs and hosts, but would be read with those in {pages.name}; "
            "move that away or use another name"
        )
    schema = arrow.schema(
        [("source", arrow.uint32()), ("target", arrow.uint32())], metadata={_N_PAGES: str(graph.n_pages)}
    )
    with replaced(path) as new:
        with arrow.parquet.ParquetWriter(new, schema, **_WRITING) as writer:
            for start in range(0, graph.n_links, _LINKS_PER_ROW_GROUP):
                targets = np.ascontiguousarray(graph.targets[start : start + _LINKS_PER_ROW_GROUP])
                sources = _sources(graph.offsets, start, start + len(targets))
                writer.write_table(arrow.table([sources, targets], schema=schema))
                progress("writing links", start + len(targets), graph.n_links)
        if pages_known:
            _write_pages(arrow, graph, pages, progress)


def _pyarrow(doing: str) -> Any:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise MissingExtraError(f"{doing} Parquet", "pyarrow", "parquet") from None
    return pyarrow


def _pages_name(path: Path) -> Path:
    return path.with_name(path.name.removesuffix(".parquet") + ".pages.parquet")


def _pages_of(path: Path) -> Path | None:
    """Return the file with the pages of these links, or None."""
    exported = [path.with_name(path.name.removesuffix(_LINKS) + ".parquet")] * path.name.endswith(_LINKS)
    return next((pages for pages in (_pages_name(path), *exported) if pages.is_file()), None)


@contextmanager
def _opened(arrow: Any, path: Path) -> Iterator[Any]:
    """Open a file, and turn all errors of Arrow about its content into one GraphFileError."""
    try:
        # Buffered rather than read ahead: a row group may be larger than memory.
        with arrow.parquet.ParquetFile(
            path, pre_buffer=False, buffer_size=1 << 20, page_checksum_verification=True
        ) as file:
            yield file
    except (OrienteerError, MemoryError):
        raise
    except (arrow.ArrowException, OSError, ValueError, KeyError, IndexError, TypeError) as error:
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise GraphFileError(f"not a Parquet file, or truncated or corrupt ({reason})") from None


def _link_columns(path: Path, names: list[str]) -> tuple[str, str]:
    by_lower = {name.lower(): name for name in reversed(names)}
    for source, target in _LINK_COLUMNS:
        if source in by_lower and target in by_lower:
            return by_lower[source], by_lower[target]
    if path.name.endswith(".pages.parquet"):
        raise GraphFileError("this file holds the pages of a graph; its links are in the one without .pages")
    if len(names) < 2:
        raise GraphFileError(f"expected columns source and target, found {', '.join(names) or 'none'}")
    if names[0] == names[1] or names.count(names[0]) + names.count(names[1]) > 2:
        raise GraphFileError(f"expected columns source and target, found several named {names[0]!r} or {names[1]!r}")
    return names[0], names[1]


def _shared_kind(arrow: Any, schema: Any, columns: tuple[str, str]) -> str:
    """Return the kind of both columns: "whole numbers" or "text"."""
    kinds = [_kind(arrow, schema, name) for name in columns]
    if kinds[0] != kinds[1]:
        raise GraphFileError(f"column {columns[0]!r} holds {kinds[0]}, but column {columns[1]!r} {kinds[1]}")
    return kinds[0]


def _kind(arrow: Any, schema: Any, name: str) -> str:
    if len(schema.get_all_field_indices(name)) != 1:
        raise GraphFileError(f"there is more than one column {name!r}")
    types, column_type = arrow.types, schema.field(name).type
    value = column_type.value_type if types.is_dictionary(column_type) else column_type
    if types.is_integer(value):
        return "whole numbers"
    texts = (types.is_string, types.is_large_string, types.is_string_view, types.is_binary, types.is_large_binary)
    if any(is_text(value) for is_text in texts):
        return "text"
    raise GraphFileError(f"column {name!r} holds {str(column_type)[:60]}; expected page ids or URLs")


def _batches(
    arrow: Any, file: Any, columns: tuple[str, ...], progress: Progress, stage: str = "reading links"
) -> Iterator[list[Any]]:
    """Yield the columns in batches, with dictionaries decoded; a GraphFileError if a value is null."""
    done = 0
    for batch in file.iter_batches(_ROWS_PER_BATCH, columns=list(columns)):
        arrays = []
        for name in columns:
            array = batch.column(name)
            if array.null_count:
                row = done + int(np.argmax(array.is_null().to_numpy(zero_copy_only=False)))
                raise GraphFileError(f"column {name!r} is empty in row {row:,} (rows count from 0)")
            arrays.append(array.dictionary_decode() if arrow.types.is_dictionary(array.type) else array)
        yield arrays
        done += len(batch)
        progress(stage, done, file.metadata.num_rows)


def _text(arrow: Any, column: Any) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return the bytes of a text column and the offsets of its values, without creating Python strings."""
    if len(column) == 0:
        return np.empty(0, np.uint8), np.zeros(1, np.int64)
    column = column.cast(arrow.large_binary())
    _, offset_buffer, text_buffer = column.buffers()
    offsets = np.frombuffer(offset_buffer, np.int64)[column.offset : column.offset + len(column) + 1]
    text = np.frombuffer(text_buffer, np.uint8) if text_buffer else np.empty(0, np.uint8)
    return text[offsets[0] : offsets[-1]], offsets - offsets[0]


def _interned(
    table: GrowingUrlTable,
    sources: tuple[NDArray[np.uint8], NDArray[np.int64]],
    targets: tuple[NDArray[np.uint8], NDArray[np.int64]],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the ids of both columns, interned row by row, so that a link's source is discovered before its target."""
    n_links = len(sources[1]) - 1
    spans = np.empty((n_links, 2, 2), np.int64)  # link, end, (from, to)
    for end, (offsets, shift) in enumerate(((sources[1], 0), (targets[1], len(sources[0])))):
        spans[:, end, 0] = offsets[:-1] + shift
        spans[:, end, 1] = offsets[1:] + shift
    ids = table.intern_spans(np.concatenate((sources[0], targets[0])), spans.reshape(-1, 2))
    return ids[0::2], ids[1::2]


def _declared_pages(metadata: dict[bytes, bytes]) -> int | None:
    text = metadata.get(_N_PAGES)
    if text is None:
        return None
    if not text.isdigit() or len(text) > 10 or int(text) >= csr.MAX_PAGES:
        raise GraphFileError(f"the metadata declares {text.decode('utf-8', 'replace')[:40]!r} pages")
    return int(text)


def _sources(offsets: NDArray[np.int64], start: int, end: int) -> NDArray[np.uint32]:
    """Return the sources of the links at `start:end`, without computing those of all links."""
    first = int(np.searchsorted(offsets, start, side="right")) - 1
    last = int(np.searchsorted(offsets, end, side="left"))
    bounds = offsets[first : last + 1].clip(start, end)
    return np.repeat(np.arange(first, last, dtype=np.uint32), np.diff(bounds))


def _read_pages(arrow: Any, path: Path, progress: Progress) -> tuple[int, NDArray[Any] | None, UrlTable | None]:
    """Return (number of pages, hosts, URLs)."""
    try:
        with _opened(arrow, path) as file:
            names = file.schema_arrow.names
            pages = _numbers(arrow, file, "page", progress) if "page" in names else None
            if pages is not None and not np.array_equal(pages, np.arange(len(pages))):
                raise GraphFileError("column 'page' must count 0, 1, 2, ...")
            hosts = _hosts(arrow, file, progress) if "host" in names else None
            urls = _url_table(arrow, file, progress) if "url" in names else None
            return file.metadata.num_rows, hosts, urls
    except GraphFileError as error:
        raise GraphFileError(f"{path.name}: {error}") from None


def _hosts(arrow: Any, file: Any, progress: Progress) -> NDArray[Any] | None:
    """Return host ids: integers as they are, names numbered in order of first appearance."""
    if _kind(arrow, file.schema_arrow, "host") == "whole numbers":
        return _numbers(arrow, file, "host", progress)
    numbering = HostNumbering()
    for (column,) in _batches(arrow, file, ("host",), progress, "reading pages"):
        for name in column.to_pylist():
            numbering.add(str(name))
    return numbering.ids()


def _numbers(arrow: Any, file: Any, name: str, progress: Progress) -> NDArray[np.int64]:
    if (kind := _kind(arrow, file.schema_arrow, name)) != "whole numbers":
        raise GraphFileError(f"column {name!r} holds {kind}; expected whole numbers")
    blocks = [np.empty(0, np.int64)]
    for (column,) in _batches(arrow, file, (name,), progress, "reading pages"):
        blocks.append(column.to_numpy(zero_copy_only=False))
    return np.concatenate(blocks)


def _url_table(arrow: Any, file: Any, progress: Progress) -> UrlTable:
    if (kind := _kind(arrow, file.schema_arrow, "url")) != "text":
        raise GraphFileError(f"column 'url' holds {kind}; expected text")
    texts, lengths = [np.empty(0, np.uint8)], [np.zeros(1, np.int64)]
    for (column,) in _batches(arrow, file, ("url",), progress, "reading pages"):
        text, offsets = _text(arrow, column)
        texts.append(text)
        lengths.append(np.diff(offsets))
    return UrlTable(np.concatenate(texts), np.cumsum(np.concatenate(lengths)))


def _write_pages(arrow: Any, graph: LinkGraph, path: Path, progress: Progress) -> None:
    fields = [("page", arrow.uint32())]
    if graph.urls is not None:
        fields.append(("url", _url_type(arrow, graph.urls)))
    if graph.hosts is not None:
        fields.append(("host", arrow.int32()))
    schema = arrow.schema(fields)
    with replaced(path) as new, arrow.parquet.ParquetWriter(new, schema, **_WRITING) as writer:
        for start in range(0, graph.n_pages, _ROWS_PER_BATCH):
            end = min(start + _ROWS_PER_BATCH, graph.n_pages)
            columns = [arrow.array(np.arange(start, end, dtype=np.uint32))]
            if graph.urls is not None:
                columns.append(_url_array(arrow, graph.urls, start, end).cast(schema.field("url").type))
            if graph.hosts is not None:
                columns.append(arrow.array(graph.hosts[start:end]))
            writer.write_table(arrow.table(columns, schema=schema))
            progress("writing pages", end, graph.n_pages)


def _url_type(arrow: Any, urls: UrlTable) -> Any:
    """Return the type of the URL column: text, or bytes if any URL is not valid UTF-8."""
    try:
        for start in range(0, len(urls), _ROWS_PER_BATCH):
            _url_array(arrow, urls, start, min(start + _ROWS_PER_BATCH, len(urls))).cast(arrow.large_string())
    except arrow.ArrowInvalid:
        return arrow.large_binary()
    return arrow.large_string()


def _url_array(arrow: Any, urls: UrlTable, start: int, end: int) -> Any:
    bounds = urls.offsets[start : end + 1]
    text = np.ascontiguousarray(urls.data[bounds[0] : bounds[-1]])
    buffers = [None, arrow.py_buffer(bounds - bounds[0]), arrow.py_buffer(text)]
    return arrow.Array.from_buffers(arrow.large_binary(), end - start, buffers)
