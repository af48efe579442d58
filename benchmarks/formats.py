"""Reading and writing graph files: links per CPU-second, and an edge list that does not fit the memory allowed."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.measure import machine, measured, table
from benchmarks.sizes import sized
from experiments.webs import web_folder
from orienteer.graph import link_sorter, shapes
from orienteer.graph.link_graph import LinkGraph
from orienteer.graph.synthetic import synthetic_web

N_PAGES = sized(200_000, 300)
NAMES = ["web", "web.txt", "web.csv.gz", "web.tsv.zst", "web.npz", "web.parquet", "web.graphml"]


def reading(path: Path, links_in_memory: int | None = None) -> Callable[[], Any]:
    """Read a graph; with `links_in_memory` an edge list has only room for so many and must sort on disk."""
    if links_in_memory is not None:
        link_sorter.LinkSorter.__init__.__defaults__ = (24,)
    with tempfile.TemporaryDirectory() as folder:  # compile what is needed
        small = Path(folder) / ("small" + "".join(path.suffixes))
        shapes.star(5).save(small)
        LinkGraph.load(small)
    if links_in_memory is not None:
        link_sorter.LinkSorter.__init__.__defaults__ = (24 * links_in_memory,)
    return lambda: LinkGraph.load(path).n_links


def writing(source: Path, path: Path) -> Callable[[], Any]:
    web = LinkGraph.load(source)
    with tempfile.TemporaryDirectory() as folder:
        shapes.star(5).save(Path(folder) / ("small" + "".join(path.suffixes)))
    return lambda: web.save(path)


def url_list(folder: Path) -> Path:
    path = folder / "urls.csv"
    synthetic_web(sized(50_000, 300), with_urls=True).save(path, urls=True)
    return path


def run() -> str:
    source = web_folder(N_PAGES)
    n_links = LinkGraph.load(source).n_links
    rows = []
    with tempfile.TemporaryDirectory(prefix="orienteer-benchmark-") as name:
        folder = Path(name)
        for file in NAMES:
            wrote = measured(writing, source, folder / file, rounds=1)
            read = measured(reading, folder / file, rounds=2)
            size = sum(
                f.stat().st_size for f in ([folder / file] if (folder / file).is_file() else (folder / file).iterdir())
            )
            rows.append([file, f"{size / 2**20:.0f}", f"{n_links / wrote.cpu_s / 1e6:.1f}",
                         f"{n_links / read.cpu_s / 1e6:.1f}", f"{read.peak_mib:,.0f}"])  # fmt: skip
        spilled = measured(reading, folder / "web.txt", n_links // 10, rounds=1)
        rows.append(["web.txt, room for a tenth of its links", "", "", f"{n_links / spilled.cpu_s / 1e6:.1f}",
                     f"{spilled.peak_mib:,.0f}"])  # fmt: skip
        urls = url_list(folder)
        read = measured(reading, urls, rounds=2)
        rows.append(["urls.csv, 50,000 pages", f"{urls.stat().st_size / 2**20:.0f}", "",
                     f"{read.result / read.cpu_s / 1e6:.1f}", f"{read.peak_mib:,.0f}"])  # fmt: skip
    return (
        f"{n_links:,} links of 200,000 pages. {machine('numpy', 'numba', 'pyarrow')}\n\n"
        + table(["", "MiB", "written, M links per CPU-s", "read, M links per CPU-s", "peak MiB, reading"], rows)
    )  # fmt: skip
