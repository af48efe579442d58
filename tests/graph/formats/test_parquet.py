from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from orienteer.errors import GraphFileError, MissingExtraError
from orienteer.graph.formats import parquet
from orienteer.graph.link_graph import LinkGraph
from tests.conftest import random_web
from tests.graph.formats.small_webs import ROUND_TRIP_WEBS, assert_loads_or_says_why, damaged


@pytest.mark.parametrize("web", ROUND_TRIP_WEBS.values(), ids=ROUND_TRIP_WEBS.keys())
def test_a_graph_read_back_is_the_graph_written(tmp_path: Path, web: LinkGraph) -> None:
    web.save(tmp_path / "web.parquet")
    assert LinkGraph.load(tmp_path / "web.parquet") == web
    assert (tmp_path / "web.pages.parquet").exists() == (web.urls is not None or web.hosts is not None)
    assert not list(tmp_path.glob(".*"))


def test_urls_that_are_not_text_are_stored_byte_by_byte(tmp_path: Path) -> None:
    web = LinkGraph.from_links(3, [0], [2], urls=[b"http://a/\xff", b"", b"\x00\n"])  # type: ignore[list-item]
    web.save(tmp_path / "web.parquet")
    assert LinkGraph.load(tmp_path / "web.parquet") == web


def test_many_row_groups_and_batches_are_read_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "_ROWS_PER_BATCH", 7)
    monkeypatch.setattr(parquet, "_LINKS_PER_ROW_GROUP", 10)
    links = random_web(np.random.default_rng(2), 100)
    web = LinkGraph(links.offsets, links.targets, urls=_urls(100), hosts=np.arange(100, dtype=np.int32))
    calls: list[tuple[str, int, int]] = []
    web.save(tmp_path / "web.parquet", progress=lambda *call: calls.append(call))
    assert pq.ParquetFile(tmp_path / "web.parquet").num_row_groups == -(-web.n_links // 10)
    assert LinkGraph.load(tmp_path / "web.parquet", progress=lambda *call: calls.append(call)) == web
    assert {stage for stage, _, _ in calls} == {"writing links", "writing pages", "reading links", "reading pages"}
    assert all(0 < done <= total for _, done, total in calls)


def _urls(n_pages: int) -> Any:
    return LinkGraph.from_links(n_pages, [], [], urls=[f"http://{k}.example/é" for k in range(n_pages)]).urls


def test_others_can_read_what_we_write(tmp_path: Path) -> None:
    ROUND_TRIP_WEBS["with both"].save(tmp_path / "web.parquet")
    links = pq.read_table(tmp_path / "web.parquet")
    assert links.to_pydict() == {"source": [0, 1, 3, 4], "target": [3, 2, 0, 1]}
    assert links.schema.types == [pa.uint32(), pa.uint32()]
    pages = pq.read_table(tmp_path / "web.pages.parquet").to_pydict()
    assert list(pages) == ["page", "url", "host"]
    assert pages["url"] == list(ROUND_TRIP_WEBS["with both"].urls or [])
    assert pages["host"] == [3, 3, 1, 0, 0]


@pytest.mark.parametrize(
    "columns",
    [("source", "target"), ("SRC", "Dst"), ("weight", "from", "to"), ("a", "b"), ("a.b", "c.d"), ("to", "x", "from")],
)
@pytest.mark.parametrize("kind", [pa.int8(), pa.uint16(), pa.int32(), pa.int64(), pa.uint64()], ids=str)
def test_columns_of_ids_may_have_many_names_and_widths(tmp_path: Path, columns: tuple[str, ...], kind: Any) -> None:
    sources, targets = pa.array([0, 0, 3, 3, 3], kind), pa.array([1, 1, 2, 3, 0], kind)
    values = {name: pa.array([0.5] * 5) for name in columns}
    ends = (columns[2], columns[0]) if columns[0] == "to" else columns[-2:]
    values.update(zip(ends, (sources, targets), strict=True))
    pq.write_table(pa.table(values), tmp_path / "web.parquet")
    assert LinkGraph.load(tmp_path / "web.parquet") == LinkGraph.from_links(4, [0, 3, 3], [1, 2, 0])


@pytest.mark.parametrize(
    "kind",
    [
        pa.string(),
        pa.large_string(),
        pa.binary(),
        pa.string_view(),
        pa.dictionary(pa.int32(), pa.string()),
        pa.dictionary(pa.int8(), pa.large_string()),
    ],
    ids=str,
)
def test_urls_are_numbered_in_the_order_they_appear(tmp_path: Path, kind: Any) -> None:
    sources, targets = ["b", "b", "", "é"] * 50, ["a", "c", "b", "é"] * 50
    table = pa.table({"source": pa.array(sources).cast(kind), "target": pa.array(targets).cast(kind)})
    pq.write_table(table, tmp_path / "web.parquet", row_group_size=7)
    web = LinkGraph.load(tmp_path / "web.parquet")
    assert list(web.urls or []) == ["b", "a", "c", "", "é"]
    assert web == LinkGraph.from_links(5, [0, 0, 3], [1, 2, 0], urls=["b", "a", "c", "", "é"])


@pytest.mark.parametrize("kind", [pa.int64(), pa.string()], ids=str)
def test_a_table_without_rows_is_an_empty_graph(tmp_path: Path, kind: Any) -> None:
    pq.write_table(pa.table({"source": pa.array([], kind), "target": pa.array([], kind)}), tmp_path / "web.parquet")
    web = LinkGraph.load(tmp_path / "web.parquet")
    assert (web.n_pages, web.n_links) == (0, 0)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"source": [1, 2, None], "target": [0, 0, 0]}, "column 'source' is empty in row 2"),
        ({"source": ["a", "b"], "target": ["a", None]}, "column 'target' is empty in row 1"),
        ({"source": [1.0, 2.0], "target": [0, 0]}, "column 'source' holds double; expected page ids or URLs"),
        ({"source": [True], "target": [False]}, "column 'source' holds bool"),
        ({"source": [[1], [2]], "target": [0, 0]}, "column 'source' holds list"),
        ({"source": [{"x": 1}], "target": [0]}, "column 'source' holds struct"),
        ({"source": [0], "target": ["b"]}, "column 'source' holds whole numbers, but column 'target' text"),
        ({"source": [0]}, "expected columns source and target, found source"),
        ({}, "expected columns source and target, found none"),
        ({"source": [0, -1], "target": [0, 0]}, "page id -1 is negative"),
        ({"source": [0, 2**32], "target": [0, 0]}, "page id 4294967296 is too large"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_bad_columns_are_named(tmp_path: Path, columns: dict[str, list[Any]], message: str) -> None:
    pq.write_table(pa.table(columns), tmp_path / "web.parquet")
    with pytest.raises(GraphFileError, match=message):
        LinkGraph.load(tmp_path / "web.parquet")


def test_hosts_may_be_names(tmp_path: Path) -> None:
    ROUND_TRIP_WEBS["plain"].save(tmp_path / "web.parquet")
    pq.write_table(pa.table({"host": list("babca")}), tmp_path / "web.pages.parquet")
    hosts = LinkGraph.load(tmp_path / "web.parquet").hosts
    assert hosts is not None
    assert hosts.tolist() == [0, 1, 0, 2, 1]


@pytest.mark.parametrize("names", [["source", "source", "target"], ["a", "a"], ["a", "b", "b"]])
def test_two_columns_of_one_name_are_refused(tmp_path: Path, names: list[str]) -> None:
    pq.write_table(pa.table([pa.array([0])] * len(names), names=names), tmp_path / "web.parquet")
    with pytest.raises(GraphFileError, match=r"more than one column|several named"):
        LinkGraph.load(tmp_path / "web.parquet")


@pytest.mark.parametrize(
    ("pages", "message"),
    [
        ({"page": [0, 1], "host": [0, 0]}, r"web\.pages\.parquet has 2 rows, but the graph has 5 pages"),
        ({"page": [0, 1, 2, 4, 3], "host": [0] * 5}, r"web\.pages\.parquet: column 'page' must count 0, 1, 2"),
        ({"url": [1, 2, 3, 4, 5]}, r"web\.pages\.parquet: column 'url' holds whole numbers; expected text"),
        ({"url": ["a", None, "c", "d", "e"]}, r"web\.pages\.parquet: column 'url' is empty in row 1"),
        ({"host": [0.5] * 5}, r"web\.pages\.parquet: column 'host' holds double; expected page ids or URLs"),
        ({"host": [-1] * 5}, "a host id is a whole number from 0"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_bad_tables_of_pages_are_named(tmp_path: Path, pages: dict[str, list[Any]], message: str) -> None:
    ROUND_TRIP_WEBS["plain"].save(tmp_path / "web.parquet")
    pq.write_table(pa.table(pages), tmp_path / "web.pages.parquet")
    with pytest.raises(GraphFileError, match=message):
        LinkGraph.load(tmp_path / "web.parquet")


def test_any_table_of_links_may_have_a_table_of_pages(tmp_path: Path) -> None:
    pq.write_table(pa.table({"src": [0], "dst": [1]}), tmp_path / "web.parquet")
    pq.write_table(pa.table({"url": ["a", "b", "c"]}), tmp_path / "web.pages.parquet")
    assert LinkGraph.load(tmp_path / "web.parquet") == LinkGraph.from_links(3, [0], [1], urls="abc")


def test_the_table_of_pages_is_not_taken_for_the_links(tmp_path: Path) -> None:
    ROUND_TRIP_WEBS["with hosts"].save(tmp_path / "web.parquet")
    with pytest.raises(GraphFileError, match=r"holds the pages of a graph; its links are in the one without \.pages"):
        LinkGraph.load(tmp_path / "web.pages.parquet")


def test_a_graph_without_pages_is_not_written_next_to_those_of_another(tmp_path: Path) -> None:
    ROUND_TRIP_WEBS["with both"].save(tmp_path / "web.parquet")
    with pytest.raises(GraphFileError, match=r"would be read with those in web\.pages\.parquet"):
        ROUND_TRIP_WEBS["plain"].save(tmp_path / "web.parquet")
    assert LinkGraph.load(tmp_path / "web.parquet") == ROUND_TRIP_WEBS["with both"]


@pytest.mark.parametrize("declared", ["-1", "many", "9" * 30, "4294967295", "2"])
def test_a_wrong_number_of_pages_in_the_metadata_is_reported(tmp_path: Path, declared: str) -> None:
    table = pa.table({"source": [0], "target": [3]}).replace_schema_metadata({"orienteer.n_pages": declared})
    pq.write_table(table, tmp_path / "web.parquet")
    with pytest.raises(GraphFileError, match=r"the metadata declares|page 3 is not in the graph"):
        LinkGraph.load(tmp_path / "web.parquet")


@pytest.mark.parametrize("content", [b"", b"PAR1", b"0 1\n1 2\n", b"PAR1" * 100])
def test_files_of_another_kind_are_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "web.parquet").write_bytes(content)
    with pytest.raises(GraphFileError, match="not a Parquet file, or truncated or corrupt"):
        LinkGraph.load(tmp_path / "web.parquet")


@pytest.mark.parametrize("kind", ["ours", "text", "dictionary"])
def test_a_damaged_file_gives_an_error_or_a_graph(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "web.parquet"
    web = ROUND_TRIP_WEBS["random"]
    if kind == "ours":
        LinkGraph(web.offsets, web.targets).save(path)
    else:
        names = np.array([f"http://{k}.example/" for k in range(web.n_pages)])
        table = pa.table({"source": names[web.sources()], "target": names[web.targets]})
        pq.write_table(table, path, compression="none", use_dictionary=kind == "dictionary")
    for data in damaged(path.read_bytes(), n_cuts=40, n_flips=200):
        path.write_bytes(data)
        assert_loads_or_says_why(path)


def test_a_damaged_table_of_pages_gives_an_error_or_a_graph(tmp_path: Path) -> None:
    path = tmp_path / "web.parquet"
    ROUND_TRIP_WEBS["with both"].save(path)
    pages = tmp_path / "web.pages.parquet"
    for data in damaged(pages.read_bytes(), n_cuts=40, n_flips=200):
        pages.write_bytes(data)
        assert_loads_or_says_why(path)


def test_without_pyarrow_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "web.parquet"
    ROUND_TRIP_WEBS["plain"].save(path)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=r"reading Parquet needs pyarrow: pip install 'orienteer\[parquet\]'"):
        LinkGraph.load(path)
    with pytest.raises(MissingExtraError, match="writing Parquet needs pyarrow"):
        ROUND_TRIP_WEBS["plain"].save(path)
