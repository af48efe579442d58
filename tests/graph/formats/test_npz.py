from __future__ import annotations

import gzip
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse

from orienteer.errors import GraphFileError
from orienteer.graph.link_graph import LinkGraph
from tests.conftest import shared_file
from tests.graph.formats.small_webs import ROUND_TRIP_WEBS, assert_loads_or_says_why, damaged
from tests.tables import over_rows


@pytest.mark.parametrize("web", ROUND_TRIP_WEBS.values(), ids=ROUND_TRIP_WEBS.keys())
def test_a_graph_read_back_is_the_graph_written(tmp_path: Path, web: LinkGraph) -> None:
    web.save(tmp_path / "web.npz")
    again = LinkGraph.load(tmp_path / "web.npz")
    assert again == web
    assert (tmp_path / "web.urls.txt.gz").exists() == (web.urls is not None)
    assert not list(tmp_path.glob(".*"))


def test_the_arrays_are_those_of_numpy_and_the_bytes_always_the_same(tmp_path: Path) -> None:
    web = ROUND_TRIP_WEBS["with both"]
    for name in ("one", "two"):
        web.save(tmp_path / f"{name}.npz")
    assert (tmp_path / "one.npz").read_bytes() == (tmp_path / "two.npz").read_bytes()
    with np.load(tmp_path / "one.npz") as archive:
        kinds = {name: archive[name].dtype for name in archive.files}
        assert kinds == {"indptr": np.int64, "indices": np.uint32, "host": np.int32}
        assert np.array_equal(archive["indices"], web.targets)


def test_writing_reports_progress(tmp_path: Path) -> None:
    calls: list[tuple[str, int, int]] = []
    ROUND_TRIP_WEBS["with both"].save(tmp_path / "web.npz", progress=lambda *call: calls.append(call))
    assert {"writing indptr", "writing indices", "writing host", "writing URLs"} <= {stage for stage, _, _ in calls}
    assert all(0 <= done <= total for _, done, total in calls)


@pytest.mark.parametrize("dtype", ["int16", "int32", "int64", "uint64", ">i4"])
def test_rows_that_are_not_proper_are_made_so(tmp_path: Path, dtype: str) -> None:
    indptr, indices = np.array([0, 4, 5, 6], dtype), np.array([2, 1, 1, 0, 1, 0], dtype)
    np.savez(tmp_path / "web.npz", indptr=indptr, indices=indices, cls=np.array(["ignored"]), weight=np.ones(6))
    assert LinkGraph.load(tmp_path / "web.npz") == LinkGraph.from_links(3, [0, 0, 2], [1, 2, 0])


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "bsr", "dia"])
def test_matrices_of_scipy_are_read_without_explicit_zeros(tmp_path: Path, kind: str) -> None:
    entries = ([1.5, 0.0, -1.0, 2.0], ([0, 0, 1, 2], [1, 2, 2, 2]))
    matrix = scipy.sparse.coo_array(entries, shape=(4, 4)).asformat(kind)
    scipy.sparse.save_npz(tmp_path / "web.npz", matrix)
    (tmp_path / "web.urls.txt").write_text("a\nb\nc\nd\n")
    assert LinkGraph.load(tmp_path / "web.npz") == LinkGraph.from_links(4, [0, 1], [1, 2], urls="abcd")


GOOD: dict[str, Any] = {"indptr": [0, 2, 3, 3], "indices": [1, 2, 0]}
SCIPY: dict[str, Any] = {"format": b"csr", "shape": [3, 3], "data": [1, 1, 1]}


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"indptr": [1, 2, 3, 3]}, "indptr starts at 1, not 0"),
        ({"indptr": [0, 3, 2, 3]}, "indptr decreases after page 1"),
        ({"indptr": np.array([0, 2**64 - 1, 3, 3], np.uint64)}, "indptr decreases after page 0"),
        ({"indptr": [0, 2, 3, 9]}, "indptr ends at 9, but there are 3 indices"),
        ({"indptr": np.empty(0, int)}, "indptr is empty"),
        ({"indptr": [0.0, 2.0, 3.0, 3.0]}, "indptr is 1-dimensional float64; expected a row of whole numbers"),
        ({"indptr": [[0, 2, 3, 3]]}, "indptr is 2-dimensional int64"),
        ({"indices": [1, 2, 3]}, r"indices: page 3 is not in the graph \(pages are 0 to 2\)"),
        ({"indices": [1, -2, 0]}, "indices: page -2 is not in the graph"),
        ({"indices": np.array([1, 2**32, 0])}, "page 4294967296 is not in the graph"),
        ({"indices": None}, r"no array 'indices' in the archive \(it holds indptr\)"),
        ({"indptr": None, "indices": None, "a": [1]}, r"no array 'indptr' in the archive \(it holds a\)"),
        ({"host": [0, 0]}, "hosts: 2 host ids for 3 pages"),
        ({"host": [0, 0, -1]}, "a host id is a whole number from 0"),
        ({"host": [0.5, 0, 0]}, "host is 1-dimensional float64"),
        ({**SCIPY, "shape": [3, 4]}, "an adjacency matrix is square; this one is 3 x 4"),
        ({**SCIPY, "indices": [1, 7, 0]}, "truncated or corrupt"),
        ({**SCIPY, "indptr": [0, 10**9, 3, 3]}, "truncated or corrupt"),
        ({**SCIPY, "format": b"xyz"}, "truncated or corrupt"),
        ({**SCIPY, "data": None}, "truncated or corrupt"),
    ],
)
def test_bad_arrays_are_named(tmp_path: Path, arrays: dict[str, Any], message: str) -> None:
    changed = {name: value for name, value in {**GOOD, **arrays}.items() if value is not None}
    np.savez(tmp_path / "web.npz", **changed)
    with pytest.raises(GraphFileError, match=message):
        LinkGraph.load(tmp_path / "web.npz")


def test_objects_are_never_unpickled(tmp_path: Path) -> None:
    np.savez(tmp_path / "web.npz", indptr=np.array([0, {}], object), indices=[0])
    with pytest.raises(GraphFileError, match="allow_pickle=False"):
        LinkGraph.load(tmp_path / "web.npz")


def test_files_of_another_kind_are_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "array.npy", np.arange(3))
    (tmp_path / "array.npy").rename(tmp_path / "array.npz")
    (tmp_path / "empty.npz").touch()
    (tmp_path / "text.npz").write_text("0 1\n1 2\n")
    for name in ("array.npz", "empty.npz", "text.npz"):
        with pytest.raises(GraphFileError, match=r"not a NumPy archive"):
            LinkGraph.load(tmp_path / name)
    with zipfile.ZipFile(tmp_path / "zip.npz", "w") as archive:
        archive.writestr("indptr", b"no array")
        archive.writestr("indices", b"no array")
    with pytest.raises(GraphFileError, match="indptr is not an array"):
        LinkGraph.load(tmp_path / "zip.npz")


@pytest.mark.parametrize("n_urls", [0, 4, 6])
def test_a_wrong_number_of_urls_is_reported_with_both_counts(tmp_path: Path, n_urls: int) -> None:
    ROUND_TRIP_WEBS["plain"].save(tmp_path / "web.npz")
    with gzip.open(tmp_path / "web.urls.txt.gz", "wt") as out:
        out.write("http://a/\n" * n_urls)
    with pytest.raises(GraphFileError, match=rf"web\.urls\.txt\.gz holds {n_urls} URLs, but the graph has 5 pages"):
        LinkGraph.load(tmp_path / "web.npz")


def test_a_graph_without_urls_is_not_written_next_to_those_of_another(tmp_path: Path) -> None:
    ROUND_TRIP_WEBS["with URLs"].save(tmp_path / "web.npz")
    with pytest.raises(GraphFileError, match=r"would be read with those in web\.urls\.txt\.gz"):
        ROUND_TRIP_WEBS["plain"].save(tmp_path / "web.npz")
    assert LinkGraph.load(tmp_path / "web.npz") == ROUND_TRIP_WEBS["with URLs"]


def test_a_url_that_cannot_be_written_leaves_the_old_files(tmp_path: Path) -> None:
    ROUND_TRIP_WEBS["with URLs"].save(tmp_path / "web.npz")
    with pytest.raises(GraphFileError, match="URL of page 0 has a line break"):
        LinkGraph.from_links(1, [], [], urls=["http://a/\n"]).save(tmp_path / "web.npz")
    assert LinkGraph.load(tmp_path / "web.npz") == ROUND_TRIP_WEBS["with URLs"]
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize("kind", ["ours", "numpy", "scipy csr", "scipy csc"])
def test_a_damaged_archive_gives_an_error_or_a_graph(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "web.npz"
    web = ROUND_TRIP_WEBS["random"]
    if kind == "ours":
        web.save(path)
    elif kind == "numpy":
        np.savez(path, indptr=web.offsets, indices=web.targets)
    else:
        scipy.sparse.save_npz(path, web.to_scipy().asformat(kind[-3:]), compressed=False)
    for data in damaged(path.read_bytes()):
        path.write_bytes(data)
        assert_loads_or_says_why(path)


@over_rows(
    ("name", "n_pages", "n_rows", "has_hosts", "first_url"),
    [
        ("cnr-2000-nat", 325_557, 3_216_152, False, None),
        ("docs-web-dev", 7_085, 114_183, True, "http"),
        ("webkb-dev", 5_814, 9_510, True, "file://issl.cs.byu.edu/docs/CS556/Syllabus95.html"),
        ("polblogs-2004", 1_490, 19_015, True, ""),
        ("wb-cs-stanford-2001", 9_914, 36_854, False, None),
    ],
)
def test_the_real_graphs_are_as_documented(
    name: str, n_pages: int, n_rows: int, has_hosts: bool, first_url: str | None
) -> None:
    path = shared_file(f"graphs/{name}.npz")
    graph = LinkGraph.load(path)
    with np.load(path) as archive:
        sources = np.repeat(np.arange(n_pages), np.diff(archive["indptr"]))
        targets = archive["indices"].astype(np.int64)
    assert len(targets) == n_rows
    links = np.sort((sources * n_pages + targets)[sources != targets])
    links = links[np.diff(links, prepend=-1) > 0]
    assert (graph.n_pages, graph.n_links) == (n_pages, len(links))
    assert np.array_equal(graph.sources().astype(np.int64) * n_pages + graph.targets, links)
    assert (graph.hosts is not None) == has_hosts
    assert (graph.urls is not None) == (first_url is not None)
    if graph.urls is not None and first_url is not None:
        assert graph.urls[0].startswith(first_url)
