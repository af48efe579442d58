from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest

from orienteer.errors import GraphFileError
from orienteer.graph import synthetic as shapes
from orienteer.graph.formats import folder
from orienteer.graph.link_graph import LinkGraph
from tests.conftest import random_web


def save_web(path: Path) -> LinkGraph:
    web = LinkGraph.from_links(4, [0, 0, 1, 3], [1, 2, 2, 0], hosts=[0, 0, 1, 1], urls=["a", "b", "c", ""])
    web.save(path)
    return web


def test_a_folder_is_memory_mapped_and_the_same(rng: np.random.Generator, tmp_path: Path) -> None:
    for name, web in {
        "random": random_web(rng, 500, with_hosts=True),
        "empty": shapes.disconnected(0),
        "no-links": shapes.disconnected(3),
    }.items():
        web.save(tmp_path / name)
        loaded = LinkGraph.load(tmp_path / name)
        assert loaded == web
        assert isinstance(loaded.targets, np.memmap) or web.n_links == 0
    web = save_web(tmp_path / "all")
    assert LinkGraph.load(tmp_path / "all") == web


def test_a_graph_can_be_saved_over_the_folder_it_is_mapped_from(tmp_path: Path) -> None:
    web = save_web(tmp_path / "web")
    LinkGraph.load(tmp_path / "web").save(tmp_path / "web")
    assert LinkGraph.load(tmp_path / "web") == web
    assert os.listdir(tmp_path) == ["web"]


def test_the_same_graph_gives_the_same_bytes(tmp_path: Path) -> None:
    save_web(tmp_path / "a")
    save_web(tmp_path / "b")
    for file in (tmp_path / "a").iterdir():
        assert file.read_bytes() == (tmp_path / "b" / file.name).read_bytes()


@pytest.mark.parametrize("name", ["offsets.npy", "targets.npy", "hosts.npy", "url_bytes.npy", "url_offsets.npy"])
def test_a_truncated_array_is_one_clear_line(tmp_path: Path, name: str) -> None:
    save_web(tmp_path / "web")
    whole = (tmp_path / "web" / name).read_bytes()
    for length in range(0, len(whole), 3):
        (tmp_path / "web" / name).write_bytes(whole[:length])
        with pytest.raises(GraphFileError, match="web"):
            LinkGraph.load(tmp_path / "web")


@pytest.mark.parametrize("name", ["offsets.npy", "targets.npy", "graph.json"])
def test_a_missing_array_is_one_clear_line(tmp_path: Path, name: str) -> None:
    save_web(tmp_path / "web")
    (tmp_path / "web" / name).unlink()
    with pytest.raises(GraphFileError, match=r"missing|not a graph folder"):
        LinkGraph.load(tmp_path / "web")


@pytest.mark.parametrize(
    ("about", "message"),
    [
        ("{", "cannot be read"),
        ("[]", "not of an Orienteer graph"),
        ('{"orienteer-graph": 99}', "version 1"),
        ('{"orienteer-graph": 1}', "graph.json"),
        (json.dumps({folder.MARK: 1, "n_pages": 5, "n_links": 4}), "declares 5 pages"),
    ],
)
def test_a_wrong_graph_json_is_one_clear_line(tmp_path: Path, about: str, message: str) -> None:
    save_web(tmp_path / "web")
    (tmp_path / "web" / "graph.json").write_text(about)
    with pytest.raises(GraphFileError, match=message):
        LinkGraph.load(tmp_path / "web")


def test_ids_out_of_range_are_found_before_any_kernel_reads_them(tmp_path: Path) -> None:
    save_web(tmp_path / "web")
    np.save(tmp_path / "web" / "targets.npy", np.array([1, 2, 2, 900], np.uint32))
    with pytest.raises(GraphFileError, match="points outside the graph"):
        LinkGraph.load(tmp_path / "web")


def test_another_type_of_array_is_one_clear_line(tmp_path: Path) -> None:
    save_web(tmp_path / "web")
    np.save(tmp_path / "web" / "targets.npy", np.array([1.0, 2, 2, 0]))
    with pytest.raises(GraphFileError, match="float64, not uint32"):
        LinkGraph.load(tmp_path / "web")


def test_a_folder_that_is_no_graph_is_neither_read_nor_overwritten(tmp_path: Path) -> None:
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "to-mother.txt").write_text("dear")
    with pytest.raises(GraphFileError, match="not a graph folder"):
        LinkGraph.load(tmp_path / "letters")
    with pytest.raises(GraphFileError, match="left unchanged"):
        shapes.cycle(3).save(tmp_path / "letters")
    assert os.listdir(tmp_path / "letters") == ["to-mother.txt"]


def test_a_save_that_fails_keeps_the_old_graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    web = save_web(tmp_path / "web")

    def full_disk(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(folder, "_write_array", full_disk)
    with pytest.raises(GraphFileError, match="No space left on device"):
        shapes.cycle(9).save(tmp_path / "web")
    assert LinkGraph.load(tmp_path / "web") == web
    assert os.listdir(tmp_path) == ["web"]
