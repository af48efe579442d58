"""Fixtures of the tests of formats: webs to write and read again, and ways to damage a file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from orienteer.errors import OrienteerError
from orienteer.graph import csr
from orienteer.graph.link_graph import LinkGraph
from tests.conftest import random_web

URLS = ["http://a.example/", "http://a.example/?q=1&x=<y>", "https://b.example/ü/日本", "", "http://c.example/\"'#]]>"]

ROUND_TRIP_WEBS = {
    "plain": LinkGraph.from_links(5, [0, 0, 1, 3], [1, 3, 2, 0]),
    "with hosts": LinkGraph.from_links(5, [0, 0, 1, 3], [1, 3, 2, 0], hosts=[0, 0, 7, 7, 2]),
    "with URLs": LinkGraph.from_links(5, [0, 0, 1, 3], [1, 3, 2, 0], urls=URLS),
    "with both": LinkGraph.from_links(5, [4, 0, 1, 3], [1, 3, 2, 0], hosts=[3, 3, 1, 0, 0], urls=URLS),
    "empty": LinkGraph.from_links(0, [], []),
    "empty with both": LinkGraph.from_links(0, [], [], hosts=np.empty(0, np.int32), urls=[]),
    "one page": LinkGraph.from_links(1, [], [], hosts=[5], urls=["http://only.example/"]),
    "isolated pages": LinkGraph.from_links(6, [], []),
    "last pages isolated": LinkGraph.from_links(9, [0], [1], urls=[f"http://{k}.example/" for k in range(9)]),
    "random": random_web(np.random.default_rng(1), 300, with_hosts=True),
}


def damaged(data: bytes, n_cuts: int = 60, n_flips: int = 120) -> Iterator[bytes]:
    """`data` cut off at many lengths, then with one byte changed at many places."""
    for length in sorted({*np.linspace(0, len(data) - 1, n_cuts, dtype=int).tolist(), 1, 2, 3, len(data) - 2}):
        yield data[:length]
    for place in np.linspace(0, len(data) - 1, n_flips, dtype=int).tolist():
        for change in (0x01, 0xFF):
            yield data[:place] + bytes([data[place] ^ change]) + data[place + 1 :]


def assert_loads_or_says_why(path: Path) -> None:
    """A damaged file gives an error of one line, or a graph that keeps its promises; nothing else."""
    message = ""
    try:
        graph = LinkGraph.load(path)
    except OrienteerError as error:
        message = str(error)
    if message:
        assert message.startswith(str(path))
        assert "\n" not in message
    else:
        assert csr.first_fault(graph.offsets, graph.targets, graph.n_links) == (0, 0)
