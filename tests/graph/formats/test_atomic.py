from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from orienteer.errors import GraphFileError
from orienteer.files.plain import replaced
from orienteer.graph.link_graph import LinkGraph
from tests.conftest import random_web
from tests.disk_limits import files_of_at_most


@pytest.mark.parametrize("error", [OSError("disk full"), KeyboardInterrupt()])
def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(tmp_path: Path, error: BaseException) -> None:
    path = tmp_path / "file.txt"
    path.write_text("old")

    def write() -> None:
        with replaced(path) as new:
            new.write_text("half of the n")
            raise error

    with pytest.raises(type(error)):
        write()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_write_through_a_symbolic_link_replaces_what_it_points_to(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    link = tmp_path / "link.txt"
    link.symlink_to(tmp_path / "folder" / "file.txt")
    with replaced(link) as new:
        assert new.name.endswith("file.txt")
        new.write_text("new")
    assert link.is_symlink()
    assert (tmp_path / "folder" / "file.txt").read_text() == "new"


def test_a_device_is_written_not_replaced() -> None:
    with replaced(Path(os.devnull)) as new:
        assert new == Path(os.devnull)
    assert not Path(os.devnull).is_file()


@pytest.mark.parametrize("name", ["web.npz", "web.parquet", "web.graphml", "web.graphml.gz", "web.graphml.zst"])
def test_a_full_disk_leaves_the_old_graph_and_nothing_else(tmp_path: Path, name: str) -> None:
    old = LinkGraph.from_links(3, [0, 1], [1, 2], hosts=[0, 0, 1], urls=["a", "b", "c"])
    old.save(tmp_path / name)
    files = sorted(tmp_path.iterdir())
    links = random_web(np.random.default_rng(3), 20_000)
    urls = LinkGraph.from_links(20_000, [], [], urls=[f"http://{k}/" for k in range(20_000)]).urls
    big = LinkGraph(links.offsets, links.targets, np.arange(20_000, dtype=np.int32), urls)
    with files_of_at_most(20_000), pytest.raises(GraphFileError, match="File too large"):
        big.save(tmp_path / name)
    assert sorted(tmp_path.iterdir()) == files
    assert LinkGraph.load(tmp_path / name) == old
