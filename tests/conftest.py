"""What tests share: random webs of every shape, and where the real data is."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

from orienteer.graph.link_graph import LinkGraph

# Kernels compile on first call, which is no slow test; CI repeats the same examples every time.
settings.register_profile("orienteer", deadline=None, derandomize=bool(os.environ.get("CI")))
settings.load_profile("orienteer")

# The key that this user signs with: tests have one of their own, in whatever process they run.
_STATE = tempfile.mkdtemp(prefix="orienteer-state-")
atexit.register(shutil.rmtree, _STATE, ignore_errors=True)
os.environ["XDG_STATE_HOME"] = _STATE

SHARED_DATA = Path(__file__).parents[2] / "shared" / "data"


@pytest.fixture(scope="session")
def shared_graphs() -> Path:
    """The folder of real graphs, or a skip that says what is missing."""
    folder = SHARED_DATA / "graphs"
    if not folder.is_dir():
        pytest.skip(f"the real graphs are not here: {folder}")
    return folder


def random_web(rng: np.random.Generator, n_pages: int, mean_degree: float = 4.0, with_hosts: bool = False) -> LinkGraph:
    """A web with dangling pages, isolated pages, hubs, and repeated and self-links on the way in."""
    n_links = int(n_pages * mean_degree)
    weights = rng.pareto(1.0, n_pages) + 0.05
    sources = rng.choice(n_pages, n_links, p=_with_holes(rng, weights))
    targets = rng.choice(n_pages, n_links, p=_with_holes(rng, weights[::-1]))
    hosts = np.sort(rng.integers(0, max(1, n_pages // 5), n_pages)) if with_hosts else None
    return LinkGraph.from_links(n_pages, sources, targets, hosts=hosts)


def _with_holes(rng: np.random.Generator, weights: np.ndarray) -> np.ndarray:
    """Probabilities that leave about a third of the pages out, but never all."""
    holes = rng.random(len(weights)) < 0.3
    if holes.all():
        holes[0] = False
    weights = np.where(holes, 0.0, weights)
    return weights / weights.sum()


@pytest.fixture
def rng() -> np.random.Generator:
    """Random numbers; the same in every run."""
    return np.random.default_rng(20260101)
