from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

import orienteer as ori
from orienteer.graph.link_graph import LinkGraph
from orienteer.graph.link_sorter import LinkSorter


@pytest.mark.parametrize("memory_bytes", [24, 24 * 50, 24 * 3000, 1 << 30])
def test_links_sorted_on_disk_equal_links_sorted_in_memory(
    rng: np.random.Generator, memory_bytes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    n_pages = 400
    sources = np.minimum(rng.pareto(0.5, 5000).astype(np.int64), n_pages - 1)  # one source has very many
    targets = rng.integers(0, n_pages, 5000)
    with LinkSorter(memory_bytes) as sorter:
        for start in range(0, 5000, 700):
            sorter.add(sources[start : start + 700], targets[start : start + 700])
        web = sorter.graph(n_pages)
    assert web == LinkGraph.from_links(n_pages, sources, targets)
    del web, sorter
    assert os.listdir(tmp_path) == []  # the temporary folder goes with the graph


def test_a_failure_leaves_no_temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(ori.InputError, match="negative"), LinkSorter(24) as sorter:
        sorter.add(np.array([1, 2]), np.array([2, 3]))
        assert os.listdir(tmp_path) != []
        sorter.add(np.array([1]), np.array([-2]))
    assert os.listdir(tmp_path) == []


def test_the_number_of_pages_is_the_highest_id_or_given() -> None:
    with LinkSorter() as sorter:
        sorter.add(np.array([1, 2]), np.array([7, 3]))
        assert sorter.graph().n_pages == 8
    with LinkSorter() as sorter:
        assert sorter.graph().n_pages == 0
    with pytest.raises(ori.InputError, match="page 7 is not in the graph"), LinkSorter() as sorter:
        sorter.add(np.array([1]), np.array([7]))
        sorter.graph(7)


def test_sparse_or_too_large_ids_are_refused_before_memory_is_allocated() -> None:
    with pytest.raises(ori.InputError, match="number pages densely"), LinkSorter() as sorter:
        sorter.add(np.array([1]), np.array([4_000_000_000]))
        sorter.graph()
    with pytest.raises(ori.InputError, match="too large"), LinkSorter() as sorter:
        sorter.add(np.array([1]), np.array([2**40]))


def test_only_self_links_on_disk_give_a_graph_without_links() -> None:
    with LinkSorter(24) as sorter:
        sorter.add(np.array([0, 1, 2]), np.array([0, 1, 2]))
        web = sorter.graph()
    assert (web.n_pages, web.n_links) == (3, 0)
