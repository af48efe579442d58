"""Decoding WebGraph's BV format: links per CPU-second of the whole `read`, in several choices of codes.

The generated web is encoded by the tests' encoder, which is slow, so the files are cached in the temporary folder.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.measure import machine, measured, table
from benchmarks.sizes import sized
from experiments.webs import web_folder
from orienteer.graph.link_graph import LinkGraph
from tests.graph.formats.bv_encoder import Settings, write_graph

N_PAGES = sized(200_000, 300)

CASES = {
    "default codes": Settings(),
    "default codes, nothing copied": Settings(window=0, min_interval=0),
    "default codes, little-endian": Settings(endianness="little"),
    "delta codes": Settings(codes=dict.fromkeys(("OUTDEGREES", "BLOCK_COUNT", "BLOCKS", "RESIDUALS"), "DELTA")),
}


def encoded(case: str) -> Path:
    """The web in the codes of a case, written if it is not there yet."""
    path = web_folder(N_PAGES).with_name(f"web-{N_PAGES}-{case.replace(', ', '-').replace(' ', '-')}.graph")
    if not path.exists():
        web = LinkGraph.load(web_folder(N_PAGES))
        rows = [web.links(page).tolist() for page in range(web.n_pages)]
        with tempfile.TemporaryDirectory(dir=path.parent) as folder:
            write_graph(Path(folder) / path.stem, rows, CASES[case])
            for name in (path.with_suffix(".properties").name, path.name):
                (Path(folder) / name).rename(path.with_name(name))
    return path


def decoding(path: Path) -> Callable[[], Any]:
    LinkGraph.load(path)  # compiles
    return lambda: LinkGraph.load(path).n_links


def run() -> str:
    rows = []
    for case in CASES:
        path = encoded(case)
        read = measured(decoding, path, rounds=5)
        bits = 8 * path.stat().st_size / read.result
        rows.append([case, f"{bits:.1f}", f"{read.cpu_s:.3f}", f"{read.result / read.cpu_s / 1e6:.1f}"])
    text = table(["", "bits per link", "CPU s", "million links per CPU-second"], rows)
    return f"{N_PAGES:,} pages, {read.result:,} links. {machine('numba')}.\n\n{text}"


if __name__ == "__main__":
    print(run())
