from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

import orienteer as ori
from orienteer.errors import GraphFileError
from orienteer.graph import csr, link_graph, shapes
from orienteer.graph.coverage import certificate
from orienteer.graph.formats import folder
from orienteer.graph.link_graph import LinkGraph
from tests.conftest import random_web
from tests.graph.reference import dense_links
from tests.tables import over_rows


def test_self_links_and_repeats_are_dropped_and_rows_sorted() -> None:
    web = LinkGraph.from_links(4, [2, 0, 0, 2, 1, 0], [1, 3, 1, 1, 1, 3])
    assert web.offsets.tolist() == [0, 2, 2, 3, 3]
    assert web.targets.tolist() == [1, 3, 1]
    assert (web.offsets.dtype, web.targets.dtype) == (np.int64, np.uint32)


def test_from_links_equals_a_set_of_pairs(rng: np.random.Generator) -> None:
    for n in (1, 2, 17, 300):
        sources, targets = rng.integers(0, n, 4 * n), rng.integers(0, n, 4 * n)
        web = LinkGraph.from_links(n, sources, targets)
        pairs = sorted({(s, t) for s, t in zip(sources.tolist(), targets.tolist(), strict=True) if s != t})
        assert list(zip(web.sources().tolist(), web.targets.tolist(), strict=True)) == pairs
        assert csr.first_fault(web.offsets, web.targets, web.n_links) == (0, 0)


def test_degrees_and_links(rng: np.random.Generator) -> None:
    web = random_web(rng, 60)
    matrix = dense_links(web)
    assert web.out_degrees().tolist() == matrix.sum(axis=1).tolist()
    assert web.in_degrees().tolist() == matrix.sum(axis=0).tolist()
    for page in range(60):
        assert web.links(page).tolist() == np.flatnonzero(matrix[page]).tolist()


@pytest.mark.parametrize("block_links", [1, 7, 100, 10**9])
def test_the_reverse_is_the_transpose_for_every_block_size(rng: np.random.Generator, block_links: int) -> None:
    web = random_web(rng, 80, with_hosts=True)
    back = web.reverse()
    assert (dense_links(back) == dense_links(web).T).all()
    assert back.hosts is web.hosts
    assert back.reverse() is web
    out = np.empty(web.n_links, np.uint32)
    link_graph.fill_sources(web, back.offsets, out, block_links)
    assert out.tolist() == back.targets.tolist()


def test_the_reverse_of_a_big_graph_is_stored_in_its_folder(
    rng: np.random.Generator, tmp_path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(link_graph, "FROM_LINKS", 10)
    web = random_web(rng, 50)
    web.save(tmp_path / "web")
    expected = web.reverse()
    assert LinkGraph.load(tmp_path / "web").reverse() == expected
    assert (tmp_path / "web" / "reverse" / "targets.npy").exists()

    monkeypatch.setattr(folder, "store_reverse", None)  # found, not made again
    assert LinkGraph.load(tmp_path / "web").reverse() == expected


def test_a_stored_reverse_of_another_graph_or_a_broken_one_is_computed_again(
    rng: np.random.Generator, tmp_path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(link_graph, "FROM_LINKS", 1)
    first, second = random_web(rng, 50), random_web(rng, 50)
    for name, web in (("a", first), ("b", second)):
        web.save(tmp_path / name)
        LinkGraph.load(tmp_path / name).reverse()
    (tmp_path / "a" / "reverse").rename(tmp_path / "old")
    (tmp_path / "b" / "reverse").rename(tmp_path / "a" / "reverse")
    assert LinkGraph.load(tmp_path / "a").reverse() == first.reverse()
    (tmp_path / "a" / "reverse" / "targets.npy").write_bytes(b"nonsense")
    assert LinkGraph.load(tmp_path / "a").reverse() == first.reverse()


def test_only_the_links_of_some_pages(rng: np.random.Generator) -> None:
    web = random_web(rng, 60)
    some = rng.random(60) < 0.5
    assert (dense_links(web.only_links_of(some)) == dense_links(web) & some[:, None]).all()
    assert [web.targets[a:b].tolist() for a, b in zip(web.starts, web.ends, strict=True)] == [
        web.links(page).tolist() for page in range(60)
    ]


def test_scipy_round_trip(rng: np.random.Generator) -> None:
    web = random_web(rng, 70)
    matrix = web.to_scipy()
    assert (matrix.toarray() != 0).tolist() == dense_links(web).tolist()
    assert LinkGraph.from_scipy(matrix) == web
    assert LinkGraph.from_scipy(scipy.sparse.coo_array(matrix)) == web
    with pytest.raises(ori.InputError, match="2 x 3"):
        LinkGraph.from_scipy(scipy.sparse.csr_array((2, 3)))


def test_equality_looks_at_everything() -> None:
    web = LinkGraph.from_links(2, [0], [1], hosts=[0, 1], urls=["a", "b"])
    assert web == LinkGraph.from_links(2, [0], [1], hosts=[0, 1], urls=["a", "b"])
    assert web != LinkGraph.from_links(2, [0], [1], hosts=[0, 0], urls=["a", "b"])
    assert web != LinkGraph.from_links(2, [0], [1], hosts=[0, 1], urls=["a", "c"])
    assert web != LinkGraph.from_links(2, [1], [0], hosts=[0, 1], urls=["a", "b"])
    assert web != LinkGraph.from_links(2, [0], [1])


def test_the_repr_says_what_it_is() -> None:
    assert repr(shapes.cycle(1200)) == "<LinkGraph: 1,200 pages, 1,200 links>"
    assert repr(LinkGraph.from_links(1, [], [], hosts=[0])) == "<LinkGraph: 1 pages, 0 links, with hosts>"


@over_rows(
    ("arguments", "message"),
    [
        ((3, [0], [3]), "targets: page 3 is not in the graph"),
        ((3, [-1], [0]), "sources: page -1 is not in the graph"),
        ((3, [0, 1], [2]), "2 sources but 1 targets"),
        ((-1, [], []), "n_pages is -1"),
        ((2**32, [], []), "n_pages is"),
        ((3, [0.5], [1]), "whole numbers"),
        ((3, [[0]], [[1]]), "dimensions"),
        ((3, [0], [1], [0, 1]), "2 host ids for 3 pages"),
        ((3, [0], [1], [0, 1, -1]), "host id"),
        ((3, [0], [1], None, ["u"]), "1 URLs for 3 pages"),
    ],
)
def test_unusable_links_are_one_clear_line(arguments: tuple, message: str) -> None:
    with pytest.raises(ori.InputError, match=message):
        LinkGraph.from_links(*arguments)


@over_rows(
    ("offsets", "targets", "message"),
    [
        ([], [], "no offsets"),
        ([0, 2], [0], "2 links expected, 1 found"),
        ([1, 1], [0], "do not start at 0"),
        ([0, 3, 2], [1, 0], "decrease"),
        ([0, 1, 1], [2], "points outside"),
        ([0, 2, 2, 2], [2, 1], "not strictly increasing"),
        ([0, 2, 2, 2], [1, 1], "not strictly increasing"),
        ([0, 1, 1], [0], "links to itself"),
    ],
)
def test_improper_rows_never_become_a_graph(offsets: list[int], targets: list[int], message: str) -> None:
    with pytest.raises(GraphFileError, match=message):
        LinkGraph(np.array(offsets, np.int64), np.array(targets, np.uint32))


def test_an_object_that_is_not_a_graph_is_one_error_line() -> None:
    for function in (ori.pagerank, ori.simulate, lambda graph: certificate(graph, [0])):
        with pytest.raises(ori.InputError, match="a graph is needed, not 'web.npz'; LinkGraph.load reads one"):
            function("web.npz")  # type: ignore[operator]
    with pytest.raises(ori.InputError, match="a graph is needed, not 7$"):
        ori.pagerank(7)  # type: ignore[arg-type]


def test_pages_are_named_by_number() -> None:
    web = shapes.cycle(3)
    for arguments in ({"fetched": ["home"]}, {"fetched": [0], "trust": ["home"]}):
        with pytest.raises(ori.InputError, match="pages are named by their numbers in the graph, 0 to 2, not 'home'"):
            certificate(web, **arguments)
