"""Fictitious data: experiments with files of their own."""

from __future__ import annotations

import gzip
import hashlib
from pathlib import Path

import numpy as np

from experiments.experiment import Data, Experiment
from experiments.papers import experiments_folder
from experiments.webs import Webs
from orienteer.graph.link_graph import LinkGraph

QUICK = Webs(None, quick=True)


def experiment_of(name: str) -> Experiment:
    return Experiment.read(experiments_folder() / name / "experiment.toml")


def experiment_with(home: Path) -> Experiment:
    """One that reads all files of this folder, as they are."""
    files = sorted(path for path in home.rglob("*") if path.is_file())
    data = [Data(str(path.relative_to(home)), hashlib.sha256(path.read_bytes()).hexdigest()) for path in files]
    return Experiment("made-up", "", "", "", tuple(data), ())


def write_graph(home: Path, name: str, graph: LinkGraph, urls: list[str] | None = None, **labels: np.ndarray) -> None:
    """Write a graph in the format of the real ones: NAME.npz with labels, and NAME.urls.txt.gz."""
    (home / "graphs").mkdir(exist_ok=True)
    arrays = {"indptr": graph.offsets, "indices": graph.targets.astype(np.int32), **labels}
    if graph.hosts is not None:
        arrays["host"] = graph.hosts
    np.savez(home / "graphs" / f"{name}.npz", **arrays)
    if urls is not None:
        with gzip.open(home / "graphs" / f"{name}.urls.txt.gz", "wt") as lines:
            lines.write("\n".join(urls) + "\n")
